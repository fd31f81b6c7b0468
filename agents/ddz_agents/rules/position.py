"""Evaluation of positions with all hands open, for the depth-limited searches.

Prices are those that the rule agent weighs its moves with (:mod:`ddz_agents.rules.prices`).  A position is worth a
weighted sum of the prices of its hands, of their *losers* (moves that can be beaten), *controls* (moves that cannot)
and bombs, and of the *tempo*: who leads, or holds the trick.  The sum estimates the logarithm of the odds that the
landlord wins.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_agents.rules.decomposition import hand_price_and_losers
from ddz_agents.rules.prices import LOSER, set_prices
from ddz_agents.rules.workspace import RuleWorkspace, new_rule_workspace
from ddz_env.core.engine.layout import HANDS, KEY, LANDLORD, OWNER, SEAT, TARGET
from ddz_env.core.engine.legal import bomb_ranks, find_replies, holds_rocket
from ddz_env.core.engine.random import advance
from ddz_env.core.engine.step import next_seat
from ddz_env.core.engine.words import U0, U1, add_hand, popcount
from ddz_env.core.rules import R_PLAYERS
from ddz_env.support.compiling import inline_kernel, part_kernel, pure_kernel

P_BOTH, P_LANDLORD, P_CHEAPER, P_DEARER, P_LOSERS_LANDLORD, P_LOSERS_PEASANTS = range(6)
P_TEMPO, P_SURE, P_BOMBABLE, P_BOMBS_LANDLORD, P_BOMBS_PEASANTS, P_CONTROLS_LANDLORD = range(6, 12)

POSITION_WEIGHTS = np.array(
    [
        -0.8,  # of every position
        *(-0.55, 0.2, 0.1),  # for each trick that the landlord's hand costs, the cheaper peasant's and the dearer's
        *(-0.15, 0.3),  # for each loser of the landlord, and of the peasant who has fewest
        0.5,  # the landlord leads or holds the trick; against it where a peasant does
        *(3.7, 1.7),  # besides, where who leads has at most one loser, and no enemy a bomb: a sure win; or one has
        *(0.7, -0.8),  # for each bomb of the landlord, and of the peasants
        0.45,  # for each control of the landlord
    ],
    np.float64,
)
"""What the features of a position count, by the ``P_`` indexes: logarithms of the odds that the landlord wins; rounded
from a logistic regression on 57,436 positions of games between rule agents, each after one to three random
candidates."""

_HANDS = 1 << 13
"""Hands of a side that are remembered: a search looks at the same ones in many positions."""
_NONE = np.int64(1 << 30)


class EvaluationWorkspace(NamedTuple):
    """The memory for evaluating positions: the costs of both sides' moves, and the position's features.

    Attributes:
        landlord: Prices of the landlord's moves, against the peasants' cards.
        peasants: Prices of the peasants' moves, against the landlord's.
        salt: What distinguishes the current position from earlier ones, shape ``[1]``, uint64.
        features: What the position evaluated last was, by the ``P_`` indexes, shape ``[12]``, float64.
    """

    landlord: RuleWorkspace
    peasants: RuleWorkspace
    salt: npt.NDArray[np.uint64]
    features: npt.NDArray[np.float64]


def new_evaluation_workspace() -> EvaluationWorkspace:
    """Allocate the memory that one thread needs to evaluate positions."""
    return EvaluationWorkspace(
        new_rule_workspace(_HANDS), new_rule_workspace(_HANDS), np.ones(1, np.uint64), np.zeros(len(POSITION_WEIGHTS))
    )


@part_kernel
def set_position_prices(row: np.ndarray, rules: np.ndarray, appraiser: EvaluationWorkspace, w: np.ndarray) -> None:
    """Compute the costs of each side's moves against the other side's cards, with all hands open.

    Args:
        row: The game, shape ``[32]``, uint64.
        rules: The rules array.
        appraiser: Memory, changed in place.
        w: The weights (``WEIGHTS``).
    """
    landlord = row[LANDLORD]
    pool, most, seat = U0, U0, U0
    while seat < rules[R_PLAYERS]:
        if seat != landlord:
            pool = add_hand(pool, row[HANDS + np.int64(seat)])
            most = max(most, popcount(row[HANDS + np.int64(seat)]))
        seat += U1
    hand = row[HANDS + np.int64(landlord)]
    set_prices(pool, most, rules, w, appraiser.landlord)
    set_prices(hand, popcount(hand), rules, w, appraiser.peasants)
    appraiser.salt[0] = advance(appraiser.salt[0])


@inline_kernel
def workspace_of_side(row: np.ndarray, seat: np.uint64, appraiser: EvaluationWorkspace) -> RuleWorkspace:
    """Return the workspace that holds the move costs for a seat's side."""
    return appraiser.landlord if seat == row[LANDLORD] else appraiser.peasants


