"""Hand decomposition: the cheapest way to split a hand into moves.

Every way of taking chains, pair chains and planes out of the hand is tried depth first; what is left falls into
solos, pairs, trios and quads, of which solos and pairs ride along as kickers where they can.  The price of a move is
read from a table, so one search answers two questions: with a price of one a move it counts the *fewest tricks to
finish*, with prices that fall with a move's strength it values the hand.

Nothing here allocates: a :class:`Scratch` is made once and handed in.
"""

from __future__ import annotations

import numpy as np

from agents.rule_agent.chains import chain_cards, is_plane, list_chains, take
from agents.rule_agent.reading import best_reading, read_rest
from agents.rule_agent.scratch import BEST, CHAIN, COSTS, EMIT, HANDS_LEFT, PATH, TAKEN, Scratch, price_of
from ddz_env.engine.compiling import pure_kernel
from ddz_env.engine.words import U0, U1, U4, U15

_ZERO = np.int64(0)
MAX_DEPTH = 4
BUDGET = 2000
"""Readings tried a hand.  Longer chains come first, so that what is cut off hardly matters."""


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
    found = list_chains(hand, rules, memory)
    best, variant, readings = best_reading(hand, _ZERO, rules, scratch)
    best_depth = _ZERO
    best_hand = hand
    depth = _ZERO
    memory[HANDS_LEFT] = hand
    memory[COSTS] = U0
    memory[PATH] = U0
    while depth >= 0 and readings < BUDGET:
        index = np.int64(memory[PATH + depth])
        if index >= found:
            depth -= 1
            continue
        memory[PATH + depth] += U1
        candidate = memory[CHAIN + index]
        if chain_cards(candidate) & ~memory[HANDS_LEFT + depth] != U0:
            continue
        memory[TAKEN + depth] = candidate
        rest = take(memory[HANDS_LEFT + depth], candidate)
        cost = np.int64(memory[COSTS + depth])
        segment = candidate >> U4
        if not is_plane(segment):
            cost += price_of(scratch, np.int64(segment), candidate & U15)
        depth += 1
        price, reading, tried = best_reading(rest, depth, rules, scratch)
        readings += tried
        if cost + price < best:
            best, variant, best_depth, best_hand = cost + price, reading, depth, rest
            for taken in range(depth):
                memory[BEST + taken] = memory[TAKEN + taken]
        if depth == MAX_DEPTH:
            depth -= 1
        else:
            memory[HANDS_LEFT + depth] = rest
            memory[COSTS + depth] = np.uint64(cost)
            memory[PATH + depth] = np.uint64(index)  # the same chain may stand twice
    count = _ZERO
    if emit:
        for index in range(best_depth):
            memory[TAKEN + index] = memory[BEST + index]
        _, count = read_rest(best_hand, best_depth, variant, rules, scratch, EMIT)
    return best, count
