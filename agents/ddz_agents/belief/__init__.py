"""A network that has learned where the hidden cards lie, and from which deals are drawn rank by rank."""
