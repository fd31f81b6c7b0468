"""Legal moves by run bitmasks.

A chain of length L starts where L shifted copies of a plane all hold, so one 15-bit mask says which lowest ranks
of a segment can be played.  Ids ascend with the lowest rank inside a segment and segments ascend in the action
table: legal actions are always emitted in ascending order of their ids (seeds depend on it).
"""

from __future__ import annotations

import numpy as np

from ddz_env.engine.compiling import inline_kernel, pure_kernel
from ddz_env.engine.kickers import distinct_kickers, kicker_options
from ddz_env.engine.layout import (
    BIDS,
    BOMBS_ONLY,
    CHOSEN,
    FLOOR,
    HANDS,
    KEY,
    LEFT,
    PENDING,
    SEAT,
    STAGE,
    STAGE_BID,
    STAGE_DOUBLE,
    STAGE_KICKER,
    STAGE_PLAY,
    TARGET,
)
from ddz_env.engine.tables import (
    BID_ID,
    DOUBLE_ID,
    KICKER_ID,
    MAIN_SEGMENT,
    MASK_WORDS,
    N_SEGMENTS,
    ROCKET_ID,
    SEG_BOMB,
    SEG_PAIR,
    SEG_PAIR_CHAIN,
    SEG_PLANE,
    SEG_PLANE_PAIRS,
    SEG_PLANE_SOLOS,
    SEG_QUAD_PAIRS,
    SEG_QUAD_SOLOS,
    SEG_ROCKET,
    SEG_SHUTTLE,
    SEG_SHUTTLE_SOLOS,
    SEG_SOLO,
    SEG_SOLO_CHAIN,
    SEG_TRIO,
    SEG_TRIO_PAIR,
    SEG_TRIO_SOLO,
    SEGMENT_BASE,
    SEGMENT_COPIES,
    SEGMENT_KICKER_COUNT,
    SEGMENT_KICKER_SIZE,
    SEGMENT_LENGTH,
)
from ddz_env.engine.words import (
    CHAIN_PLANE,
    JOKERS,
    PLANE,
    U0,
    U1,
    U2,
    U3,
    U16,
    lowest,
    popcount,
    run,
)
from ddz_env.rules import (
    KICKER_TRIOS_MERGE,
    R_BOMBS,
    R_BOMBS_BEAT_ROCKET,
    R_CHAIN_FROM_QUAD,
    R_KICKER_REPEAT,
    R_SEGMENTS,
    R_TRIO_KICKERS,
)

NO_TRIO_NEEDED = np.uint64(99)
_ROCKET = np.uint64(ROCKET_ID)
_PASS_BIT = U1
_ON_LEAD = np.bool_(True)
_ON_FOLLOW = np.bool_(False)
_U5 = np.uint64(5)
_U6 = np.uint64(6)
_U63 = np.uint64(63)
_U12 = np.uint64(12)
_U15 = np.uint64(15)
_HIGHEST_BID_SHIFT = _U12
_KICKER_ID = np.uint64(KICKER_ID)
_BID_ID = np.uint64(BID_ID)
_DOUBLE_ID = np.uint64(DOUBLE_ID)
_BOMBS_ONLY = np.uint64(BOMBS_ONLY)
_SEG_PLANE_SOLOS_END = np.uint64(SEG_PLANE_PAIRS)
_SEG_PLANE_SOLOS = np.uint64(SEG_PLANE_SOLOS)


@inline_kernel
def is_plane_with_solos(segment: np.uint64) -> bool:
    """Whether the segment is one of the planes with solos (the category whose readings DouZero merges)."""
    return bool(_SEG_PLANE_SOLOS <= segment < _SEG_PLANE_SOLOS_END)


@inline_kernel
def allowed(segment: int, rules: np.ndarray) -> bool:
    """Whether the rules have the segment's category at all."""
    return ((rules[R_SEGMENTS] >> np.uint64(segment)) & U1) == U1


