"""Prices of main groups, by how easily the unseen cards beat them.

A group has two prices: what it costs to get rid of it in hundredths of a trick, which falls with its strength, and a
*loser* (``LOSER``) or a *winner* (``WINNER``), whether it can be beaten or not.  Both are added up over the moves of a
split, so they travel as one number (:func:`priced_at`), and one addition adds both.

What every hand is made of, solos, pairs and trios, is priced when the unseen cards change, and with it the sums over
sets of ranks, so that a hand's solos are priced at once and not one by one.  Chains, planes and quads are rare: each is
priced where it is met.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ddz_agents.rules import scratch as at
from ddz_agents.rules import weights as of
from ddz_agents.rules.scratch import RuleScratch, Scratch
from ddz_env.core.actions import NUM_SEGMENTS, segments_of
from ddz_env.core.cards import NUM_CARDS
from ddz_env.core.engine import tables
from ddz_env.core.engine.compiling import inline_kernel, pure_kernel
from ddz_env.core.engine.words import CHAIN_PLANE, FOUR_PLANES, PLANE, U0, U1, U15, U16, count_of, popcount, run
from ddz_env.core.rules import R_BOMBS, R_SEGMENTS, R_TWO_JOKERS

LOSER, WINNER = 100, 1
"""Prices of moves that can be beaten and of others, where these are counted."""

FIXED = np.array([0, 10, 20], np.int64)
"""What stands behind the weights, so that every segment is priced alike."""
_NOTHING, _QUAD_STEP, _QUAD_SLOPE = range(len(of.WEIGHTS), len(of.WEIGHTS) + len(FIXED))
_TERMS = {
    "solo": (of.BASE_SOLO, of.SLOPE_SOLO, _NOTHING),
    "pair": (of.BASE_PAIR, of.SLOPE_PAIR, of.STEP_PAIR),
    "trio": (of.BASE_TRIO, of.SLOPE_TRIO, of.STEP_TRIO),
    "solo chain": (of.BASE_CHAIN, of.SLOPE_CHAIN, of.STEP_CHAIN),
    "pair chain": (of.BASE_CHAIN, of.SLOPE_CHAIN, of.STEP_PAIR_CHAIN),
    "plane": (of.BASE_CHAIN, of.SLOPE_CHAIN, of.STEP_PLANE),
    "bomb": (of.BOMB, _QUAD_SLOPE, _QUAD_STEP),
    "quad+2 solos": (of.QUAD, _QUAD_SLOPE, _QUAD_STEP),
    "rocket": (of.ROCKET, _NOTHING, _NOTHING),
}
"""Which weights price a category: its controls, what being beaten adds, and how much each higher group counts."""


def _terms() -> npt.NDArray[np.int64]:
    """``_TERMS`` by segment; nothing beats the others."""
    table = np.full((3, NUM_SEGMENTS), _NOTHING, np.int64)
    for category, terms in _TERMS.items():
        for segment in segments_of(category):
            table[:, segment] = terms
    return table


def _shares() -> npt.NDArray[np.uint8]:
    """How easily a solo is beaten, by the unseen cards and how many of them are higher: their share, rounded up."""
    unseen, higher = np.ogrid[: NUM_CARDS + 1, : NUM_CARDS + 1]
    return np.minimum(-(-100 * higher // np.maximum(unseen, 1)), 100).astype(np.uint8)


_BASE, _SLOPE, _STEP = _terms()
_SHARE = _shares()
_U5, _U10, _U31 = map(np.uint64, (5, 10, 31))
_HALF = np.int64(1 << 31)


@inline_kernel
def price_part(price: int) -> int:
    """Hundredths of a trick, of a price or of a sum of prices."""
    return ((price + _HALF) & ((_HALF << 1) - 1)) - _HALF


@inline_kernel
def sure_part(price: int) -> int:
    """One hundred for each group that can be beaten and one for any other, of a price or of a sum of prices."""
    return (price + _HALF) >> 32


@inline_kernel
def priced_at(segment: int, beaten: int, scratch: Scratch) -> int:
    """Both prices of a group without kickers that is beaten so easily, the second 32 bits higher."""
    price = scratch.prices[_BASE[segment]] + scratch.prices[_SLOPE[segment]] * beaten // 100
    if beaten > 0:
        return price + (LOSER << 32)
    return price + scratch.prices[of.CONTROL] + (WINNER << 32)


@inline_kernel
def groups_unseen(segment: int, scratch: Scratch) -> np.uint64:
    """The lowest ranks of the groups of a segment that one of the others could hold."""
    if tables.SEGMENT_CARDS[segment] > scratch.memory[at.MOST]:
        return U0
    plane = (scratch.memory[at.POOL] >> (U16 * (tables.SEGMENT_COPIES[segment] - U1))) & PLANE
    length = tables.SEGMENT_LENGTH[segment]
    return run(plane & CHAIN_PLANE, length) if length > U1 else plane


@inline_kernel
def beaten_among(segment: int, rank: np.uint64, groups: np.uint64, scratch: Scratch) -> int:
    """How easily a group is beaten where the others could hold these groups of its segment."""
    higher = np.int64(popcount(groups >> (rank + U1)))
    return min(np.int64(100), higher * scratch.prices[_STEP[segment]])


@pure_kernel
def _beaten(segment: int, rank: np.uint64, scratch: Scratch) -> int:
    """How easily a group without kickers is beaten, 0 (a control) to 100."""
    if segment == at.SOLO:
        pool = scratch.memory[at.POOL]
        higher = pool & ~(((U1 << (rank + U1)) - U1) * FOUR_PLANES)
        return np.int64(_SHARE[popcount(pool), popcount(higher)])
    if _STEP[segment] == _NOTHING:
        return np.int64(0)
    return beaten_among(segment, rank, groups_unseen(segment, scratch), scratch)


@inline_kernel
def beatable(mind: RuleScratch, main: np.uint64) -> int:
    """How easily a main group is beaten, 0 (a control) to 100; groups with kickers count as their bodies."""
    segment = tables.MAIN_SEGMENT[main]
    return _beaten(at.PRICED_AS[segment], main - tables.SEGMENT_BASE[segment], mind.scratch)


@inline_kernel
def price_of_group(segment: int, rank: np.uint64, scratch: Scratch) -> int:
    """Both prices of a main group without kickers."""
    return priced_at(segment, _beaten(segment, rank, scratch), scratch)


@inline_kernel
def price_of_main(main: np.uint64, mind: RuleScratch) -> int:
    """What it costs to get rid of a main group, in hundredths of a trick; groups with kickers cost what bodies do."""
    segment = tables.MAIN_SEGMENT[main]
    return price_part(price_of_group(at.PRICED_AS[segment], main - tables.SEGMENT_BASE[segment], mind.scratch))


@inline_kernel
def sum_of(ranks: np.uint64, sums: int, scratch: Scratch) -> int:
    """What solos, pairs or trios of some ranks cost together."""
    low, middle, high = np.int64(ranks & _U31), np.int64((ranks >> _U5) & _U31), np.int64(ranks >> _U10)
    return scratch.prices[sums + low] + scratch.prices[sums + 32 + middle] + scratch.prices[sums + 64 + high]


@inline_kernel
def _note(place: int, word: np.uint64, scratch: Scratch) -> bool:
    """Note what prices are for; whether it has changed."""
    changed = scratch.memory[place] != word
    scratch.memory[place] = word
    return changed


@inline_kernel
def _note_weights(w: np.ndarray, scratch: Scratch) -> bool:
    """Note the weights; whether they have changed."""
    changed = False
    for index in range(w.size):
        changed |= scratch.prices[at.WEIGHT + index] != w[index]
        scratch.prices[at.WEIGHT + index] = w[index]
    return changed


@inline_kernel
def _add_up(prices: np.ndarray, rank_prices: int, sums: int) -> None:
    """Write the sums over all subsets of each third of the ranks."""
    for third in range(3):
        for bit in range(5):
            price = prices[rank_prices + 5 * third + bit]
            first = sums + 32 * third
            for index in range(1 << bit):
                prices[first + (1 << bit) + index] = prices[first + index] + price


@pure_kernel
def set_prices(pool: np.uint64, most: np.uint64, rules: np.ndarray, w: np.ndarray, mind: RuleScratch) -> None:
    """Price every main group by how easily the unseen cards beat it, unless it is priced.

    Args:
        pool: The unseen cards, as a hand.
        most: The cards of the largest hand among those who hold them.
        rules: The rules array.
        w: The weights, shape ``[33]``, int64.
        mind: The memory; what it knows of hands is forgotten if anything has changed.
    """
    scratch = mind.scratch
    changed = _note(at.POOL, pool, scratch) | _note(at.MOST, most, scratch)
    changed |= _note(at.SEGMENTS, rules[R_SEGMENTS], scratch) | _note(at.TWO_JOKERS, rules[R_TWO_JOKERS], scratch)
    changed |= _note_weights(w, scratch)
    if not changed:
        return
    prices = scratch.prices
    scratch.memory[at.TIMES] += U1
    for index in range(FIXED.size):
        prices[at.WEIGHT + w.size + index] = FIXED[index]
    prices[at.ROCKET_PRICE] = priced_at(at.ROCKET, np.int64(0), scratch)
    shares = _SHARE[popcount(pool)]
    pairs, trios = groups_unseen(at.PAIR, scratch), groups_unseen(at.TRIO, scratch)
    higher, rank = U0, U15
    while rank > U0:
        rank -= U1
        prices[at.SOLO_PRICE + np.int64(rank)] = priced_at(at.SOLO, np.int64(shares[higher]), scratch)
        prices[at.PAIR_PRICE + np.int64(rank)] = priced_at(at.PAIR, beaten_among(at.PAIR, rank, pairs, scratch), scratch)
        prices[at.TRIO_PRICE + np.int64(rank)] = priced_at(at.TRIO, beaten_among(at.TRIO, rank, trios, scratch), scratch)
        higher += count_of(pool, rank)
    _add_up(prices, at.SOLO_PRICE, at.SOLO_SUMS)
    _add_up(prices, at.PAIR_PRICE, at.PAIR_SUMS)
    _add_up(prices, at.TRIO_PRICE, at.TRIO_SUMS)


@inline_kernel
def is_bomb(main: np.uint64, rules: np.ndarray) -> bool:
    """Whether a main group is a bomb or the rocket."""
    return main == tables.ROCKET_ID or (tables.MAIN_SEGMENT[main] == at.BOMB and rules[R_BOMBS] == U1)
