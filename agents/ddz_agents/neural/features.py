"""Functions that compute the networks' features from the cards and the passes of a game.

**Thresholds**: at least one of a rank, at least two ...: the moves of Dou Dizhu are made of thresholds, not of counts.

**Chains**: whether a hand holds each of them, so that no layer has to find runs of ranks.

**Prospects**: how far a hand is from being played out.  PerfectDou (Yang et al. 2022) gives its networks the fewest
moves that play a hand out.  Here the rule agent's decomposition (:mod:`ddz_agents.rules.decomposition`) counts the
moves of the hand that unseen cards can beat and all its moves, and says what the hand is worth at the rule agent's
prices: some tenths of a microsecond per hand.

**Signs** of what others hold: the weakest solo and pair of an enemy that a seat let pass.  All moves are public, so a
pass says something about a hand: who lets a nine pass probably has no solo above it to spare.  The observation's
history holds the passes one by one; the signs are, for each of the other seats, the lowest rank at which it passed on
an enemy's solo and on an enemy's pair.
"""

from __future__ import annotations

import numpy as np

from ddz_agents.rules.decomposition import hand_price_and_losers
from ddz_agents.rules.prices import LOSER, set_prices
from ddz_agents.rules.weights import WEIGHTS
from ddz_agents.rules.workspace import RuleWorkspace
from ddz_env.core.actions import MAIN_GROUPS
from ddz_env.core.cards import NUM_RANKS
from ddz_env.core.engine.tables import SEGMENT_COPIES, SEGMENT_LENGTH, SEGMENT_SIZE
from ddz_env.core.engine.words import PLANE, U0, U1, U16, run_starts
from ddz_env.core.observation import HISTORY, OBSERVATION
from ddz_env.support.compiling import inline_kernel, part_kernel, pure_kernel

# --- Hands ------------------------------------------------------------------------------------------------------------

MOST_COPIES = 4
"""The highest count of a rank, and so the number of thresholds."""

PLANES = MOST_COPIES * NUM_RANKS
"""Thresholds of one field of cards: rank by rank, four each."""

CHAINS = tuple(group for group in MAIN_GROUPS if group.length >= 2 and group.kicker_count == 0)
"""The main groups that are chains without kickers, in the order of their ids."""

CHAIN_SEGMENTS = np.array(sorted({chain.segment for chain in CHAINS}), np.int64)


@part_kernel
def chain_starts(hand: np.uint64, segment: int) -> np.uint64:
    """Return, as bits, the ranks at which chains of one category and length begin in a hand."""
    plane = (hand >> (U16 * (SEGMENT_COPIES[segment] - U1))) & PLANE
    return run_starts(plane, SEGMENT_LENGTH[segment]) & ((U1 << SEGMENT_SIZE[segment]) - U1)


@inline_kernel
def hand_word(counts: np.ndarray, first: int) -> np.uint64:
    """Pack fifteen card counts into a uint64 whose bit ``16 * k + rank`` is set if more than ``k`` are held."""
    hand = U0
    for rank in range(NUM_RANKS):
        for step in range(MOST_COPIES):
            hand |= np.uint64(counts[first + rank] > step) << np.uint64(16 * step + rank)
    return hand


# --- Prospects --------------------------------------------------------------------------------------------------------

MOST_LOSERS, MOST_MOVES = 8, 12
PRICE_STEPS, PRICE_STEP = 12, 50
PRICE_LEAST, PRICE_SPAN = -250.0, 1000.0
_MOST_PRICE = 32_000

HAND_VALUES = 2
"""Numbers that the prospects of a hand depend on."""

PROSPECTS = MOST_LOSERS + MOST_MOVES + 1 + PRICE_STEPS
"""Columns of a hand: thresholds of the moves that can be beaten and of all moves, the price and thresholds of it."""


_SIZES = (MOST_LOSERS, MOST_MOVES, PRICE_STEPS, PRICE_STEP, PRICE_LEAST, PRICE_SPAN)
PROSPECT_NUMBERS = (*_SIZES, *WEIGHTS.tolist())
"""What the columns depend on besides the code: a network trained on other prices would misread them."""


