"""Dealing as chance nodes, each of which distributes the cards of one rank.

Suits never matter, so dealing card by card would reach the same game along many paths.  Here each rank is one chance
node, each of its outcomes is a *split* of the rank's cards among the receivers, and every deal of ranks is one history,
with the probability of all deals of cards that look like it.  Resampling draws another deal that looks the same to a
player.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import comb, prod
from typing import Any

from ddz_env.core.cards import NUM_RANKS
from ddz_env.core.engine.layout import HIDDEN
from ddz_env.core.notation import Hand
from ddz_env.core.rules import Rules
from ddz_env.core.state import State
from ddz_env.peers.openspiel.observers import all_cards_held

Split = tuple[int, ...]
"""How many cards of a rank each receiver gets."""

MAX_COPIES = 4


@functools.cache
def list_splits(receivers: int) -> tuple[Split, ...]:
    """List all ways to divide one to four equal cards among receivers; a chance action is an index in the list.

    Splits are ordered by the number of cards, then lexicographically.
    """
    every = itertools.product(range(MAX_COPIES + 1), repeat=receivers)
    return tuple(
        sorted((split for split in every if 0 < sum(split) <= MAX_COPIES), key=lambda split: (sum(split), split))
    )


@functools.cache
def _splits_with_actions(copies: int, receivers: int) -> tuple[tuple[int, Split], ...]:
    """Return the ways to divide a number of cards among receivers, each paired with its chance action."""
    return tuple((number, split) for number, split in enumerate(list_splits(receivers)) if sum(split) == copies)


@functools.cache
def list_outcomes(copies: int, places: tuple[int, ...]) -> tuple[tuple[int, float], ...]:
    """List the chance actions that deal a rank's cards into the receivers' remaining places, with probabilities.

    Args:
        copies: Cards of the rank.
        places: Cards that each receiver still gets; together all that are not dealt yet, these included.

    Returns:
        Chance actions, ascending, and probabilities.  With all cards equally likely in every place, a split has
        ``prod(comb(places, split)) / comb(sum(places), copies)``.
    """
    ways = comb(sum(places), copies)
    return tuple(
        (number, prod(map(comb, places, split)) / ways)
        for number, split in _splits_with_actions(copies, len(places))
        if all(map(operator.le, split, places))
    )


@dataclass(frozen=True)
class PartialDeal:
    """A deal in progress, complete up to some rank; ranks that leave no choice are dealt without a chance node.

    Attributes:
        rules: The rules.
        splits: The splits so far, one per rank from the lowest on.
        places: Cards that each receiver still gets.
    """

    rules: Rules
    splits: tuple[Split, ...]
    places: tuple[int, ...]

    @classmethod
    @functools.cache
    def start(cls, rules: Rules) -> PartialDeal:
        """Start an empty deal to the seats, the landlord cards and any undealt cards, by the rules."""
        sizes = [rules.hand_size] * rules.players + [rules.bottom]
        sizes.append(sum(rules.deck) - sum(sizes))
        places = (*sizes[: rules.players], *(size for size in sizes[rules.players :] if size))
        return cls(rules, (), places)._deal_forced_ranks()

    @property
    def is_done(self) -> bool:
        """Whether all cards are dealt."""
        return len(self.splits) == NUM_RANKS

    @property
    def outcomes(self) -> tuple[tuple[int, float], ...]:
        """The chance actions of the next rank with their probabilities; empty for a rank that is not in the deck."""
        return list_outcomes(self.rules.deck[len(self.splits)], self.places)

    def apply_chance_action(self, action: int) -> PartialDeal:
        """Return a new deal in which a chance action has distributed the cards of the next rank."""
        return self._with_split(list_splits(len(self.places))[action])._deal_forced_ranks()

    def hands(self) -> list[Hand]:
        """Return the hands of all receivers: the seats, the landlord cards, then any undealt cards."""
        return [Hand(counts) for counts in zip(*self.splits, strict=True)]

    def actions_for(self, hands: Sequence[Hand]) -> Iterator[int]:
        """Yield the chance actions that deal the given hands, one hand per receiver."""
        deal, splits = self, [*zip(*(hand.counts for hand in hands), strict=True)]
        while not deal.is_done:
            action = list_splits(len(self.places)).index(splits[len(deal.splits)])
            yield action
            deal = deal.apply_chance_action(action)

    def __deepcopy__(self, memo: dict[int, Any]) -> PartialDeal:
        return self  # immutable, and copied with every state

    def _with_split(self, split: Split) -> PartialDeal:
        places = tuple(most - number for most, number in zip(self.places, split, strict=True))
        return PartialDeal(self.rules, (*self.splits, split), places)

    def _deal_forced_ranks(self) -> PartialDeal:
        deal = self
        while not deal.is_done and len(deal.outcomes) < 2:
            splits = [list_splits(len(deal.places))[action] for action, _ in deal.outcomes]
            deal = deal._with_split(splits[0] if splits else (0,) * len(deal.places))
        return deal


def resample_hands(state: State, player: int, draw: Callable[[], float]) -> list[Hand]:
    """Draw random hands for all receivers, consistent with what a player knows.

    Args:
        state: A game.
        player: The player whose knowledge is kept.
        draw: Draws from 0 (included) to 1.

    Returns:
        The seats' hands without the landlord cards, the landlord cards, the undealt cards; the last two are left out
        if the rules deal none.
    """
    rules, view = state.rules, state.view(player)
    cards = _shuffle_ranks(Hand.from_word(int(view.row[HIDDEN])), draw)
    hands = []
    for seat in range(rules.players):
        held = all_cards_held(state, seat)
        if seat != player and not rules.open_hands:
            face_up = view.known_cards if seat == view.landlord else Hand.parse("")
            drawn = _take_cards(cards, view.hand_sizes[seat] - len(face_up))
            held = drawn + face_up + view.played(seat)
        hands.append(held - state.bottom if seat == view.landlord else held)
    if rules.bottom:
        hands.append(state.bottom if view.landlord is not None else _take_cards(cards, rules.bottom))
    undealt = _take_cards(cards, sum(rules.deck) - sum(map(len, hands)))
    return [*hands, undealt] if undealt else hands


def _shuffle_ranks(pool: Hand, draw: Callable[[], float]) -> Iterator[int]:
    """Yield the ranks of a pool's cards in random order (Fisher–Yates shuffle)."""
    ranks = [rank for rank, count in enumerate(pool.counts) for _ in range(count)]
    while ranks:
        index = int(draw() * len(ranks))
        ranks[index], ranks[-1] = ranks[-1], ranks[index]
        yield ranks.pop()


def _take_cards(cards: Iterator[int], number: int) -> Hand:
    counts = Counter(next(cards) for _ in range(number))
    return Hand(tuple(counts[rank] for rank in range(NUM_RANKS)))
