"""Games as readable files, which hold a game's initial cards and its moves."""

from ddz_env.saved_games.deal import Deal, SavedGameError
from ddz_env.saved_games.saved_game import PERSON, SavedGame

__all__ = ["PERSON", "Deal", "SavedGame", "SavedGameError"]
