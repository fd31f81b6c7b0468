"""Dealing: a row's first deal from a seed, and the deals after an auction in which everybody declined."""

from __future__ import annotations

import numpy as np

from ddz_env.engine.compiling import kernel
from ddz_env.engine.layout import (
    BIDS,
    BOTTOM,
    HANDS,
    HIDDEN,
    KNOWN,
    LANDLORD,
    NO_SEAT,
    OWNER,
    RNG,
    ROW_WORDS,
    SEAT,
    STAGE,
    STAGE_BID,
    STAGE_DOUBLE,
    STAGE_PLAY,
)
from ddz_env.engine.random import advance, below, mix
from ddz_env.engine.words import U0, U1, U3, U16, add, add_hand, count_of, popcount, remove, remove_hand, select
from ddz_env.rules import (
    BIDDING_FIXED,
    R_BIDDING,
    R_BOTTOM_SIZE,
    R_DECK,
    R_DOUBLING,
    R_HALF_DECK,
    R_HAND_SIZE,
    R_PLAYERS,
)

_U15 = np.uint64(15)
_U63 = np.uint64(63)


@kernel
def draw(pool: np.uint64, size: np.uint64, number: np.uint64, state: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Draw cards without replacement, uniformly over *cards* (not over distinct rank vectors).

    A pool word has one bit a card (a rank of which it holds ``n`` has ``n`` bits), so a uniform bit is a uniform
    card; taking a card of the rank drawn from the top keeps the planes filled from below.

    Args:
        pool: The cards to draw from.
        size: How many cards the pool holds.
        number: How many to draw.
        state: The generator's state.

    Returns:
        The hand drawn and the generator's new state.
    """
    hand = U0
    while number > U0:
        state = advance(state)
        bit = _nth_bit(pool, below(mix(state), size))
        rank = bit & _U15
        pool = remove(pool, U1 << rank, U1)
        hand = add(hand, U1 << rank, U1)
        size -= U1
        number -= U1
    return hand, state


@kernel
def _nth_bit(word: np.uint64, k: np.uint64) -> np.uint64:
    """Index of the ``k``-th set bit, by halves of 16 bits."""
    base = U0
    part = word & np.uint64(0xFFFF)
    here = popcount(part)
    while k >= here:
        k -= here
        base += U16
        part = (word >> base) & np.uint64(0xFFFF)
        here = popcount(part)
    low = part & np.uint64(0xFF)
    here = popcount(low)
    if k >= here:
        return base + np.uint64(8) + select(part >> np.uint64(8), k - here)
    return base + select(low, k)


@kernel
def _drop_half(hand: np.uint64, state: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Leave each card out with probability 0.5."""
    kept = U0
    rank = U0
    while rank < _U15:
        copies = count_of(hand, rank)
        state = advance(state)
        coins = mix(state) >> (_U63 - U3)
        kept = add(kept, U1 << rank, popcount(coins & ((U1 << copies) - U1)))
        rank += U1
    return kept, state


@kernel
def start_game(row: np.ndarray, rules: np.ndarray) -> None:
    """Clear everything but the hands, the bottom, the hidden cards and the generator, and begin.

    With a fixed landlord seat 0 gets the bottom; with bidding a uniformly drawn seat opens the auction.
    """
    for word in range(KNOWN, ROW_WORDS):
        if word != RNG:
            row[word] = U0
    if rules[R_BIDDING] == BIDDING_FIXED:
        row[LANDLORD] = U0
        row[HANDS] = add_hand(row[HANDS], row[BOTTOM])
        row[KNOWN] = row[BOTTOM]
        row[STAGE] = np.uint64(STAGE_DOUBLE) if rules[R_DOUBLING] == U1 else np.uint64(STAGE_PLAY)
    else:
        state = advance(row[RNG])
        row[RNG] = state
        opener = below(mix(state), rules[R_PLAYERS])
        row[SEAT] = opener
        row[OWNER] = opener
        row[LANDLORD] = np.uint64(NO_SEAT)
        row[BIDS] = opener << U16
        row[STAGE] = np.uint64(STAGE_BID)


@kernel
def deal_again(row: np.ndarray, rules: np.ndarray) -> None:
    """Deal from the row's own generator and begin."""
    done = False
    while not done:
        done = _deal_once(row, rules)
    start_game(row, rules)


@kernel
def _deal_once(row: np.ndarray, rules: np.ndarray) -> bool:
    """Deal the hands, the bottom and the hidden cards; false if the half-deck game asks for another deal."""
    state = row[RNG]
    pool = rules[R_DECK]
    size = popcount(pool)
    players = np.int64(rules[R_PLAYERS])
    half = rules[R_HALF_DECK] == U1
    row[HANDS + 2] = U0
    hidden_extra = U0
    seat = 0
    while seat <= players:  # the last draw is the bottom
        number = rules[R_HAND_SIZE] if seat < players else rules[R_BOTTOM_SIZE]
        if number == size:
            cards = pool
        else:
            cards, state = draw(pool, size, number, state)
        pool = remove_hand(pool, cards)
        size -= number
        if half:
            kept, state = _drop_half(cards, state)
            hidden_extra = add_hand(hidden_extra, remove_hand(cards, kept))
            cards = kept
        if seat < players:
            row[HANDS + seat] = cards
        else:
            row[BOTTOM] = cards
        seat += 1
    row[HIDDEN] = add_hand(pool, hidden_extra)
    row[RNG] = state
    if not half:
        return True
    enough = popcount(row[HANDS]) + popcount(row[BOTTOM]) > U3
    seat = 1
    while seat < players:
        enough = enough and row[HANDS + seat] != U0
        seat += 1
    return enough


@kernel
def new_game(row: np.ndarray, seed: np.uint64, rules: np.ndarray) -> None:
    """Deal a row from a 64-bit generator state and begin.

    Args:
        row: Output, shape ``[32]``, uint64.
        seed: The game's generator state (:func:`ddz_env.engine.random.key` makes one from a seed and a game number).
        rules: The rules array.
    """
    row[RNG] = seed
    deal_again(row, rules)
