"""The worlds that a searcher may be in: determinizations, weighted by how plausible the hidden seats' past moves are.

Read :mod:`~agents.worlds.determinize` (draw a game) and :mod:`~agents.worlds.consistency` (of what can it be drawn)
first.  Hand inference then goes through :mod:`~agents.worlds.story` (replay the deal in a world),
:mod:`~agents.worlds.player_model` (what a seat is believed to play), :mod:`~agents.worlds.likelihood`,
:mod:`~agents.worlds.rules_player` and :mod:`~agents.worlds.learned_player` (how likely its moves were),
:mod:`~agents.worlds.particles` (weights and annealing) to :mod:`~agents.worlds.inference`, which puts them together.
"""
