"""Agents: their interface, their names and options, and the loop of a game between them."""

from ddz_env.playing.game import make_seat_generators, play_game

__all__ = ["make_seat_generators", "play_game"]
