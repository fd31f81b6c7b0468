"""Agents: their interface, names and options, and the loop of a game between them."""

from ddz_env.playing.game import play_game, seat_generators

__all__ = ["play_game", "seat_generators"]
