"""Games as readable files: the cards that a game starts from, and its moves."""

from ddz_env.saved_games.deal import Deal, SavedGameError
from ddz_env.saved_games.saved_game import PERSON, SavedGame

__all__ = ["PERSON", "Deal", "SavedGame", "SavedGameError"]
