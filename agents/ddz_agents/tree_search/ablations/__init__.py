"""Forms of the search that the measurements reject; each stays an agent, so that the comparison can be repeated."""
