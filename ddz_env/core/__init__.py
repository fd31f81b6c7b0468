"""The game and nothing else: cards, rules, action table, engine, state, view, observation; with numpy and numba."""
