"""Memory of hand decomposition: the prices of main groups, and where the search keeps what."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_env.engine import tables
from ddz_env.engine.compiling import inline_kernel, pure_kernel

# Segments as typed integers: Numba compiles a function anew for every literal that it is given.
SEGMENTS_END = np.int64(tables.N_SEGMENTS)
BOMB = np.int64(tables.SEG_BOMB)
PAIR = np.int64(tables.SEG_PAIR)
PAIR_CHAIN = np.int64(tables.SEG_PAIR_CHAIN)
PLANES = np.int64(tables.SEG_PLANE)
PLANE_PAIRS = np.int64(tables.SEG_PLANE_PAIRS)
PLANE_SOLOS = np.int64(tables.SEG_PLANE_SOLOS)
QUAD_PAIRS = np.int64(tables.SEG_QUAD_PAIRS)
QUAD_SOLOS = np.int64(tables.SEG_QUAD_SOLOS)
ROCKET = np.int64(tables.SEG_ROCKET)
SOLO = np.int64(tables.SEG_SOLO)
SOLO_CHAIN = np.int64(tables.SEG_SOLO_CHAIN)
TRIO = np.int64(tables.SEG_TRIO)
TRIO_PAIR = np.int64(tables.SEG_TRIO_PAIR)
TRIO_SOLO = np.int64(tables.SEG_TRIO_SOLO)
EMIT, PRICE_ONLY = np.bool_(True), np.bool_(False)

PRICES = 16
"""Prices a segment: one for each lowest rank."""
MAX_CHAINS = 136
MAX_GROUPS = 20

# Where things lie in ``Scratch.memory``.
PATH = 0
"""Eight words: the index of the next chain to try at each depth."""
HANDS_LEFT = 8
"""Eight words: the hand left at each depth."""
COSTS = 16
"""Eight words: the price of the chains taken at each depth."""
TAKEN = 24
"""Eight words: the chains taken, as in ``CHAIN``."""
BEST = 32
"""Eight words: the chains of the best split so far."""
BODY = 40
"""Eight words: bodies that take several kickers: ``segment << 6 | lowest rank << 2 | mode``."""
SLOTS = 48
"""Eight words: how many kickers each of them takes."""
MAINS = 56
"""Twenty words: the moves of the answer, action ids."""
KICKERS = MAINS + MAX_GROUPS
"""Twenty words: their kickers, as hands."""
CHAIN = KICKERS + MAX_GROUPS
"""Chains that the hand holds: ``segment << 4 | lowest rank``."""
_MEMORY_WORDS = CHAIN + MAX_CHAINS


class Scratch(NamedTuple):
    """Prices, and the memory of the search.

    Attributes:
        price: Price of each main group without its kickers, shape ``[segments * 16]``, int64, by segment and lowest
            rank; the caller fills it (:func:`uniform_prices`).  Groups with kickers cost what their bodies cost
            alone, except quads with kickers, which are not bombs.
        memory: Shape ``[232]``, uint64.  The answer's moves stand at ``MAINS`` and ``KICKERS``.
    """

    price: npt.NDArray[np.int64]
    memory: npt.NDArray[np.uint64]


def new_scratch() -> Scratch:
    """Prices of one a move and fresh memory, for one thread."""
    return Scratch(np.ones(int(SEGMENTS_END) * PRICES, np.int64), np.zeros(_MEMORY_WORDS, np.uint64))


@pure_kernel
def uniform_prices(scratch: Scratch) -> None:
    """Price every move at one: the search then counts the fewest tricks to finish."""
    for index in range(SEGMENTS_END * PRICES):
        scratch.price[index] = 1


@inline_kernel
def price_of(scratch: Scratch, segment: int, rank: np.uint64) -> int:
    """The price of a main group."""
    return scratch.price[np.int64(segment) * PRICES + np.int64(rank)]
