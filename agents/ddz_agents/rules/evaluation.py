"""What a hand is worth: what the rule agent weighs its moves with, and the depth-limited searches their positions.

A hand costs the price of its cheapest split into moves (:mod:`ddz_agents.rules.decomposition`): the fewer tricks it
still has to win, and the fewer of its moves can be beaten, the cheaper.  Controls and bombs enter through the prices
of moves.
"""

from __future__ import annotations

import numpy as np

from ddz_agents.rules.decomposition import decompose
from ddz_agents.rules.mind import Mind
from ddz_agents.rules.prices import LOSER
from ddz_agents.rules.scratch import PRICE_ONLY
from ddz_env.core.engine.compiling import inline_kernel


@inline_kernel
def price_of_hand(hand: np.uint64, rules: np.ndarray, mind: Mind) -> int:
    """What a hand costs to play out, in hundredths of a trick; the prices must be set."""
    price, _ = decompose(hand, rules, mind.value, PRICE_ONLY)
    return price


@inline_kernel
def losers_and_controls(hand: np.uint64, rules: np.ndarray, mind: Mind) -> tuple[int, int]:
    """The fewest moves that can be beaten into which a hand splits, and the moves of that split that cannot."""
    price, _ = decompose(hand, rules, mind.sure, PRICE_ONLY)
    return price // LOSER, price % LOSER


@inline_kernel
def losers_of_hand(hand: np.uint64, rules: np.ndarray, mind: Mind) -> int:
    """The fewest moves that can be beaten into which a hand splits."""
    losers, _ = losers_and_controls(hand, rules, mind)
    return losers
