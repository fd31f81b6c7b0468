"""The rule agent as an agent: it plays one game, or many in one compiled call."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt

from ddz_agents.rules.mind import new_mind
from ddz_agents.rules.rules import rules_move
from ddz_agents.rules.stages import RulesTeacher
from ddz_agents.rules.weights import WEIGHTS
from ddz_env import Move, Rules, View
from ddz_env.core.errors import IllegalMoveError
from ddz_env.core.owned import OwnsArrays
from ddz_env.playing.agent import BatchPlayer


class PricedAgent(OwnsArrays, ABC):
    """Plays by hand decomposition, at the prices that a subclass names; no search, no randomness."""

    name: str
    cheats = False

    def __init__(self) -> None:
        self._mind = new_mind()

    @abstractmethod
    def weights(self, view: View) -> npt.NDArray[np.int64]:
        """The weights of a seat, shape and meaning as :data:`ddz_agents.rules.weights.WEIGHTS`."""

    def act(self, view: View, rng: np.random.Generator) -> Move:
        """Choose a move by the rules; the generator is not used.

        Raises:
            IllegalMoveError: If it is not the seat's turn.
        """
        if view.acting_seat != view.seat or view.stage == "over":
            raise IllegalMoveError(f"seat {view.seat} has nothing to decide: the stage is {view.stage}")
        main, kickers = rules_move(view.row, view.rule_words, self._mind, self.weights(view))
        return Move.from_words(int(main), int(kickers))


class RulesAgent(PricedAgent):
    """The rule agent; microseconds a decision.

    Example:
        >>> from ddz_env import State
        >>> state = State.new(seed=1)
        >>> RulesAgent().act(state.view(), np.random.default_rng(0)) in state.legal_moves()
        True
    """

    name = "rules"

    def weights(self, view: View) -> npt.NDArray[np.int64]:
        """The same for every seat."""
        return WEIGHTS

    def batched(self, num_games: int, rules: Rules) -> BatchPlayer:
        """The same choices in many games, one compiled call for all that wait."""
        return RulesTeacher(num_games, rules)
