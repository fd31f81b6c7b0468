"""The game in text, for language models: a position to answer, and the answer as a move.

============  ===================================================================
``prompt``    what a seat knows, its legal moves with numbers, and the rules
``answer``    the move that an answer names, or a sentence that says what is wrong
============  ===================================================================
"""

from ddz_env.table.dialogue.answer import answered_move
from ddz_env.table.dialogue.prompt import numbered, position_text, rules_text

__all__ = ["answered_move", "numbered", "position_text", "rules_text"]
