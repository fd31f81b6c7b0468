"""Moves in the words of their rules: where the landlord is robbed for, ``bid 1`` is a call and ``bid 2`` robs."""

from __future__ import annotations

from collections.abc import Sequence

from ddz_env.core.actions import BID_BASE, DOUBLE_BASE
from ddz_env.core.notation import CALLED, ROBBED, SHOWN, Move
from ddz_env.core.rules import Rules


def question(history: Sequence[tuple[int, Move]], stage: str, rules: Rules) -> str:
    """The question put to the seat to act: a stage of the game or, where the landlord is robbed, ``call`` or ``rob``.

    Args:
        history: ``(seat, move)`` so far.
        stage: The stage of the game.
        rules: The rules.
    """
    if stage != "bid" or rules.bidding != "robbing":
        return stage
    return "rob" if any(BID_BASE < move.main < DOUBLE_BASE for _, move in history) else "call"


def worded(move: Move, asked: str) -> str:
    """A move in the words of the :func:`question` that it answers.

    Notation knows four bids and two answers.  Where the landlord is called and robbed for, ``bid 1`` is a call and
    ``bid 2`` robs; where a hand may be shown, the first answer is not to doubling.
    """
    return {"call": CALLED, "rob": ROBBED, "show": SHOWN}.get(asked, {}).get(move.main, str(move))


def spoken(history: Sequence[tuple[int, Move]], number: int, rules: Rules) -> str:
    """A completed move in the words of its rules.

    Args:
        history: ``(seat, move)``, oldest first.
        number: Which of them.
        rules: The rules.

    Example:
        >>> spoken([(0, Move.parse("bid 1")), (1, Move.parse("no bid"))], 1, Rules.preset("robbing"))
        'no rob'
    """
    move, before = history[number][1], history[:number]
    stage = "bid" if BID_BASE <= move.main < DOUBLE_BASE else "play"
    if move.main >= DOUBLE_BASE:
        answered = any(earlier.main >= DOUBLE_BASE for _, earlier in before)
        stage = "show" if rules.showing and not answered else "double"
    return worded(move, question(before, stage, rules))
