"""The evaluation of hands and positions: what the rule agent weighs its moves with, and the depth-limited searches.

A hand is worth the price of its cheapest split into moves (:mod:`agents.rule_agent.decomposition`): the fewer tricks it
still has to win, and the fewer of its moves can be beaten, the cheaper.  Controls and bombs enter through the prices
of moves.  A position, all hands open, is worth a weighted sum of the prices of its hands, of their *losers* (moves that
can be beaten) and of the *tempo*: who leads, or holds the trick.  The sum estimates the logarithm of the odds that the
landlord wins.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from agents.rule_agent.decomposition import decompose
from agents.rule_agent.mind import A_ENEMY_CARDS, A_POOL, Mind, new_mind
from agents.rule_agent.prices import LOSER, set_prices
from agents.rule_agent.scratch import PRICE_ONLY
from agents.rule_agent.weights import (
    P_BOTH,
    P_CHEAPER,
    P_DEARER,
    P_LANDLORD,
    P_LOSERS_LANDLORD,
    P_LOSERS_PEASANTS,
    P_SURE,
    P_TEMPO,
    POSITION,
)
from ddz_env.engine.compiling import inline_kernel, pure_kernel
from ddz_env.engine.layout import HANDS, KEY, LANDLORD, OWNER, SEAT, TARGET
from ddz_env.engine.legal import replies
from ddz_env.engine.random import advance, mix
from ddz_env.engine.step import next_seat
from ddz_env.engine.words import U0, U1, add_hand, popcount
from ddz_env.rules import R_PLAYERS

_SLOTS = 1 << 14
_SLOT = np.uint64(_SLOTS - 1)
_NONE = np.int64(1 << 30)


class Appraiser(NamedTuple):
    """The prices of both sides, and the hands that have been priced.

    Attributes:
        landlord: Prices of the landlord's moves, against the peasants' cards.
        peasants: Prices of the peasants' moves, against the landlord's.
        salt: What tells the prices of now from earlier ones, shape ``[1]``, uint64.
        hands: The hands priced last, by slot, with side and salt mixed in; shape ``[16384]``, uint64.
        priced: Their prices and the number of their losers, shape ``[16384, 2]``, int64.
        features: What the position evaluated last was, by the ``P_`` indexes, shape ``[8]``, float64.
    """

    landlord: Mind
    peasants: Mind
    salt: npt.NDArray[np.uint64]
    hands: npt.NDArray[np.uint64]
    priced: npt.NDArray[np.int64]
    features: npt.NDArray[np.float64]


def new_appraiser() -> Appraiser:
    """Memory for one thread."""
    hands, priced = np.zeros(_SLOTS, np.uint64), np.zeros((_SLOTS, 2), np.int64)
    return Appraiser(new_mind(), new_mind(), np.ones(1, np.uint64), hands, priced, np.zeros(len(POSITION)))


@inline_kernel
def price_of_hand(hand: np.uint64, rules: np.ndarray, mind: Mind) -> int:
    """What a hand costs to play out, in hundredths of a trick; the prices must be set."""
    price, _ = decompose(hand, rules, mind.value, PRICE_ONLY)
    return price


@inline_kernel
def losers_of_hand(hand: np.uint64, rules: np.ndarray, mind: Mind) -> int:
    """The fewest moves that can be beaten into which a hand splits."""
    price, _ = decompose(hand, rules, mind.sure, PRICE_ONLY)
    return price // LOSER


@pure_kernel
def set_position(row: np.ndarray, rules: np.ndarray, appraiser: Appraiser, w: np.ndarray) -> None:
    """Price the moves of both sides by the hands of a game, all open; hands priced before are forgotten.

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
    appraiser.landlord.about[A_POOL], appraiser.landlord.about[A_ENEMY_CARDS] = pool, most
    appraiser.peasants.about[A_POOL], appraiser.peasants.about[A_ENEMY_CARDS] = hand, popcount(hand)
    set_prices(appraiser.landlord, w)
    set_prices(appraiser.peasants, w)
    appraiser.salt[0] = advance(appraiser.salt[0])


