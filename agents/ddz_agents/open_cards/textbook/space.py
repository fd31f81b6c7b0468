"""Where a depth-limited search works: its line of play, its stack of moves, its table and its counters."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_agents.rules.position import Appraiser, new_appraiser
from ddz_env.core.engine.layout import ROW_WORDS
from ddz_env.core.engine.tables import MASK_WORDS

MAX_PLIES = 128
"""Positions on one line of play; deeper ones are evaluated."""
STACK = 1 << 14
"""Legal moves on one line of play, all its positions together; further ones are not searched."""
QUIET_PLIES = 12
"""Plies by which quiescence goes beyond the depth, at most."""
QUIET_REPLIES = 2
"""Replies that quiescence looks at, besides pass and the bombs."""
NOTHING, BOMBS, WHOLE_TRICK = np.int64(0), np.int64(1), np.int64(2)
"""What quiescence searches on: nothing, open tricks that somebody can bomb, or every open trick."""
SINGULAR_DEPTH = 3
"""Depth from which a search looks for singular moves."""

SURE = 1000
"""Evaluations, in hundredths, lie between this and its negative; a finished game has one of the two."""

NODES, LIMIT, STOPPED = 0, 1, 2
DEPTH, CURSOR, STOP, PLACE, DEEPER, SHALLOW, SLOT = range(7)
ALPHA, BETA, LOW, HIGH, BEST, SECOND = range(6)
FRESH, LOWER, UPPER, EXACT = np.int64(0), np.int64(1), np.int64(2), np.int64(3)


class Settings(NamedTuple):
    """How to search, for the kernels.

    Attributes:
        pruning: Alpha-beta; without it plain minimax.
        quiescence: What to search on at the depth limit: ``NOTHING``, ``BOMBS`` or ``WHOLE_TRICK``.
        singular: By how much, in values, a move must be better than all others to be searched a ply deeper; 0 never.
        table: Use the transposition table.
        whole: Search every legal move, with every set of kickers, instead of the candidates.
    """

    pruning: np.bool_
    quiescence: np.int64
    singular: np.float64
    table: np.bool_
    whole: np.bool_


class Space(NamedTuple):
    """Memory of one search.

    Attributes:
        rows: The games on the line, shape ``[plies, 32]``, uint64.
        mask: Legal actions, shape ``[MASK_WORDS]``, uint64.
        mains: A stack of moves, main groups, shape ``[moves]``, uint64.
        kickers: Their kickers as hands, shape ``[moves]``, uint64.
        scores: How promising they are, shape ``[moves]``, int64.
        top: Where on the stack each position's moves begin, shape ``[plies]``, int64.
        plan: Of each position on the line, by the indexes ``DEPTH`` (plies left) to ``SLOT`` (of the table): which
            moves have been tried, which was best, and whether they are tried two plies shallower at first; shape
            ``[plies, 7]``, int64.
        bounds: Of each position, by the indexes ``ALPHA`` to ``SECOND``: its window when it was opened and now, its
            best value and the second best for the seat to move, shape ``[plies, 6]``, float64.
        codes: Of each position, its key in the table, shape ``[plies, 2]``, uint64.
        keys: The table's keys, shape ``[size, 2]``, uint64.
        best: The best move of each entry, main group and kickers, shape ``[size, 2]``, uint64.
        depths: Depth of each entry times four, plus which bound its value is, shape ``[size]``, int64.
        values: Values of the entries, shape ``[size]``, float64.
        counters: Positions visited, how many may be, and whether there were more, shape ``[3]``, int64.
        rules: The rules array.
        appraiser: Prices of hands.
        weights: What the features of a position count, shape ``[12]``, float64.
        scale: The value of every evaluation from ``-SURE`` to ``SURE``, rising; shape ``[2 * SURE + 1]``, float64.
    """

    rows: npt.NDArray[np.uint64]
    mask: npt.NDArray[np.uint64]
    mains: npt.NDArray[np.uint64]
    kickers: npt.NDArray[np.uint64]
    scores: npt.NDArray[np.int64]
    top: npt.NDArray[np.int64]
    plan: npt.NDArray[np.int64]
    bounds: npt.NDArray[np.float64]
    codes: npt.NDArray[np.uint64]
    keys: npt.NDArray[np.uint64]
    best: npt.NDArray[np.uint64]
    depths: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]
    counters: npt.NDArray[np.int64]
    rules: npt.NDArray[np.uint64]
    appraiser: Appraiser
    weights: npt.NDArray[np.float64]
    scale: npt.NDArray[np.float64]


def probabilities() -> npt.NDArray[np.float64]:
    """The scale of win rates: the logistic function of the evaluation, 0 and 1 for a finished game."""
    scale = 1.0 / (1.0 + np.exp(-np.arange(-SURE, SURE + 1) / 100.0))
    scale[0], scale[-1] = 0.0, 1.0
    return scale


def log_odds() -> npt.NDArray[np.float64]:
    """The evaluation itself, from -1 to 1."""
    return np.arange(-SURE, SURE + 1) / float(SURE)


def new_space(
    rules: npt.NDArray[np.uint64],
    weights: npt.NDArray[np.float64],
    scale: npt.NDArray[np.float64],
    table_bits: int = 16,
) -> Space:
    """Memory for one thread.

    Args:
        rules: The rules array.
        weights: What the features of a position count (``POSITION``).
        scale: The value of every evaluation (:func:`probabilities`).
        table_bits: The transposition table has ``2 ** table_bits`` entries of 48 bytes.
    """
    size = 1 << table_bits
    mains, kickers = np.zeros((2, STACK), np.uint64)
    keys, best = np.zeros((2, size, 2), np.uint64)
    return Space(
        rows=np.zeros((MAX_PLIES, ROW_WORDS), np.uint64),
        mask=np.zeros(MASK_WORDS, np.uint64),
        mains=mains,
        kickers=kickers,
        scores=np.zeros(STACK, np.int64),
        top=np.zeros(MAX_PLIES + 1, np.int64),
        plan=np.zeros((MAX_PLIES, 7), np.int64),
        bounds=np.zeros((MAX_PLIES, 6)),
        codes=np.zeros((MAX_PLIES, 2), np.uint64),
        keys=keys,
        best=best,
        depths=np.zeros(size, np.int64),
        values=np.zeros(size),
        counters=np.array([0, 1 << 40, 0]),
        rules=rules,
        appraiser=new_appraiser(),
        weights=weights,
        scale=scale,
    )
