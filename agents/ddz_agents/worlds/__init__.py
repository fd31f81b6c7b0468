"""Determinizations of a view: full games that fit it, weighted by how likely they make the moves played so far.

Read :mod:`~ddz_agents.worlds.determinize` (draw a game) first.  Hand inference then goes through
:mod:`~ddz_agents.worlds.history` (replay the deal in a world, and what a player model is),
:mod:`~ddz_agents.worlds.rules_player` and :mod:`~ddz_agents.worlds.learned_player` (how likely its moves were) and
:mod:`~ddz_agents.worlds.particles` (weights and annealing) to :mod:`~ddz_agents.worlds.inference`, which puts them
together.
"""
