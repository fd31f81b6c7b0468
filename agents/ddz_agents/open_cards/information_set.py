"""Enumeration of information sets: all states that a seat cannot tell apart, with exact probabilities.

Fixing the observer's cards and dealing the unseen cards at random (section III.D of Whitehouse, Powley and Cowling
2011) makes every deal of *cards* equally likely; the number of deals of cards that give the same ranks to the same
seats is a product of multinomial coefficients, one per rank, and a state's probability is its share of them.
"""

from __future__ import annotations

import functools
import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb, prod

import numpy as np
import numpy.typing as npt

from ddz_agents.open_cards.errors import NotSolvableError, SearchLimitError
from ddz_agents.worlds.determinize import Words
from ddz_agents.worlds.history import check_history
from ddz_env import View
from ddz_env.core.cards import counts_to_word
from ddz_env.core.engine.layout import BOTTOM, HANDS, HIDDEN, KNOWN, LANDLORD, LEFT_OUT, NO_SEAT, PLAYED, SEAT, SIZES
from ddz_env.core.engine.words import add_hand, remove_hand
from ddz_env.core.notation import word_to_counts
from ddz_env.support.errors import InconsistentViewError

MAX_STATES = 50_000
"""Largest information set that is enumerated; those of Mini have at most 66 states."""

Counts = tuple[int, ...]
"""How many cards of each rank."""


@dataclass(frozen=True)
class InformationSet:
    """All states of an information set, each with the number of deals that lead to it.

    Attributes:
        rows: The states, shape ``[states, 32]``, uint64.
        deals: Deals of cards that lead to each state, shape ``[states]``, int64: their shares are the probabilities.
    """

    rows: Words
    deals: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.deals)

    @property
    def probabilities(self) -> list[Fraction]:
        """The exact probability of each state, as a fraction."""
        total = int(self.deals.sum())
        return [Fraction(int(count), total) for count in self.deals]


def enumerate_hands(pool: Counts, size: int) -> Iterator[Counts]:
    """Yield every distinct hand of a given size that can be dealt from a pool of cards."""
    if not pool:
        if size == 0:
            yield ()
        return
    most_above = sum(pool[1:])
    for count in range(max(0, size - most_above), min(pool[0], size) + 1):
        for rest in enumerate_hands(pool[1:], size - count):
            yield (count, *rest)


@functools.lru_cache(maxsize=4096)
def enumerate_deals(pool: Counts, sizes: Sequence[int]) -> tuple[tuple[tuple[int, ...], int], ...]:
    """List the distinct deals of hands of given sizes from a pool, each with how many card deals produce it.

    Args:
        pool: The cards as counts.
        sizes: Cards for each receiver.

    Returns:
        The hands as words, one per receiver, and the number of deals of cards that give them.

    Raises:
        SearchLimitError: If there are more than ``MAX_STATES``, which are counted, not made.

    Example:
        >>> [deals for _, deals in enumerate_deals((2, 1), (2,))]
        [2, 1]
    """
    states = _count_states(pool, tuple(sizes))
    if states > MAX_STATES:
        raise SearchLimitError(f"the information set has {states:,} states: too many for exact agents ({MAX_STATES:,})")
    return tuple(_enumerate_deals(pool, sizes))


def _count_states(pool: Counts, sizes: Counts) -> int:
    """Count the states of an information set from the unseen cards and the hand sizes, rank by rank."""
    ways = {sizes: 1}
    for have in pool:
        before, ways = ways, defaultdict(int)
        for lacking, number in before.items():
            for taken in itertools.product(*(range(min(have, lack) + 1) for lack in lacking)):
                if sum(taken) <= have:
                    ways[tuple(lack - take for lack, take in zip(lacking, taken, strict=True))] += number
    return ways[(0,) * len(sizes)]


def _enumerate_deals(pool: Counts, sizes: Sequence[int]) -> Iterator[tuple[tuple[int, ...], int]]:
    if not sizes:
        yield (), 1
        return
    for hand in enumerate_hands(pool, sizes[0]):
        ways = prod(comb(have, want) for have, want in zip(pool, hand, strict=True))
        rest = tuple(have - want for have, want in zip(pool, hand, strict=True))
        for words, deals in _enumerate_deals(rest, sizes[1:]):
            yield (counts_to_word(hand), *words), ways * deals


