"""The numbering of the 400 actions: main groups (moves without their kickers), kicker ranks, bids and doubling.

A move with kickers is decided in two stages at consecutive levels of the game tree (Whitehouse, Powley and
Cowling 2011, section II.C, after Childs et al. 2008): first the *main group*, then the kickers, one rank at a
time in non-decreasing order.  Action ids are the same for every rule preset (the mask hides what a preset
forbids): pass is 0, then come the main groups, category by category, chains by length, then by lowest rank; then the
15 kicker ranks (``KICKER_BASE``), the bids (``BID_BASE``: no bid, bid 1, 2, 3) and the answers to doubling
(``DOUBLE_BASE``: no, yes).  With the categories below these are 379 main groups and 400 actions.

A *segment* is a run of ids that share category and chain length; its ids differ in the lowest rank alone.

Adding a category is one line at the end of ``CATEGORIES``, and one for each preset of :mod:`ddz_env.core.rules` that
plays it.  Ids, names, notation, legal moves, comparison, masks, observations, random play, the searches and the
generated tables follow, as long as the category is like the others: a body of one to four cards of each of one or more
consecutive ranks, with or without kickers that are all solos or all pairs, beaten by the same category and length
with a higher body, by bombs and by the rocket.  What does not follow:

* Another kind of body (two different ranks, say) or of comparison needs code in :mod:`ddz_env.core.engine.legal` and
  :mod:`ddz_env.core.engine.step`; kickers of three or four cards need it in the observation and in
  ``ddz_agents.neural``.
* The rule agent answers with the new moves but does not plan with them (:mod:`ddz_agents.rules.decomposition`), as
  it does with shuttles today.
* The ids behind the new groups move up.  Policies that were trained before are refused by their fingerprint and must
  be trained again, and records of action ids are out of date; a category in the middle moves more ids for no gain.
* Numbers that people wrote: tests that count actions, ``tests/data/perft.json``, prose in ``docs/``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ddz_env.core.cards import BLACK_JOKER, CHAIN_RANKS, MAX_HAND, NUM_RANKS, RANK_NAMES
from ddz_env.support.checks import as_integer, check_choice
from ddz_env.support.errors import InvalidMoveError, short_repr


@dataclass(frozen=True)
class Category:
    """A category of moves, such as trios with a pair or chains of solos.

    Attributes:
        name: Its name in docs and in the action table.
        copies: Cards of each rank in the body (1 to 4); 0 marks pass and the rocket, which have no rank.
        lengths: Chain lengths, ``(1,)`` for groups of one rank.
        ranks: How many lowest ranks there are at length 1 (15 for solos, 13 otherwise).
        kicker_size: Cards per kicker (0, 1 or 2).
        kickers_per_link: Kickers for each link of the chain.
        weight: Botzone's combination weight in hundredths for short groups (thesis, table 2.1).
        long_weight: The weight from three links on, where it differs.
    """

    name: str
    copies: int
    lengths: tuple[int, ...] = (1,)
    ranks: int = 13
    kicker_size: int = 0
    kickers_per_link: int = 0
    weight: int = 0
    long_weight: int | None = None


def _chain_lengths(copies: int, shortest: int, kicker_cards_per_link: int = 0) -> tuple[int, ...]:
    """Return the chain lengths from ``shortest`` up that fit the twelve chain ranks and the largest hand."""
    return tuple(n for n in range(shortest, CHAIN_RANKS + 1) if n * (copies + kicker_cards_per_link) <= MAX_HAND)


CATEGORIES: tuple[Category, ...] = (
    Category("pass", 0),
    Category("solo", 1, ranks=15, weight=1),
    Category("pair", 2, weight=2),
    Category("trio", 3, weight=4),
    Category("trio+solo", 3, kicker_size=1, kickers_per_link=1, weight=4),
    Category("trio+pair", 3, kicker_size=2, kickers_per_link=1, weight=4),
    Category("bomb", 4, weight=10),
    Category("rocket", 0, weight=16),
    Category("quad+2 solos", 4, kicker_size=1, kickers_per_link=2, weight=8),
    Category("quad+2 pairs", 4, kicker_size=2, kickers_per_link=2, weight=8),
    Category("solo chain", 1, _chain_lengths(1, 5), weight=6),
    Category("pair chain", 2, _chain_lengths(2, 3), weight=6),
    Category("plane", 3, _chain_lengths(3, 2), weight=8),
    Category("plane+solos", 3, _chain_lengths(3, 2, 1), kicker_size=1, kickers_per_link=1, weight=8),
    Category("plane+pairs", 3, _chain_lengths(3, 2, 2), kicker_size=2, kickers_per_link=1, weight=8),
    Category("shuttle", 4, _chain_lengths(4, 2), weight=10, long_weight=20),
    Category("shuttle+solos", 4, _chain_lengths(4, 2, 2), kicker_size=1, kickers_per_link=2, weight=10, long_weight=20),
    Category("shuttle+pairs", 4, _chain_lengths(4, 2, 4), kicker_size=2, kickers_per_link=2, weight=10, long_weight=20),
)
"""All categories in id order.  Order, ranges and counts of the action table follow from this."""

PASS_CATEGORY, BOMB_CATEGORY, ROCKET_CATEGORY, PLANE_CATEGORY = (
    [category.name for category in CATEGORIES].index(name) for name in ("pass", "bomb", "rocket", "plane")
)


@dataclass(frozen=True)
class MainGroup:
    """A move without its kickers (a main group), identified by one action id.

    Attributes:
        id: The action id, below ``NUM_MAIN``.
        segment: Index of its segment in ``SEGMENTS``.
        category: Index into ``CATEGORIES``.
        rank: Lowest rank of the body; -1 for pass, 13 for the rocket.
        length: Chain length, 1 for groups of one rank, 0 for pass.
        kicker_size: Cards per kicker.
        kicker_count: Kickers to choose.
        need: Cards of each rank in the body, 15 counts.
    """

    id: int
    segment: int
    category: int
    rank: int
    length: int
    kicker_size: int
    kicker_count: int
    need: tuple[int, ...]

    @property
    def cards(self) -> int:
        """The number of cards in the whole move, including kickers."""
        return sum(self.need) + self.kicker_size * self.kicker_count

    @property
    def name(self) -> str:
        """The category and the body's cards as a string, for example ``plane+solos 333444+``."""
        category = CATEGORIES[self.category].name
        if self.category == PASS_CATEGORY:
            return category
        body = "".join(RANK_NAMES[rank] * count for rank, count in enumerate(self.need))
        return f"{category} {body}{'+' if self.kicker_count else ''}"


