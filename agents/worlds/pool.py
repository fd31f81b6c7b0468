"""The worlds that a search plays in: uniform determinizations, or draws from a pool of weighted ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from agents.worlds.determinize import determinize
from ddz_env.engine.compiling import inline_kernel
from ddz_env.engine.layout import BOTTOM, HANDS, HIDDEN, LANDLORD, NO_SEAT, RNG, ROW_WORDS, SIZES
from ddz_env.engine.random import advance, mix
from ddz_env.engine.words import U0

_NO_SEAT = np.uint64(NO_SEAT)
_ELEVEN = np.uint64(11)
_UNIT = 2.0**-53


class Pool(NamedTuple):
    """Weighted determinizations of one view; empty for uniform ones.

    Attributes:
        hands: The three hands and the cards nobody holds, shape ``[n, 4]``, uint64.
        cumulative: Running sums of the weights, the last 1, shape ``[n]``, float64.
    """

    hands: npt.NDArray[np.uint64]
    cumulative: npt.NDArray[np.float64]


def uniform() -> Pool:
    """No pool: every world is drawn afresh, uniformly over deals of cards."""
    return Pool(np.empty((0, 4), np.uint64), np.empty(0, np.float64))


@inline_kernel
def _pick(cumulative: np.ndarray, point: float) -> int:
    """The first entry above a point of the unit interval."""
    low, high = 0, cumulative.size - 1
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] > point:
            high = middle
        else:
            low = middle + 1
    return low


@inline_kernel
def draw_world(
    view: np.ndarray, seat: np.uint64, rules: np.ndarray, pool: Pool, state: np.uint64, row: np.ndarray
) -> np.uint64:
    """Draw a full game that is consistent with a view.

    Args:
        view: The observer's row.
        seat: The observer.
        rules: The rules array.
        pool: Determinizations to draw from; uniform ones if it is empty.
        state: The generator's state.
        row: Output, shape ``[32]``.

    Returns:
        The generator's new state.
    """
    if pool.cumulative.size == 0:
        return determinize(view, seat, rules, state, row)
    state = advance(state)
    index = _pick(pool.cumulative, np.float64(mix(state) >> _ELEVEN) * _UNIT)
    for word in range(ROW_WORDS):
        row[word] = view[word]
    for other in range(3):
        row[HANDS + other] = pool.hands[index, other]
    row[BOTTOM if view[LANDLORD] == _NO_SEAT else HIDDEN] = pool.hands[index, 3]
    if view[LANDLORD] == _NO_SEAT:
        row[HIDDEN] = U0
    row[RNG] = state
    row[SIZES] = U0
    return state
