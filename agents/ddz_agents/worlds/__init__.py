"""The worlds that a searcher may be in: determinizations, weighted by how plausible the hidden seats' past moves are.

Read :mod:`~ddz_agents.worlds.determinize` (draw a game) and :mod:`~ddz_agents.worlds.consistency` (of what can it be
drawn) first.  Hand inference then goes through :mod:`~ddz_agents.worlds.story` (replay the deal in a world),
:mod:`~ddz_agents.worlds.player_model` (what a seat is believed to play), :mod:`~ddz_agents.worlds.rules_player` and
:mod:`~ddz_agents.worlds.learned_player` (how likely its moves were) and :mod:`~ddz_agents.worlds.particles` (weights
and annealing) to :mod:`~ddz_agents.worlds.inference`, which puts them together.
"""
