"""Generation of legal moves, using bit masks of the lowest ranks at which a hand can form moves of one kind.

A chain of length L starts where L shifted copies of a plane all hold, so one 15-bit mask says which lowest ranks
of a segment can be played.  Ids ascend with the lowest rank inside a segment and segments ascend in the action
table: legal actions are always emitted in ascending order of their ids (seeds depend on it).
"""

from __future__ import annotations

import numpy as np

from ddz_env.core import rules as variant
from ddz_env.core.engine import layout as at
from ddz_env.core.engine import tables, words
from ddz_env.core.engine.kickers import body_at, body_of, distinct_kickers, is_plane_with_solos, kicker_options
from ddz_env.core.engine.score import get_bid
from ddz_env.core.engine.words import CHAIN_PLANE, JOKERS, PLANE, U0, U1, U2, U3, U4, U6, U15, U16, U48, U63
from ddz_env.support.compiling import inline_kernel

_ON_LEAD = np.bool_(True)
_ON_FOLLOW = np.bool_(False)
_U64 = np.uint64(64)
_CALL_OR_NOT, _ROB_OR_NOT = np.uint64(0b011), np.uint64(0b101)


@inline_kernel
def is_category_allowed(segment: int, rules: np.ndarray) -> bool:
    """Return whether the rules allow a segment, the range of action ids of one category and chain length."""
    return ((rules[variant.R_SEGMENTS] >> np.uint64(segment)) & U1) == U1


@inline_kernel
def _starts_with_kickers(
    hand: np.uint64, starts: np.uint64, segment: np.uint64, on_lead: bool, key: np.uint64, rules: np.ndarray
) -> np.uint64:
    """Remove move starts (lowest ranks) at which the hand lacks enough kickers to complete the move."""
    size, count = tables.SEGMENT_KICKER_SIZE[segment], tables.SEGMENT_KICKER_COUNT[segment]
    if size > U1 or rules[variant.R_KICKER_REPEAT] == U1:
        enough = distinct_kickers(hand, size, rules) >= tables.SEGMENT_LENGTH[segment] + count
        return starts if enough else U0
    completable = U0
    remaining = starts
    while remaining != U0:
        start = words.lowest_bit(remaining)
        remaining &= remaining - U1
        if kicker_options(body_at(hand, segment, start, on_lead, key, rules), count, U0, U0, rules) != U0:
            completable |= U1 << start
    return completable


@inline_kernel
def _chain_starts(hand: np.uint64, starts: np.uint64, segment: np.uint64, rules: np.ndarray) -> np.uint64:
    """Remove chain starts at ranks of which the hand holds four cards, if the rules forbid such chains."""
    if rules[variant.R_CHAIN_FROM_QUAD] == U0 and tables.SEGMENT_COPIES[segment] < U4:
        starts &= ~(hand >> U48)
    return starts


@inline_kernel
def segment_starts(hand: np.uint64, segment: np.uint64, on_lead: bool, key: np.uint64, rules: np.ndarray) -> np.uint64:
    """Return a mask of the lowest ranks at which a hand can form a move of one category and chain length.

    Args:
        hand: The hand.
        segment: Index of a segment other than pass and the rocket.
        on_lead: Whether the move leads (matters only where readings merge).
        key: What a reply must exceed (likewise).
        rules: The rules array.
    """
    copies, length = tables.SEGMENT_COPIES[segment], tables.SEGMENT_LENGTH[segment]
    plane = (hand >> (U16 * (copies - U1))) & PLANE
    if length > U1:
        plane = words.run_starts(plane & CHAIN_PLANE, length)
        if tables.SEGMENT_KICKER_COUNT[segment] == U0:
            plane = _chain_starts(hand, plane, segment, rules)
    if plane != U0 and tables.SEGMENT_KICKER_COUNT[segment] > U0:
        plane = _starts_with_kickers(hand, plane, segment, on_lead, key, rules)
    return plane


@inline_kernel
def holds_rocket(hand: np.uint64, rules: np.ndarray) -> bool:
    """Return whether a hand holds both jokers and the rules allow the rocket."""
    return (hand & JOKERS) == JOKERS and is_category_allowed(tables.SEG_ROCKET, rules)