@inline_kernel
def _with_kickers(
    hand: np.uint64, starts: np.uint64, segment: np.uint64, on_lead: bool, key: np.uint64, rules: np.ndarray
) -> np.uint64:
    """Keep the starts from which the segment's kickers can be completed."""
    size, count = SEGMENT_KICKER_SIZE[segment], SEGMENT_KICKER_COUNT[segment]
    length = SEGMENT_LENGTH[segment]
    if size == U2 or rules[R_KICKER_REPEAT] == U1:
        enough = distinct_kickers(hand, size, rules) >= length + count
        return starts if enough else U0
    kept = U0
    rest = starts
    while rest != U0:
        start = lowest(rest)
        rest &= rest - U1
        trio = trio_needed(segment, start, on_lead, key, rules)
        if kicker_options(hand, start, length, size, count, count, U0, U0, on_lead, trio, rules) != U0:
            kept |= U1 << start
    return kept


@inline_kernel
def trio_needed(segment: np.uint64, start: np.uint64, on_lead: bool, key: np.uint64, rules: np.ndarray) -> np.uint64:
    """The rank above which a kicker trio must lie so that the reply wins; 99 where the body itself wins.

    Only DouZero compares planes with solos by the highest trio anywhere in the cards.
    """
    if rules[R_TRIO_KICKERS] == KICKER_TRIOS_MERGE and not on_lead and is_plane_with_solos(segment):
        if start + SEGMENT_LENGTH[segment] - U1 <= key:
            return key
    return NO_TRIO_NEEDED


@inline_kernel
def segment_starts(hand: np.uint64, segment: np.uint64, on_lead: bool, key: np.uint64, rules: np.ndarray) -> np.uint64:
    """Mask of the lowest ranks at which the hand can play a segment, whatever it must beat.

    Args:
        hand: The hand.
        segment: Index of a segment other than pass and the rocket.
        on_lead: Whether the move leads (matters only where readings merge).
        key: What a reply must exceed (likewise).
        rules: The rules array.
    """
    copies, length = SEGMENT_COPIES[segment], SEGMENT_LENGTH[segment]
    plane = (hand >> (U16 * (copies - U1))) & PLANE
    if length > U1:
        plane = run(plane & CHAIN_PLANE, length)
        if rules[R_CHAIN_FROM_QUAD] == U0 and SEGMENT_KICKER_COUNT[segment] == U0:
            plane &= ~(hand >> (U3 * U16))
    if plane != U0 and SEGMENT_KICKER_COUNT[segment] > U0:
        plane = _with_kickers(hand, plane, segment, on_lead, key, rules)
    return plane


@inline_kernel
def holds_rocket(hand: np.uint64, rules: np.ndarray) -> bool:
    """Whether the hand can play the rocket."""
    return (hand & JOKERS) == JOKERS and allowed(SEG_ROCKET, rules)


@inline_kernel
def bombs_in(hand: np.uint64, rules: np.ndarray) -> np.uint64:
    """Mask of the ranks of which the hand holds a bomb that beats everything else."""
    return ((hand >> (U3 * U16)) & PLANE) if rules[R_BOMBS] == U1 else U0


@inline_kernel
def put(mask: np.ndarray, base: np.uint64, bits: np.uint64) -> None:
    """Or up to 16 bits into a mask of 64-bit words at a bit offset."""
    word, shift = base >> _U6, base & _U63
    mask[word] |= bits << shift
    if shift > U3 * U16:
        mask[word + U1] |= (bits >> (_U63 - shift)) >> U1


@inline_kernel
def _put_segment(mask: np.ndarray, segment: int, starts: np.uint64, rules: np.ndarray) -> None:
    if starts != U0 and allowed(segment, rules):
        put(mask, SEGMENT_BASE[segment], starts)


@inline_kernel
def _put_chains(
    mask: np.ndarray, plane: np.uint64, quads: np.uint64, shortest: np.uint64, first: int, stop: int, rules: np.ndarray
) -> None:
    """Put consecutive chain lengths, each start mask from the one before, until none is left."""
    length = shortest
    current = run(plane, length)
    blocked = U0 if rules[R_CHAIN_FROM_QUAD] == U1 else quads
    segment = first
    while current != U0 and segment < stop:
        _put_segment(mask, segment, current & ~blocked, rules)
        current &= plane >> length
        length += U1
        segment += 1


