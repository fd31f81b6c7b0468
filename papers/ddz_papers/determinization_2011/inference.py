"""Bayesian inference from an opponent model (Whitehouse, Powley and Cowling 2011, section III.G).

The model is a pure policy: it plays a move in a state with probability 0 or 1.  Bayes' rule then strikes out every
state in which the model would not have made the observed move, and leaves the others their prior probabilities, which
are those of the *deal* (uniform over deals of cards).

A wrong model may strike out every state, the true one among them.  Then the states stay in which the move was at least
legal; where there are none either, inference starts again from all deals that agree with what was played.
"""

# mypy: disable-error-code="arg-type"
# (To Numba NumPy's integers and Python's are one type, to the checker they are two.)

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from ddz_agents.open_cards.information_set import InformationSet, information_set, row_before_first_move
from ddz_agents.rules.agent import choose_move
from ddz_agents.rules.workspace import new_rule_workspace
from ddz_agents.worlds.determinize import Words
from ddz_agents.worlds.history import play_move_in_all_worlds
from ddz_env.core.engine.layout import HANDS
from ddz_env.core.notation import Move
from ddz_env.core.rules import Rules
from ddz_env.support.arrays import WritableAfterUnpickling

History = tuple[tuple[int, Move], ...]
"""``(seat, move)`` for every move so far, oldest first."""

_MAX_HISTORIES = 100_000


@runtime_checkable
class OpponentModel(Protocol):
    """A deterministic model of an opponent, whose moves therefore reveal which hands are possible."""

    @property
    def name(self) -> str:
        """A short name for the model, used in tables."""
        ...

    def choose_in_state(self, row: Words, history: History, rules: Rules) -> Move:
        """Return the move that the seat to act would make in a state.

        Args:
            row: The state, shape ``[32]``.
            history: Every move so far.
            rules: The rules.
        """
        ...


class RulesOpponent(WritableAfterUnpickling):
    """The rule agent as an opponent model, which uses only what the seat to act knows of a full state.

    Example:
        >>> from ddz_env import State
        >>> state = State.new(seed=1, rules="mini")
        >>> RulesOpponent().choose_in_state(state.row, (), state.rules) in state.legal_moves()
        True
    """

    name = "rules"

    def __init__(self) -> None:
        self._workspace = new_rule_workspace()

    def choose_in_state(self, row: Words, history: History, rules: Rules) -> Move:
        """Return the rule agent's move in a state, based only on what the seat to act knows."""
        return choose_move(row, rules.words(), self._workspace)


class Inference(WritableAfterUnpickling):
    """The inference of which states one seat considers possible, with a cache by history.

    Args:
        rules: The rules.
        model: What the other seats are believed to play; None infers nothing from the choice of a move.
    """

    def __init__(self, rules: Rules, model: OpponentModel | None) -> None:
        self._rules, self._words = rules, rules.words()
        self._model = model
        self._known_states: dict[tuple[bytes, History], InformationSet] = {}

    def states(self, row: Words, seat: int, history: History) -> InformationSet:
        """Return the states that remain possible after a history, each with its prior number of deals.

        Args:
            row: The seat's view (not of open hands), shape ``[32]``.
            seat: The observer.
            history: Every move so far.
        """
        if len(self._known_states) > _MAX_HISTORIES:
            self._known_states.clear()
        return self._states_after(row_before_first_move(row, seat, self._rules.players), seat, history)

    def _states_after(self, start: Words, seat: int, history: History) -> InformationSet:
        key = (start.tobytes(), history)
        states = self._known_states.get(key)
        if states is None:
            if history:
                states = self._update(start, seat, history)
            else:
                states = information_set(start, seat)
            self._known_states[key] = states
        return states

    def _update(self, start: Words, seat: int, history: History) -> InformationSet:
        """Return the states that remain possible after a history's last move, starting from those before it."""
        mover, move = history[-1]
        before = self._states_after(start, seat, history[:-1])
        if mover != seat:
            possible = _filter_possible(before, mover, move)
            if len(possible) == 0:
                return self._restart(start, seat, history)
            before = self._filter_by_model(possible, move, history[:-1])
        return self._play_move(before, move)

    def _filter_by_model(self, states: InformationSet, move: Move, history: History) -> InformationSet:
        if self._model is None:
            return states
        consistent = _select_states(
            states, [self._model.choose_in_state(row, history, self._rules) == move for row in states.rows]
        )
        return consistent if len(consistent) else states

    def _restart(self, start: Words, seat: int, history: History) -> InformationSet:
        """Return the states in which every move of a history was possible, whatever the model would have played."""
        states = information_set(start, seat)
        for mover, move in history:
            if mover != seat:
                states = _filter_possible(states, mover, move)
            states = self._play_move(states, move)
        return states

    def _play_move(self, states: InformationSet, move: Move) -> InformationSet:
        rows = states.rows.copy()
        play_move_in_all_worlds(rows, *move.words, self._words)
        return InformationSet(rows, states.deals)


def _filter_possible(states: InformationSet, mover: int, move: Move) -> InformationSet:
    """Select the states in which the mover's hand holds the cards of a move."""
    return _select_states(states, np.uint64(move.cards.word) & ~states.rows[:, HANDS + mover] == 0)


def _select_states(states: InformationSet, chosen: Sequence[bool] | npt.NDArray[np.bool_]) -> InformationSet:
    mask = np.asarray(chosen, np.bool_)
    return InformationSet(states.rows[mask], states.deals[mask])
