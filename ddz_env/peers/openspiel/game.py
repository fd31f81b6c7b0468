"""The OpenSpiel game ``python_ddz``, in which chance deals the cards and players choose action ids."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import pyspiel

from ddz_env.core.actions import CATEGORIES, KICKER_BASE, MAIN_GROUPS, NUM_ACTIONS, action_name
from ddz_env.core.notation import kicker_ranks, word_to_counts
from ddz_env.core.rules import Rules
from ddz_env.core.state import State
from ddz_env.peers.openspiel import observers
from ddz_env.peers.openspiel.dealing import PartialDeal, list_splits, resample_hands
from ddz_env.peers.openspiel.observers import first_seat_to_act, half_built_move, max_moves
from ddz_env.support.errors import InvalidRulesError

NAME = "python_ddz"


_QUAD = 4
_HIGHEST = {"fixed": 1, "once": 3, "until-passed": 3, "robbing": 8}
"""The highest base of the stake, by kind of auction."""


def is_zero_sum(rules: Rules) -> bool:
    """Return whether the returns of all seats always add up to zero under the rules."""
    return rules.scoring == "stake" or (
        rules.scoring == "win" and (rules.players == 2 or rules.peasant_reward * (rules.players - 1) == 1)
    )


def return_bounds(rules: Rules) -> tuple[float, float]:
    """Return lower and upper bounds, not necessarily tight, on a seat's return."""
    if rules.scoring == "win":
        return -1.0, 1.0
    if rules.scoring == "botzone":
        weight = max(category.long_weight or category.weight for category in CATEGORIES)
        return 0.0, 2.0 + observers.max_cards_played(rules) * weight / 100
    bombs = sum(count == _QUAD for count in rules.deck) if rules.bombs and "bomb" in rules.categories else 0
    doublings = bombs + (rules.deck[-2:] == (1, 1) and "rocket" in rules.categories)
    base = _HIGHEST[rules.bidding] * (2 if rules.showing else 1)
    spring, doubled = 2 if rules.spring else 1, 4 if rules.doubling else 1
    most = float(base * 2**doublings * spring * doubled * (rules.players - 1))
    return -most, most


def _make_game_type(zero_sum: bool = True) -> Any:
    return pyspiel.GameType(
        short_name=NAME,
        long_name="Dou Dizhu (ddz_env)",
        dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
        chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
        information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
        utility=pyspiel.GameType.Utility.ZERO_SUM if zero_sum else pyspiel.GameType.Utility.GENERAL_SUM,
        reward_model=pyspiel.GameType.RewardModel.TERMINAL,
        max_num_players=3,
        min_num_players=2,
        provides_information_state_string=True,
        provides_information_state_tensor=True,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification={"rules": "standard", "scoring": ""},
    )


def _make_game_info(rules: Rules) -> Any:
    lowest, highest = return_bounds(rules)
    places = len(PartialDeal.start(rules).places)
    return pyspiel.GameInfo(
        num_distinct_actions=NUM_ACTIONS,
        max_chance_outcomes=len(list_splits(places)) + (rules.players if rules.bidding != "fixed" else 0),
        num_players=rules.players,
        min_utility=lowest,
        max_utility=highest,
        utility_sum=0.0 if is_zero_sum(rules) else None,
        max_game_length=max_moves(rules),
    )


@functools.cache
def rules_from_text(text: str, scoring: str = "") -> Rules:
    """Parse the rules and the scoring in the parameters of an OpenSpiel game.

    An auction in which everybody declines ends with zero for all where the preset would deal again: a tree has to end.

    Args:
        text: A preset's name, optionally followed by options; ``;`` and ``:`` may stand for ``,`` and ``=``.
        scoring: The scoring; the preset's own if empty.

    Raises:
        InvalidRulesError: If there are no such rules, or OpenSpiel cannot draw their deals card by card (``half_deck``,
            ``unshuffled``).
    """
    rules = Rules.preset(text.replace(";", ",").replace(":", "="))
    if scoring:
        rules = rules.replace(scoring=scoring)
    if rules.half_deck:
        raise InvalidRulesError(
            f"{text!r}: OpenSpiel cannot draw the deals of half_deck, which are repeated until no hand is empty: name "
            "rules without half_deck"
        )
    if rules.unshuffled:
        raise InvalidRulesError(
            f"{text!r}: OpenSpiel cannot draw unshuffled deals, which come from an earlier game: name rules without "
            "unshuffled"
        )
    if rules.bidding != "fixed" and rules.all_decline == "redeal":
        rules = rules.replace(all_decline="end")
    return rules


class DouDizhuGame(pyspiel.Game):  # type: ignore[misc]  # OpenSpiel has no types
    """Dou Dizhu as an OpenSpiel game, with the parameters ``rules`` and ``scoring``.

    Args:
        params: ``rules`` and ``scoring`` (:func:`rules_from_text`).

    Raises:
        InvalidRulesError: If there are no such rules.
    """

    def __init__(self, params: dict[str, Any] | None = None) -> None:
        params = {"rules": "standard", "scoring": "", **(params or {})}
        # OpenSpiel writes a game as text, in which "," and "=" part parameters.
        params["rules"] = str(params["rules"]).replace(",", ";").replace("=", ":")
        rules = rules_from_text(params["rules"], str(params["scoring"]))
        super().__init__(_make_game_type(is_zero_sum(rules)), _make_game_info(rules), params)

    @property
    def rules(self) -> Rules:
        """The rules, parsed from the parameters at each access because OpenSpiel's copies lose Python attributes."""
        params = self.get_parameters()
        return rules_from_text(params["rules"], params["scoring"])

    def new_initial_state(self) -> DouDizhuState:
        """Return a new state in which no cards are dealt."""
        return DouDizhuState(self)

    def max_chance_nodes_in_history(self) -> int:
        """Return the maximum number of chance nodes: one per rank, and one for who opens the auction."""
        return sum(count > 0 for count in self.rules.deck) + (self.rules.bidding != "fixed")

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> Any:
        """Make an observer of the information state (with perfect recall) or of the observation (without).

        Raises:
            InvalidRulesError: If it is to show anything but one player's own view.
        """
        form = iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False)
        if params or not form.public_info or form.private_info != pyspiel.PrivateInfoType.SINGLE_PLAYER:
            raise InvalidRulesError(
                f"an observer of {NAME} needs public_info=True and PrivateInfoType.SINGLE_PLAYER, without parameters"
            )
        return (
            observers.InformationStateObserver(self.rules) if form.perfect_recall else observers.ObservationObserver()
        )


