"""How many deals, states and games there are: exact counts and the thesis's estimates (section 4.1)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np

LANDLORD_HAND, LANDLORD_CARDS, PEASANT_HAND = 17, 3, 17
COPIES = (4,) * 13 + (1, 1)
"""Cards of each rank."""


def deals_by_cards() -> int:
    """Deals with the landlord cards known, cards told apart by suit: the thesis's first factor.

    Example:
        >>> f"{deals_by_cards():.1e}"
        '8.5e+26'
    """
    landlord = LANDLORD_HAND + LANDLORD_CARDS
    return math.comb(54, landlord) * math.comb(landlord, LANDLORD_CARDS) * math.comb(34, PEASANT_HAND)


def deals_by_ranks() -> int:
    """The same where only ranks count."""
    return _placements((LANDLORD_HAND, LANDLORD_CARDS, PEASANT_HAND), lambda _: 1)


def states_by_cards() -> int:
    """The thesis's bound: every deal, and of every card whether it has been played."""
    return deals_by_cards() * 2**54


def states_by_ranks() -> int:
    """The same where only ranks count: how many of each rank each hand has played."""
    return _placements(
        (LANDLORD_HAND, LANDLORD_CARDS, PEASANT_HAND), lambda held: math.prod(count + 1 for count in held)
    )


def positions_by_cards() -> int:
    """Who holds which cards, without who has played the others: what the rest of the game depends on but the trick."""
    return _holdings(lambda held: math.factorial(sum(held)) // math.prod(math.factorial(count) for count in held))


def positions_by_ranks() -> int:
    """The same where only ranks count, as in the engine."""
    return _holdings(lambda _: 1)


_Weight = Callable[[Sequence[int]], int]
"""Of the copies of a rank in each place: in how many ways they get there."""


def _placements(sizes: tuple[int, int, int], weight: _Weight) -> int:
    """Ways to place all cards in four places, of which the first three take so many."""
    return int(_distributions(sizes, weight)[sizes])


def _holdings(weight: _Weight) -> int:
    """Ways to leave hands of any size up to the dealt ones; the fourth place is what has been played."""
    return int(_distributions((LANDLORD_HAND + LANDLORD_CARDS, PEASANT_HAND, PEASANT_HAND), weight).sum())


def _distributions(most: tuple[int, int, int], weight: _Weight) -> np.ndarray:
    """Ways by what the first three of four places hold: a product of polynomials, one a rank."""
    found = np.zeros([size + 1 for size in most], dtype=object)
    found[0, 0, 0] = 1
    for copies in COPIES:
        before, found = found, np.zeros_like(found)
        for a, b, c in itertools.product(range(copies + 1), repeat=3):
            if a + b + c <= copies:
                ways = weight((a, b, c, copies - a - b - c))
                i, j, k = before.shape
                found[a:, b:, c:] += ways * before[: i - a, : j - b, : k - c]
    return found


def tree_exponent(branching: float, length: float) -> float:
    """The thesis's estimate of the game tree as a power of ten: deals × the peasants' hands × branching ** length."""
    return math.log10(deals_by_cards()) + math.log10(math.comb(34, PEASANT_HAND)) + length * math.log10(branching)
