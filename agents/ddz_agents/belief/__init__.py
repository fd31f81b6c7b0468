"""A network that has learned where the hidden cards lie, and from which determinizations are drawn rank by rank."""
