"""Kickers in a split hand: what each plane, quad and trio carries away."""

from __future__ import annotations

import numpy as np

from ddz_agents.rules import scratch as at
from ddz_agents.rules.scratch import Scratch, price_of
from ddz_env.core.engine.compiling import inline_kernel, pure_kernel
from ddz_env.core.engine.legal import allowed
from ddz_env.core.engine.tables import SEGMENT_BASE, SEGMENT_LENGTH
from ddz_env.core.engine.words import JOKERS, U0, U1, U2, U3, U6, U15, body_mask, lowest, popcount, spread
from ddz_env.core.rules import R_TWO_JOKERS

NOT_POSSIBLE = 1 << 40
_BLACK = np.uint64(0x2000)


@pure_kernel
def _lowest_bits(mask: np.uint64, count: np.uint64) -> np.uint64:
    """The lowest ``count`` bits of a mask."""
    taken = U0
    while count > U0 and mask != U0:
        bit = mask & (~mask + U1)
        taken |= bit
        mask ^= bit
        count -= U1
    return taken


@pure_kernel
def _solo_riders(
    solos: np.uint64, pairs: np.uint64, slots: np.uint64, rules: np.ndarray
) -> tuple[np.uint64, np.uint64]:
    """Solo kickers for one body: the lowest solos, then halves of the lowest pairs.

    Returns:
        Mask of the solos and mask of the pairs to split; both zero if there are too few.
    """
    if rules[R_TWO_JOKERS] == U0 and (solos & JOKERS) == JOKERS:
        solos &= ~(JOKERS ^ _BLACK)
    riders = _lowest_bits(solos, slots)
    missing = slots - popcount(riders)
    if missing == U0:
        return riders, U0
    split = _lowest_bits(pairs & ~riders, missing)
    if popcount(split) < missing:
        return U0, U0
    return riders, split


@inline_kernel
def emit_move(scratch: Scratch, count: int, segment: int, rank: np.uint64, kickers: np.uint64) -> int:
    """Write a move of the answer; the number of moves written."""
    scratch.memory[at.MAINS + count] = SEGMENT_BASE[segment] + rank
    scratch.memory[at.KICKERS + count] = kickers
    return count + 1


@pure_kernel
def load_body(
    index: int, solos: np.uint64, pairs: np.uint64, rules: np.ndarray, scratch: Scratch
) -> tuple[np.uint64, np.uint64, int, np.uint64]:
    """Give one plane or quad the kickers that its mode asks for.

    Returns:
        The solos and pairs left, the price of the body, and the kickers as a hand.
    """
    word = scratch.memory[at.BODY + index]
    segment, rank, mode = word >> U6, (word >> U2) & U15, word & U3
    slots = scratch.memory[at.SLOTS + index]
    ranks = body_mask(rank, SEGMENT_LENGTH[segment])
    if mode == U0:
        return solos, pairs, price_of(scratch, np.int64(segment), rank), U0
    priced = np.int64(segment)
    if segment == np.uint64(at.BOMB):
        priced = at.QUAD_SOLOS  # no bomb any more
    impossible = np.int64(NOT_POSSIBLE)
    target = at.LOADED[np.int64(mode), np.int64(segment)]
    if target == 0 or not allowed(target, rules):  # a plane of six never takes kickers
        return solos, pairs, impossible, U0
    if mode == U2:
        riders = _lowest_bits(pairs & ~ranks, slots)
        if popcount(riders) < slots:
            return solos, pairs, impossible, U0
        return solos, pairs & ~riders, price_of(scratch, priced, rank), spread(riders, U2)
    riders, split = _solo_riders(solos & ~ranks, pairs & ~ranks, slots, rules)
    if riders | split == U0:
        return solos, pairs, impossible, U0
    # The other halves of split pairs become solos.
    return (solos & ~riders) | split, pairs & ~split, price_of(scratch, priced, rank), riders | split


@inline_kernel
def emit_body(index: int, kickers: np.uint64, scratch: Scratch, count: int) -> int:
    """Write one plane or quad with the kickers that it got; the number of moves written."""
    word = scratch.memory[at.BODY + index]
    segment, rank, mode = word >> U6, (word >> U2) & U15, word & U3
    return emit_move(scratch, count, at.LOADED[np.int64(mode), np.int64(segment)], rank, kickers)


@inline_kernel
def load_trio(
    rank: np.uint64, solos: np.uint64, pairs: np.uint64, rules: np.ndarray, scratch: Scratch
) -> tuple[np.uint64, np.uint64, np.uint64]:
    """Let a trio carry the dearer of the lowest solo and the lowest pair; nothing that is worth having."""
    other = ~(U1 << rank)
    solo_gain, pair_gain = np.int64(0), np.int64(0)
    solo, pair = solos & other, pairs & other
    solo &= ~solo + U1
    pair &= ~pair + U1
    if solo != U0 and allowed(at.TRIO_SOLO, rules):
        solo_gain = price_of(scratch, at.SOLO, lowest(solo))
    if pair != U0 and allowed(at.TRIO_PAIR, rules):
        pair_gain = price_of(scratch, at.PAIR, lowest(pair))
    if solo_gain > 0 and solo_gain >= pair_gain:
        return solos & ~solo, pairs, solo
    if pair_gain > 0:
        return solos, pairs & ~pair, spread(pair, U2)
    return solos, pairs, U0
