"""The rule agent: plays by hand decomposition, without search.

A hand is split into the cheapest set of moves (:mod:`agents.rule_agent.decomposition`).  A move's price is what it
costs to get rid of it: near one trick for a move that nothing unseen can beat, more for one that is easily beaten,
less than nothing for bombs.  The agent finishes when it can, plays a sure win out, and otherwise leads the move that
is dearest to keep and follows when the split gets cheaper by more than it gives away.  Peasants play as a team.

Only what the seat may know is read (its own hand, the cards played, the hand sizes, the landlord and the target), so
:func:`rules_move` gives the same move on a view and on the full row behind it.
"""

from __future__ import annotations

import numpy as np

from agents.rule_agent.decomposition import decompose
from agents.rule_agent.follow import follow
from agents.rule_agent.lead import lead
from agents.rule_agent.mind import A_HAND, Mind, first_legal, look_around, may_play, new_mind
from agents.rule_agent.prices import set_prices
from agents.rule_agent.scratch import PRICE_ONLY
from agents.rule_agent.weights import WEIGHTS
from ddz_env import Move, Rules, View
from ddz_env.agent import BatchPlayer
from ddz_env.engine.compiling import inline_kernel, pure_kernel
from ddz_env.engine.layout import LANDLORD, SEAT, STAGE, STAGE_DOUBLE, STAGE_PLAY, TARGET
from ddz_env.engine.legal import legal_mask
from ddz_env.engine.step import main_cards
from ddz_env.engine.tables import BID_ID, DOUBLE_ID, MAIN_SEGMENT, MASK_WORDS, SEGMENT_CARDS
from ddz_env.engine.words import U0, U1, U2, U3, lowest, popcount, remove_hand
from ddz_env.errors import IllegalMoveError

# The price of a hand up to which it bids or doubles.  In 40,000 deals between rule agents the landlord won half, 60 %
# and 70 % from 17 cards of the first three prices, 60 % from 20 cards of the fourth, and 30 % against the fifth.
_BID_ONE, _BID_TWO, _BID_THREE = 330, 225, 150
_DOUBLE_LANDLORD, _DOUBLE_PEASANT = 210, 200


@inline_kernel
def _finishing(hand: np.uint64, mind: Mind) -> np.uint64:
    """The lowest legal main group that empties the hand, 0 if none."""
    cards = popcount(hand)
    for word in range(MASK_WORDS):
        bits = mind.mask[word]
        while bits != U0:
            main = np.uint64(word) * np.uint64(64) + lowest(bits)
            bits &= bits - U1
            if main < np.uint64(379) and SEGMENT_CARDS[MAIN_SEGMENT[main]] == cards:
                return main
    return U0


@inline_kernel
def _count(mind: Mind) -> np.uint64:
    total = U0
    for word in range(MASK_WORDS):
        total += popcount(mind.mask[word])
    return total


@inline_kernel
def _speak(row: np.ndarray, mind: Mind, value: int) -> np.uint64:
    """The bid or the answer to doubling of a hand that costs ``value`` to play out."""
    if row[STAGE] == STAGE_DOUBLE:
        limit = _DOUBLE_LANDLORD if row[SEAT] == row[LANDLORD] else _DOUBLE_PEASANT
        return np.uint64(DOUBLE_ID) + (U1 if value <= limit else U0)
    bid = U0
    if value <= _BID_ONE:
        bid = U3 if value <= _BID_THREE else (U2 if value <= _BID_TWO else U1)
    return np.uint64(BID_ID) + (bid if may_play(mind, np.uint64(BID_ID) + bid) else U0)


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
    first = first_legal(mind)
    if row[STAGE] == STAGE_PLAY and first == U0 and _count(mind) == U1:
        return U0, U0  # nothing but pass
    look_around(row, rules, mind)
    set_prices(mind, w)
    hand = mind.about[A_HAND]
    if row[STAGE] != STAGE_PLAY:
        value, _ = decompose(hand, rules, mind.value, PRICE_ONLY)
        return _speak(row, mind, value), U0
    main = _finishing(hand, mind)
    if main != U0:
        return main, remove_hand(hand, main_cards(main))
    if row[TARGET] == U0:
        return lead(row, rules, mind, w)
    return follow(row, rules, mind, w)


class RulesAgent:
    """Plays by hand decomposition; no search, microseconds a decision, no randomness.

    Example:
        >>> from ddz_env import State
        >>> state = State.new(seed=1)
        >>> RulesAgent().act(state.view(), np.random.default_rng(0)) in state.legal_moves()
        True
    """

    name = "rules"
    cheats = False

    def __init__(self) -> None:
        self._mind = new_mind()

    def act(self, view: View, rng: np.random.Generator) -> Move:
        """Choose a move by the rules; the generator is not used.

        Raises:
            IllegalMoveError: If it is not the seat's turn.
        """
        if view.acting_seat != view.seat or view.stage == "over":
            raise IllegalMoveError(f"seat {view.seat} has nothing to decide: the stage is {view.stage}")
        main, kickers = rules_move(view.row, view.rule_words, self._mind, WEIGHTS)
        return Move.from_words(int(main), int(kickers))

    def batched(self, num_games: int, rules: Rules) -> BatchPlayer:
        """The same choices in many games, one compiled call for all that wait."""
        from agents.rule_agent.stages import RulesTeacher  # it stands above this module

        return RulesTeacher(num_games, rules)
