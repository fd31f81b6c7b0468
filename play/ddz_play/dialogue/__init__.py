"""The game as text for language models: positions to answer, and answers parsed into moves.

============  ===================================================================
``prompt``    what a seat knows, its legal moves with numbers, and the rules
``answer``    the form of an answer, and the move that it names
============  ===================================================================
"""

from ddz_play.dialogue.answer import answer_format, parse_answer, read_move
from ddz_play.dialogue.prompt import numbered_moves, position_text, rules_text

__all__ = ["answer_format", "numbered_moves", "parse_answer", "position_text", "read_move", "rules_text"]
