"""The agent ``rlcard-rule``, which runs RLCard's own code for its rule model ``doudizhu-rule-v1``.

RLCard (Zha et al. 2019) is an optional peer: ``pip install -e '.[rlcard]'``.  Its agent reads a dictionary of
strings, which is built here from the view; candidates for a reply come from RLCard's own functions, because the
agent takes the first of the lowest and draws from the list.
"""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import numpy as np

from ddz_env import Move, View
from ddz_env.core.cards import RANK_NAMES
from ddz_env.core.view import AUCTION_STAGES
from ddz_env.playing.agent import check_to_act
from ddz_env.support.errors import DouDizhuError, InvalidMoveError, InvalidRulesError, install_hint

_BIDS_FROM = 7
"""The hand score from which it bids.  RLCard has no auction; the threshold is ours, the score RLCard's."""


class MissingPeerError(DouDizhuError, ImportError):
    """Raised when a library that an agent wraps is not installed."""


def _import_rlcard(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingPeerError(f"rlcard-rule needs RLCard ({error}): {install_hint('rlcard')}") from error


class RLCardRuleAgent:
    """Plays by RLCard's rule model ``DouDizhuRuleAgentV1``.

    Under rules with fewer moves than RLCard's it may pick a move that is forbidden.  It then chooses again with the
    legal ones among its candidates.  Bidding is ours (the rule model has none): it bids as high as it can (calls, robs)
    from a hand score of seven, and neither doubles nor shows its hand.

    Raises:
        MissingPeerError: If RLCard is not installed.
    """

    name = "rlcard-rule"

    def __init__(self) -> None:
        self._rule = _import_rlcard("rlcard.models.doudizhu_rule_models").DouDizhuRuleAgentV1()

    @property
    def _tools(self) -> Any:
        """The functions of RLCard, imported at each access because modules cannot be pickled."""
        return _import_rlcard("rlcard.games.doudizhu.utils")

    def act(self, view: View, rng: np.random.Generator) -> Move:
        """Choose the move of RLCard's rule model; bid by a hand score, and never double or show the hand.

        Raises:
            IllegalMoveError: If it is not the seat's turn.
            InvalidRulesError: If the rules are not for three players.
        """
        if view.rules.players != 3:
            raise InvalidRulesError(f"rlcard-rule plays games of three, not the {view.rules.name} rules")
        check_to_act(view, "kicker")
        legal = view.legal_moves()
        if view.stage in ("double", "show"):
            return legal[0]
        if view.stage == "bid":
            return legal[-1] if self._tools.get_landlord_score(str(view.hand)) >= _BIDS_FROM else legal[0]
        state = self.raw_state(view)
        by_cards = _moves_by_cards(legal)
        target = view.target
        if target is not None and card_string(target[1]) not in self._tools.CARD_TYPE[0]:
            return legal[0]  # a move that RLCard does not know (a space shuttle): pass
        move = by_cards.get(self._ask(state, rng))
        if move is None:
            state["actions"] = [action for action in state["actions"] if action in by_cards]
            # A lead is never picked from the candidates, so a forbidden one becomes the lowest legal move.
            move = by_cards[self._ask(state, rng)] if target is not None else legal[0]
        return move

    def raw_state(self, view: View) -> dict[str, Any]:
        """Build the raw state that RLCard's agent reads, with seats counted from the landlord."""
        landlord = view.landlord or 0
        trace = [
            ((seat - landlord) % 3, card_string(move))
            for seat, move in view.history
            if move.category not in AUCTION_STAGES
        ]
        return {
            "current_hand": str(view.hand),
            "trace": trace,
            "landlord": 0,
            "self": (view.seat - landlord) % 3,
            "actions": self._candidates(view),
        }

    def _candidates(self, view: View) -> list[str]:
        """List the legal replies in RLCard's order; return an empty list on a lead, where RLCard reads no list."""
        target = view.target
        if target is None or card_string(target[1]) not in self._tools.CARD_TYPE[0]:
            return []
        player = SimpleNamespace(current_hand=[_make_card(rank) for rank in str(view.hand)])
        greater = SimpleNamespace(played_cards=card_string(target[1]))
        return list(self._tools.get_gt_cards(player, greater))

    def _ask(self, state: dict[str, Any], rng: np.random.Generator) -> str:
        """Ask RLCard's agent for one move, seeding numpy's global generator first and restoring it afterwards."""
        saved = np.random.get_state()  # noqa: NPY002 - the generator that RLCard uses
        np.random.seed(int(rng.integers(0, 2**32)))  # noqa: NPY002
        try:
            return str(self._rule.step({"raw_obs": state}))
        finally:
            np.random.set_state(saved)  # noqa: NPY002


def card_string(move: Move) -> str:
    """Format a move as RLCard does: its cards in rank order, or ``pass``."""
    return "pass" if move.is_pass else str(move.cards)


def _make_card(rank: str) -> SimpleNamespace:
    """Create a card object for RLCard's functions, in which jokers have a suit and no rank."""
    return SimpleNamespace(rank="" if rank in RANK_NAMES[13:] else rank, suit=f"{rank}J")


def _moves_by_cards(legal: list[Move]) -> dict[str, Move]:
    """Index legal moves by their cards, keeping the move that RLCard chooses if the cards are ambiguous."""
    by_cards: dict[str, Move] = {}
    for move in legal:
        cards = card_string(move)
        if cards in by_cards:
            move = _preferred_reading(cards, (by_cards[cards], move))
        by_cards[cards] = move
    return by_cards


def _preferred_reading(cards: str, moves: tuple[Move, Move]) -> Move:
    try:
        preferred = Move.parse(cards, "rlcard")
    except InvalidMoveError:
        return moves[0]
    return preferred if preferred in moves else moves[0]
