"""The rule agent: plays by hand decomposition, without search.

A hand is split into the cheapest set of moves (:mod:`ddz_agents.rules.decomposition`).  A move's price is what it
costs to get rid of it: near one trick for a move that nothing unseen can beat, more for one that is easily beaten,
less than nothing for bombs.  The agent finishes when it can, plays a sure win out, and otherwise leads the move that
is dearest to keep and follows when the split gets cheaper by more than it gives away.  Peasants play as a team.

Only what the seat may know is read (its own hand, the cards played, the hand sizes, the landlord and the target), so
:func:`rules_move` gives the same move on a view and on the full row behind it.
"""

from __future__ import annotations

import numpy as np

from ddz_agents.rules.evaluation import price_of_hand
from ddz_agents.rules.follow import follow
from ddz_agents.rules.kickers import choose_kickers
from ddz_agents.rules.lead import lead
from ddz_agents.rules.mind import A_HAND, Mind, look_around, may_play
from ddz_agents.rules.prices import set_prices
from ddz_env.core.engine.compiling import inline_kernel, pure_kernel
from ddz_env.core.engine.layout import (
    CHOSEN,
    LANDLORD,
    PENDING,
    SEAT,
    STAGE,
    STAGE_DOUBLE,
    STAGE_KICKER,
    STAGE_PLAY,
    STAGE_SHOW,
    TARGET,
)
from ddz_env.core.engine.legal import count_legal, finishing_action, legal_mask
from ddz_env.core.engine.score import robs_of
from ddz_env.core.engine.step import main_cards
from ddz_env.core.engine.tables import BID_ID, DOUBLE_ID, KICKER_ID
from ddz_env.core.engine.words import PLANE, U0, U1, U2, U3, lowest, remove_hand
from ddz_env.core.rules import BIDDING_ROBBING, R_BIDDING

# The price of a hand up to which it bids or doubles.  In 40,000 deals between rule agents the landlord won half, 60 %
# and 70 % from 17 cards of the first three prices, 60 % from 20 cards of the fourth, and 30 % against the fifth.
_BID_ONE, _BID_TWO, _BID_THREE = 330, 225, 150
_DOUBLE_LANDLORD, _DOUBLE_PEASANT, _SHOW = 210, 200, 150


@inline_kernel
def _speak(row: np.ndarray, rules: np.ndarray, mind: Mind, value: int) -> np.uint64:
    """The bid or the answer to showing or doubling of a hand that costs ``value`` to play out.

    A hand that would bid 1 calls, one that would bid 2 robs once, and one that would bid 3 robs for any stake.
    """
    if row[STAGE] == STAGE_SHOW:
        return DOUBLE_ID + (U1 if value <= _SHOW else U0)
    if row[STAGE] == STAGE_DOUBLE:
        limit = _DOUBLE_LANDLORD if row[SEAT] == row[LANDLORD] else _DOUBLE_PEASANT
        return DOUBLE_ID + (U1 if value <= limit else U0)
    bid = U0
    if value <= _BID_ONE:
        bid = U3 if value <= _BID_THREE else (U2 if value <= _BID_TWO else U1)
    if rules[R_BIDDING] == BIDDING_ROBBING:
        wanted = U1 if may_play(mind, BID_ID + U1) else U2
        enough = bid >= (U3 if robs_of(row) > U0 else wanted)
        return BID_ID + (wanted if enough else U0)
    return BID_ID + (bid if may_play(mind, BID_ID + bid) else U0)


@pure_kernel
def rules_move(row: np.ndarray, rules: np.ndarray, mind: Mind, w: np.ndarray) -> tuple[np.uint64, np.uint64]:
    """The decision of the acting seat at any stage but in the middle of a move.

    Args:
        row: A view's row or a full row; both give the same decision.
        rules: The rules array.
        mind: Memory (:func:`new_mind`).
        w: The weights (``WEIGHTS``).

    Returns:
        Action id of the main group, bid or answer to doubling, and the kickers as a hand.
    """
    legal_mask(row, rules, mind.mask)
    if row[STAGE] == STAGE_PLAY and mind.mask[0] & U1 and count_legal(mind.mask) == U1:
        return U0, U0  # nothing but pass
    look_around(row, rules, mind)
    set_prices(mind, w)
    hand = mind.about[A_HAND]
    if row[STAGE] != STAGE_PLAY:
        return _speak(row, rules, mind, price_of_hand(hand, rules, mind)), U0
    main = finishing_action(hand, mind.mask)
    if main != U0:
        return main, remove_hand(hand, main_cards(main))
    if row[TARGET] == U0:
        return lead(row, rules, mind, w)
    return follow(row, rules, mind, w)


@pure_kernel
def next_action(row: np.ndarray, rules: np.ndarray, mind: Mind, w: np.ndarray, plan: np.ndarray) -> np.uint64:
    """The decision of the acting seat at any stage, one action at a time.

    Args:
        row: A view's row or a full row, not over.
        rules: The rules array.
        mind: Memory (:func:`new_mind`).
        w: The weights (``WEIGHTS``).
        plan: Main group and kickers last planned in this game, shape ``[2]``, uint64; changed in place.  If the game
            took another main group, the kickers are those that the agent would give that group.

    Returns:
        Action id of the main group, bid, answer to doubling or next kicker of the plan; 0 if no kicker of it is left.
        It need not be legal where an earlier kicker was not of the plan.
    """
    if row[STAGE] != STAGE_KICKER:
        plan[0], plan[1] = rules_move(row, rules, mind, w)
        return plan[0]
    if plan[0] != row[PENDING]:
        look_around(row, rules, mind)
        set_prices(mind, w)
        plan[0] = row[PENDING]
        plan[1] = choose_kickers(row, mind.about[A_HAND], row[PENDING], rules, mind)
    ranks = remove_hand(plan[1], row[CHOSEN]) & PLANE
    return KICKER_ID + lowest(ranks) if ranks != U0 else U0
