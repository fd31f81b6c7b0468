"""Monte Carlo tree search: determinize, select, expand, simulate, backpropagate, choose; agents composed of these."""
