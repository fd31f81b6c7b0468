"""Every deal of Mini Dou Dizhu, counted: 8,832 of them, and at most 66 states in an information set."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from functools import cache
from math import comb, prod

import numpy as np

from ddz_env.core.engine import layout
from ddz_env.core.engine.deal import new_game
from ddz_env.core.notation import word_to_counts
from ddz_env.core.rules import PRESETS
from tests.oracles.positions import hands_of
from tests.oracles.reference import Hand, together, without

RULES = PRESETS["mini"]
Deal = tuple[Hand, Hand]
"""Player 1's hand and player 2's; the other four cards are hidden."""


def hands_from(pool: Hand, size: int) -> list[Hand]:
    """Every distinct hand of a size that the pool can give."""
    return [hand for hand in itertools.product(*(range(count + 1) for count in pool)) if sum(hand) == size]


def ways(hand: Hand, pool: Hand) -> int:
    """How many sets of cards of the pool have the ranks of the hand."""
    return prod(comb(have, want) for have, want in zip(pool, hand, strict=True))


@cache
def census() -> dict[Deal, Fraction]:
    """The probability of each deal, uniform over the cards."""
    deck, size = RULES.deck, RULES.hand_size
    all_ways = comb(sum(deck), size) * comb(sum(deck) - size, size)
    return {
        (one, two): Fraction(ways(one, deck) * ways(two, without(deck, one)), all_ways)
        for one in hands_from(deck, size)
        for two in hands_from(without(deck, one), size)
    }


def test_the_engine_deals_by_the_probabilities_of_the_papers_deals() -> None:
    """Of 20,000 deals the five likeliest, and deals with both jokers in a hand, come as often as they should."""
    assert (len(census()), sum(census().values())) == (8_832, 1)
    assert max(Counter(one for one, _ in census()).values()) == 66
    number, seen = 20_000, Counter[Deal]()
    row, words = np.zeros(layout.ROW_WORDS, np.uint64), RULES.words()
    for seed in range(number):
        new_game(row, np.uint64(seed), words)
        one, two = hands_of(row, RULES)
        assert together(one, two, word_to_counts(int(row[layout.HIDDEN]))) == RULES.deck
        seen[one, two] += 1
    assert set(seen) <= set(census())
    events = [{deal} for deal in sorted(census(), key=census().__getitem__)[-5:]]
    events += [{deal for deal in census() if deal[seat][13:] == (1, 1)} for seat in (0, 1)]
    for event in events:
        probability = float(sum(census()[deal] for deal in event))
        spread = (number * probability * (1 - probability)) ** 0.5
        assert abs(sum(seen[deal] for deal in event) - number * probability) < 5 * spread
