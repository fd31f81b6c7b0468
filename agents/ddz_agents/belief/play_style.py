"""Play-style statistics of each seat, counted from its moves so far, as inputs of the belief network.

Everything is public, so the counts follow from the moves alone.  An answer to the partner's move is counted apart from
one to an enemy's: a peasant that never passes there plays badly, and a pass says less about the hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ddz_env import Move
from ddz_env.core.actions import BID_BASE
from ddz_env.core.engine.layout import LANDLORD, SEAT, STAGE, STAGE_PLAY
from ddz_env.core.engine.tables import MAIN_SEGMENT, SEG_BOMB, SEG_ROCKET, SEGMENT_CARDS
from ddz_env.support.compiling import kernel, pure_kernel

MOVE_STATISTICS = ("leads", "cards", "solos", "answers", "passes", "helps", "yields", "follows", "jumps", "bombs")
"""What is counted: leads, the cards and the solos among them; answers to an enemy's move, and passes among them; the
same where the move to beat was the partner's; moves of the kind that was led, and by how many ranks more than needed;
bombs and rockets."""
_LEADS, _CARDS, _SOLOS, _ANSWERS, _PASSES, _HELPS, _YIELDS, _FOLLOWS, _JUMPS, _BOMBS = range(len(MOVE_STATISTICS))

PLAY_STYLE_COLUMNS = 2 * len(MOVE_STATISTICS)
"""Columns that say how the next and the previous seat have played."""

T_TARGET, T_OWNER, T_PASSES = range(3)
"""Words of a trick: the main group to beat (0 on lead), whose it is, and passes since."""


@pure_kernel
def count_move(statistics: np.ndarray, trick: np.ndarray, seat: int, main: int, landlord: int) -> None:
    """Add one move to the play-style statistics of the seat that made it, in place.

    Args:
        statistics: Counts of the three seats, shape ``[3, len(MOVE_STATISTICS)]``, int32; changed.
        trick: Shape ``[3]``, int32; changed.
        seat: Who moved.
        main: The main group, 0 for a pass.
        landlord: The landlord's seat.
    """
    tally, target, owner = statistics[seat], np.int64(trick[T_TARGET]), np.int64(trick[T_OWNER])
    segment = np.int64(MAIN_SEGMENT[main])
    if target == 0:
        cards = np.int64(SEGMENT_CARDS[segment])
        tally[_LEADS] += 1
        tally[_CARDS] += cards
        tally[_SOLOS] += cards == 1
    elif seat != landlord and owner != landlord:
        tally[_HELPS] += 1
        tally[_YIELDS] += main == 0
    else:
        tally[_ANSWERS] += 1
        tally[_PASSES] += main == 0
    if target != 0 and main != 0 and segment == np.int64(MAIN_SEGMENT[target]):
        tally[_FOLLOWS] += 1
        tally[_JUMPS] += main - target - 1
    tally[_BOMBS] += segment in (SEG_BOMB, SEG_ROCKET)
    if main != 0:
        trick[T_TARGET], trick[T_OWNER], trick[T_PASSES] = main, seat, 0
    elif trick[T_PASSES] == 1:
        trick[T_TARGET], trick[T_PASSES] = 0, 0
    else:
        trick[T_PASSES] += 1


@kernel
def _count_history(moves: np.ndarray, landlord: int, statistics: np.ndarray) -> None:
    trick = np.zeros(3, np.int32)
    for index in range(moves.shape[0]):
        count_move(statistics, trick, moves[index, 0], moves[index, 1], landlord)


def count_move_statistics(history: Sequence[tuple[int, Move]], landlord: int) -> npt.NDArray[np.int32]:
    """Compute the play-style statistics of all three seats from the moves of one deal.

    Args:
        history: Every move of the deal with its seat; bids and answers to doubling are left out.
        landlord: The landlord's seat.

    Returns:
        Shape ``[3, len(MOVE_STATISTICS)]``, int32.
    """
    statistics = np.zeros((3, len(MOVE_STATISTICS)), np.int32)
    moves = [(seat, move.main) for seat, move in history if move.main < BID_BASE]
    _count_history(np.array(moves, np.int64).reshape(-1, 2), landlord, statistics)
    return statistics


@kernel
def count_actions(rows: np.ndarray, actions: np.ndarray, statistics: np.ndarray, tricks: np.ndarray) -> None:
    """Update the play-style statistics of many games, in place, with the moves that the given actions begin.

    Args:
        rows: The games before the actions, shape ``[n, 32]``, uint64.
        actions: Shape ``[n]``, int64.
        statistics: Shape ``[n, 3, len(MOVE_STATISTICS)]``, int32; changed.
        tricks: Shape ``[n, 3]``, int32; changed.
    """
    for game in range(actions.size):
        row = rows[game]
        if row[STAGE] == np.uint64(STAGE_PLAY):
            count_move(statistics[game], tricks[game], np.int64(row[SEAT]), actions[game], np.int64(row[LANDLORD]))


def play_style_features(
    statistics: npt.NDArray[np.int32], seats: npt.NDArray[np.integer[Any]]
) -> npt.NDArray[np.float32]:
    """Turn the play-style statistics of the next and the previous seat into network inputs (counts and ratios).

    Args:
        statistics: Shape ``[n, 3, len(MOVE_STATISTICS)]``, int32.
        seats: The observers, shape ``[n]``.

    Returns:
        Shape ``[n, PLAY_STYLE_COLUMNS]``, float32.
    """
    others = (seats.astype(np.int64)[:, None] + np.array([1, 2])) % 3
    counts = np.take_along_axis(statistics, others[:, :, None], axis=1).astype(np.float32)
    leads, cards, solos, answers, passes, helps, yields, follows, jumps, bombs = np.moveaxis(counts, 2, 0)
    columns = (
        leads / 10,
        cards / (1 + leads) / 5,
        solos / (1 + leads),
        answers / 10,
        passes / (1 + answers),
        helps / 10,
        yields / (1 + helps),
        follows / 10,
        jumps / (1 + follows) / 5,
        bombs / 2,
    )
    return np.stack(columns, axis=2).reshape(len(counts), PLAY_STYLE_COLUMNS)
