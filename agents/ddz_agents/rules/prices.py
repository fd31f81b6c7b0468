"""Estimated costs of main groups: a group that is harder to beat with the unseen cards costs less to play.

A group has two prices: what it costs to get rid of it in hundredths of a trick, which falls with its strength, and a
*loser* (``LOSER``) or a *winner* (``WINNER``), whether it can be beaten or not.  Both are added up over the moves of a
split, so they travel as one number (:func:`unpack_price`, :func:`unpack_losers`), and one addition adds both.

What the number of higher groups among the unseen cards makes of a price is a table of the weights.  Solos, pairs and
trios, of which every hand is made, are priced when the unseen cards change; solos and pairs by sets of ranks, so that
those of a hand are priced at once and not one by one.  Chains, planes and quads are rare: each is priced where it is
met.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ddz_agents.rules import weights as of
from ddz_agents.rules import workspace as at
from ddz_agents.rules.workspace import HandWorkspace, RuleWorkspace
from ddz_env.core.actions import NUM_SEGMENTS, segments_of
from ddz_env.core.cards import NUM_CARDS
from ddz_env.core.engine import tables, words
from ddz_env.core.engine.words import U0, U1, U2, U3, U4, U8, U12, U15, U16
from ddz_env.core.rules import R_BOMBS, R_SEGMENTS, R_TWO_JOKERS
from ddz_env.support.compiling import inline_kernel, part_kernel, pure_kernel

LOSER, WINNER = 100, 1
"""Prices of moves that can be beaten and of others, where these are counted."""

_ALWAYS, _PAIR, _TRIO, _CHAIN, _PAIR_CHAIN, _PLANE, _BOMB, _QUAD = map(np.int64, range(0, 128, 16))
"""Rows of the tables by the number of higher groups; nothing beats what is in the first."""
_QUAD_SLOPE, _QUAD_STEP = 20, 10


def _price_rows() -> npt.NDArray[np.int64]:
    """Build a table that maps each category and chain length to its position in the cost tables."""
    table = np.full(NUM_SEGMENTS, _ALWAYS, np.int64)
    rows = {"pair": _PAIR, "trio": _TRIO, "solo chain": _CHAIN, "pair chain": _PAIR_CHAIN, "plane": _PLANE}
    for category, row in (rows | {"bomb": _BOMB, "quad+2 solos": _QUAD}).items():
        table[segments_of(category)] = row
    return table


def _solo_beaten_percent() -> npt.NDArray[np.uint8]:
    """Build a table of the percentage of unseen cards that beat a solo, by the numbers of unseen and higher cards."""
    unseen, higher = np.ogrid[: NUM_CARDS + 1, : NUM_CARDS + 1]
    return np.minimum(-(-100 * higher // np.maximum(unseen, 1)), 100).astype(np.uint8)


_ROW, _SHARE = _price_rows(), _solo_beaten_percent()
_HALF = np.int64(1 << 31)


# --- Both prices as one number ----------------------------------------------------------------------------------------


@inline_kernel
def unpack_price(price: int) -> int:
    """Return the cost, in hundredths of a trick, from a packed cost or a sum of packed costs."""
    return ((price + _HALF) & ((_HALF << 1) - 1)) - _HALF


@inline_kernel
def unpack_losers(price: int) -> int:
    """Return the loser count in a packed cost: ``LOSER`` per beatable group and ``WINNER`` per other group."""
    return (price + _HALF) >> 32


@inline_kernel
def _pack_price(base: int, slope: int, beaten: int, control: int) -> int:
    """Pack a group's cost and loser count into one number, given how easily (0 to 100) it is beaten."""
    price = base + slope * beaten // 100
    return price + (LOSER << 32) if beaten > 0 else price + control + (WINNER << 32)


# --- What the weights say ---------------------------------------------------------------------------------------------


@pure_kernel
def _set_row(prices: np.ndarray, row: int, base: int, slope: int, step: int, control: int) -> None:
    """Write the beating percentages and costs of one kind of group, for 0 to 15 higher groups in other hands."""
    for higher in range(16):
        beaten = min(np.int64(100), higher * step)
        prices[at.BEATEN + row + higher] = beaten
        prices[at.BY_HIGHER + row + higher] = _pack_price(base, slope, beaten, control)