def information_set(row: Words, seat: int, open_hands: bool = False) -> InformationSet:
    """Enumerate all full states that are consistent with a seat's view.

    Args:
        row: A view's row (:func:`ddz_env.core.view.write_view`), shape ``[32]``.
        seat: The observer.
        open_hands: Whether the rules show all hands (the state is then known).

    Raises:
        NotSolvableError: If there is no landlord yet.
        InconsistentViewError: If the hand sizes do not fit the unseen cards.
        SearchLimitError: If there are more than ``MAX_STATES`` states.

    Example:
        >>> from ddz_env import State
        >>> state = State.from_hands(["3", "4"], check_sizes=False, rules="mini")
        >>> len(information_set(state.view().row, 0))
        6
    """
    if int(row[LANDLORD]) == NO_SEAT:
        raise NotSolvableError("exact search needs a landlord: the auction of this game is not over yet")
    if open_hands:
        state = row.copy()
        state[SIZES] = 0
        return InformationSet(state[None], np.ones(1, np.int64))
    pool, others, sizes = _unknown_cards(row, seat)
    if sum(sizes) > sum(pool) or min(sizes, default=0) < 0:
        raise InconsistentViewError(f"seat {seat} sees {sum(pool)} unplaced cards for hands of {sizes}: no deal agrees")
    return _fill_hands(row, others, enumerate_deals(pool, sizes))


def _unknown_cards(row: Words, seat: int) -> tuple[Counts, tuple[int, ...], tuple[int, ...]]:
    """Return the unseen cards, the other seats that hold cards, and how many unseen cards each gets."""
    held = {other: (int(row[SIZES]) >> (8 * other)) & 255 for other in range(3)}
    others = tuple(other for other, size in held.items() if other != seat and size > 0)
    face_up = {int(row[LANDLORD]): sum(word_to_counts(int(row[KNOWN])))}
    return word_to_counts(int(row[HIDDEN])), others, tuple(held[other] - face_up.get(other, 0) for other in others)


def count_deals(row: Words, seat: int) -> int:
    """Return how many card deals fit a view, an upper bound on the size of its information set."""
    pool, _, sizes = _unknown_cards(row, seat)
    left, ways = sum(pool), 1
    for size in sizes:
        ways *= comb(left, max(0, size))
        left -= size
    return ways


def _fill_hands(row: Words, others: Sequence[int], dealt: Sequence[tuple[tuple[int, ...], int]]) -> InformationSet:
    """Create the states of an information set by filling dealt hands into copies of a view's array."""
    rows = np.tile(row, (len(dealt), 1))
    rows[:, SIZES] = 0
    landlord, face_up = int(row[LANDLORD]), row[KNOWN]
    for state, (words, _) in zip(rows, dealt, strict=True):
        for other, word in zip(others, words, strict=True):
            state[HIDDEN] = remove_hand(state[HIDDEN], np.uint64(word))
            state[HANDS + other] = add_hand(np.uint64(word), face_up) if other == landlord else word
    return InformationSet(rows, np.array([deals for _, deals in dealt], np.int64))


def row_before_first_move(row: Words, seat: int, players: int) -> Words:
    """Return the game-state array that a seat saw before the first move, with all played cards taken back.

    Args:
        row: A view's row in a game with a fixed landlord, shape ``[32]``.
        seat: The observer.
        players: Number of seats.
    """
    landlord = int(row[LANDLORD])
    start = np.zeros_like(row)
    start[BOTTOM] = start[KNOWN] = row[BOTTOM]
    start[LANDLORD] = start[SEAT] = row[LANDLORD]
    start[HIDDEN], start[LEFT_OUT] = row[HIDDEN], row[LEFT_OUT]
    for other in range(players):
        played = row[PLAYED + other]
        size = ((int(row[SIZES]) >> (8 * other)) & 255) + int(played).bit_count()
        start[SIZES] = int(start[SIZES]) | size << (8 * other)
        if other == seat:
            start[HANDS + seat] = add_hand(row[HANDS + seat], played)
        else:
            loose = remove_hand(played, row[BOTTOM]) if other == landlord else played
            start[HIDDEN] = add_hand(start[HIDDEN], loose)
    return start


def check_replayable(view: View) -> None:
    """Check that a view's history can be replayed from the first lead.

    Raises:
        NotSolvableError: If the game had an auction, a doubling round, or a hand that may be shown.
        InconsistentHistoryError: If the history does not account for the cards played.
    """
    if view.rules.bidding != "fixed" or view.rules.doubling or view.rules.showing:
        raise NotSolvableError(
            "inference replays the game from the first lead: it needs a fixed landlord, no doubling and no showing, "
            f"not the {view.rules.name} rules"
        )
    check_history(view)
