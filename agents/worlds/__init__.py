"""Hand inference for the full game: determinizations weighted by how plausible the hidden seats' past moves are."""
