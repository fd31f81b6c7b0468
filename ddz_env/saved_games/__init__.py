"""Saved games: readable text files with a game's initial cards and moves."""

from ddz_env.saved_games.deal import Deal, SavedGameError
from ddz_env.saved_games.saved_game import PERSON, SavedGame

__all__ = ["PERSON", "Deal", "SavedGame", "SavedGameError"]
