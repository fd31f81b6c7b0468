"""Legal kickers, chosen one rank at a time so that each set has one order and every choice can be completed.

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
    add_cards,
    body_mask,
    count_of,
    lowest_bit,
    popcount,
    remove_cards,
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
    """A move's body, the hand from which the kickers are chosen, and the conditions on their choice.

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
    """Return whether a range of action ids belongs to the category of planes with solo kickers."""
    return bool(tables.PLANES_WITH_SOLOS <= segment < tables.PLANES_WITH_SOLOS_END)


@inline_kernel
def body_at(
    hand: np.uint64, segment: np.uint64, start: np.uint64, on_lead: bool, key: np.uint64, rules: np.ndarray
) -> Body:
    """Make the :class:`Body` that starts at a given lowest rank; ``key`` is the rank that a reply must exceed.

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
    """Make the :class:`Body` for a main group (move without kickers) that the seat to act plays from ``hand``."""
    segment = tables.MAIN_SEGMENT[main]
    return body_at(hand, segment, main - tables.SEGMENT_BASE[segment], row[TARGET] == U0, row[KEY], rules)


@part_kernel
def distinct_kickers(hand: np.uint64, size: np.uint64, rules: np.ndarray) -> np.uint64:
    """Count the ranks of which a hand holds enough cards for one kicker, including the ranks of the move's body."""
    plane = (hand >> (U16 * (size - U1))) & PLANE
    count = popcount(plane)
    if rules[variant.R_TWO_JOKERS] == U0 and (plane & JOKERS) == JOKERS:
        count -= U1
    return count


@part_kernel
def _distinct_options(candidates: np.uint64, left: np.uint64, rules: np.ndarray) -> np.uint64:
    """Keep the candidate ranks above which enough ranks remain for the other ``left - 1`` kickers."""
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
def _allowed_multiplicities(body: Body, rank: np.uint64, rules: np.ndarray) -> np.uint64:
    """Return a mask of how often a rank may be a solo kicker: bit ``n`` is set if ``n`` cards (0..4) are allowed."""
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
    """Return a bit mask of the ranks that may be chosen as the next kicker.

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


@part_kernel
def _has_trio_above(chosen: np.uint64, limit: np.uint64, below: np.uint64) -> bool:
    """Return whether exactly three kickers of some rank in ``limit + 1 .. below - 1`` have been chosen."""
    rank = limit + U1
    while rank < below:
        if count_of(chosen, rank) == U3:
            return True
        rank += U1
    return False


@part_kernel
def _can_complete(
    allowed: np.uint64, already: np.uint64, left: np.uint64, plain: np.uint64, wanted: np.uint64, trio_counts: bool
) -> bool:
    """Return whether choosing a rank as the next kicker can still lead to a complete kicker set.

    Args:
        allowed: How often the rank may be used, as bits.
        already: How often it has been chosen.
        left: Kickers still to choose.
        plain: Bit ``n``: the ranks above can give n kickers.
        wanted: The same, with the trio that is wanted among them.
        trio_counts: Whether three of this rank are that trio.
    """
    total = already + U1
    while total <= already + left and total <= U4:
        if (allowed >> total) & U1:
            reach = plain if trio_counts and total == U3 else wanted
            if (reach >> (left - (total - already))) & U1:
                return True
        total += U1
    return False


@part_kernel
def _reachable_sums(
    allowed: np.uint64, plain: np.uint64, with_trio: np.uint64, trio_counts: bool
) -> tuple[np.uint64, np.uint64]:
    """Return the possible kicker totals of a rank and all higher ranks as two masks: all, and those with a trio."""
    sums, sums_with_trio, times = U0, U0, U0
    while times <= U4:
        if (allowed >> times) & U1:
            sums |= plain << times
            sums_with_trio |= (plain if trio_counts and times == U3 else with_trio) << times
        times += U1
    return sums & _SUMS, sums_with_trio & _SUMS


@part_kernel
def _repeated_options(body: Body, left: np.uint64, chosen: np.uint64, floor: np.uint64, rules: np.ndarray) -> np.uint64:
    """Return a mask of the ranks for the next kicker under rules that allow several kickers of one rank."""
    first, one_joker = left == body.kickers, rules[variant.R_TWO_JOKERS] == U0
    needs_trio = body.trio_above != _NO_TRIO
    # The floor's own number is final once a higher rank is chosen.
    floor_allows = first or ((_allowed_multiplicities(body, floor, rules) >> count_of(chosen, floor)) & U1) == U1
    options, plain, with_trio, rank = U0, U1, U0, U15
    while rank > floor:
        rank -= U1
        again = not first and rank == floor
        black = one_joker and rank == _U13  # closes the red joker
        closed = one_joker and rank == _U14 and chosen & JOKERS != U0
        allowed, trio_counts = _allowed_multiplicities(body, rank, rules), needs_trio and rank > body.trio_above
        if (again or floor_allows) and not closed:
            already = count_of(chosen, rank) if again else U0
            above = U1 if black else plain
            wanted = U0 if black else with_trio
            if not needs_trio or _has_trio_above(chosen, body.trio_above, floor if again else floor + U1):
                wanted = above
            if _can_complete(allowed, already, left, above, wanted, trio_counts):
                options |= U1 << rank
        if black:
            plain |= ((allowed >> U1) & U1) << U1
        else:
            plain, with_trio = _reachable_sums(allowed, plain, with_trio, trio_counts)
    return options


@pure_kernel
def are_kickers_legal(row: np.ndarray, hand: np.uint64, main: np.uint64, kickers: np.uint64, rules: np.ndarray) -> bool:
    """Return whether kickers (a hand word) are legal for a main group that the seat to act plays from ``hand``."""
    body = body_of(row, hand, main, rules)
    left, chosen, floor = body.kickers, U0, U0
    while left > U0 and kickers & PLANE != U0:
        rank = lowest_bit(kickers & PLANE)
        if (kicker_options(body, left, chosen, floor, rules) >> rank) & U1 == U0:
            return False
        chosen, kickers = add_cards(chosen, U1 << rank, body.size), remove_cards(kickers, U1 << rank, body.size)
        floor = rank
        left -= U1
    return left == U0 and kickers == U0
