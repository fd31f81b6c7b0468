"""Drawing of full games that fit a view, uniformly or from a pool of weighted deals.

The compiled code checks nothing: :func:`ddz_agents.search_agent.check_view` says first whether any deal agrees with a
view.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_env import View
from ddz_env.core.engine import layout as at
from ddz_env.core.engine.random import advance, mix
from ddz_env.core.engine.words import U0
from ddz_env.core.engine.worlds import determinize, set_landlord_cards_aside
from ddz_env.playing.search_statistics import Belief
from ddz_env.support.checks import describe_array
from ddz_env.support.compiling import inline_kernel, kernel, part_kernel
from ddz_env.support.errors import InconsistentViewError, InvalidAgentOptionError, short_repr

Words = npt.NDArray[np.uint64]
Reals = npt.NDArray[np.float64]
_ELEVEN = np.uint64(11)
_UNIT = 2.0**-53


@kernel
def draw_game(view: np.ndarray, seat: int, rules: np.ndarray, state: np.uint64, row: np.ndarray) -> np.uint64:
    """Draw a game that is consistent with a view, uniformly over deals of cards."""
    return determinize(view, np.uint64(seat), rules, state, row)


class WorldPool(NamedTuple):
    """A pool of weighted determinizations of one view, or an empty pool that stands for uniform ones.

    Attributes:
        hands: The three hands and the undealt cards, shape ``[n, 4]``, uint64.
        cumulative: Running sums of the weights, the last 1, shape ``[n]``, float64.
    """

    hands: Words
    cumulative: Reals

    @classmethod
    def of(cls, hands: Words, weights: Reals | None = None) -> WorldPool:
        """Create a pool from the hands of determinizations and their weights, equal weights by default.

        Args:
            hands: The three hands and the undealt cards of each, as ``view.sample_worlds`` returns them, shape
                ``[n, 4]``, uint64.
            weights: How likely each is, in any unit, shape ``[n]``; None for equally likely ones.

        Raises:
            InvalidAgentOptionError: If there are no worlds, the shapes do not fit, or no weight is above zero.
        """
        count = len(hands)
        if not count or hands.dtype != np.uint64 or hands.shape != (count, 4):
            raise InvalidAgentOptionError(
                f"a pool needs at least one world: uint64 of shape [n, 4], not {describe_array(hands)}"
            )
        weights = np.ones(count) if weights is None else np.asarray(weights, np.float64)
        if weights.shape != (count,):
            raise InvalidAgentOptionError(f"a pool needs weights of shape [{count}], not {list(weights.shape)}")
        if not (weights >= 0).all() or not 0 < weights.sum() < np.inf:
            raise InvalidAgentOptionError(
                f"a pool's weights must be finite, 0 or more, and not all 0, not {short_repr(weights)}"
            )
        cumulative = np.cumsum(weights / weights.sum())
        cumulative[-1] = 1.0
        return cls(np.ascontiguousarray(hands), cumulative)


def uniform_pool() -> WorldPool:
    """Return an empty pool, from which :func:`draw_world` draws uniformly over deals of cards."""
    return WorldPool(np.empty((0, 4), np.uint64), np.empty(0, np.float64))


@part_kernel
def _find_entry(cumulative: np.ndarray, point: float) -> int:
    """Return the index of the first number in a cumulative distribution that exceeds a point, by bisection."""
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
    view: np.ndarray, seat: np.uint64, rules: np.ndarray, pool: WorldPool, state: np.uint64, row: np.ndarray
) -> np.uint64:
    """Write a full game that fits a view, drawn from a pool, or uniformly if the pool is empty.

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
    index = _find_entry(pool.cumulative, np.float64(mix(state) >> _ELEVEN) * _UNIT)
    for word in range(at.ROW_WORDS):
        row[word] = view[word]
    for other in range(3):
        row[at.HANDS + other] = pool.hands[index, other]
    row[at.HIDDEN] = pool.hands[index, 3]
    set_landlord_cards_aside(row, rules)
    row[at.RNG] = state
    row[at.SIZES] = U0
    return state


Worlds = Callable[[View, np.random.Generator], WorldPool]
"""How the worlds of a decision are drawn: a pool, empty for uniform ones."""


def check_pool(pool: object, view: View) -> WorldPool:
    """Return the result of a user's ``worlds`` function after checking that it is a pool for the view.

    Raises:
        InvalidAgentOptionError: If it is no pool.
        InconsistentViewError: If its worlds are not of this view: the seat's own hand, or the size of a hand, differs.
    """
    if not isinstance(pool, WorldPool):
        raise InvalidAgentOptionError(
            f"worlds must return a WorldPool (WorldPool.of makes one), not {short_repr(pool)}"
        )
    hands = pool.hands[:, : len(view.hand_sizes)]
    cards = np.unpackbits(np.ascontiguousarray(hands).view(np.uint8), axis=1)
    sizes = cards.reshape(*hands.shape, 64).sum(axis=2)
    if (hands[:, view.seat] != view.row[at.HANDS + view.seat]).any():
        raise InconsistentViewError(f"worlds must keep the hand of seat {view.seat}, {view.hand}")
    if (wrong := (sizes != view.hand_sizes).any(axis=1)).any():
        raise InconsistentViewError(
            f"worlds must keep the hand sizes {list(view.hand_sizes)}; world {wrong.argmax()} has "
            f"{sizes[wrong.argmax()].tolist()}"
        )
    return pool


def draw_pooled_hands(view: View, pool: WorldPool, count: int, rng: np.random.Generator) -> Words:
    """Draw hands from a pool, uniformly if the pool is empty, as :meth:`ddz_env.View.sample_worlds` does.

    Args:
        view: What the observer knows.
        pool: Weighted determinizations of the view.
        count: How many.
        rng: The only source of randomness.

    Returns:
        The three hands and the cards that none of them holds, shape ``[count, 4]``, uint64.
    """
    if not len(pool.cumulative):
        return view.sample_worlds(count, rng)
    drawn = np.searchsorted(pool.cumulative, rng.random(count), side="right")
    return pool.hands[np.minimum(drawn, len(pool.hands) - 1)]


@kernel
def _draw_all(
    view: np.ndarray, seat: np.uint64, rules: np.ndarray, pool: WorldPool, state: np.uint64, rows: np.ndarray
) -> None:
    for index in range(rows.shape[0]):
        state = draw_world(view, seat, rules, pool, state, rows[index])


def draw_games(view: View, pool: WorldPool, count: int, state: np.uint64) -> Words:
    """Draw full games that fit a view, from a pool or uniformly, shape ``[count, 32]``.

    Args:
        view: What the observer knows.
        pool: Determinizations to draw from; uniform ones if it is empty.
        count: How many.
        state: The generator's state.

    Returns:
        Shape ``[count, 32]``, uint64.
    """
    rows = np.empty((count, at.ROW_WORDS), np.uint64)
    _draw_all(view.row, np.uint64(view.seat), view.rule_words, pool, np.uint64(state), rows)
    return rows


def belief_of(view: View, pool: WorldPool) -> Belief:
    """Return the belief about hidden cards from a pool of worlds, or a uniform one if the pool is empty.

    Args:
        view: What the searcher knows.
        pool: Weighted determinizations of the view.
    """
    if not len(pool.cumulative):
        return Belief.uniform(view)
    return Belief.from_worlds(pool.hands, np.diff(pool.cumulative, prepend=0.0))
