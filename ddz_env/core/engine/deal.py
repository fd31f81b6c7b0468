"""Dealing from a shuffled deck or the last game's cards, and dealing again when every seat declines to bid.

Where the deck is not shuffled, the cards of the last game lie in a pile in the order in which they were played.  The
pile is cut, and dealt in packets.  No pile is built: the cut says which place the first card has in the cut pile, and
from a card's place follows who gets it.
"""

from __future__ import annotations

import numpy as np

from ddz_env.core import rules as variant
from ddz_env.core.engine import layout as at
from ddz_env.core.engine import words
from ddz_env.core.engine.random import advance, mix, scale_below
from ddz_env.core.engine.score import set_bid
from ddz_env.core.engine.words import BYTE, FOUR_PLANES, PLANE, U0, U1, U2, U3, U6, U8, U15, U16, U24, U32, U48, U63
from ddz_env.support.compiling import inline_kernel, part_kernel, pure_kernel

_FIELD = np.uint64(0xFFFF)
_DOUBLING, _SHOWING = np.uint64(variant.DOUBLING_BIT), np.uint64(variant.SHOWING_BIT)
PACKET = U6
"""Cards that a seat gets at once where the deck is not shuffled: 6, 6 and 5 make a hand of 17."""
_HANDS_IN_PROGRESS = at.KNOWN
"""Four words that gather the cards dealt to each seat, and the landlord cards; before a game nothing else uses them."""


@inline_kernel
def _cards_of_rank(number: np.uint64, rank: np.uint64) -> np.uint64:
    """Return the 64-bit hand word that holds ``number`` cards of ``rank`` and nothing else."""
    half = U8 * number
    return (FOUR_PLANES & ((U1 << half << half) - U1)) << rank


@inline_kernel
def distribute_cards(
    pool: np.uint64, slots: np.uint64, state: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64, np.uint64]:
    """Deal a pool of cards to up to four receivers at random, with all assignments of cards equally likely.

    Card by card, each goes to a receiver with probability proportional to the places it has left; that makes every
    assignment of cards to places equally likely (hypergeometric over ranks, not uniform over rank vectors).

    Args:
        pool: The cards.
        slots: Sixteen bits per receiver: how many cards it gets; together as many as the pool has.
        state: The generator's state.

    Returns:
        The four hands and the generator's new state.
    """
    hand0, hand1, hand2, hand3 = U0, U0, U0, U0
    size = words.popcount(pool)
    limit0 = slots & _FIELD
    limit1 = limit0 + ((slots >> U16) & _FIELD)
    limit2 = limit1 + ((slots >> U32) & _FIELD)
    ranks = pool & PLANE
    while ranks != U0:
        rank = words.lowest_bit(ranks)
        ranks &= ranks - U1
        copies = words.count_of(pool, rank)
        shares = U0
        while copies > U0:
            state = advance(state)
            slot = scale_below(mix(state), size)
            past0 = U1 if slot >= limit0 else U0
            past1 = U1 if slot >= limit1 else U0
            past2 = U1 if slot >= limit2 else U0
            shares += U1 << (U8 * (past0 + past1 + past2))
            limit0 -= U1 - past0
            limit1 -= U1 - past1
            limit2 -= U1 - past2
            size -= U1
            copies -= U1
        hand0 |= _cards_of_rank(shares & BYTE, rank)
        hand1 |= _cards_of_rank((shares >> U8) & BYTE, rank)
        hand2 |= _cards_of_rank((shares >> U16) & BYTE, rank)
        hand3 |= _cards_of_rank(shares >> U24, rank)
    return hand0, hand1, hand2, hand3, state


