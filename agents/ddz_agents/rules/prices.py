"""Prices of main groups, by how easily the unseen cards beat them."""

from __future__ import annotations

import numpy as np

from ddz_agents.rules import scratch as at
from ddz_agents.rules.mind import A_ENEMY_CARDS, A_POOL, Mind
from ddz_agents.rules.weights import (
    W_BASE_CHAIN,
    W_BASE_PAIR,
    W_BASE_SOLO,
    W_BASE_TRIO,
    W_BOMB,
    W_CONTROL,
    W_QUAD,
    W_ROCKET,
    W_SLOPE_CHAIN,
    W_SLOPE_PAIR,
    W_SLOPE_SOLO,
    W_SLOPE_TRIO,
    W_STEP_CHAIN,
    W_STEP_PAIR,
    W_STEP_PAIR_CHAIN,
    W_STEP_PLANE,
    W_STEP_TRIO,
)
from ddz_env.core.engine.compiling import inline_kernel, pure_kernel
from ddz_env.core.engine.tables import (
    MAIN_SEGMENT,
    ROCKET_ID,
    SEGMENT_BASE,
    SEGMENT_CARDS,
    SEGMENT_LENGTH,
    SEGMENT_SIZE,
)
from ddz_env.core.engine.words import CHAIN_PLANE, FOUR_PLANES, PLANE, U0, U1, U2, U3, U15, U16, popcount, run
from ddz_env.core.rules import R_BOMBS

LOSER, WINNER = 100, 1


@inline_kernel
def _put_price(mind: Mind, segment: int, rank: np.uint64, beaten: int, base: int, slope: int, w: np.ndarray) -> None:
    index = segment * at.PRICES + np.int64(rank)
    mind.beaten[index] = beaten
    price = base + slope * beaten // 100
    if beaten == 0:
        price += w[W_CONTROL]
    mind.value.price[index] = price
    mind.sure.price[index] = LOSER if beaten > 0 else WINNER


@pure_kernel
def _price_segment(mind: Mind, segment: int, ranks: np.uint64, step: int, base: int, slope: int, w: np.ndarray) -> None:
    """Price a segment of which the unseen cards could hold the groups with these lowest ranks."""
    if SEGMENT_CARDS[segment] > mind.about[A_ENEMY_CARDS]:
        ranks = U0
    rank = U0
    while rank < SEGMENT_SIZE[segment]:
        higher = np.int64(popcount(ranks >> (rank + U1)))
        _put_price(mind, segment, rank, min(np.int64(100), higher * step), base, slope, w)
        rank += U1


@pure_kernel
def _price_chains(mind: Mind, plane: np.uint64, first: int, stop: int, step: int, w: np.ndarray) -> None:
    for segment in range(first, stop):
        ranks = run(plane, SEGMENT_LENGTH[segment])
        _price_segment(mind, segment, ranks, step, w[W_BASE_CHAIN], w[W_SLOPE_CHAIN], w)


@pure_kernel
def set_prices(mind: Mind, w: np.ndarray) -> None:
    """Price every main group by how easily the unseen cards beat it."""
    pool = mind.about[A_POOL]
    unseen = max(popcount(pool), U1)
    two, three = (pool >> U16) & PLANE, (pool >> (U2 * U16)) & PLANE
    four = pool >> (U3 * U16)
    rank = U0
    while rank < U15:
        higher = popcount(pool & (FOUR_PLANES * (PLANE & ~((U2 << rank) - U1))))
        beaten = (np.int64(higher) * 100 + np.int64(unseen) - 1) // np.int64(unseen)
        _put_price(mind, at.SOLO, rank, beaten, w[W_BASE_SOLO], w[W_SLOPE_SOLO], w)
        rank += U1
    _price_segment(mind, at.PAIR, two, w[W_STEP_PAIR], w[W_BASE_PAIR], w[W_SLOPE_PAIR], w)
    _price_segment(mind, at.TRIO, three, w[W_STEP_TRIO], w[W_BASE_TRIO], w[W_SLOPE_TRIO], w)
    _price_chains(mind, pool & CHAIN_PLANE, at.SOLO_CHAIN, at.SOLO_CHAIN_END, w[W_STEP_CHAIN], w)
    _price_chains(mind, two & CHAIN_PLANE, at.PAIR_CHAIN, at.PAIR_CHAIN_END, w[W_STEP_PAIR_CHAIN], w)
    _price_chains(mind, three & CHAIN_PLANE, at.PLANES, at.PLANES_END, w[W_STEP_PLANE], w)
    _price_segment(mind, at.BOMB, four, 10, w[W_BOMB], 20, w)
    _price_segment(mind, at.QUAD_SOLOS, four, 10, w[W_QUAD], 20, w)
    _put_price(mind, at.ROCKET, U0, 0, w[W_ROCKET], 0, w)


@inline_kernel
def beatable(mind: Mind, main: np.uint64) -> int:
    """How easily a main group is beaten; groups with kickers count as their bodies."""
    segment = MAIN_SEGMENT[main]
    rank = main - SEGMENT_BASE[segment]
    return mind.beaten[body_segment(segment) * at.PRICES + np.int64(rank)]


@inline_kernel
def body_segment(segment: np.uint64) -> int:
    """The segment that prices a group with kickers."""
    return at.PRICED_AS[np.int64(segment)]


@inline_kernel
def is_bomb(main: np.uint64, rules: np.ndarray) -> bool:
    """Whether a main group is a bomb or the rocket."""
    return main == ROCKET_ID or (MAIN_SEGMENT[main] == at.BOMB and rules[R_BOMBS] == U1)
