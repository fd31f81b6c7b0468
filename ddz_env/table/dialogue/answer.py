"""The move that an answer of a language model names: the last one in its text, by number or in notation.

Any text may come: the time to read it grows with its length alone, and no sentence about it repeats more than a move's
length.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping

from ddz_env import Move, View
from ddz_env.core.spoken import question, worded
from ddz_env.core.state import refusal
from ddz_env.support.errors import IllegalMoveError, InvalidMoveError
from ddz_env.table.dialogue.prompt import numbered

_GROUP = r"(?:(?!1\d\d\b)(?:10|[2-9TJQKABR♠♥♦♣])+)"
_CARDS = rf"{_GROUP}(?:[ ,]+{_GROUP})*"
_PLUSES = 2
"""A move has one; a second is read to be refused.  Without a limit ``3+ 3+ ...`` takes the square of its length."""
_NAMED = re.compile(
    rf"""(?<![\w+.-])(?!A[ ][a-z])  # of its own, and not the article
    (?:(?P<word>(?i:no[ ](?:bid|call|rob|double|show)|bid[ ]\d+|pass|call|rob|double|show))
    |(?P<number>1\d\d)
    |(?P<cards>{_CARDS}(?:\s*\+\s*{_CARDS}){{0,{_PLUSES}}}))
    (?![\w+-])""",
    re.VERBOSE,
)
_LONGEST = 60
"""Characters of a move, with blanks or commas between its cards."""
_FEW = 12
"""Legal moves that a sentence names, as :func:`ddz_env.core.state.refusal` does."""


def answered_move(answer: str, view: View) -> Move:
    """The last move that an answer names.

    Args:
        answer: Any text.
        view: What the seat to act knows.

    Raises:
        InvalidMoveError: If it names none, or what it names is not a move; the message says what is legal.
        IllegalMoveError: If the move is not legal; the message says why, and what is.

    Example:
        >>> from ddz_env import State
        >>> view = State.from_hands(["3377", "5", "6"], check_sizes=False).view()
        >>> answered_move("Not 33. I lead the sevens: 77.", view), answered_move("number 101", view)
        (Move.parse('77'), Move.parse('3'))
    """
    wanted = question(view.history, view.stage, view.rules)
    legal = {worded(move, wanted): move for move in view.legal_moves()}
    if not legal:
        raise IllegalMoveError("the game is over" if view.stage == "over" else f"seat {view.seat} is not to act")
    last = deque(_NAMED.finditer(answer), maxlen=1)
    if not last:
        raise _unreadable("the answer names no move", legal)
    text = last[0][0]
    if last[0]["number"]:
        if found := numbered(view).get(int(text)):
            return found
        raise _unreadable(f"there is no number {text}", legal)
    if len(text) > _LONGEST:
        raise _unreadable(f"{len(text)} characters are too long for a move", legal)
    return _read(text.lower() if last[0]["word"] else text, legal, view)


def _read(text: str, legal: Mapping[str, Move], view: View) -> Move:
    """A legal move from its notation, or from its words under the rules."""
    if text in legal:  # which may have several readings, as 333444555666
        return legal[text]
    try:
        move = Move.parse(text, view.rules)
    except InvalidMoveError as error:
        raise _unreadable(str(error), legal) from error
    if move not in legal.values():
        raise IllegalMoveError(refusal(view, move))
    return move


def _unreadable(why: str, legal: Mapping[str, Move]) -> InvalidMoveError:
    more = f" and {len(legal) - _FEW} more" if len(legal) > _FEW else ""
    return InvalidMoveError(f"{why}; legal are {', '.join(list(legal)[:_FEW])}{more}")