@inline_kernel
def bomb_ranks(hand: np.uint64, rules: np.ndarray) -> np.uint64:
    """Return a mask of the ranks of the hand's bombs, or 0 if bombs beat no other category under the rules."""
    return (hand >> U48) if rules[variant.R_BOMBS] == U1 else U0


@inline_kernel
def set_bits(mask: np.ndarray, base: np.uint64, bits: np.uint64) -> None:
    """Merge up to 16 bits into a mask of 64-bit words, at a given bit offset, with a bitwise or."""
    word, shift = base >> U6, base & U63
    mask[word] |= bits << shift
    if shift > U48:
        mask[word + U1] |= (bits >> (U63 - shift)) >> U1


@inline_kernel
def _set_shape_bits(mask: np.ndarray, hand: np.uint64, plane: np.uint64, shape: int, rules: np.ndarray) -> None:
    """Mark in a mask the legal leads of all categories whose bodies have one shape, at every chain length.

    Each start mask follows from the one of the next shorter chains, until none is left.
    """
    length = tables.SHAPE_LENGTH[shape]
    if length > U1:
        plane &= CHAIN_PLANE
    starts = words.run_starts(plane, length)
    longer = 0
    while starts != U0 and longer < tables.SHAPE_LENGTHS[shape]:
        for category in range(tables.SHAPE_STOP[shape], tables.SHAPE_STOP[shape + 1]):
            segment = tables.CATEGORY_FIRST[category] + longer
            if segment < tables.CATEGORY_STOP[category] and is_category_allowed(segment, rules):
                bits = starts
                if tables.SEGMENT_KICKER_COUNT[segment] > U0:
                    bits = _starts_with_kickers(hand, bits, np.uint64(segment), _ON_LEAD, U0, rules)
                elif length > U1:
                    bits = _chain_starts(hand, bits, np.uint64(segment), rules)
                set_bits(mask, tables.SEGMENT_BASE[segment], bits)
        starts &= plane >> length
        length += U1
        longer += 1


@inline_kernel
def write_lead_mask(hand: np.uint64, rules: np.ndarray, mask: np.ndarray) -> None:
    """Mark the moves that a hand can lead, by main-group action id, in a zeroed mask of shape ``[MASK_WORDS]``."""
    if holds_rocket(hand, rules):
        set_bits(mask, tables.ROCKET_ID, U1)
    for shape in range(tables.SHAPE_COPIES.size):
        plane = (hand >> (U16 * (tables.SHAPE_COPIES[shape] - U1))) & PLANE
        if plane == U0:
            return
        _set_shape_bits(mask, hand, plane, shape, rules)


@inline_kernel
def follow_starts(hand: np.uint64, segment: np.uint64, key: np.uint64, rules: np.ndarray) -> np.uint64:
    """Return a mask of the lowest ranks at which a hand beats a move of the same category and chain length."""
    starts = segment_starts(hand, segment, _ON_FOLLOW, key, rules)
    if rules[variant.R_TRIO_KICKERS] == variant.KICKER_TRIOS_MERGE and is_plane_with_solos(segment):
        return starts  # compared by the highest trio, kickers included: see body_at
    return starts & ~((U2 << key) - U1)


@inline_kernel
def pending_options(row: np.ndarray, rules: np.ndarray) -> np.uint64:
    """Return a mask of the legal ranks for the next kicker of the move that the seat to act is building."""
    body = body_of(row, row[at.HANDS + np.int64(row[at.SEAT])], row[at.PENDING], rules)
    return kicker_options(body, row[at.LEFT], row[at.CHOSEN], row[at.FLOOR], rules)


@inline_kernel
def bid_options(row: np.ndarray, rules: np.ndarray) -> np.uint64:
    """Return a mask of the legal bids: bit 0 declines, bits 1..3 bid, or bit 1 calls and bit 2 robs."""
    highest = get_bid(row, at.HIGHEST_BID)
    if rules[variant.R_BIDDING] == variant.BIDDING_ROBBING:
        return _CALL_OR_NOT if highest == U0 else _ROB_OR_NOT
    return (U15 & ~((U2 << highest) - U1)) | U1