@pure_kernel
def _drop_half_of_hand(hand: np.uint64, state: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Drop each card of a hand with probability 0.5, as the half-deck rules require."""
    kept = U0
    rank = U0
    while rank < U15:
        copies = words.count_of(hand, rank)
        state = advance(state)
        coins = mix(state) >> (U63 - U3)
        kept = words.add_cards(kept, U1 << rank, words.popcount(coins & ((U1 << copies) - U1)))
        rank += U1
    return kept, state


@part_kernel
def stage_with_landlord(rules: np.ndarray) -> int:
    """Return the stage that follows the auction under the rules: showing, doubling or card play."""
    return at.STAGE_SHOW if rules[variant.R_DOUBLING] & _SHOWING != U0 else stage_after_showing(rules)


@part_kernel
def stage_after_showing(rules: np.ndarray) -> int:
    """Return the stage that follows the landlord's answer to showing its hand: doubling or card play."""
    return at.STAGE_DOUBLE if rules[variant.R_DOUBLING] & _DOUBLING != U0 else at.STAGE_PLAY


@pure_kernel
def start_game(row: np.ndarray, rules: np.ndarray) -> None:
    """Start a game after the deal: keep only cards and random state, and set the landlord or open the auction.

    With a fixed landlord seat 0 gets the bottom; with bidding a uniformly drawn seat opens the auction.
    """
    for word in range(at.KNOWN, at.ROW_WORDS):
        if word != at.RNG and word != at.LEFT_OUT:
            row[word] = U0
    if rules[variant.R_BIDDING] == variant.BIDDING_FIXED:
        row[at.LANDLORD] = U0
        row[at.HANDS] = words.add_hand(row[at.HANDS], row[at.BOTTOM])
        row[at.KNOWN] = row[at.BOTTOM]
        row[at.STAGE] = stage_with_landlord(rules)
    else:
        state = advance(row[at.RNG])
        row[at.RNG] = state
        opener = scale_below(mix(state), rules[variant.R_PLAYERS])
        row[at.SEAT] = opener
        row[at.OWNER] = opener
        row[at.LANDLORD] = at.NO_SEAT
        set_bid(row, at.OPENER, opener)
        row[at.STAGE] = at.STAGE_BID


@part_kernel
def _find_receiver(index: np.uint64, rules: np.ndarray) -> np.uint64:
    """Return who gets the card at an index of the cut pile: a seat 0..2, or 3 for the landlord cards."""
    size = rules[variant.R_HAND_SIZE]
    if index >= U3 * size:
        return U3
    dealt = index // (U3 * PACKET) * PACKET
    packet = min(PACKET, size - dealt)
    index -= U3 * dealt
    return (U1 if index >= packet else U0) + (U1 if index >= packet + packet else U0)


@pure_kernel
def cut_pile(row: np.ndarray, rules: np.ndarray) -> np.uint64:
    """Cut the pile of collected cards at random; return the index at which the first collected card then lies.

    Args:
        row: The game that is dealt, shape ``[32]``, uint64, changed in place.
        rules: The rules array.

    Returns:
        The place in the cut pile of the card that was gathered first.
    """
    for receiver in range(4):
        row[_HANDS_IN_PROGRESS + receiver] = U0
    state = advance(row[at.RNG])
    row[at.RNG] = state
    return scale_below(mix(state), words.popcount(rules[variant.R_DECK]))


@pure_kernel
def deal_packets(row: np.ndarray, cards: np.uint64, index: np.uint64, rules: np.ndarray) -> np.uint64:
    """Deal cards that lie together in the cut pile, lowest rank first; return the index of the card after them.

    Args:
        row: The game that is dealt, changed in place.
        cards: The cards, as a hand.
        index: Index of the first of them in the cut pile.
        rules: The rules array.

    Returns:
        The index of the card gathered next.
    """
    last = words.popcount(rules[variant.R_DECK]) - U1
    while cards != U0:
        rank = words.lowest_bit(cards & PLANE)
        cards = words.remove_cards(cards, U1 << rank, U1)
        receiver = _HANDS_IN_PROGRESS + np.int64(_find_receiver(index, rules))
        row[receiver] = words.add_cards(row[receiver], U1 << rank, U1)
        index = U0 if index == last else index + U1
    return index


@pure_kernel
def deal_rest(row: np.ndarray, index: np.uint64, rules: np.ndarray) -> None:
    """Finish a deal: deal the cards left in hands and the undealt cards, then give each seat its new hand.

    Args:
        row: The game that is dealt, changed in place.
        index: Index of the first of these cards in the cut pile.
        rules: The rules array.
    """
    for word in range(at.HANDS, at.BOTTOM + 1):
        index = deal_packets(row, row[word], index, rules)
        row[word] = U0
    for seat in range(3):
        row[at.HANDS + seat] = row[_HANDS_IN_PROGRESS + seat]
    row[at.BOTTOM] = row[_HANDS_IN_PROGRESS + 3]


@part_kernel
def deal_again(row: np.ndarray, rules: np.ndarray) -> None:
    """Deal and start the next game in place, from a shuffled deck or (unshuffled rules) the last game's cards."""
    if rules[variant.R_DEAL] == variant.DEAL_UNSHUFFLED:
        deal_rest(row, cut_pile(row, rules), rules)
    else:
        _deal_shuffled(row, rules)
    start_game(row, rules)


@pure_kernel
def _deal_shuffled(row: np.ndarray, rules: np.ndarray) -> None:
    """Deal a shuffled deck in place, repeating the deal until the half-deck rules accept it."""
    done = False
    while not done:
        done = _try_deal(row, rules)


@part_kernel
def _try_deal(row: np.ndarray, rules: np.ndarray) -> bool:
    """Deal a shuffled deck once; return False if the half-deck rules reject the deal."""
    size, bottom_size = rules[variant.R_HAND_SIZE], rules[variant.R_BOTTOM_SIZE]
    deck = rules[variant.R_DECK]
    three = rules[variant.R_PLAYERS] == U3
    slots = size | (size << U16)
    slots |= (size if three else bottom_size) << U32
    slots |= (bottom_size if three else words.popcount(deck) - U2 * size - bottom_size) << U48
    hand0, hand1, hand2, bottom, state = distribute_cards(deck, slots, row[at.RNG])
    hidden = U0
    if not three:  # two players: the third share is the bottom, the fourth is hidden
        hand2, bottom, hidden = U0, hand2, bottom
    if rules[variant.R_DEAL] == variant.DEAL_HALF_DECK:
        kept0, state = _drop_half_of_hand(hand0, state)
        kept1, state = _drop_half_of_hand(hand1, state)
        kept2, state = _drop_half_of_hand(hand2, state)
        kept3, state = _drop_half_of_hand(bottom, state)
        hidden = deck
        for kept in (kept0, kept1, kept2, kept3):
            hidden = words.remove_hand(hidden, kept)
        hand0, hand1, hand2, bottom = kept0, kept1, kept2, kept3
    row[at.HANDS], row[at.HANDS + 1], row[at.HANDS + 2] = hand0, hand1, hand2
    row[at.BOTTOM] = bottom
    open_cards = rules[variant.R_LEFT_OUT_OPEN] == U1
    row[at.HIDDEN] = U0 if open_cards else hidden
    row[at.LEFT_OUT] = hidden if open_cards else U0
    row[at.RNG] = state
    if rules[variant.R_DEAL] != variant.DEAL_HALF_DECK:
        return True
    return bool(words.popcount(hand0) + words.popcount(bottom) > U3 and hand1 != U0 and (hand2 != U0 or not three))


@pure_kernel
def new_game(row: np.ndarray, seed: np.uint64, rules: np.ndarray) -> None:
    """Deal a shuffled deck into a game-state array from a 64-bit random-generator state, and start the game.

    Args:
        row: Output, shape ``[32]``, uint64.
        seed: The game's generator state (:func:`ddz_env.core.engine.random.stream_state` makes one from a seed and a
            game number).
        rules: The rules array.
    """
    row[at.RNG] = seed
    _deal_shuffled(row, rules)
    start_game(row, rules)
