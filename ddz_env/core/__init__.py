"""The game itself, with numpy and numba alone: cards, rules, action table, engine, state, view, observation."""
