"""Readings of what the chains leave of a hand: planes with or without kickers, quads and trios broken or not."""

from __future__ import annotations

import numpy as np

from ddz_agents.rules import scratch as at
from ddz_agents.rules.loading import NOT_POSSIBLE, emit_body, emit_move, load_body, load_trio
from ddz_agents.rules.scratch import Scratch, is_plane, price_of
from ddz_env.core.engine.compiling import inline_kernel, pure_kernel
from ddz_env.core.engine.legal import allowed
from ddz_env.core.engine.tables import SEGMENT_LENGTH
from ddz_env.core.engine.words import JOKERS, PLANE, U0, U1, U2, U3, U4, U15, exactly, lowest, popcount

_ZERO = np.int64(0)
MAX_READINGS = 512
"""Readings of one chain set that are tried (five quads have more)."""
_MODES = 3
"""A plane takes no kickers, solos or pairs (modes 0, 1, 2)."""
_QUAD_MODES = 5
"""A quad is a bomb, takes two solos or two pairs, or falls into a trio and a solo or into two pairs (modes 0 to 4)."""


@inline_kernel
def _variants(planes: np.uint64, quads: np.uint64, trios: np.uint64, jokers: bool) -> int:
    """In how many ways the rest of a hand can be read: kickers of every body, quads and trios broken or not."""
    number = 1
    while planes > U0:
        number *= _MODES
        planes -= U1
    rest = quads
    while rest > U0:
        number *= _QUAD_MODES
        rest -= U1
    if jokers:
        number *= 2
    # A trio is worth breaking up only where other bodies carry its cards away.
    if trios >= U3 or (trios > U0 and number > 1):
        while trios > U0 and number <= MAX_READINGS // 2:
            number *= 2
            trios -= U1
    return number


@inline_kernel
def _sum_prices(scratch: Scratch, segment: int, ranks: np.uint64) -> int:
    total = np.int64(0)
    while ranks != U0:
        total += price_of(scratch, segment, lowest(ranks))
        ranks &= ranks - U1
    return total


@pure_kernel
def _emit_each(scratch: Scratch, count: int, segment: int, ranks: np.uint64) -> int:
    while ranks != U0:
        count = emit_move(scratch, count, segment, lowest(ranks), U0)
        ranks &= ranks - U1
    return count


@pure_kernel
def read_rest(
    hand: np.uint64, chains: int, variant: int, rules: np.ndarray, scratch: Scratch, emit: bool
) -> tuple[int, int]:
    """Price one reading of what the chains leave, planes' kickers included.

    Args:
        hand: The cards left.
        chains: How many chains stand in ``TAKEN``.
        variant: Which reading, below :func:`_variants`.
        rules: The rules array.
        scratch: Prices and memory.
        emit: Whether to write the moves into ``scratch.memory``.

    Returns:
        The price (chains other than planes are priced by the caller) and the number of moves written.
    """
    total = np.int64(0)
    count = _ZERO
    # Counts of three and four may lie anywhere in 3..2, pairs too; solos include the jokers.
    solos, pairs = exactly(hand, U1), exactly(hand, U2)
    trios, quads = exactly(hand, U3), exactly(hand, U4)
    code = variant
    bodies = 0
    for index in range(chains):
        segment = scratch.memory[at.TAKEN + index] >> U4
        rank = scratch.memory[at.TAKEN + index] & U15
        if not is_plane(segment):
            if emit:
                count = emit_move(scratch, count, np.int64(segment), rank, U0)
            continue
        mode = code % _MODES
        code //= _MODES
        scratch.memory[at.BODY + bodies] = (scratch.memory[at.TAKEN + index] << U2) | np.uint64(mode)
        scratch.memory[at.SLOTS + bodies] = SEGMENT_LENGTH[segment]
        bodies += 1
    trios_first, rest = trios, quads
    while rest != U0:
        rank = lowest(rest)
        bit = U1 << rank
        rest ^= bit
        mode = code % _QUAD_MODES
        code //= _QUAD_MODES
        if mode == 3:
            trios |= bit
            solos |= bit
        elif mode == 4:
            # Two pairs of a rank: one is played, the other may ride along.
            total += price_of(scratch, at.PAIR, rank)
            pairs |= bit
            if emit:
                count = emit_move(scratch, count, at.PAIR, rank, U0)
        else:
            scratch.memory[at.BODY + bodies] = (((np.uint64(at.BOMB) << U4) | rank) << U2) | np.uint64(mode)
            scratch.memory[at.SLOTS + bodies] = U2
            bodies += 1
    if (hand & JOKERS) == JOKERS and allowed(at.ROCKET, rules):
        if code % 2 == 0:
            solos &= ~JOKERS
            total += price_of(scratch, at.ROCKET, U0)
            if emit:
                count = emit_move(scratch, count, at.ROCKET, U0, U0)
        code //= 2
    while code > 0 and trios_first != U0:
        bit = U1 << lowest(trios_first)
        trios_first ^= bit
        if code % 2 == 1:
            trios ^= bit
            solos |= bit
            pairs |= bit
        code //= 2
    for index in range(bodies):
        solos, pairs, price, kickers = load_body(index, solos, pairs, rules, scratch)
        if price >= NOT_POSSIBLE:
            return price, 0
        total += price
        if emit:
            count = emit_body(index, kickers, scratch, count)
    while trios != U0:
        rank = lowest(trios)
        trios &= trios - U1
        solos, pairs, kickers = load_trio(rank, solos, pairs, rules, scratch)
        total += price_of(scratch, at.TRIO, rank)
        if emit:
            segment_id = at.TRIO
            if kickers != U0:
                segment_id = at.TRIO_PAIR if kickers > PLANE else at.TRIO_SOLO
            count = emit_move(scratch, count, segment_id, rank, kickers)
    total += _sum_prices(scratch, at.SOLO, solos) + _sum_prices(scratch, at.PAIR, pairs)
    if emit:
        count = _emit_each(scratch, count, at.PAIR, pairs)
        count = _emit_each(scratch, count, at.SOLO, solos)
    return total, count


@pure_kernel
def best_reading(hand: np.uint64, chains: int, rules: np.ndarray, scratch: Scratch) -> tuple[int, int, int]:
    """The cheapest reading of what the chains leave: its price, its number, and how many were tried."""
    planes = U0
    for index in range(chains):
        if is_plane(scratch.memory[at.TAKEN + index] >> U4):
            planes += U1
    jokers = (hand & JOKERS) == JOKERS and allowed(at.ROCKET, rules)
    number = _variants(planes, popcount(exactly(hand, U4)), popcount(exactly(hand, U3)), jokers)
    best, chosen = np.int64(NOT_POSSIBLE), _ZERO
    if number > MAX_READINGS:
        number = MAX_READINGS
    for variant in range(number):
        price, _ = read_rest(hand, chains, variant, rules, scratch, at.PRICE_ONLY)
        if price < best:
            best, chosen = price, variant
    return best, chosen, number