@inline_kernel
def mind_of(row: np.ndarray, seat: np.uint64, appraiser: Appraiser) -> Mind:
    """The prices of a seat's side."""
    return appraiser.landlord if seat == row[LANDLORD] else appraiser.peasants


@pure_kernel
def appraise(
    hand: np.uint64, row: np.ndarray, seat: np.uint64, rules: np.ndarray, appraiser: Appraiser
) -> tuple[int, int]:
    """The price of a seat's hand and the number of its losers, looked up where they are known.

    Args:
        hand: The hand; it need not be the one that the seat holds.
        row: The game, for the landlord.
        seat: The seat.
        rules: The rules array.
        appraiser: Prices (:func:`set_position`) and memory.
    """
    code = mix(appraiser.salt[0] + (U1 if seat == row[LANDLORD] else U0)) ^ hand
    slot = np.int64(mix(code) & _SLOT)
    if appraiser.hands[slot] != code:
        mind = mind_of(row, seat, appraiser)
        appraiser.hands[slot] = code
        appraiser.priced[slot, 0] = price_of_hand(hand, rules, mind)
        appraiser.priced[slot, 1] = losers_of_hand(hand, rules, mind)
    return appraiser.priced[slot, 0], appraiser.priced[slot, 1]


@pure_kernel
def holder(row: np.ndarray, rules: np.ndarray) -> tuple[np.uint64, bool]:
    """Who leads or holds the trick, and whether no enemy who still acts in it can take it over."""
    if row[TARGET] == U0:
        return row[SEAT], True
    owner, seat, landlord = row[OWNER], row[SEAT], row[LANDLORD]
    while seat != owner:
        if (seat == landlord) != (owner == landlord):
            _, starts, bombs, rocket = replies(row[HANDS + np.int64(seat)], row[TARGET], row[KEY], rules)
            if (starts | bombs | rocket) != U0:
                return owner, False
        seat = next_seat(seat, rules)
    return owner, True


@pure_kernel
def describe(row: np.ndarray, rules: np.ndarray, appraiser: Appraiser) -> None:
    """Write the features of a position, all hands open, into ``appraiser.features``.

    Args:
        row: The game in the play stage, not over.
        rules: The rules array.
        appraiser: Prices (:func:`set_position`) and memory.
    """
    landlord = row[LANDLORD]
    own, own_losers = appraise(row[HANDS + np.int64(landlord)], row, landlord, rules, appraiser)
    cheaper, dearer, losers, seat = _NONE, -_NONE, _NONE, U0
    first, holds = holder(row, rules)
    leader_losers = own_losers
    while seat < rules[R_PLAYERS]:
        if seat != landlord:
            price, own_side = appraise(row[HANDS + np.int64(seat)], row, seat, rules, appraiser)
            cheaper, dearer, losers = min(cheaper, price), max(dearer, price), min(losers, own_side)
            if seat == first:
                leader_losers = own_side
        seat += U1
    features = appraiser.features
    features[P_BOTH] = 1.0
    features[P_LANDLORD], features[P_CHEAPER], features[P_DEARER] = own / 100.0, cheaper / 100.0, dearer / 100.0
    features[P_LOSERS_LANDLORD], features[P_LOSERS_PEASANTS] = float(own_losers), float(losers)
    tempo = 0.0
    if holds:
        tempo = 1.0 if first == landlord else -1.0
    features[P_TEMPO] = tempo
    features[P_SURE] = tempo if leader_losers < 2 else 0.0


@pure_kernel
def evaluate(row: np.ndarray, rules: np.ndarray, appraiser: Appraiser, weights: np.ndarray) -> float:
    """The estimated logarithm of the odds that the landlord wins from a position, all hands open.

    Args:
        row: The game in the play stage, not over.
        rules: The rules array.
        appraiser: Prices (:func:`set_position`) and memory.
        weights: What the features count (``POSITION``), shape ``[8]``, float64.
    """
    describe(row, rules, appraiser)
    total = 0.0
    for index in range(weights.size):
        total += weights[index] * appraiser.features[index]
    return total
