"""Why an action or a move is refused, and what may be played instead."""

from __future__ import annotations

from collections.abc import Sequence

from ddz_env.core.actions import KICKER_BASE, PASS, action_name, listed_actions
from ddz_env.core.cards import RANK_NAMES
from ddz_env.core.move_names import MOST_LISTED, offered, question, said, worded
from ddz_env.core.notation import Move
from ddz_env.core.view import AUCTION, View
from ddz_env.support.errors import IllegalMoveError, Message

ILLEGAL = "{move} is not legal for seat {seat}: {why}"


def illegal_action(seat: int, action: int, legal: Sequence[int]) -> IllegalMoveError:
    """The error for an action id that is not legal for a seat, with those that are."""
    problem = f"action {action} ({action_name(action)}) is not legal for seat {seat}"
    return IllegalMoveError(f"{problem}; legal are {listed_actions(legal)}")


def refusal(view: View, move: Move) -> Message:
    """Why the seat to act may not play a move, and what it may play.

    Args:
        view: What the seat knows.
        move: A move that is not legal.
    """
    asked, legal = question(view.history, view.stage, view.rules), said(offered(view))
    missing = [
        RANK_NAMES[rank]
        for rank, (needed, held) in enumerate(zip(move.cards.counts, view.hand.counts, strict=True))
        if needed > held
    ]
    if view.stage in AUCTION or move.main >= KICKER_BASE:
        why = Message("the stage is {stage}", stage=Message(asked))
    elif missing:
        why = Message("the hand {hand} has not enough {ranks}", hand=view.hand, ranks=missing)
    elif move.main == PASS:
        why = Message("the leader of a trick cannot pass")
    elif target := view.target:
        why = Message("it does not beat {move}", move=target[1])
    else:
        why = Message("the {rules} rules do not allow it now", rules=Message(view.rules.name))
    more = " and {number} more" if len(legal) > MOST_LISTED else ""
    words = {"move": Message(worded(move, asked)), "moves": legal[:MOST_LISTED]}
    values = {"seat": view.seat, "why": why, "number": len(legal) - MOST_LISTED}
    return Message(f"{ILLEGAL}; legal are {{moves}}{more}", **words, **values)