@pure_kernel
def evaluate_hand(
    hand: np.uint64, row: np.ndarray, seat: np.uint64, appraiser: EvaluationWorkspace
) -> tuple[int, int, int]:
    """Return the cost of a seat's hand, its number of beatable moves and its number of unbeatable moves.

    Args:
        hand: The hand; it need not be the one that the seat holds.
        row: The game, for the landlord.
        seat: The seat.
        appraiser: Prices (:func:`set_position_prices`) and memory.
    """
    price, sure = hand_price_and_losers(hand, workspace_of_side(row, seat, appraiser))
    return price, sure // LOSER, sure % LOSER


@inline_kernel
def _count_bombs(hand: np.uint64, rules: np.ndarray) -> float:
    """Return the number of bombs in a hand, including the rocket."""
    return float(popcount(bomb_ranks(hand, rules)) + (U1 if holds_rocket(hand, rules) else U0))


@part_kernel
def find_trick_holder(row: np.ndarray, rules: np.ndarray) -> tuple[np.uint64, bool]:
    """Return the seat that leads or holds the trick, and whether no enemy can still take the trick over."""
    if row[TARGET] == U0:
        return row[SEAT], True
    owner, seat, landlord = row[OWNER], row[SEAT], row[LANDLORD]
    while seat != owner:
        if (seat == landlord) != (owner == landlord):
            _, starts, bombs, rocket = find_replies(row[HANDS + np.int64(seat)], row[TARGET], row[KEY], rules)
            if (starts | bombs | rocket) != U0:
                return owner, False
        seat = next_seat(seat, rules)
    return owner, True


@part_kernel
def write_position_features(row: np.ndarray, rules: np.ndarray, appraiser: EvaluationWorkspace) -> None:
    """Write a position's evaluation features, such as the cost of each side's hand, with all hands open.

    Args:
        row: The game in the play stage, not over.
        rules: The rules array.
        appraiser: Prices (:func:`set_position_prices`) and memory.
    """
    landlord, features = row[LANDLORD], appraiser.features
    hand = row[HANDS + np.int64(landlord)]
    price_own, own_losers, controls = evaluate_hand(hand, row, landlord, appraiser)
    cheaper, dearer, losers, bombs, seat = _NONE, -_NONE, _NONE, 0.0, U0
    first, holds = find_trick_holder(row, rules)
    leader_losers = own_losers
    while seat < rules[R_PLAYERS]:
        if seat != landlord:
            price, side, _ = evaluate_hand(row[HANDS + np.int64(seat)], row, seat, appraiser)
            cheaper, dearer, losers = min(cheaper, price), max(dearer, price), min(losers, side)
            bombs += _count_bombs(row[HANDS + np.int64(seat)], rules)
            if seat == first:
                leader_losers = side
        seat += U1
    features[P_BOTH] = 1.0
    features[P_LANDLORD], features[P_CHEAPER], features[P_DEARER] = price_own / 100.0, cheaper / 100.0, dearer / 100.0
    features[P_LOSERS_LANDLORD], features[P_LOSERS_PEASANTS] = float(own_losers), float(losers)
    features[P_BOMBS_LANDLORD], features[P_BOMBS_PEASANTS] = _count_bombs(hand, rules), bombs
    features[P_CONTROLS_LANDLORD] = float(controls)
    tempo = 0.0
    if holds:
        tempo = 1.0 if first == landlord else -1.0
    sure = tempo if leader_losers < 2 else 0.0
    bombed = (features[P_BOMBS_PEASANTS] if first == landlord else features[P_BOMBS_LANDLORD]) > 0.0
    features[P_TEMPO] = tempo
    features[P_SURE], features[P_BOMBABLE] = 0.0 if bombed else sure, sure if bombed else 0.0


@part_kernel
def evaluate_position(row: np.ndarray, rules: np.ndarray, appraiser: EvaluationWorkspace, weights: np.ndarray) -> float:
    """Estimate the log odds that the landlord wins a position with open hands.

    Args:
        row: The game in the play stage, not over.
        rules: The rules array.
        appraiser: Prices (:func:`set_position_prices`) and memory.
        weights: What the features count (``POSITION_WEIGHTS``), shape ``[12]``, float64.
    """
    write_position_features(row, rules, appraiser)
    total = 0.0
    for index in range(weights.size):
        total += weights[index] * appraiser.features[index]
    return total
