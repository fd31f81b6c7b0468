"""The peers' flat action spaces, generated from the action table.

RLCard and OpenSpiel give every whole move one id: 27,472 and 26,057 of them.  The orders below are theirs, so an
agent that was trained on their ids can play here.  Nothing is read from their files; the tests compare every id
with their tables.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence

from ddz_env.core.actions import CATEGORIES, MAIN_GROUPS, SEGMENTS, MainGroup, segments_of
from ddz_env.core.cards import BLACK_JOKER, CHAIN_RANKS, NUM_RANKS, RED_JOKER

FlatAction = tuple[int, tuple[int, ...]]
"""Action id of the main group, and the kicker ranks in non-decreasing order."""

OPENSPIEL_BIDS: int = 3
"""OpenSpiel's ids 1, 2, 3 are bids: move ``n`` of :func:`openspiel_actions` has id ``n + 3``, pass has id 0."""

_PLANES = ("plane", "plane+solos", "plane+pairs")
_RLCARD_ORDER = (
    *("solo", "pair", "trio", "trio+solo", "trio+pair", "solo chain", "pair chain", *_PLANES),
    *("quad+2 solos", "quad+2 pairs", "bomb", "rocket", "pass"),
)
_OPENSPIEL_ORDER = (
    *("pass", "solo", "solo chain", "pair", "pair chain", "trio", "trio+solo", "trio+pair", *_PLANES),
    *("bomb", "rocket"),
)

_Kickers = tuple[int, ...]
_Place = Callable[[MainGroup, _Kickers], tuple[object, ...]]
"""Where the kickers of a body come among the others: what they are sorted by."""


def _kicker_sets(group: MainGroup, most_beside: int) -> Iterator[_Kickers]:
    """The kickers that both peers allow, in lexicographic order.

    A solo rank is used at most three times (a joker once), pairs differ, and the two jokers never ride together.

    Args:
        group: The main group.
        most_beside: How often a chain rank next to the body may be used.
    """
    ranks = [rank for rank in range(NUM_RANKS) if not group.need[rank]]
    if group.kicker_size == 2:
        yield from itertools.combinations([rank for rank in ranks if rank < BLACK_JOKER], group.kicker_count)
        return
    most = [min(3, group.kicker_count)] * BLACK_JOKER + [1, 1]
    for rank in (group.rank - 1, group.rank + group.length):
        if 0 <= rank < CHAIN_RANKS:
            most[rank] = min(most[rank], most_beside)
    cards = [rank for rank in ranks for _ in range(most[rank])]
    for kickers in dict.fromkeys(itertools.combinations(cards, group.kicker_count)):
        if kickers[-2:] != (BLACK_JOKER, RED_JOKER):
            yield kickers


def _rlcard_place(group: MainGroup, kickers: _Kickers) -> tuple[object, ...]:
    """RLCard's order of the kickers of one body.

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


def _openspiel_place(group: MainGroup, kickers: _Kickers) -> tuple[object, ...]:
    """OpenSpiel's order of the kickers of one body: by the highest, then by the next highest, and so on."""
    return kickers[::-1]


def _actions(order: Sequence[str], most_beside: int, place: _Place) -> Iterator[FlatAction]:
    """A peer's moves by its order of the categories and of the kickers of one body."""
    for segment in (SEGMENTS[index] for category in order for index in segments_of(category)):
        for group in MAIN_GROUPS[segment.base : segment.base + segment.size]:
            sets = _kicker_sets(group, most_beside) if group.kicker_count else [()]
            yield from ((group.id, kickers) for kickers in sorted(sets, key=functools.partial(place, group)))


@functools.cache
def rlcard_actions() -> tuple[FlatAction, ...]:
    """RLCard's 27,472 actions in the order of its ids; the last is pass.

    Example:
        >>> len(rlcard_actions()), rlcard_actions()[-1]
        (27472, (0, ()))
    """
    return tuple(_actions(_RLCARD_ORDER, 2, _rlcard_place))


@functools.cache
def openspiel_actions() -> tuple[FlatAction, ...]:
    """Pass and OpenSpiel's 26,053 moves in the order of its ids, the three bids left out.

    Example:
        >>> len(openspiel_actions()), openspiel_actions()[0]
        (26054, (0, ()))
    """
    return tuple(_actions(_OPENSPIEL_ORDER, 3, _openspiel_place))


@functools.cache
def openspiel_ids() -> dict[FlatAction, int]:
    """OpenSpiel's id of pass (0) and of each move (4 to 26,056)."""
    return {action: index + OPENSPIEL_BIDS if index else 0 for index, action in enumerate(openspiel_actions())}