@pure_kernel
def _put_with_kickers(mask: np.ndarray, hand: np.uint64, bodies: np.uint64, segment: int, rules: np.ndarray) -> None:
    if bodies != U0 and allowed(segment, rules):
        put(mask, SEGMENT_BASE[segment], _with_kickers(hand, bodies, np.uint64(segment), _ON_LEAD, U0, rules))


@pure_kernel
def _put_long_with_kickers(
    mask: np.ndarray, hand: np.uint64, plane: np.uint64, first: int, stop: int, rules: np.ndarray
) -> None:
    for segment in range(first, stop):
        _put_with_kickers(mask, hand, run(plane, SEGMENT_LENGTH[segment]), segment, rules)


@inline_kernel
def lead_mask(hand: np.uint64, rules: np.ndarray, mask: np.ndarray) -> None:
    """Or every main group that the hand can lead into a zeroed mask of shape ``[7]``."""
    one, two = hand & PLANE, (hand >> U16) & PLANE
    three, four = (hand >> (U2 * U16)) & PLANE, hand >> (U3 * U16)
    _put_segment(mask, SEG_SOLO, one, rules)
    _put_chains(mask, one & CHAIN_PLANE, four, _U5, SEG_SOLO_CHAIN, SEG_PAIR_CHAIN, rules)
    if (one & JOKERS) == JOKERS:
        _put_segment(mask, SEG_ROCKET, U1, rules)
    if two == U0:
        return
    _put_segment(mask, SEG_PAIR, two, rules)
    _put_chains(mask, two & CHAIN_PLANE, four, U3, SEG_PAIR_CHAIN, SEG_PLANE, rules)
    if three == U0:
        return
    _put_segment(mask, SEG_TRIO, three, rules)
    _put_with_kickers(mask, hand, three, SEG_TRIO_SOLO, rules)
    _put_with_kickers(mask, hand, three, SEG_TRIO_PAIR, rules)
    chain = three & CHAIN_PLANE
    if chain & (chain >> U1):
        _put_chains(mask, chain, four, U2, SEG_PLANE, SEG_PLANE_SOLOS, rules)
        _put_long_with_kickers(mask, hand, chain, SEG_PLANE_SOLOS, SEG_SHUTTLE, rules)
    if four == U0:
        return
    _put_segment(mask, SEG_BOMB, four, rules)
    _put_with_kickers(mask, hand, four, SEG_QUAD_SOLOS, rules)
    _put_with_kickers(mask, hand, four, SEG_QUAD_PAIRS, rules)
    chain = four & CHAIN_PLANE
    if chain & (chain >> U1):
        _put_chains(mask, chain, U0, U2, SEG_SHUTTLE, SEG_SHUTTLE_SOLOS, rules)
        _put_long_with_kickers(mask, hand, chain, SEG_SHUTTLE_SOLOS, N_SEGMENTS, rules)


@inline_kernel
def follow_starts(hand: np.uint64, segment: np.uint64, key: np.uint64, rules: np.ndarray) -> np.uint64:
    """Mask of the lowest ranks at which the hand beats a target of the segment within its category."""
    starts = segment_starts(hand, segment, _ON_FOLLOW, key, rules)
    if rules[R_TRIO_KICKERS] == KICKER_TRIOS_MERGE and is_plane_with_solos(segment):
        return starts  # compared by the highest trio, kickers included: see trio_needed
    return starts & ~((U2 << key) - U1)


