"""Memory of hand decomposition: the prices of main groups, and where the search keeps what."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_env.core.actions import NUM_SEGMENTS, SEGMENTS, segments_of
from ddz_env.core.engine.compiling import inline_kernel

# Segments as typed integers: Numba compiles a function anew for every literal that it is given.
SEGMENTS_END = np.int64(NUM_SEGMENTS)
SOLO, PAIR, TRIO, TRIO_SOLO, TRIO_PAIR, BOMB, QUAD_SOLOS, ROCKET = (
    np.int64(segments_of(name).start)
    for name in ("solo", "pair", "trio", "trio+solo", "trio+pair", "bomb", "quad+2 solos", "rocket")
)
SOLO_CHAIN, PAIR_CHAIN, PLANES = (np.int64(segments_of(name).start) for name in ("solo chain", "pair chain", "plane"))
SOLO_CHAIN_END, PAIR_CHAIN_END, PLANES_END = (
    np.int64(segments_of(name).stop) for name in ("solo chain", "pair chain", "plane")
)


def _loaded() -> npt.NDArray[np.int64]:
    """The segment of each plane or quad by its kickers: none, solos, pairs (rows); 0 if there is none."""
    table = np.zeros((3, NUM_SEGMENTS), np.int64)
    for body, solos, pairs in (("plane", "plane+solos", "plane+pairs"), ("bomb", "quad+2 solos", "quad+2 pairs")):
        for row, category in enumerate((body, solos, pairs)):
            table[row, segments_of(body)[: len(segments_of(category))]] = segments_of(category)
    return table


def _priced_as() -> npt.NDArray[np.int64]:
    """The segment that prices each segment: its body without kickers; quads with kickers are no bombs."""
    table = np.arange(NUM_SEGMENTS)
    bare = {(s.copies, s.length): index for index, s in enumerate(SEGMENTS) if not s.kicker_count}
    for index, segment in enumerate(SEGMENTS):
        if segment.kicker_count:
            table[index] = QUAD_SOLOS if segment.copies == 4 else bare[segment.copies, segment.length]
    return table


LOADED = _loaded()
PRICED_AS = _priced_as()
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
MEMORY_WORDS = CHAIN + MAX_CHAINS


class Scratch(NamedTuple):
    """Prices, and the memory of the search.

    Attributes:
        price: Price of each main group without its kickers, shape ``[segments * 16]``, int64, by segment and lowest
            rank; the caller fills it.  Groups with kickers cost what their bodies cost
            alone, except quads with kickers, which are not bombs.
        memory: Shape ``[232]``, uint64.  The answer's moves stand at ``MAINS`` and ``KICKERS``.
    """

    price: npt.NDArray[np.int64]
    memory: npt.NDArray[np.uint64]


def new_scratch() -> Scratch:
    """Prices of one a move and fresh memory, for one thread."""
    return Scratch(np.ones(int(SEGMENTS_END) * PRICES, np.int64), np.zeros(MEMORY_WORDS, np.uint64))


@inline_kernel
def price_of(scratch: Scratch, segment: int, rank: np.uint64) -> int:
    """The price of a main group."""
    return scratch.price[np.int64(segment) * PRICES + np.int64(rank)]


@inline_kernel
def is_plane(segment: np.uint64) -> bool:
    """Whether a segment is that of a plane without kickers."""
    return np.uint64(PLANES) <= segment < np.uint64(PLANES_END)
