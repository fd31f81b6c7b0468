"""A network that has learned where the hidden cards lie: deals are drawn from it rank by rank."""
