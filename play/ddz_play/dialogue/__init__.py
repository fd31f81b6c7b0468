"""The game in text, for language models: a position to answer, and the answer as a move.

============  ===================================================================
``prompt``    what a seat knows, its legal moves with numbers, and the rules
``answer``    the form of an answer, and the move that it names
============  ===================================================================
"""

from ddz_play.dialogue.answer import answer_format, answered_move, read_move
from ddz_play.dialogue.prompt import numbered, position_text, rules_text

__all__ = ["answer_format", "answered_move", "numbered", "position_text", "read_move", "rules_text"]
