"""The format of a language model's answer, and the parser that turns the answer into a move.

An answer is ``{"move": 101}``, or a number or a move alone in its last line.  Nothing else is read: to ask again costs
less than a move that nobody chose.
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

from ddz_env import Move, View
from ddz_env.core.move_names import MAX_LISTED_MOVES, legal_moves_by_name, parse_move_name
from ddz_env.core.refusals import explain_illegal_move
from ddz_env.support.errors import IllegalMoveError, InvalidMoveError, short_repr
from ddz_play.dialogue.prompt import numbered_moves

_MAX_MOVE_CHARACTERS = 60
"""Characters of a move, with blanks or commas between its cards."""
_REASONING_TAGS = "think|thinking|thought|reasoning"
_CLOSED_REASONING = re.compile(rf"(?is)\A.*</(?:{_REASONING_TAGS})>")
_OPEN_REASONING = re.compile(rf"(?i)<(?:{_REASONING_TAGS})>")
_FENCE = "```"
_DECORATION = " \t\r\n*`\"'.。"
"""What may stand around a move and says nothing."""


# --- the form ---


def answer_format(view: View) -> dict[str, Any]:
    """Return the ``response_format`` of a request: a JSON object whose ``move`` is one of the legal moves.

    Args:
        view: What the seat to act knows.

    Returns:
        A strict JSON schema with the numbers of :func:`numbered_moves`, and the notation of moves without a number.

    Example:
        >>> from ddz_env import State
        >>> view = State.from_hands(["34", "5", "6"], check_sizes=False).view()
        >>> answer_format(view)["json_schema"]["schema"]["properties"]
        {'move': {'type': 'integer', 'enum': [101, 102]}}
    """
    listed = numbered_moves(view)
    move: dict[str, Any] = {"type": "integer", "enum": list(listed)}
    if others := [word for word, move in legal_moves_by_name(view).items() if move not in set(listed.values())]:
        move = {"anyOf": [move, {"type": "string", "enum": others}]}
    schema = {"type": "object", "properties": {"move": move}, "required": ["move"], "additionalProperties": False}
    return {"type": "json_schema", "json_schema": {"name": "move", "strict": True, "schema": schema}}


# --- reading ---


def parse_answer(answer: str, view: View) -> Move:
    r"""Parse the move out of a language model's answer, which may contain reasoning and a code fence.

    Args:
        answer: Any text.
        view: What the seat to act knows.

    Raises:
        InvalidMoveError: If it names none; the message says what is legal.
        IllegalMoveError: If the move is not legal; the message says why, and what is.

    Example:
        >>> from ddz_env import State
        >>> view = State.from_hands(["3377", "5", "6"], check_sizes=False).view()
        >>> parse_answer('{"move": 101}', view), parse_answer("Not the threes, I lead the sevens.\n77", view)
        (Move.parse('3'), Move.parse('77'))
    """
    text = _CLOSED_REASONING.sub("", unicodedata.normalize("NFKC", answer)).strip()
    if _OPEN_REASONING.search(text):
        raise _make_error("the answer ends within its reasoning, before it names a move", view)
    if text.endswith(_FENCE):
        text = text.removesuffix(_FENCE).rpartition(_FENCE)[2].removeprefix("json").strip()
    last = text if text.startswith("{") else text.rpartition("\n")[2]
    if not last.startswith("{"):
        return read_move(last, view)
    try:
        fields = json.loads(last, object_pairs_hook=list)
    except (ValueError, RecursionError) as error:
        raise _make_error(f"the answer is not JSON: {short_repr(last)}", view) from error
    moves = [value for key, value in fields if key == "move"]
    if len(moves) != 1 or type(moves[0]) not in (int, str):
        raise _make_error(f'the answer must have the key "move" once, with a number or text: {short_repr(last)}', view)
    return _numbered_move(moves[0], view) if isinstance(moves[0], int) else read_move(moves[0], view)


def read_move(text: str, view: View) -> Move:
    """Return the legal move that a string names by its number or its notation.

    Args:
        text: Any text.
        view: What the seat to act knows.

    Raises:
        InvalidMoveError: If it is no move; the message says what is legal.
        IllegalMoveError: If the move is not legal; the message says why, and what is.
    """
    text, legal = text.strip(_DECORATION), legal_moves_by_name(view)
    if not legal:
        raise IllegalMoveError("the game is over" if view.stage == "over" else f"seat {view.seat} is not to act")
    if len(text) > _MAX_MOVE_CHARACTERS:
        raise _make_error(f"{short_repr(text)} is neither a number nor a move", view)
    if re.fullmatch(r"1[0-9]{2}", text):
        return _numbered_move(int(text), view)
    if text in legal:  # which may have several readings, as 333444555666
        return legal[text]
    try:
        move = parse_move_name(text, view)
    except InvalidMoveError as error:
        raise _make_error(str(error), view) from error
    if move not in legal.values():
        raise IllegalMoveError(explain_illegal_move(view, move))
    return move


def _numbered_move(number: int, view: View) -> Move:
    if move := numbered_moves(view).get(number):
        return move
    raise _make_error(f"no legal move has the number {short_repr(number)}", view)


def _make_error(why: str, view: View) -> InvalidMoveError:
    """Create the error for an answer that names no move, saying what is wrong and which moves are legal."""
    legal = list(legal_moves_by_name(view))
    more = f" and {len(legal) - MAX_LISTED_MOVES} more" if len(legal) > MAX_LISTED_MOVES else ""
    return InvalidMoveError(f"{why}; legal are {', '.join(legal[:MAX_LISTED_MOVES])}{more}")
