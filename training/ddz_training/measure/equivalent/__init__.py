"""Monte Carlo equivalent: the number of search iterations that play as strongly as an agent."""
