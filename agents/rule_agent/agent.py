"""The rule agent as an agent: it plays one game, or many in one compiled call."""

from __future__ import annotations

import numpy as np

from agents.rule_agent.mind import new_mind
from agents.rule_agent.rules import rules_move
from agents.rule_agent.stages import RulesTeacher
from agents.rule_agent.weights import WEIGHTS
from ddz_env import Move, Rules, View
from ddz_env.agent import BatchPlayer
from ddz_env.errors import IllegalMoveError


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
        return RulesTeacher(num_games, rules)
