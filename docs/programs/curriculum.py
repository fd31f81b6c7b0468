"""A curriculum: hands of five cards at first, of seventeen after 20,000 deals.

PYTHONPATH=docs/programs ddz train selfplay --out runs/growing --minutes 10 --deals curriculum:deal
"""

from __future__ import annotations

import numpy as np

from ddz_env import State

DECK = [*"3456789TJQKA2" * 4, *"BR"]
FIRST, WHOLE, GROWING = 5, 17, 20_000


def deal(rng: np.random.Generator, number: int) -> State:
    """Three hands of one size and the landlord cards; the other cards are out of the game."""
    size = min(WHOLE, FIRST + (WHOLE - FIRST) * number // GROWING)
    cards = rng.permutation(DECK)
    hands = ["".join(cards[size * seat : size * (seat + 1)]) for seat in range(3)]
    return State.from_hands(hands, "".join(cards[-3:]), check_sizes=False)
