"""The game core: cards, rules, action table, engine, state, view and observation; needs NumPy and Numba only."""
