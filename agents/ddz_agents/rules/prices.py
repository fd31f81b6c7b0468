"""Prices of main groups, by how easily the unseen cards beat them."""

from __future__ import annotations

import numpy as np

from ddz_agents.rules import scratch as at
from ddz_agents.rules import weights as of
from ddz_agents.rules.decomposition import LOSER, WINNER
from ddz_agents.rules.scratch import A_ENEMY_CARDS, A_POOL, RuleScratch
from ddz_env.core.engine import tables
from ddz_env.core.engine.compiling import inline_kernel, pure_kernel
from ddz_env.core.engine.words import CHAIN_PLANE, FOUR_PLANES, PLANE, U0, U1, U2, U3, U15, U16, popcount, run
from ddz_env.core.rules import R_BOMBS


@inline_kernel
def _put_price(
    mind: RuleScratch, segment: int, rank: np.uint64, beaten: int, base: int, slope: int, w: np.ndarray
) -> None:
    index = segment * at.PRICES + np.int64(rank)
    mind.beaten[index] = beaten
    price = base + slope * beaten // 100
    if beaten == 0:
        price += w[of.CONTROL]
    mind.value.price[index] = price
    mind.sure.price[index] = LOSER if beaten > 0 else WINNER


@pure_kernel
def _price_segment(
    mind: RuleScratch, segment: int, ranks: np.uint64, step: int, base: int, slope: int, w: np.ndarray
) -> None:
    """Price a segment of which the unseen cards could hold the groups with these lowest ranks."""
    if tables.SEGMENT_CARDS[segment] > mind.about[A_ENEMY_CARDS]:
        ranks = U0
    rank = U0
    while rank < tables.SEGMENT_SIZE[segment]:
        higher = np.int64(popcount(ranks >> (rank + U1)))
        _put_price(mind, segment, rank, min(np.int64(100), higher * step), base, slope, w)
        rank += U1


@pure_kernel
def _price_chains(mind: RuleScratch, plane: np.uint64, first: int, stop: int, step: int, w: np.ndarray) -> None:
    for segment in range(first, stop):
        ranks = run(plane, tables.SEGMENT_LENGTH[segment])
        _price_segment(mind, segment, ranks, step, w[of.BASE_CHAIN], w[of.SLOPE_CHAIN], w)


@pure_kernel
def set_prices(mind: RuleScratch, w: np.ndarray) -> None:
    """Price every main group by how easily the unseen cards beat it."""
    pool = mind.about[A_POOL]
    unseen = max(popcount(pool), U1)
    two, three = (pool >> U16) & PLANE, (pool >> (U2 * U16)) & PLANE
    four = pool >> (U3 * U16)
    rank = U0
    while rank < U15:
        higher = popcount(pool & (FOUR_PLANES * (PLANE & ~((U2 << rank) - U1))))
        beaten = (np.int64(higher) * 100 + np.int64(unseen) - 1) // np.int64(unseen)
        _put_price(mind, at.SOLO, rank, beaten, w[of.BASE_SOLO], w[of.SLOPE_SOLO], w)
        rank += U1
    _price_segment(mind, at.PAIR, two, w[of.STEP_PAIR], w[of.BASE_PAIR], w[of.SLOPE_PAIR], w)
    _price_segment(mind, at.TRIO, three, w[of.STEP_TRIO], w[of.BASE_TRIO], w[of.SLOPE_TRIO], w)
    _price_chains(mind, pool & CHAIN_PLANE, at.SOLO_CHAIN, at.SOLO_CHAIN_END, w[of.STEP_CHAIN], w)
    _price_chains(mind, two & CHAIN_PLANE, at.PAIR_CHAIN, at.PAIR_CHAIN_END, w[of.STEP_PAIR_CHAIN], w)
    _price_chains(mind, three & CHAIN_PLANE, at.PLANES, at.PLANES_END, w[of.STEP_PLANE], w)
    _price_segment(mind, at.BOMB, four, 10, w[of.BOMB], 20, w)
    _price_segment(mind, at.QUAD_SOLOS, four, 10, w[of.QUAD], 20, w)
    _put_price(mind, at.ROCKET, U0, 0, w[of.ROCKET], 0, w)


@inline_kernel
def place_of(main: np.uint64) -> int:
    """The place of a main group's price; groups with kickers count as their bodies."""
    segment = tables.MAIN_SEGMENT[main]
    return at.PRICED_AS[np.int64(segment)] * at.PRICES + np.int64(main - tables.SEGMENT_BASE[segment])


@inline_kernel
def beatable(mind: RuleScratch, main: np.uint64) -> int:
    """How easily a main group is beaten; groups with kickers count as their bodies."""
    return mind.beaten[place_of(main)]


@inline_kernel
def is_bomb(main: np.uint64, rules: np.ndarray) -> bool:
    """Whether a main group is a bomb or the rocket."""
    return main == tables.ROCKET_ID or (tables.MAIN_SEGMENT[main] == at.BOMB and rules[R_BOMBS] == U1)
