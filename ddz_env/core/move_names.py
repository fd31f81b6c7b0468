"""Names of moves under given rules: with robbing, for example, ``bid 1`` is a call and ``bid 2`` a rob."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from ddz_env.core.actions import BID_BASE, DOUBLE_BASE
from ddz_env.core.notation import CALL_NAMES, ROB_NAMES, SHOW_NAMES, Move
from ddz_env.core.rules import Rules
from ddz_env.support.errors import InvalidMoveError, Message, short_repr

_CHINESE_NAMES = {"不叫": ("no bid", "no call"), "叫地主": ("call",), "不抢": ("no rob",), "抢地主": ("rob",)}
_CHINESE_NAMES |= {"不加倍": ("no double",), "加倍": ("double",), "不明牌": ("no show",), "明牌": ("show",)}
_CHINESE_NAMES |= {f"叫{bid}分": (f"bid {bid}",) for bid in (1, 2, 3)}

MAX_LISTED_MOVES = 12
"""Legal moves that a refusal lists."""


class GameOrView(Protocol):
    """A position whose moves can be named: a :class:`~ddz_env.State` or a :class:`~ddz_env.View`."""

    @property
    def history(self) -> Sequence[tuple[int, Move]]:
        """The completed moves as ``(seat, move)`` pairs, oldest first."""

    @property
    def stage(self) -> str:
        """The current stage of the game, such as ``bid``, ``play`` or ``over``."""

    @property
    def rules(self) -> Rules:
        """The rules of the game."""

    def legal_moves(self) -> list[Move]:
        """Return the legal moves of the seat to act."""


def kind_of_decision(history: Sequence[tuple[int, Move]], stage: str, rules: Rules) -> str:
    """Return which decision the seat to act faces: the game stage or, under robbing rules, ``call`` or ``rob``.

    Args:
        history: ``(seat, move)`` so far.
        stage: The stage of the game.
        rules: The rules.
    """
    if stage != "bid" or rules.bidding != "robbing":
        return stage
    return "rob" if any(BID_BASE < move.main < DOUBLE_BASE for _, move in history) else "call"


def move_name(move: Move, asked: str) -> str:
    """Return a move's name, given which decision the move answers (see :func:`kind_of_decision`).

    Notation knows four bids and two answers.  Where the landlord is called and robbed for, ``bid 1`` is a call and
    ``bid 2`` robs; where a hand may be shown, the first answer is not to doubling.
    """
    return {"call": CALL_NAMES, "rob": ROB_NAMES, "show": SHOW_NAMES}.get(asked, {}).get(move.main, str(move))


def past_move_name(history: Sequence[tuple[int, Move]], number: int, rules: Rules) -> str:
    """Return the name of the move at an index of a game's history, under the game's rules.

    Args:
        history: ``(seat, move)``, oldest first.
        number: Which of them.
        rules: The rules.

    Example:
        >>> past_move_name([(0, Move.parse("bid 1")), (1, Move.parse("no bid"))], 1, Rules.preset("robbing"))
        'no rob'
    """
    move, before = history[number][1], history[:number]
    stage = "bid" if BID_BASE <= move.main < DOUBLE_BASE else "play"
    if move.main >= DOUBLE_BASE:
        answered = any(earlier.main >= DOUBLE_BASE for _, earlier in before)
        stage = "show" if rules.showing and not answered else "double"
    return move_name(move, kind_of_decision(before, stage, rules))


def legal_moves_by_name(position: GameOrView) -> dict[str, Move]:
    """Return the legal moves of a position, keyed by name."""
    asked = kind_of_decision(position.history, position.stage, position.rules)
    return {move_name(move, asked): move for move in position.legal_moves()}


def parse_move_name(text: str, position: GameOrView) -> Move:
    """Parse a typed move, given in text notation or by its English or Chinese name in a position.

    Notation alone would take *call* for a bid where there is nothing to call, and *show* for doubling.

    Args:
        text: What is typed.
        position: Where it is typed.

    Returns:
        The move, which need not be legal.

    Raises:
        InvalidMoveError: If it is no move, or answers another question than the position's.
    """
    asked = kind_of_decision(position.history, position.stage, position.rules)
    word = " ".join(text.lower().split())
    legal = legal_moves_by_name(position) if position.stage in ("bid", "show", "double") else {}
    if answer := next((legal[each] for each in (word, *_CHINESE_NAMES.get(word, ())) if each in legal), None):
        return answer
    move = Move.parse(text, position.rules)
    is_notation = word == str(move) and asked != "show" and move in legal.values()
    if move.main >= BID_BASE and asked != "over" and word != move_name(move, asked) and not is_notation:
        moves = as_messages(legal_moves_by_name(position))[:MAX_LISTED_MOVES]
        raise InvalidMoveError("{word} is not asked here: the answers are {moves}", word=short_repr(text), moves=moves)
    return move


def as_messages(words: Iterable[str]) -> list[Message]:
    """Wrap move names as :class:`Message` objects, so that they are translated with the surrounding text."""
    return [Message(word) for word in words]
