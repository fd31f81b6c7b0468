"""Exact solution of positions with open cards: which side wins, and by which line of play.

The techniques are those of a double-dummy solver for bridge (Chang 1996, "Building a fast double-dummy bridge solver"):
alpha-beta on win or lose with a goal (:mod:`~ddz_agents.open_cards.solver.search`,
:mod:`~ddz_agents.open_cards.solver.goals`), a hashed table with buckets and bounds, in which equivalent cards are one
(:mod:`~ddz_agents.open_cards.solver.memory`), and quick tricks, which are here quick wins
(:mod:`~ddz_agents.open_cards.solver.quick_wins`; threats are ours).
"""
