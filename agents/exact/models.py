"""Opponent models: who the other seats are believed to be, when an exact agent infers from their moves."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from agents.exact.inference import Story
from agents.rule_agent.mind import new_mind
from agents.rule_agent.rules import rules_move
from agents.rule_agent.weights import WEIGHTS
from ddz_env import Move
from ddz_env.rules import Rules


class OpponentModel(Protocol):
    """A policy without randomness: what it plays tells what it holds."""

    @property
    def name(self) -> str:
        """A short name for tables."""
        ...

    def choose_in(self, row: npt.NDArray[np.uint64], story: Story, rules: Rules) -> Move:
        """What the seat to act would play in a state.

        Args:
            row: The state, shape ``[32]``.
            story: Every move so far.
            rules: The rules.
        """
        ...


class RulesModel:
    """The rule agent as a model: it never looks at what its seat does not know, so the state may stand for its view.

    Example:
        >>> from ddz_env import State
        >>> state = State.new(seed=1, rules="mini")
        >>> RulesModel().choose_in(state.row, (), state.rules) in state.legal_moves()
        True
    """

    name = "rules"

    def __init__(self) -> None:
        self._mind = new_mind()

    def choose_in(self, row: npt.NDArray[np.uint64], story: Story, rules: Rules) -> Move:
        """What the rule agent plays in a state."""
        main, kickers = rules_move(row, rules.words(), self._mind, WEIGHTS)
        return Move.from_words(int(main), int(kickers))
