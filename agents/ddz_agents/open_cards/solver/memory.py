"""What a search is told and what it remembers: its techniques, its stacks and its tables."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_agents.open_cards.solver.moves import Moves

MAX_PLIES = 192
"""Nodes on one line of play: at most 54 plays, each with at most two passes, forced ones not counted."""
ANY_WIN = np.int64(64)

# Words of the control array.
NODES, PLY, STATUS, VALUE, HITS, LIMIT, BEST = range(7)
CONTROL_WORDS = 16
FRESH, RUNNING, DONE, NO_ROOM = 0, 1, 2, 3

# Words of a frame.
F_SEAT, F_PASSES, F_FIRST, F_NEXT, F_END, F_START, F_BOMBS, F_PLAYS = range(8)
FRAME_WORDS = 8
C_CODE, C_BUCKET, C_NAME = range(3)

TRUMPS = 64
"""The line of the threats that belongs to bombs and the rocket."""


class Technique(NamedTuple):
    """What the search does; :class:`ddz_agents.open_cards.solver.options.SolverOptions` says what each switch means.

    Attributes:
        table: Look positions up in the transposition table.
        tighten: Raise a target to the highest that lets the same replies through.
        quick_wins: Whether a leader that provably runs out has won.
        threats: Drop moves that an opponent answers by a quick win.
        ranks: Look positions up with the ranks taken out that nobody holds.
        order: Try moves in the order of the fewest moves that their rest needs.
        goal: What the landlord shall reach: ``ANY_WIN`` just to win; else a stake, see :func:`reached`.
        spring: Whether spring doubles the stake.
        landlord: The landlord's seat.
        move_points: Order: points that a move fewer to play is worth.
        card_points: Points that each card played is worth.
        rank_points: Points that each rank higher costs.
        pass_points: Points for a pass.
    """

    table: np.bool_
    tighten: np.bool_
    quick_wins: np.bool_
    threats: np.bool_
    ranks: np.bool_
    order: np.bool_
    goal: np.int64
    spring: np.bool_
    landlord: np.int64
    move_points: np.int64
    card_points: np.int64
    rank_points: np.int64
    pass_points: np.int64


class Search(NamedTuple):
    """The memory of a search.

    Attributes:
        control: Counters and state, shape ``[CONTROL_WORDS]``, int64.
        hands: Hands of the three seats, a line a node, shape ``[MAX_PLIES, 3]``, uint64.
        frames: Shape ``[MAX_PLIES, FRAME_WORDS]``, int64.
        codes: Target code and hashes, shape ``[MAX_PLIES, 3]``, uint64.
        moves: The stack of moves.
        table: The transposition table.
        turns: The table of :mod:`ddz_agents.open_cards.solver.turns`.
        threats: Of the node that is scored, a line a segment and one for bombs: the node that the line was worked out
            for, and the highest rank of a refuting reply, shape ``[TRUMPS + 1, 2]``, int64.
    """

    control: npt.NDArray[np.int64]
    hands: npt.NDArray[np.uint64]
    frames: npt.NDArray[np.int64]
    codes: npt.NDArray[np.uint64]
    moves: Moves
    table: npt.NDArray[np.uint64]
    turns: npt.NDArray[np.uint64]
    threats: npt.NDArray[np.int64]
