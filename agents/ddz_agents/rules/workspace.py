"""The rule agent's memory: costs of main groups, the decomposition of a hand, and a seat's knowledge.

Only what the seat may know is read (its own hand, the cards played, the hand sizes, the landlord and the target).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_env.core.actions import NUM_SEGMENTS, SEGMENTS, segments_of
from ddz_env.core.engine.layout import HANDS, LANDLORD, LEFT_OUT, PLAYED, SEAT
from ddz_env.core.engine.step import hand_size, next_seat
from ddz_env.core.engine.tables import MASK_WORDS
from ddz_env.core.engine.words import U0, U1, U3, remove_hand
from ddz_env.core.rules import R_DECK, R_PLAYERS
from ddz_env.support.compiling import inline_kernel, pure_kernel

# Segments as typed integers: Numba compiles a function once more for every literal that it gets.
SOLO, PAIR, TRIO, TRIO_SOLO, TRIO_PAIR, BOMB, QUAD_SOLOS, ROCKET = (
    np.int64(segments_of(name).start)
    for name in ("solo", "pair", "trio", "trio+solo", "trio+pair", "bomb", "quad+2 solos", "rocket")
)
(SOLO_CHAIN, SOLO_CHAIN_END), (PAIR_CHAIN, PAIR_CHAIN_END), (PLANES, PLANES_END) = (
    (np.int64(segments_of(name).start), np.int64(segments_of(name).stop))
    for name in ("solo chain", "pair chain", "plane")
)


def _segments_with_kickers() -> npt.NDArray[np.int64]:
    """Build a table of category indexes: each plane or quad without kickers, with solos, and with pairs."""
    table = np.zeros((3, NUM_SEGMENTS), np.int64)
    for body, solos, pairs in (("plane", "plane+solos", "plane+pairs"), ("bomb", "quad+2 solos", "quad+2 pairs")):
        for row, category in enumerate((body, solos, pairs)):
            table[row, segments_of(body)[: len(segments_of(category))]] = segments_of(category)
    return table


def _price_segments() -> npt.NDArray[np.int64]:
    """Build a table that maps each kind of main group to the kind without kickers that determines its cost."""
    table = np.arange(NUM_SEGMENTS)
    bare = {(s.copies, s.length): index for index, s in enumerate(SEGMENTS) if not s.kicker_count}
    for index, segment in enumerate(SEGMENTS):
        if segment.kicker_count:
            table[index] = QUAD_SOLOS if segment.copies == 4 else bare[segment.copies, segment.length]
    return table


SEGMENT_WITH_KICKERS = _segments_with_kickers()
PRICE_SEGMENT = _price_segments()

MAX_CHAINS = 136
MAX_GROUPS = 20

# Where things lie in ``HandWorkspace.memory``.
POOL, MOST, ALLOWED, TWO_JOKERS, TIMES = range(5)
"""What the prices are for: the unseen cards, the cards of the largest hand among them, and two words of the rules; and
how many times prices have been set."""
PATH, HANDS_LEFT, TAKEN, SPENT, PLANES_TAKEN, BODY = range(8, 56, 8)
"""Eight words each.  At each depth of the search: the index of the next chain to try, the hand left, the chain taken,
as in ``CHAIN``, the price of all chains taken and how many of them are planes; and planes and quads of a reading, in
the form of ``CHAIN``."""
BEST_PRICE, BEST_SURE = np.int64(56), np.int64(72)
"""Sixteen words each: the cheapest split so far by either price.  The hand that its chains leave, how many chains, the
reading (trios broken up, whether the rocket is whole, modes of planes and quads) and the chains."""
MAINS = 88
"""Twenty words: the moves of the answer, action ids."""
KICKERS = MAINS + MAX_GROUPS
"""Twenty words: their kickers, as hands."""
CHAIN = KICKERS + MAX_GROUPS
"""Chains that the hand holds: ``segment << 4 | lowest rank``."""
CHAIN_CARDS = CHAIN + MAX_CHAINS
"""Their cards, as hands."""
CHAIN_PRICE = CHAIN_CARDS + MAX_CHAINS
"""Their prices."""
BODY_KICKERS = CHAIN_PRICE + MAX_CHAINS
"""The kickers of the planes and quads in ``BODY``, as hands."""
MEMORY_WORDS = BODY_KICKERS + 8

# Where things lie in ``HandWorkspace.prices``.
WEIGHT = 0
"""The weights."""
ROCKET_PRICE, DEAREST = 40, 41
"""The rocket's prices, and the price of the dearest solo or pair."""
BEATEN, BY_HIGHER = 48, 48 + 8 * 16
"""By the number of higher groups unseen: how easily a group is beaten, and its prices; sixteen words per category."""
BY_SHARE = BY_HIGHER + 8 * 16
"""By how easily it is beaten: the prices of a solo."""
TRIO_PRICE = BY_SHARE + 104
"""By rank: the prices of a trio."""
SUMS = TRIO_PRICE + 16
"""The prices of sets of ranks: for each subset of four neighbouring ranks, the sums over the solos of the lowest four
ranks, of the next ones, and so on, and then the same of pairs."""
SOLOS, PAIRS = np.int64(0), np.int64(4)
PRICE_WORDS = SUMS + 16 * 8

