"""Which kickers may be chosen: each kicker set is reached by exactly one path, and no path ends dead.

Kickers are chosen one rank at a time in non-decreasing order.  A rank is offered only if the set can still be
completed.  Where all kickers of a move differ (``kicker_repeat == 1``) that is a population count; the peers'
rules need the achievable sums of the higher ranks, a small knapsack over fifteen ranks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ddz_env.core import rules as variant
from ddz_env.core.engine import tables
from ddz_env.core.engine.layout import KEY, TARGET
from ddz_env.core.engine.words import (
    JOKERS,
    PLANE,
    U0,
    U1,
    U2,
    U3,
    U4,
    U8,
    U15,
    U16,
    add,
    body_mask,
    count_of,
    lowest,
    popcount,
    remove,
)
from ddz_env.support.compiling import inline_kernel, part_kernel, pure_kernel

_NO_TRIO = np.uint64(99)
_U13 = np.uint64(13)
_U14 = np.uint64(14)
_LAST_CHAIN_RANK = np.uint64(11)
_SUMS = np.uint64(0x3FF)
_EXACTLY_3 = np.uint64(8)
_UP_TO_2 = np.uint64(7)


class Body(NamedTuple):
    """The body of a move whose kickers are chosen, and the hand that they come from.

    Attributes:
        hand: The whole hand, body included.
        start: The body's lowest rank.
        length: Its chain length.
        size: Cards per kicker (1 or 2).
        kickers: How many kickers the whole move takes.
        on_lead: Whether the move leads a trick.
        trio_above: A rank above which some kicker must be used exactly three times; 99 for no such condition.
    """

    hand: np.uint64
    start: np.uint64
    length: np.uint64
    size: np.uint64
    kickers: np.uint64
    on_lead: bool
    trio_above: np.uint64


@inline_kernel
def is_plane_with_solos(segment: np.uint64) -> bool:
    """Whether the segment is one of the planes with solos (the category whose readings DouZero merges)."""
    return bool(tables.PLANES_WITH_SOLOS <= segment < tables.PLANES_WITH_SOLOS_END)


@inline_kernel
def body_at(
    hand: np.uint64, segment: np.uint64, start: np.uint64, on_lead: bool, key: np.uint64, rules: np.ndarray
) -> Body:
    """The body of a segment at a lowest rank; ``key`` is what a reply must exceed.

    Only DouZero compares planes with solos by the highest trio anywhere in the cards: there a kicker trio above the
    key lets a reply win whose body does not.
    """
    length, size = tables.SEGMENT_LENGTH[segment], tables.SEGMENT_KICKER_SIZE[segment]
    trio = _NO_TRIO
    if rules[variant.R_TRIO_KICKERS] == variant.KICKER_TRIOS_MERGE and not on_lead and is_plane_with_solos(segment):
        if start + length - U1 <= key:
            trio = key
    return Body(hand, start, length, size, tables.SEGMENT_KICKER_COUNT[segment], on_lead, trio)


@inline_kernel
def body_of(row: np.ndarray, hand: np.uint64, main: np.uint64, rules: np.ndarray) -> Body:
    """The body of a main group that the acting seat of a row plays from its hand."""
    segment = tables.MAIN_SEGMENT[main]
    return body_at(hand, segment, main - tables.SEGMENT_BASE[segment], row[TARGET] == U0, row[KEY], rules)


@inline_kernel
def distinct_kickers(hand: np.uint64, size: np.uint64, rules: np.ndarray) -> np.uint64:
    """How many kickers of different ranks a hand could give, the ranks of a body counted, too."""
    plane = (hand >> (U16 * (size - U1))) & PLANE
    count = popcount(plane)
    if rules[variant.R_TWO_JOKERS] == U0 and (plane & JOKERS) == JOKERS:
        count -= U1
    return count


@part_kernel
def _distinct_options(candidates: np.uint64, left: np.uint64, rules: np.ndarray) -> np.uint64:
    """Candidates without the highest ``left - 1``: those leave too few above them."""
    while left > U1 and candidates != U0:
        if rules[variant.R_TWO_JOKERS] == U0 and (candidates & JOKERS) == JOKERS:
            candidates &= ~JOKERS  # the two jokers can give one kicker between them
        else:
            top = candidates
            top |= top >> U1
            top |= top >> U2
            top |= top >> U4
            top |= top >> U8
            candidates &= top >> U1
        left -= U1
    return candidates


@pure_kernel
def _multiplicities(body: Body, rank: np.uint64, rules: np.ndarray) -> np.uint64:
    """How often a rank may be used among the solo kickers: bit ``n`` is set for each allowed ``n`` (0..4)."""
    start, length = body.start, body.length
    if (body_mask(start, length) >> rank) & U1:
        return U1
    most = min(count_of(body.hand, rank), rules[variant.R_KICKER_REPEAT])
    allowed = (U1 << (most + U1)) - U1
    mode = rules[variant.R_TRIO_KICKERS]
    below = rank + U1 == start
    above = rank == start + length and rank <= _LAST_CHAIN_RANK
    if mode == variant.KICKER_TRIOS_NOT_ADJACENT and (below or above):
        allowed &= _UP_TO_2
    elif mode == variant.KICKER_TRIOS_MERGE and length >= U3:
        # 444555666+333 is the move 333444555+666, and on lead both are the plane 333444555666.
        if below or (above and body.on_lead and body.kickers == U3):
            allowed &= ~_EXACTLY_3
    return allowed


@inline_kernel
def kicker_options(body: Body, left: np.uint64, chosen: np.uint64, floor: np.uint64, rules: np.ndarray) -> np.uint64:
    """Mask of the ranks that may be chosen as the next kicker.

    Args:
        body: The body and the hand.
        left: Kickers still to choose, this one included.
        chosen: The kickers chosen so far.
        floor: Rank of the last kicker (0 before the first).
        rules: The rules array.
    """
    if body.size > U1 or rules[variant.R_KICKER_REPEAT] == U1:
        candidates = (body.hand >> (U16 * (body.size - U1))) & PLANE & ~body_mask(body.start, body.length)
        if left < body.kickers:
            candidates &= ~((U2 << floor) - U1)
            if rules[variant.R_TWO_JOKERS] == U0 and chosen & JOKERS:
                candidates &= ~JOKERS
        return _distinct_options(candidates, left, rules)
    return _repeated_options(body, left, chosen, floor, rules)


@pure_kernel
def _has_trio_above(chosen: np.uint64, limit: np.uint64, below: np.uint64) -> bool:
    """Whether a rank in ``limit + 1 .. below - 1`` has been chosen exactly three times."""
    rank = limit + U1
    while rank < below:
        if count_of(chosen, rank) == U3:
            return True
        rank += U1
    return False


@pure_kernel
def _repeated_options(body: Body, left: np.uint64, chosen: np.uint64, floor: np.uint64, rules: np.ndarray) -> np.uint64:
    """Mask of the next kicker's ranks where ranks may repeat: walk down, keeping which sums the ranks above reach."""
    first = left == body.kickers
    trio_above = body.trio_above
    options = U0
    plain = U1  # bit n: the ranks above can give n kickers
    with_trio = U0  # the same, with a rank above trio_above standing exactly three times
    want_trio = trio_above != _NO_TRIO
    one_joker = rules[variant.R_TWO_JOKERS] == U0
    rank = U15
    while rank > floor:
        rank -= U1
        allowed = _multiplicities(body, rank, rules)
        already = count_of(chosen, rank) if (not first and rank == floor) else U0
        may_choose = not (one_joker and rank == _U14 and chosen & JOKERS)
        above_plain, above_trio = plain, with_trio
        if one_joker and rank == _U13:
            above_plain, above_trio = U1, U0  # the black joker closes the red one
        if may_choose:
            settled = want_trio and _has_trio_above(chosen, trio_above, floor + U1 if rank > floor else floor)
            floor_ok = True
            if not first and rank > floor:
                # The floor's own number is final once a higher rank is chosen.
                fixed = _multiplicities(body, floor, rules)
                floor_ok = ((fixed >> count_of(chosen, floor)) & U1) == U1
            total = already + U1
            while floor_ok and total <= already + left and total <= U4:
                if (allowed >> total) & U1:
                    missing = left - (total - already)
                    trio_here = want_trio and total == U3 and rank > trio_above
                    reach = above_plain if (not want_trio or settled or trio_here) else above_trio
                    if (reach >> missing) & U1:
                        options |= U1 << rank
                total += U1
        if one_joker and rank == _U13:
            joker = (allowed >> U1) & U1
            plain |= joker << U1
        else:
            new_plain, new_trio = U0, U0
            times = U0
            while times <= U4:
                if (allowed >> times) & U1:
                    new_plain |= plain << times
                    if times == U3 and want_trio and rank > trio_above:
                        new_trio |= plain << times
                    else:
                        new_trio |= with_trio << times
                times += U1
            plain, with_trio = new_plain & _SUMS, new_trio & _SUMS
    return options


@pure_kernel
def may_ride(row: np.ndarray, hand: np.uint64, main: np.uint64, kickers: np.uint64, rules: np.ndarray) -> bool:
    """Whether kickers, as a hand, are legal with a main group that the acting seat of a row plays from its hand."""
    body = body_of(row, hand, main, rules)
    left, chosen, floor = body.kickers, U0, U0
    while left > U0 and kickers & PLANE != U0:
        rank = lowest(kickers & PLANE)
        if (kicker_options(body, left, chosen, floor, rules) >> rank) & U1 == U0:
            return False
        chosen, kickers = add(chosen, U1 << rank, body.size), remove(kickers, U1 << rank, body.size)
        floor = rank
        left -= U1
    return left == U0 and kickers == U0