@part_kernel
def _set_weights(prices: np.ndarray, w: np.ndarray) -> bool:
    """Write the costs that depend only on the weights, and return whether the weights have changed."""
    changed = False
    for index in range(w.size):
        changed |= prices[at.WEIGHT + index] != w[index]
        prices[at.WEIGHT + index] = w[index]
    if not changed:
        return False
    control, chain, slope = w[of.CONTROL], w[of.BASE_CHAIN], w[of.SLOPE_CHAIN]
    _set_row(prices, _PAIR, w[of.BASE_PAIR], w[of.SLOPE_PAIR], w[of.STEP_PAIR], control)
    _set_row(prices, _TRIO, w[of.BASE_TRIO], w[of.SLOPE_TRIO], w[of.STEP_TRIO], control)
    _set_row(prices, _CHAIN, chain, slope, w[of.STEP_CHAIN], control)
    _set_row(prices, _PAIR_CHAIN, chain, slope, w[of.STEP_PAIR_CHAIN], control)
    _set_row(prices, _PLANE, chain, slope, w[of.STEP_PLANE], control)
    _set_row(prices, _BOMB, w[of.BOMB], np.int64(_QUAD_SLOPE), np.int64(_QUAD_STEP), control)
    _set_row(prices, _QUAD, w[of.QUAD], np.int64(_QUAD_SLOPE), np.int64(_QUAD_STEP), control)
    prices[at.ROCKET_PRICE] = _pack_price(w[of.ROCKET], np.int64(0), np.int64(0), control)
    dearest = np.int64(0)
    for beaten in range(101):
        price = _pack_price(w[of.BASE_SOLO], w[of.SLOPE_SOLO], beaten, control)
        prices[at.BY_SHARE + beaten] = price
        dearest = max(dearest, unpack_price(price))
    for higher in range(16):
        dearest = max(dearest, unpack_price(prices[at.BY_HIGHER + _PAIR + higher]))
    prices[at.DEAREST] = dearest
    return True


# --- Chains, planes and quads -----------------------------------------------------------------------------------------


@inline_kernel
def find_unseen_groups(segment: int, scratch: HandWorkspace) -> np.uint64:
    """Return, as bits, the lowest ranks of the groups of one category and length that unseen cards can form."""
    if tables.SEGMENT_CARDS[segment] > scratch.memory[at.MOST]:
        return U0
    plane = (scratch.memory[at.POOL] >> (U16 * (tables.SEGMENT_COPIES[segment] - U1))) & words.PLANE
    length = tables.SEGMENT_LENGTH[segment]
    return words.run_starts(plane & words.CHAIN_PLANE, length) if length > U1 else plane


@inline_kernel
def price_among_groups(segment: int, rank: np.uint64, groups: np.uint64, scratch: HandWorkspace) -> int:
    """Return the packed cost and loser count of a pair, trio or longer group, given the groups others may hold."""
    return scratch.prices[at.BY_HIGHER + _ROW[segment] + np.int64(words.popcount(groups >> (rank + U1)))]


@part_kernel
def price_of_quad(segment: int, rank: np.uint64, scratch: HandWorkspace) -> int:
    """Return the packed cost and loser count of a bomb or a quad with kickers, against the unseen cards."""
    bare = at.PRICE_SEGMENT[segment]
    return price_among_groups(bare, rank, find_unseen_groups(bare, scratch), scratch)


# --- Solos, pairs and trios -------------------------------------------------------------------------------------------


@inline_kernel
def sum_prices(ranks: np.uint64, kind: int, scratch: HandWorkspace) -> int:
    """Return the total cost of the solos (``SOLOS``) or the pairs (``PAIRS``) of the given ranks."""
    prices, first = scratch.prices, at.SUMS + kind
    low, second = np.int64(ranks & U15) << 3, np.int64((ranks >> U4) & U15) << 3
    third, high = np.int64((ranks >> U8) & U15) << 3, np.int64(ranks >> U12) << 3
    return prices[first + low] + prices[first + second + 1] + prices[first + third + 2] + prices[first + high + 3]


@inline_kernel
def price_of_rank(rank: np.uint64, kind: int, scratch: HandWorkspace) -> int:
    """Return the packed cost and loser count of the solo (``SOLOS``) or the pair (``PAIRS``) of a rank."""
    return scratch.prices[_index_of_rank(rank) + kind]


@inline_kernel
def _index_of_rank(rank: np.uint64) -> int:
    """Return the index of a single rank's entry in the tables of cost sums."""
    return at.SUMS + (8 << np.int64(rank & U3)) + np.int64(rank >> U2)


