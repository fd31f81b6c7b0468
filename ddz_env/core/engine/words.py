"""Hands packed into 64-bit words of four bit planes, and the bit operations on them.

A hand is an unsigned 64-bit word of four 16-bit *planes*: bit ``r`` of plane ``j`` is set when the hand holds at
least ``j + 1`` cards of rank ``r``.  Thresholds (at least one, two, three, four of a rank), which every run
bitmask starts from, are then the planes themselves; the number of cards is a population count, ``a`` fits into
``b`` when ``a & ~b == 0``, and removing ``n`` cards of each rank of a mask is a shift by ``n`` planes.

Everything stays in ``uint64``: with a literal or a loop index Numba's arithmetic would become signed.
"""

from __future__ import annotations

import numpy as np

from ddz_env.support.compiling import inline_kernel

U0, U1, U2, U3, U4, U6, U8, U12, U15, U16 = map(np.uint64, (0, 1, 2, 3, 4, 6, 8, 12, 15, 16))
U24, U32, U48, U63 = map(np.uint64, (24, 32, 48, 63))
BYTE = np.uint64(0xFF)
PLANE = np.uint64(0x7FFF)
CHAIN_PLANE = np.uint64(0x0FFF)
JOKERS = np.uint64(0x6000)
FOUR_PLANES = np.uint64(0x0001000100010001)

_M1 = np.uint64(0x5555555555555555)
_M2 = np.uint64(0x3333333333333333)
_M4 = np.uint64(0x0F0F0F0F0F0F0F0F)
_H01 = np.uint64(0x0101010101010101)
_U56 = np.uint64(56)


@inline_kernel
def popcount(word: np.uint64) -> np.uint64:
    """Count the set bits of a word, in a single instruction where the processor has one."""
    word = word - ((word >> U1) & _M1)
    word = (word & _M2) + ((word >> U2) & _M2)
    return (((word + (word >> U4)) & _M4) * _H01) >> _U56


@inline_kernel
def lowest_bit(word: np.uint64) -> np.uint64:
    """Return the index of the lowest set bit of a word (64 for zero)."""
    return popcount(~word & (word - U1))


@inline_kernel
def select_bit(word: np.uint64, k: np.uint64) -> np.uint64:
    """Return the index of the ``k``-th lowest set bit of a word, where ``k`` counts from zero.

    The first four steps do not branch: how often the loop runs is drawn at random, so the processor guesses it wrongly.
    """
    word &= word - np.uint64(k > U0)
    word &= word - np.uint64(k > U1)
    word &= word - np.uint64(k > U2)
    word &= word - np.uint64(k > U3)
    while k > U4:
        word &= word - U1
        k -= U1
    return lowest_bit(word)


@inline_kernel
def count_of(hand: np.uint64, rank: np.uint64) -> np.uint64:
    """Return how many cards of a rank a hand holds (0..4)."""
    return popcount((hand >> rank) & FOUR_PLANES)


@inline_kernel
def body_mask(rank: np.uint64, length: np.uint64) -> np.uint64:
    """Return a mask of ``length`` consecutive ranks, starting at ``rank``."""
    return ((U1 << length) - U1) << rank


@inline_kernel
def cards_of_ranks(mask: np.uint64, copies: np.uint64) -> np.uint64:
    """Return the hand that holds ``copies`` cards (0..4) of every rank in a mask."""
    planes = (U1 << (U8 * copies) << (U8 * copies)) - U1  # two shifts: 64 at once is undefined
    return (mask * FOUR_PLANES) & planes


@inline_kernel
def remove_cards(hand: np.uint64, mask: np.uint64, copies: np.uint64) -> np.uint64:
    """Remove ``copies`` cards of every rank in a mask from a hand; no count falls below zero."""
    ranks = mask * FOUR_PLANES
    half = U8 * copies
    return (hand & ~ranks) | (((hand >> half) >> half) & ranks)


@inline_kernel
def add_cards(hand: np.uint64, mask: np.uint64, copies: np.uint64) -> np.uint64:
    """Add ``copies`` cards of every rank in a mask to a hand; no count rises above four."""
    ranks = mask * FOUR_PLANES
    half = U8 * copies
    planes = (U1 << half << half) - U1
    return (hand & ~ranks) | ((((hand << half) << half) | planes) & ranks)


@inline_kernel
def ranks_with_count(hand: np.uint64, copies: np.uint64) -> np.uint64:
    """Return a mask of the ranks of which a hand holds exactly ``copies`` cards (1..4)."""
    at_least = (hand >> (U16 * (copies - U1))) & PLANE
    more = ((hand >> (U8 * copies)) >> (U8 * copies)) & PLANE
    return at_least & ~more


@inline_kernel
def remove_hand(hand: np.uint64, cards: np.uint64) -> np.uint64:
    """Remove one hand's cards from another hand, rank by rank; no count falls below zero."""
    hand = remove_cards(hand, ranks_with_count(cards, U1), U1)
    if cards > PLANE:
        hand = remove_cards(hand, ranks_with_count(cards, U2), U2)
        hand = remove_cards(hand, ranks_with_count(cards, U3), U3)
        hand = remove_cards(hand, ranks_with_count(cards, U4), U4)
    return hand


@inline_kernel
def add_hand(hand: np.uint64, cards: np.uint64) -> np.uint64:
    """Add one hand's cards to another hand, rank by rank; no count rises above four."""
    hand = add_cards(hand, ranks_with_count(cards, U1), U1)
    if cards > PLANE:
        hand = add_cards(hand, ranks_with_count(cards, U2), U2)
        hand = add_cards(hand, ranks_with_count(cards, U3), U3)
        hand = add_cards(hand, ranks_with_count(cards, U4), U4)
    return hand


@inline_kernel
def run_starts(plane: np.uint64, length: np.uint64) -> np.uint64:
    """Return the mask of the positions at which a run of ``length`` consecutive set bits starts."""
    result = plane
    step = U1
    while step < length:
        result &= plane >> step
        step += U1
    return result
