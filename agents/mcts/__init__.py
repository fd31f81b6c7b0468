"""Monte Carlo tree search: a few compiled kernels (determinize, select, expand, simulate, backpropagate, choose)
and the agents composed from them."""