# Words of ``RuleWorkspace.about``.
A_HAND, A_POOL, A_SEAT, A_ENEMY_CARDS, A_FEWEST, A_NEXT_ENEMY, A_PARTNER_CARDS = range(7)
ABOUT_WORDS = 7

HANDS_REMEMBERED = 256
"""Hands that are remembered: more than a decision looks at."""


class HandWorkspace(NamedTuple):
    """The costs of main groups, and the memory for finding the cheapest decompositions of a hand.

    Attributes:
        prices: Prices of main groups, int64, shape ``[PRICE_WORDS]``; set by
            :func:`~ddz_agents.rules.prices.set_prices`.  Groups with kickers cost what their bodies cost alone, except
            quads with kickers, which are not bombs.
        memory: What the prices are for, and the search's memory, uint64, shape ``[MEMORY_WORDS]``.  The moves of a
            split are at ``MAINS`` and ``KICKERS``.
    """

    prices: npt.NDArray[np.int64]
    memory: npt.NDArray[np.uint64]


class RuleWorkspace(NamedTuple):
    """The arrays of one rule agent: move costs, a cache of decompositions, legal actions and a seat's knowledge.

    Attributes:
        scratch: Prices and the search's memory.
        splits: Hands, how many times prices had been set when they were split, and what they cost; shape
            ``[hands, 3]``, uint64.
        mask: Legal actions, shape ``[MASK_WORDS]``, uint64.
        about: What the seat knows, uint64: see the ``A_`` indexes; shape ``[7]``.
    """

    scratch: HandWorkspace
    splits: npt.NDArray[np.uint64]
    mask: npt.NDArray[np.uint64]
    about: npt.NDArray[np.uint64]


def new_rule_workspace(hands: int = HANDS_REMEMBERED) -> RuleWorkspace:
    """Allocate the rule agent's memory for one thread.

    Args:
        hands: How many hands are remembered while prices stay the same, a power of two.
    """
    scratch = HandWorkspace(np.zeros(PRICE_WORDS, np.int64), np.zeros(MEMORY_WORDS, np.uint64))
    return RuleWorkspace(scratch, *(np.zeros(size, np.uint64) for size in ((hands, 3), MASK_WORDS, ABOUT_WORDS)))


@inline_kernel
def is_plane(segment: np.uint64) -> bool:
    """Return whether a category index belongs to planes without kickers."""
    return np.uint64(PLANES) <= segment < np.uint64(PLANES_END)


@inline_kernel
def is_enemy(row: np.ndarray, seat: np.uint64, other: np.uint64) -> bool:
    """Return whether two seats are on different sides; before there is a landlord, all seats are enemies."""
    landlord = row[LANDLORD]
    return other != seat and (landlord >= U3 or seat == landlord or other == landlord)


@pure_kernel
def read_public_state(row: np.ndarray, rules: np.ndarray, workspace: RuleWorkspace) -> None:
    """Write the acting seat's own hand and the public facts that it knows into ``workspace.about``."""
    seat = row[SEAT]
    hand = row[HANDS + np.int64(seat)]
    pool = remove_hand(remove_hand(rules[R_DECK], row[LEFT_OUT]), hand)
    most, fewest, partner = U0, np.uint64(99), U0
    other = U0
    while other < rules[R_PLAYERS]:
        pool = remove_hand(pool, row[PLAYED + np.int64(other)])
        size = hand_size(row, other)
        if other == seat:
            pass
        elif is_enemy(row, seat, other):
            most, fewest = max(most, size), min(fewest, size)
        else:
            partner = size
        other += U1
    about = workspace.about
    about[A_HAND], about[A_POOL], about[A_SEAT] = hand, pool, seat
    about[A_ENEMY_CARDS], about[A_FEWEST], about[A_PARTNER_CARDS] = most, fewest, partner
    following = next_seat(seat, rules)
    about[A_NEXT_ENEMY] = hand_size(row, following) if is_enemy(row, seat, following) else U0
