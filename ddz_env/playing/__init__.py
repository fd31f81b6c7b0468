"""What plays: agents, their names and options, and one game between them."""

from ddz_env.playing.game import play_game, seat_generators

__all__ = ["play_game", "seat_generators"]