class DouDizhuState(pyspiel.State):  # type: ignore[misc]  # OpenSpiel has no types
    """An OpenSpiel state of Dou Dizhu: the deal in progress, and then the game.

    Attributes:
        deal: The deal as far as chance has come.
        game: The game itself, None while chance deals.  Play it with ``apply_action`` only.
    """

    def __init__(self, game: DouDizhuGame) -> None:
        super().__init__(game)
        self.deal = PartialDeal.start(game.rules)
        self.game: State | None = None

    def current_player(self) -> int:
        """Return the seat to act, or OpenSpiel's number for a chance node or a finished game."""
        if self.game is None:
            return int(pyspiel.PlayerId.CHANCE)
        return int(pyspiel.PlayerId.TERMINAL) if self.game.is_over else self.game.seat

    def is_terminal(self) -> bool:
        """Return whether the game is over."""
        return self.game is not None and self.game.is_over

    def returns(self) -> list[float]:
        """Return each seat's score, or zeros while the game runs."""
        return list(self.game.returns()) if self.game else [0.0] * self.deal.rules.players

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Return the chance actions with probabilities: ways to deal a rank or, last, who opens the auction."""
        if not self.deal.is_done:
            return list(self.deal.outcomes)
        players = self.deal.rules.players
        return [(self._opener_base + seat, 1 / players) for seat in range(players)]

    def resample_from_infostate(self, player_id: int, probability_sampler: Callable[[], float]) -> DouDizhuState:
        """Draw a state that a player cannot tell apart from this one, with all consistent deals equally likely.

        Args:
            player_id: The player whose information state is kept.
            probability_sampler: Draws from 0 (included) to 1.
        """
        twin: DouDizhuState = self.get_game().new_initial_state()
        if self.game is None:
            return twin
        for action in twin.deal.actions_for(resample_hands(self.game, player_id, probability_sampler)):
            twin.apply_action(action)
        if twin.is_chance_node():
            twin.apply_action(self._opener_base + first_seat_to_act(self.game))
        completed = (action for _, move in self.game.history for action in move.actions)
        for action in (*completed, *list_half_built_actions(self.game, player_id)):
            twin.apply_action(action)
        return twin

    @property
    def _opener_base(self) -> int:
        return len(list_splits(len(self.deal.places)))

    def _legal_actions(self, player: int) -> list[int]:
        return self.game.legal_actions() if self.game else []

    def _apply_action(self, action: int) -> None:
        if self.game is not None:
            self.game.step_action(action)
        elif not self.deal.is_done:
            self.deal = self.deal.apply_chance_action(action)
            if self.deal.is_done and self.deal.rules.bidding == "fixed":
                self.game = start_state(self.deal, 0)
        else:
            self.game = start_state(self.deal, action - self._opener_base)

    def _action_to_string(self, player: int, action: int) -> str:
        if player != pyspiel.PlayerId.CHANCE:
            return action_name(action)
        if action >= self._opener_base:
            return f"seat {action - self._opener_base} opens"
        return "deal " + "-".join(map(str, list_splits(len(self.deal.places))[action]))

    def __str__(self) -> str:
        """Return the deal, every completed move and any half-built move as a string."""
        dealt = ["-".join(map(str, split)) for split in self.deal.splits if any(split)]
        if self.game is None:
            return " ".join(dealt) or "before the deal"
        moves = [f"{seat}:{move}" for seat, move in self.game.history]
        stages = [
            f"{self.game.seat}:{action_name(action)}..."
            for action in list_half_built_actions(self.game, self.game.seat)
        ]
        return f"{' '.join(dealt)} | seat {first_seat_to_act(self.game)}, " + ", ".join((*moves, *stages))


def start_state(deal: PartialDeal, opener: int) -> State:
    """Start the game with a completed deal and a given opening seat."""
    rules, hands = deal.rules, deal.hands()
    bottom = hands[rules.players] if rules.bottom else ""
    return State.from_hands(hands[: rules.players], bottom, rules, seed=_find_opening_seed(rules, opener))


@functools.cache
def _find_opening_seed(rules: Rules, opener: int) -> int:
    """Find the lowest seed with which a given seat opens the auction; with a fixed landlord the seed is 0."""
    return next(seed for seed in itertools.count() if first_seat_to_act(State.new(seed, rules)) == opener)


def list_half_built_actions(state: State, seat: int) -> list[int]:
    """List the action ids chosen so far in a seat's half-built move; the list is empty if there is none."""
    main, chosen = half_built_move(state, seat)
    if not main:
        return []
    kickers = kicker_ranks(word_to_counts(chosen), MAIN_GROUPS[main].kicker_size)
    return [main, *(KICKER_BASE + rank for rank in kickers)]


pyspiel.register_game(_make_game_type(), DouDizhuGame)
