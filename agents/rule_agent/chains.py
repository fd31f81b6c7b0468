"""Chains that a hand holds: solo chains, pair chains and planes."""

from __future__ import annotations

import numpy as np

from agents.rule_agent.scratch import CHAIN, MAX_CHAINS, PAIR_CHAIN, PLANE_SOLOS, PLANES, SOLO_CHAIN
from ddz_env.engine.compiling import inline_kernel, pure_kernel
from ddz_env.engine.legal import allowed
from ddz_env.engine.tables import SEGMENT_COPIES, SEGMENT_LENGTH
from ddz_env.engine.words import CHAIN_PLANE, U0, U1, U2, U4, U15, U16, body_mask, lowest, remove, run, spread

_ZERO = np.int64(0)


@pure_kernel
def _list_chains_of(plane: np.uint64, first: int, stop: int, rules: np.ndarray, memory: np.ndarray, found: int) -> int:
    """Append the chains of one category, the longest first."""
    segment = stop - 1
    while segment >= first:
        if allowed(segment, rules):
            starts = run(plane, SEGMENT_LENGTH[segment])
            while starts != U0 and found < MAX_CHAINS:
                memory[CHAIN + found] = (np.uint64(segment) << U4) | lowest(starts)
                starts &= starts - U1
                found += 1
        segment -= 1
    return found


@pure_kernel
def list_chains(hand: np.uint64, rules: np.ndarray, memory: np.ndarray) -> int:
    """List every plane, pair chain and solo chain that the hand holds."""
    one = hand & CHAIN_PLANE
    if run(one, U2) == U0:
        return 0
    two = (hand >> U16) & CHAIN_PLANE
    three = (hand >> (U2 * U16)) & CHAIN_PLANE
    found = _ZERO
    if three != U0:
        found = _list_chains_of(three, PLANES, PLANE_SOLOS, rules, memory, found)
    if two != U0:
        found = _list_chains_of(two, PAIR_CHAIN, PLANES, rules, memory, found)
    return _list_chains_of(one, SOLO_CHAIN, PAIR_CHAIN, rules, memory, found)


@inline_kernel
def chain_cards(chain: np.uint64) -> np.uint64:
    """The cards of a chain."""
    segment = chain >> U4
    return spread(body_mask(chain & U15, SEGMENT_LENGTH[segment]), SEGMENT_COPIES[segment])


@inline_kernel
def take(hand: np.uint64, chain: np.uint64) -> np.uint64:
    """The hand without a chain."""
    segment = chain >> U4
    return remove(hand, body_mask(chain & U15, SEGMENT_LENGTH[segment]), SEGMENT_COPIES[segment])


@inline_kernel
def is_plane(segment: np.uint64) -> bool:
    """Whether a chain's segment is that of a plane."""
    return np.uint64(PLANES) <= segment < np.uint64(PLANE_SOLOS)
