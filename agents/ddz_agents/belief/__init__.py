"""The belief network, which predicts where the hidden cards lie and samples determinizations rank by rank."""