@pure_kernel
def price_against_pool(pool: np.uint64, most: np.uint64, rules: np.ndarray, workspace: RuleWorkspace) -> None:
    """Write the rule agent's estimated cost of every move against the unseen cards, unless already in memory.

    Args:
        pool: The cards that could beat them, as a hand.
        most: The cards of the largest hand among those who hold them.
        rules: The rules array.
        workspace: The memory in which the prices are written.
    """
    set_prices(pool, most, rules, WEIGHTS, workspace)


@pure_kernel
def value_hand(hand: np.uint64, workspace: RuleWorkspace) -> tuple[int, int]:
    """Return a hand's move counts, packed as ``100 * beatable + others``, and its cost to the rule agent.

    Args:
        hand: The hand.
        workspace: Priced by :func:`price_against_pool`.

    Returns:
        One hundred a move that can be beaten and one any other, of the split with the fewest of the former; and the
        price of the hand.  Both fit in int16.
    """
    price, sure = hand_price_and_losers(hand, workspace)
    return sure, min(max(price, -_MOST_PRICE), _MOST_PRICE)


@part_kernel
def read_hand_values(sure: int, price: int) -> tuple[int, int, float, int]:
    """Convert a :func:`value_hand` result to two move counts, a cost from 0 to 1, and a number of cost steps.

    Returns:
        How many thresholds its moves that can be beaten reach, how many all its moves do, the price between 0 and 1,
        and how many thresholds the price reaches.
    """
    losers = sure // LOSER
    steps = min(max(-(-price // PRICE_STEP), 0), PRICE_STEPS)
    scaled = min(max((price - PRICE_LEAST) / PRICE_SPAN, 0.0), 1.0)
    return min(losers, MOST_LOSERS), min(losers + sure % LOSER, MOST_MOVES), scaled, steps


# --- Signs ------------------------------------------------------------------------------------------------------------

MOVE_BYTES = NUM_RANKS + 1
"""Bytes of one move of the history: its cards, and who made it."""

FIRST_MOVE = OBSERVATION.offsets["move_1"]
ROLE = OBSERVATION.offsets["role"]
LEFT_PREVIOUS = OBSERVATION.offsets["cards_left_previous"]

SIGN_BYTES = 2 * 2
"""Of the next and the previous seat, on solos and on pairs."""


@part_kernel
def write_pass_signs(values: np.ndarray, out: np.ndarray, first: int) -> None:
    """Write the lowest solo and pair that each other seat passed on, read from an observation's history.

    Args:
        values: The observation, shape ``[OBSERVATION_SIZE]``, int8.
        out: Output, int8: how many ranks there are from the lowest that was let pass on, 0 for none.
        first: Where the ``SIGN_BYTES`` begin.
    """
    for sign in range(SIGN_BYTES):
        out[first + sign] = np.int8(0)
    # Seats count from the observer: 1 self, 2 next, 3 previous.  The observer is landlord, peasant down (whose
    # previous seat is the landlord) or peasant up (whose next seat is, as that of the only peasant of two players).
    down = values[ROLE + 1] == 1 and values[LEFT_PREVIOUS] > 0
    landlord = 1 if values[ROLE] == 1 else (3 if down else 2)
    copies, rank, owner = np.int64(0), np.int64(0), np.int64(0)
    for back in range(HISTORY - 1, -1, -1):
        move = FIRST_MOVE + MOVE_BYTES * back
        seat = np.int64(values[move + NUM_RANKS])
        if seat == 0 or seat > 3:
            continue
        cards, highest = np.int64(0), np.int64(0)
        for index in range(NUM_RANKS):
            count = np.int64(values[move + index])
            cards += count
            if count > 0:
                highest = np.int64(index)
        if cards > 0:
            alike = np.int64(values[move + highest]) == cards
            copies, rank, owner = (cards if alike and cards <= 2 else np.int64(0)), highest, seat
        elif seat > 1 and copies > 0 and (owner == landlord) != (seat == landlord):
            sign = first + (seat - 2) * 2 + (copies - 1)
            out[sign] = max(out[sign], np.int8(NUM_RANKS - rank))
