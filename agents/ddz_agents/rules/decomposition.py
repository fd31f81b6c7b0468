"""Hand decomposition: the cheapest way to split a hand into moves.

Every way of taking chains, pair chains and planes out of the hand is tried depth first; what is left falls into
solos, pairs, trios and quads, of which solos and pairs ride along as kickers where they can.  The price of a move is
read from a table, so one search answers two questions: with a price of one a move it counts the *fewest tricks to
finish*, with prices that fall with a move's strength it values the hand.

Nothing here allocates: a :class:`Scratch` is made once and handed in.
"""

from __future__ import annotations

import numpy as np

from ddz_agents.rules import scratch as at
from ddz_agents.rules.reading import best_reading, read_rest
from ddz_agents.rules.scratch import Scratch, is_plane, price_of
from ddz_env.core.engine.compiling import inline_kernel, pure_kernel
from ddz_env.core.engine.legal import allowed
from ddz_env.core.engine.tables import SEGMENT_COPIES, SEGMENT_LENGTH
from ddz_env.core.engine.words import CHAIN_PLANE, U0, U1, U2, U4, U15, U16, body_mask, lowest, remove, run, spread

_ZERO = np.int64(0)
MAX_DEPTH = 4
BUDGET = 2000
"""Readings tried a hand.  Longer chains come first, so that what is cut off hardly matters."""


@pure_kernel
def _list_chains_of(plane: np.uint64, first: int, stop: int, rules: np.ndarray, memory: np.ndarray, found: int) -> int:
    """Append the chains of one category, the longest first."""
    segment = stop - 1
    while segment >= first:
        if allowed(segment, rules):
            starts = run(plane, SEGMENT_LENGTH[segment])
            while starts != U0 and found < at.MAX_CHAINS:
                memory[at.CHAIN + found] = (np.uint64(segment) << U4) | lowest(starts)
                starts &= starts - U1
                found += 1
        segment -= 1
    return found


@pure_kernel
def _list_chains(hand: np.uint64, rules: np.ndarray, memory: np.ndarray) -> int:
    """List every plane, pair chain and solo chain that the hand holds."""
    one = hand & CHAIN_PLANE
    if run(one, U2) == U0:
        return 0
    two = (hand >> U16) & CHAIN_PLANE
    three = (hand >> (U2 * U16)) & CHAIN_PLANE
    found = _ZERO
    if three != U0:
        found = _list_chains_of(three, at.PLANES, at.PLANES_END, rules, memory, found)
    if two != U0:
        found = _list_chains_of(two, at.PAIR_CHAIN, at.PAIR_CHAIN_END, rules, memory, found)
    return _list_chains_of(one, at.SOLO_CHAIN, at.SOLO_CHAIN_END, rules, memory, found)


@inline_kernel
def _chain_cards(chain: np.uint64) -> np.uint64:
    """The cards of a chain."""
    segment = chain >> U4
    return spread(body_mask(chain & U15, SEGMENT_LENGTH[segment]), SEGMENT_COPIES[segment])


@inline_kernel
def _take(hand: np.uint64, chain: np.uint64) -> np.uint64:
    """The hand without a chain."""
    segment = chain >> U4
    return remove(hand, body_mask(chain & U15, SEGMENT_LENGTH[segment]), SEGMENT_COPIES[segment])


@pure_kernel
def decompose(hand: np.uint64, rules: np.ndarray, scratch: Scratch, emit: bool) -> tuple[int, int]:
    """Split a hand into the cheapest set of moves.

    Args:
        hand: The hand.
        rules: The rules array.
        scratch: Prices and memory.
        emit: Whether to write the moves into ``scratch.memory``.

    Returns:
        The price of the split and the number of moves written (0 unless ``emit``).
    """
    memory = scratch.memory
    found = _list_chains(hand, rules, memory)
    best, variant, readings = best_reading(hand, _ZERO, rules, scratch)
    best_depth = _ZERO
    best_hand = hand
    depth = _ZERO
    memory[at.HANDS_LEFT] = hand
    memory[at.COSTS] = U0
    memory[at.PATH] = U0
    while depth >= 0 and readings < BUDGET:
        index = np.int64(memory[at.PATH + depth])
        if index >= found:
            depth -= 1
            continue
        memory[at.PATH + depth] += U1
        candidate = memory[at.CHAIN + index]
        if _chain_cards(candidate) & ~memory[at.HANDS_LEFT + depth] != U0:
            continue
        memory[at.TAKEN + depth] = candidate
        rest = _take(memory[at.HANDS_LEFT + depth], candidate)
        cost = np.int64(memory[at.COSTS + depth])
        segment = candidate >> U4
        if not is_plane(segment):
            cost += price_of(scratch, np.int64(segment), candidate & U15)
        depth += 1
        price, reading, tried = best_reading(rest, depth, rules, scratch)
        readings += tried
        if cost + price < best:
            best, variant, best_depth, best_hand = cost + price, reading, depth, rest
            for taken in range(depth):
                memory[at.BEST + taken] = memory[at.TAKEN + taken]
        if depth == MAX_DEPTH:
            depth -= 1
        else:
            memory[at.HANDS_LEFT + depth] = rest
            memory[at.COSTS + depth] = np.uint64(cost)
            memory[at.PATH + depth] = np.uint64(index)  # the same chain may stand twice
    count = _ZERO
    if emit:
        for index in range(best_depth):
            memory[at.TAKEN + index] = memory[at.BEST + index]
        _, count = read_rest(best_hand, best_depth, variant, rules, scratch, at.EMIT)
    return best, count
