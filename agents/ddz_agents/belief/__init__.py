"""The belief network, which has learned where the hidden cards lie and draws determinizations rank by rank."""
