"""Error messages that explain why an action or move is illegal and list the legal ones."""

from __future__ import annotations

from collections.abc import Sequence

from ddz_env.core.actions import KICKER_BASE, PASS, action_name, format_actions
from ddz_env.core.cards import RANK_NAMES
from ddz_env.core.move_names import MAX_LISTED_MOVES, as_messages, kind_of_decision, legal_moves_by_name, move_name
from ddz_env.core.notation import Move
from ddz_env.core.view import AUCTION_STAGES, View
from ddz_env.support.errors import IllegalMoveError, Message

ILLEGAL_MOVE_TEXT = "{move} is not legal for seat {seat}: {why}"


def illegal_action_error(seat: int, action: int, legal: Sequence[int]) -> IllegalMoveError:
    """Make the error for an action id that is illegal for a seat, with a list of the legal actions."""
    problem = f"action {action} ({action_name(action)}) is not legal for seat {seat}"
    return IllegalMoveError(f"{problem}; legal are {format_actions(legal)}")


def explain_illegal_move(view: View, move: Move) -> Message:
    """Explain why a move is illegal for the seat to act, and list the legal moves.

    Args:
        view: What the seat knows.
        move: A move that is not legal.
    """
    asked, legal = kind_of_decision(view.history, view.stage, view.rules), as_messages(legal_moves_by_name(view))
    missing = [
        RANK_NAMES[rank]
        for rank, (needed, held) in enumerate(zip(move.cards.counts, view.hand.counts, strict=True))
        if needed > held
    ]
    if view.stage in AUCTION_STAGES or move.main >= KICKER_BASE:
        why = Message("the stage is {stage}", stage=Message(asked))
    elif missing:
        why = Message("the hand {hand} has not enough {ranks}", hand=view.hand, ranks=missing)
    elif move.main == PASS:
        why = Message("the leader of a trick cannot pass")
    elif target := view.target:
        why = Message("it does not beat {move}", move=target[1])
    else:
        why = Message("the {rules} rules do not allow it now", rules=Message(view.rules.name))
    more = " and {number} more" if len(legal) > MAX_LISTED_MOVES else ""
    words = {"move": Message(move_name(move, asked)), "moves": legal[:MAX_LISTED_MOVES]}
    values = {"seat": view.seat, "why": why, "number": len(legal) - MAX_LISTED_MOVES}
    return Message(f"{ILLEGAL_MOVE_TEXT}; legal are {{moves}}{more}", **words, **values)
