"""What is tuned: the rule agent's prices as landlord and as peasants, and the weights of a position.

Each is a vector that stands in the middle of a box: the origin of the searches is what is played today, and a step of
one is about half of a weight, or a fifth of a trick.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import numpy.typing as npt

from ddz_agents.rules import weights as at
from ddz_agents.rules.position import POSITION
from ddz_agents.rules.scratch import new_rule_scratch
from ddz_agents.rules.weights import WEIGHTS
from ddz_env import Rules
from ddz_training.learn.tuning.games import OpenGames, play_rules
from ddz_training.learn.tuning.methods import Point

Floats = npt.NDArray[np.float64]

PEASANTS_ALONE = (at.PARTNER_NEED, at.PARTNER_WEAK, at.PARTNER_UP, at.HELPER, at.TEAM)
"""Weights that say nothing to a landlord, who has no partner."""
STEPS = (at.STEP_PAIR, at.STEP_TRIO, at.STEP_CHAIN, at.STEP_PAIR_CHAIN, at.STEP_PLANE)
"""Weights in per cent, which stay above nothing."""


class Subject(ABC):
    """A set of weights to tune.

    Attributes:
        start: What is played today, shape ``[weights]``, float64.
        span: How far a step of one moves each weight, likewise.
        places: The weights that are tuned, shape ``[size]``.
        cost: How many deals of a rule agent a deal counts for.
    """

    cost = 1
    start: Floats
    span: Floats
    places: npt.NDArray[np.intp]

    @property
    def size(self) -> int:
        """How many weights are tuned."""
        return len(self.places)

    def share_of(self, deals: int) -> int:
        """How many deals are played for so many of a rule agent."""
        return max(2, deals // self.cost)

    def weights(self, point: Point) -> Floats:
        """The weights of a point of the box."""
        tuned = self.start.copy()
        tuned[self.places] += point * self.span[self.places]
        return tuned

    @abstractmethod
    def play(self, weights: Floats, games: npt.NDArray[np.uint64]) -> Floats:
        """Play one deal after the other against the rule agent: the share of each that is won, shape ``[n]``."""


class RulesSide(Subject):
    """The prices of one side's rule agent."""

    def __init__(self, landlord: bool) -> None:
        self.start = WEIGHTS.astype(np.float64)
        self.span = 20.0 + np.abs(self.start) / 2.0
        self.span[list(STEPS)] = np.maximum(3.0, self.start[list(STEPS)] / 2.0)
        skipped = PEASANTS_ALONE if landlord else ()
        self.places = np.array([place for place in range(len(WEIGHTS)) if place not in skipped])
        self._landlord = landlord
        self._mind, self._rules = new_rule_scratch(), Rules().words()

    def weights(self, point: Point) -> Floats:
        """Whole numbers: hundredths of a trick, and per cent of at least one."""
        tuned = np.rint(super().weights(point))
        tuned[list(STEPS)] = np.maximum(1.0, tuned[list(STEPS)])
        return tuned

    def play(self, weights: Floats, games: npt.NDArray[np.uint64]) -> Floats:
        """One game a deal."""
        won, tuned = np.zeros(len(games)), weights.astype(np.int64)
        landlord, peasants = (tuned, WEIGHTS) if self._landlord else (WEIGHTS, tuned)
        play_rules(games, self._rules, self._mind, landlord, peasants, won)
        return won if self._landlord else 1.0 - won


class PositionWeights(Subject):
    """The weights of a position, of a player who sees all hands and looks one ply ahead."""

    cost = 20

    def __init__(self) -> None:
        self.start, self.span = POSITION.copy(), 0.2 + np.abs(POSITION) / 2.0
        self.places = np.arange(1, len(POSITION))  # what is added to every position decides nothing
        self._games = OpenGames()

    def play(self, weights: Floats, games: npt.NDArray[np.uint64]) -> Floats:
        """Two games a deal, one from each side."""
        return (self._games.play(weights, games, True) + self._games.play(weights, games, False)) / 2.0


SUBJECTS: Mapping[str, Callable[[], Subject]] = {
    "landlord": partial(RulesSide, True),
    "peasants": partial(RulesSide, False),
    "position": PositionWeights,
}
"""What is tuned, by name."""
