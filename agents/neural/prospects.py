"""The prospects of a hand: how far it is from being played out, as columns between 0 and 1.

PerfectDou (Yang et al. 2022) gives its networks the fewest moves that play a hand out.  Here the rule agent's
decomposition (:mod:`agents.rule_agent.decomposition`) counts the moves of the hand that unseen cards can beat and all
its moves, and tells what the hand is worth at the rule agent's prices: some tenths of a microsecond a hand.
"""

from __future__ import annotations

import numpy as np

from agents.rule_agent.decomposition import decompose
from agents.rule_agent.mind import A_ENEMY_CARDS, A_POOL, Mind
from agents.rule_agent.prices import set_prices
from agents.rule_agent.scratch import PRICE_ONLY
from agents.rule_agent.weights import WEIGHTS
from ddz_env.engine.compiling import pure_kernel

MOST_LOSERS, MOST_MOVES = 8, 12
_PRICE_STEPS, _PRICE_STEP = 12, 50
_PRICE_LEAST, _PRICE_SPAN = -250.0, 1000.0
_MOST_PRICE = 32_000
_LOSER = 100  # the price of a move that can be beaten, in the rule agent's decomposition ``sure``

APPRAISAL = 2
"""Numbers that the prospects of a hand depend on."""

PROSPECTS = MOST_LOSERS + MOST_MOVES + 1 + _PRICE_STEPS
"""Columns of a hand: thresholds of the moves that can be beaten and of all moves, the price and thresholds of it."""


_SIZES = (MOST_LOSERS, MOST_MOVES, _PRICE_STEPS, _PRICE_STEP, _PRICE_LEAST, _PRICE_SPAN)
MEANING = f"prospects {_SIZES} at prices {WEIGHTS.tolist()}"
"""What the columns depend on besides the code: a network trained on other prices would misread them."""


@pure_kernel
def weigh_pool(pool: np.uint64, most: np.uint64, mind: Mind) -> None:
    """Price all moves against unseen cards.

    Args:
        pool: The cards that could beat them, as a hand.
        most: The cards of the largest hand among those who hold them.
        mind: The memory in which the prices are written.
    """
    mind.about[A_POOL], mind.about[A_ENEMY_CARDS] = pool, most
    set_prices(mind, WEIGHTS)


@pure_kernel
def appraise(hand: np.uint64, rules: np.ndarray, mind: Mind) -> tuple[int, int]:
    """Find what the prospects of a hand depend on.

    Args:
        hand: The hand.
        rules: The rules array.
        mind: Priced by :func:`weigh_pool`.

    Returns:
        One hundred a move that can be beaten and one any other, of the split with the fewest of the former; and the
        price of the hand.  Both fit in int16.
    """
    sure, _ = decompose(hand, rules, mind.sure, PRICE_ONLY)
    price, _ = decompose(hand, rules, mind.value, PRICE_ONLY)
    return sure, min(max(price, -_MOST_PRICE), _MOST_PRICE)


@pure_kernel
def put_appraisal(sure: int, price: int, out: np.ndarray, place: int) -> int:
    """Write the prospects of a hand that :func:`appraise` has looked at.

    Args:
        sure: The first number found.
        price: The second.
        out: Output, float32.
        place: Where the ``PROSPECTS`` columns begin.

    Returns:
        The place behind them.
    """
    losers = sure // _LOSER
    moves = losers + sure % _LOSER
    for step in range(MOST_LOSERS):
        out[place + step] = np.float32(losers > step)
    place += MOST_LOSERS
    for step in range(MOST_MOVES):
        out[place + step] = np.float32(moves > step)
    place += MOST_MOVES
    out[place] = np.float32(min(max((price - _PRICE_LEAST) / _PRICE_SPAN, 0.0), 1.0))
    place += 1
    for step in range(_PRICE_STEPS):
        out[place + step] = np.float32(price > step * _PRICE_STEP)
    return place + _PRICE_STEPS


@pure_kernel
def put_prospects(hand: np.uint64, rules: np.ndarray, mind: Mind, out: np.ndarray, place: int) -> int:
    """Look at a hand and write its prospects: :func:`appraise`, then :func:`put_appraisal`."""
    sure, price = appraise(hand, rules, mind)
    return put_appraisal(sure, price, out, place)