@inline_kernel
def write_legal_mask(row: np.ndarray, rules: np.ndarray, mask: np.ndarray) -> None:
    """Write the mask of legal actions for the seat to act, with one bit per action.

    Args:
        row: The game, shape ``[32]``, uint64.
        rules: The rules array.
        mask: Output, shape ``[MASK_WORDS]``, uint64: bit ``id & 63`` of word ``id >> 6``; all zero
            when the game is over.
    """
    for word in range(tables.MASK_WORDS):
        mask[word] = U0
    stage = row[at.STAGE]
    if stage == at.STAGE_PLAY:
        hand = row[at.HANDS + np.int64(row[at.SEAT])]
        if row[at.TARGET] == U0:
            write_lead_mask(hand, rules, mask)
        else:
            _write_follow_mask(row, hand, rules, mask)
    elif stage == at.STAGE_KICKER:
        set_bits(mask, tables.KICKER_ID, pending_options(row, rules))
    elif stage == at.STAGE_BID:
        set_bits(mask, tables.BID_ID, bid_options(row, rules))
    elif stage == at.STAGE_DOUBLE or stage == at.STAGE_SHOW:
        set_bits(mask, tables.DOUBLE_ID, U3)


@inline_kernel
def find_replies(
    hand: np.uint64, target: np.uint64, key: np.uint64, rules: np.ndarray
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Find the legal replies to a move: higher moves of the same category, bombs and the rocket.

    Args:
        hand: The hand.
        target: The main group to beat, or ``BOMBS_ONLY``.
        key: What a reply in the same category must exceed.
        rules: The rules array.

    Returns:
        The first id and the start mask of the replies in the target's own category, the mask of the bombs beside
        them, and 1 if the rocket may be played.
    """
    base, starts, bombs, rocket = U0, U0, U0, U0
    if target != tables.ROCKET_ID:
        bombs = bomb_ranks(hand, rules)
        rocket = U1 if holds_rocket(hand, rules) else U0
        if target != at.BOMBS_ONLY:
            segment = tables.MAIN_SEGMENT[target]
            base = tables.SEGMENT_BASE[segment]
            starts = follow_starts(hand, segment, key, rules)
            if segment == tables.SEG_BOMB:
                bombs = U0
    elif rules[variant.R_BOMBS_BEAT_ROCKET] == U1:
        bombs = bomb_ranks(hand, rules)
    return base, starts, bombs, rocket


@inline_kernel
def _write_follow_mask(row: np.ndarray, hand: np.uint64, rules: np.ndarray, mask: np.ndarray) -> None:
    base, starts, bombs, rocket = find_replies(hand, row[at.TARGET], row[at.KEY], rules)
    mask[0] |= U1  # pass
    set_bits(mask, base, starts)
    set_bits(mask, tables.BOMB_ID, bombs)
    set_bits(mask, tables.ROCKET_ID, rocket)


@inline_kernel
def count_legal(mask: np.ndarray) -> np.uint64:
    """Return the number of legal actions (set bits) in a mask of shape ``[MASK_WORDS]``."""
    total = U0
    for word in range(tables.MASK_WORDS):
        total += words.popcount(mask[word])
    return total


@inline_kernel
def is_legal_action(mask: np.ndarray, action: np.uint64) -> bool:
    """Return whether a mask of legal actions, shape ``[MASK_WORDS]``, contains an action id."""
    word: np.uint64 = mask[np.int64(action >> U6)]
    return bool(((word >> (action & U63)) & U1) == U1)


@inline_kernel
def nth_legal(mask: np.ndarray, k: np.uint64) -> np.uint64:
    """Return the ``k``-th lowest legal action id in a mask, where ``k`` counts from zero."""
    for word in range(tables.MASK_WORDS):
        bits = mask[word]
        count = words.popcount(bits)
        if k < count:
            return np.uint64(word) * _U64 + words.select_bit(bits, k)
        k -= count
    return U0


@inline_kernel
def finishing_action(hand: np.uint64, mask: np.ndarray) -> np.uint64:
    """Return the lowest legal action id whose move plays all cards of a hand, or 0 if there is none.

    Args:
        hand: The acting seat's hand.
        mask: Its legal actions in the play stage, shape ``[MASK_WORDS]``.
    """
    cards = words.popcount(hand)
    for word in range(tables.MAIN_WORDS):
        bits = mask[word] & tables.FINISHING[cards, word]
        if bits != U0:
            return np.uint64(word) * _U64 + words.lowest_bit(bits)
    return U0
