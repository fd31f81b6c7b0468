"""The kickers of the rule agent."""

from __future__ import annotations

import numpy as np

from ddz_agents.rules.evaluation import price_of_hand
from ddz_agents.rules.mind import Mind
from ddz_env.core.engine.compiling import pure_kernel
from ddz_env.core.engine.kickers import body_of, kicker_options
from ddz_env.core.engine.step import main_cards
from ddz_env.core.engine.words import PLANE, U0, U1, U16, add, body_mask, lowest, popcount, remove, remove_hand, spread


@pure_kernel
def _may_ride(row: np.ndarray, hand: np.uint64, main: np.uint64, ranks: np.uint64, rules: np.ndarray) -> bool:
    """Whether kickers of these different ranks are legal with the main group."""
    body = body_of(row, hand, main, rules)
    left = body.kickers
    if popcount(ranks) != left:
        return False
    chosen, floor = U0, U0
    while left > U0:
        rank = lowest(ranks)
        ranks &= ranks - U1
        if (kicker_options(body, left, chosen, floor, rules) >> rank) & U1 == U0:
            return False
        chosen = add(chosen, U1 << rank, body.size)
        floor = rank
        left -= U1
    return True


@pure_kernel
def lowest_kickers(row: np.ndarray, hand: np.uint64, main: np.uint64, rules: np.ndarray) -> np.uint64:
    """The lowest legal kickers, whatever they break."""
    body = body_of(row, hand, main, rules)
    left = body.kickers
    chosen, floor = U0, U0
    while left > U0:
        floor = lowest(kicker_options(body, left, chosen, floor, rules))
        chosen = add(chosen, U1 << floor, body.size)
        left -= U1
    return chosen


@pure_kernel
def choose_kickers(row: np.ndarray, hand: np.uint64, main: np.uint64, rules: np.ndarray, mind: Mind) -> np.uint64:
    """The kickers whose loss costs the hand least, chosen one after the other.

    Args:
        row: The game, at the start of a decision.
        hand: The acting seat's hand.
        main: A legal main group.
        rules: The rules array.
        mind: Prices and memory.

    Returns:
        The kickers as a hand, 0 if the group takes none.
    """
    body = body_of(row, hand, main, rules)
    count, size = body.kickers, body.size
    if count == U0:
        return U0
    ranks_of_body = body_mask(body.start, body.length)
    rest = remove_hand(hand, main_cards(main))
    ranks = U0
    while count > U0:
        options = (rest >> (U16 * (size - U1))) & PLANE & ~ranks_of_body & ~ranks
        best, chosen = np.int64(1 << 40), U0
        while options != U0:
            bit = options & (~options + U1)
            options ^= bit
            cost = price_of_hand(remove(rest, bit, size), rules, mind)
            if cost < best:
                best, chosen = cost, bit
        ranks |= chosen
        rest = remove(rest, chosen, size)
        count -= U1
    if _may_ride(row, hand, main, ranks, rules):
        return spread(ranks, size)
    return lowest_kickers(row, hand, main, rules)
