"""How large and how hard to sample a game is: counts of states and trees, and Monte Carlo complexity."""
