"""RLCard's flat action space, generated from the action table: each whole move has one of 27,472 ids.

The order is RLCard's, so an agent that was trained on its ids can play here.  Nothing is read from its files; a test
compares every id with its table.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator

from ddz_env.core.actions import CATEGORIES, MAIN_GROUPS, SEGMENTS, MainGroup, segments_of
from ddz_env.core.cards import BLACK_JOKER, CHAIN_RANKS, NUM_RANKS, RED_JOKER

FlatAction = tuple[int, tuple[int, ...]]
"""Action id of the main group, and the kicker ranks in non-decreasing order."""

_ORDER = (
    *("solo", "pair", "trio", "trio+solo", "trio+pair", "solo chain", "pair chain", "plane", "plane+solos"),
    *("plane+pairs", "quad+2 solos", "quad+2 pairs", "bomb", "rocket", "pass"),
)

_Kickers = tuple[int, ...]


def _list_kicker_sets(group: MainGroup) -> Iterator[_Kickers]:
    """Yield the kicker sets that RLCard allows with a main group, in lexicographic order.

    A solo rank is used at most three times (twice next to the body, a joker once), pairs differ, and the two jokers
    never ride together.
    """
    ranks = [rank for rank in range(NUM_RANKS) if not group.need[rank]]
    if group.kicker_size == 2:
        yield from itertools.combinations([rank for rank in ranks if rank < BLACK_JOKER], group.kicker_count)
        return
    most = [min(3, group.kicker_count)] * BLACK_JOKER + [1, 1]
    for rank in (group.rank - 1, group.rank + group.length):
        if 0 <= rank < CHAIN_RANKS:
            most[rank] = min(most[rank], 2)
    cards = [rank for rank in ranks for _ in range(most[rank])]
    for kickers in dict.fromkeys(itertools.combinations(cards, group.kicker_count)):
        if kickers[-2:] != (BLACK_JOKER, RED_JOKER):
            yield kickers


def _rlcard_sort_key(group: MainGroup, kickers: _Kickers) -> tuple[object, ...]:
    """Return the sort key that puts the kickers of a body in RLCard's order.

    Lexicographic, but among planes of three with solos the kickers that differ come first, then trios, then pairs
    with a solo; and among longer planes those with a joker come first.
    """
    if CATEGORIES[group.category].name != "plane+solos" or group.length == 2:
        return kickers
    if group.length > 3:
        return kickers[-1] < BLACK_JOKER, kickers
    low, middle, high = kickers
    if low == middle == high:
        return 1, kickers
    if low < middle < high:
        return 0, kickers
    return 2, middle, low + high - middle


@functools.cache
def rlcard_actions() -> tuple[FlatAction, ...]:
    """Return RLCard's 27,472 moves in id order, the pass last, as pairs of main-group id and kicker ranks.

    Example:
        >>> len(rlcard_actions()), rlcard_actions()[-1]
        (27472, (0, ()))
    """
    actions: list[FlatAction] = []
    for segment in (SEGMENTS[index] for category in _ORDER for index in segments_of(category)):
        for group in MAIN_GROUPS[segment.base : segment.base + segment.size]:
            sets = _list_kicker_sets(group) if group.kicker_count else [()]
            actions += [(group.id, kickers) for kickers in sorted(sets, key=functools.partial(_rlcard_sort_key, group))]
    return tuple(actions)