@inline_kernel
def _store_if_changed(index: int, word: np.uint64, scratch: HandWorkspace) -> bool:
    """Store a word from which move costs are computed, and return whether it has changed."""
    changed = scratch.memory[index] != word
    scratch.memory[index] = word
    return changed


@pure_kernel
def set_prices(pool: np.uint64, most: np.uint64, rules: np.ndarray, w: np.ndarray, workspace: RuleWorkspace) -> None:
    """Compute the costs of all main groups against the unseen cards, unless the memory holds them already.

    Args:
        pool: The unseen cards, as a hand.
        most: The cards of the largest hand among those who hold them.
        rules: The rules array.
        w: The weights, shape ``[33]``, int64.
        workspace: The memory; what it knows of hands is forgotten if anything has changed.
    """
    scratch = workspace.scratch
    prices = scratch.prices
    changed = _store_if_changed(at.POOL, pool, scratch) | _store_if_changed(at.MOST, most, scratch)
    changed |= _store_if_changed(at.ALLOWED, rules[R_SEGMENTS], scratch)
    changed |= _store_if_changed(at.TWO_JOKERS, rules[R_TWO_JOKERS], scratch)
    changed |= _set_weights(prices, w)
    if not changed:
        return
    scratch.memory[at.TIMES] += U1
    shares = _SHARE[words.popcount(pool)]
    pairs, trios = find_unseen_groups(at.PAIR, scratch), find_unseen_groups(at.TRIO, scratch)
    higher, rank = U0, U15
    while rank > U0:
        rank -= U1
        index = _index_of_rank(rank)
        prices[index + at.SOLOS] = prices[at.BY_SHARE + np.int64(shares[higher])]
        prices[index + at.PAIRS] = price_among_groups(at.PAIR, rank, pairs, scratch)
        prices[at.TRIO_PRICE + np.int64(rank)] = price_among_groups(at.TRIO, rank, trios, scratch)
        higher += words.count_of(pool, rank)
    for subset in range(3, 16):
        first, rest = at.SUMS + 8 * (subset & -subset), at.SUMS + 8 * (subset & (subset - 1))
        if rest > at.SUMS:
            for lane in range(8):
                prices[at.SUMS + 8 * subset + lane] = prices[first + lane] + prices[rest + lane]


# --- What the rule agent asks -----------------------------------------------------------------------------------------


@pure_kernel
def _beaten_and_price(main: np.uint64, scratch: HandWorkspace) -> tuple[int, int]:
    """Return how easily (0 to 100) a main group is beaten, and its packed costs, ignoring kickers."""
    segment, rank = tables.MAIN_SEGMENT[main], main - tables.SEGMENT_BASE[tables.MAIN_SEGMENT[main]]
    bare, prices = at.PRICE_SEGMENT[segment], scratch.prices
    if bare == at.SOLO:
        pool = scratch.memory[at.POOL]
        higher = pool & ~(((U2 << rank) - U1) * words.FOUR_PLANES)
        return np.int64(_SHARE[words.popcount(pool), words.popcount(higher)]), price_of_rank(rank, at.SOLOS, scratch)
    if _ROW[bare] == _ALWAYS:
        return np.int64(0), prices[at.ROCKET_PRICE]
    index = _ROW[bare] + np.int64(words.popcount(find_unseen_groups(bare, scratch) >> (rank + U1)))
    return prices[at.BEATEN + index], prices[at.BY_HIGHER + index]


@inline_kernel
def percent_beaten(workspace: RuleWorkspace, main: np.uint64) -> int:
    """Return how easily a main group is beaten, from 0 (never) to 100, ignoring kickers."""
    return _beaten_and_price(main, workspace.scratch)[0]


@inline_kernel
def price_of_main(main: np.uint64, workspace: RuleWorkspace) -> int:
    """Return what a main group of a decomposed hand costs to play, in hundredths of a trick, ignoring kickers."""
    return unpack_price(_beaten_and_price(main, workspace.scratch)[1])


@inline_kernel
def is_bomb(main: np.uint64, rules: np.ndarray) -> bool:
    """Return whether a main group is a bomb or the rocket."""
    return main == tables.ROCKET_ID or (tables.MAIN_SEGMENT[main] == at.BOMB and rules[R_BOMBS] == U1)