@inline_kernel
def pending_options(row: np.ndarray, rules: np.ndarray) -> np.uint64:
    """Mask of the ranks that a row in the kicker stage may choose."""
    pending = row[PENDING]
    segment = MAIN_SEGMENT[pending]
    start = pending - SEGMENT_BASE[segment]
    on_lead = row[TARGET] == U0
    return kicker_options(
        row[HANDS + np.int64(row[SEAT])],
        start,
        SEGMENT_LENGTH[segment],
        SEGMENT_KICKER_SIZE[segment],
        SEGMENT_KICKER_COUNT[segment],
        row[LEFT],
        row[CHOSEN],
        row[FLOOR],
        on_lead,
        trio_needed(segment, start, on_lead, row[KEY], rules),
        rules,
    )


@inline_kernel
def bid_options(row: np.ndarray) -> np.uint64:
    """Four bits: no bid, and every bid above the highest so far."""
    highest = (row[BIDS] >> _HIGHEST_BID_SHIFT) & _U15
    return (_U15 & ~((U2 << highest) - U1)) | U1


@inline_kernel
def legal_mask(row: np.ndarray, rules: np.ndarray, mask: np.ndarray) -> None:
    """Write the legal actions of the seat to act as bits.

    Args:
        row: The game, shape ``[32]``, uint64.
        rules: The rules array.
        mask: Output, shape ``[7]``, uint64: bit ``id & 63`` of word ``id >> 6``.  All zero when the game is over.
    """
    for word in range(MASK_WORDS):
        mask[word] = U0
    stage = row[STAGE]
    if stage == STAGE_PLAY:
        hand = row[HANDS + np.int64(row[SEAT])]
        if row[TARGET] == U0:
            lead_mask(hand, rules, mask)
        else:
            _follow_mask(row, hand, rules, mask)
    elif stage == STAGE_KICKER:
        put(mask, _KICKER_ID, pending_options(row, rules))
    elif stage == STAGE_BID:
        put(mask, _BID_ID, bid_options(row))
    elif stage == STAGE_DOUBLE:
        put(mask, _DOUBLE_ID, U3)


@inline_kernel
def replies(
    hand: np.uint64, target: np.uint64, key: np.uint64, rules: np.ndarray
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """What beats a target, besides passing.

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
    if target != _ROCKET:
        bombs = bombs_in(hand, rules)
        rocket = U1 if holds_rocket(hand, rules) else U0
        if target != _BOMBS_ONLY:
            segment = MAIN_SEGMENT[target]
            base = SEGMENT_BASE[segment]
            starts = follow_starts(hand, segment, key, rules)
            if segment == SEG_BOMB:
                bombs = U0
    elif rules[R_BOMBS_BEAT_ROCKET] == U1:
        bombs = bombs_in(hand, rules)
    return base, starts, bombs, rocket


@inline_kernel
def _follow_mask(row: np.ndarray, hand: np.uint64, rules: np.ndarray, mask: np.ndarray) -> None:
    base, starts, bombs, rocket = replies(hand, row[TARGET], row[KEY], rules)
    mask[0] |= _PASS_BIT
    put(mask, base, starts)
    put(mask, SEGMENT_BASE[SEG_BOMB], bombs)
    put(mask, _ROCKET, rocket)


@inline_kernel
def count_legal(mask: np.ndarray) -> np.uint64:
    """Number of set bits of a mask."""
    total = U0
    for word in range(MASK_WORDS):
        total += popcount(mask[word])
    return total


@inline_kernel
def is_legal(row: np.ndarray, rules: np.ndarray, action: np.uint64, mask: np.ndarray) -> bool:
    """Whether an action id is legal; ``mask`` is scratch of shape ``[7]``."""
    legal_mask(row, rules, mask)
    return ((mask[action >> _U6] >> (action & _U63)) & U1) == U1


@inline_kernel
def nth_legal(mask: np.ndarray, k: np.uint64) -> np.uint64:
    """The ``k``-th legal action id in ascending order."""
    for word in range(MASK_WORDS):
        bits = mask[word]
        here = popcount(bits)
        if k < here:
            while k > U0:
                bits &= bits - U1
                k -= U1
            return np.uint64(word) * np.uint64(64) + lowest(bits)
        k -= here
    return U0