@dataclass(frozen=True)
class Segment:
    """A range of consecutive action ids: the moves of one category and chain length, by ascending lowest rank.

    Attributes:
        category: Index into ``CATEGORIES``.
        base: First action id.
        size: How many ids.
        length: Chain length (0 for pass).
        copies: Cards of each rank in the body.
        kicker_size: Cards per kicker.
        kicker_count: Kickers to choose.
        cards: Cards in the whole move.
        weight: Botzone's combination weight, in hundredths of a point.
    """

    category: int
    base: int
    size: int
    length: int
    copies: int
    kicker_size: int
    kicker_count: int
    cards: int
    weight: int


def _list_bodies(category: Category, length: int) -> list[tuple[int, tuple[int, ...]]]:
    """List the possible bodies of a category and chain length as pairs of the lowest rank and 15 card counts."""
    if category.name == "pass":
        return [(-1, (0,) * NUM_RANKS)]
    if category.name == "rocket":
        return [(BLACK_JOKER, tuple(int(rank >= BLACK_JOKER) for rank in range(NUM_RANKS)))]
    ranks = category.ranks if length == 1 else CHAIN_RANKS - length + 1
    return [
        (first, tuple(category.copies * (first <= rank < first + length) for rank in range(NUM_RANKS)))
        for first in range(ranks)
    ]


def _build_table() -> tuple[tuple[Segment, ...], tuple[MainGroup, ...]]:
    segments: list[Segment] = []
    groups: list[MainGroup] = []
    for index, category in enumerate(CATEGORIES):
        for length in category.lengths:
            links = 0 if index == PASS_CATEGORY else length
            size, count = category.kicker_size, category.kickers_per_link * length
            base = len(groups)
            for rank, need in _list_bodies(category, length):
                groups.append(MainGroup(len(groups), len(segments), index, rank, links, size, count, need))
            weight = category.weight if category.long_weight is None or length < 3 else category.long_weight
            segments.append(
                Segment(
                    index, base, len(groups) - base, links, category.copies, size, count, groups[base].cards, weight
                )
            )
    return tuple(segments), tuple(groups)


SEGMENTS, MAIN_GROUPS = _build_table()

NUM_MAIN: int = len(MAIN_GROUPS)
PASS: int = 0
KICKER_BASE: int = NUM_MAIN
BID_BASE: int = KICKER_BASE + NUM_RANKS
DOUBLE_BASE: int = BID_BASE + 4
NUM_ACTIONS: int = DOUBLE_BASE + 2
NUM_SEGMENTS: int = len(SEGMENTS)

MAX_KICKERS: int = max(segment.kicker_count for segment in SEGMENTS)
"""The most kickers of one move."""

MAIN_IDS: dict[tuple[int, int, int], int] = {(g.category, g.rank, g.length): g.id for g in MAIN_GROUPS}
"""(category, lowest rank, length) → action id."""


def segments_of(category: str) -> range:
    """Return, as indexes into ``SEGMENTS``, the ranges of action ids of a category, shortest chains first.

    Raises:
        InvalidMoveError: If there is no such category.
    """
    names = [entry.name for entry in CATEGORIES]
    index = names.index(check_choice("category", category, names, InvalidMoveError))
    numbers = [number for number, segment in enumerate(SEGMENTS) if segment.category == index]
    return range(numbers[0], numbers[-1] + 1)


def check_action(action: object) -> int:
    """Check that an action id is in 0..399, and return it as a plain integer.

    Raises:
        InvalidMoveError: If there is no such id.
    """
    number = as_integer(action)
    if number is None:
        raise InvalidMoveError(f"an action is one integer from 0 to {NUM_ACTIONS - 1}, not {short_repr(action)}")
    if not 0 <= number < NUM_ACTIONS:
        raise InvalidMoveError(f"action {short_repr(action)} does not exist: ids run from 0 to {NUM_ACTIONS - 1}")
    return number


def action_name(action: int) -> str:
    """Return the readable name of an action id, such as ``kicker 7`` or ``bid 2``.

    Raises:
        InvalidMoveError: If there is no such id.
    """
    action = check_action(action)
    if action < KICKER_BASE:
        return MAIN_GROUPS[action].name
    if action < BID_BASE:
        return f"kicker {RANK_NAMES[action - KICKER_BASE]}"
    if action < DOUBLE_BASE:
        return ("no bid", "bid 1", "bid 2", "bid 3")[action - BID_BASE]
    return ("no double", "double")[action - DOUBLE_BASE]


def format_actions(actions: Sequence[int]) -> str:
    """Format up to twelve action ids with their names as a comma-separated list for an error message."""
    names = ", ".join(f"{action} ({action_name(action)})" for action in actions[:12])
    return names if len(actions) <= 12 else f"{names} and {len(actions) - 12} more"
