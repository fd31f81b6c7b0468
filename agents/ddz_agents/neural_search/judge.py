"""The chance of winning after a move, for people: the critic's mean over sampled worlds, made honest by a map.

A person wants to know of every move how often it wins, also of one that a search never tried or that an agent played
without thinking.  So each move is played in the same worlds, drawn uniformly from what the seat cannot see, and the
critic says what each is worth.  The mean depends on nothing that the seat does not know.  How often games are really
won where the mean is so high was counted in games of the policy against itself (``ddz reproduce chances``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_agents.neural.loading import load_policy
from ddz_agents.neural.model import PolicyModel
from ddz_agents.neural_search.descent import Searcher
from ddz_agents.neural_search.leaves import Evaluator, leaf_kind
from ddz_agents.neural_search.opponent_model import nobody
from ddz_agents.neural_search.rollouts import chances_after
from ddz_agents.worlds.consistency import check_view
from ddz_agents.worlds.determinize import Reals, uniform
from ddz_env import Move, View
from ddz_env.core.errors import IllegalMoveError

_STEPS, _DIGITS = 25, 3
"""Of Newton's method, and of what it has found."""
WORLDS = 64
"""Worlds in which a move is played."""
_MOST = 8.0
"""Log odds beyond which the critic is as good as certain."""


class Curve(NamedTuple):
    """From the critic's mean to the chance of winning.

    With x the log odds of the mean, those of the chance are ``bias + slope * x + bend * x * |x|``.

    Attributes:
        bias: What the critic leaves out.
        slope: How much of its confidence is borne out.
        bend: How much more, the surer it is.
    """

    bias: float
    slope: float
    bend: float

    def chances(self, means: Reals) -> Reals:
        """The chances where the critic's means, 0 to 1, are these; what is certain stays certain."""
        chances = 1 / (1 + np.exp(-_inputs(means) @ np.array(self)))
        found: Reals = np.where((means <= 0) | (means >= 1), means, chances)
        return found


class Calibration(NamedTuple):
    """The curves of both sides.

    Attributes:
        peasants: For either peasant.
        landlord: For the landlord.
    """

    peasants: Curve
    landlord: Curve


def _inputs(means: Reals) -> Reals:
    """What a curve adds up, shape ``[n, 3]``."""
    with np.errstate(divide="ignore"):
        logs = np.clip(np.log(means) - np.log1p(-means), -_MOST, _MOST)
    return np.stack([np.ones(len(means)), logs, logs * np.abs(logs)], axis=1)


AS_TOLD = Calibration(Curve(0.0, 1.0, 0.0), Curve(0.0, 1.0, 0.0))
"""Leaves the critic's means alone."""
SHIPPED = Calibration(peasants=Curve(-0.067, 0.216, 0.058), landlord=Curve(-0.438, 0.812, 0.123))
"""Fitted to the games of the shipped policy in ``docs/results/chances.csv``; a test fits it anew."""


class Judge:
    """Says how likely moves win, from what their seat knows.

    Args:
        model: A policy with a critic that was trained to win.
        calibration: The map from its means to chances.
        worlds: Worlds in which each move is played.

    Raises:
        InvalidAgentOptionError: If the model has no such critic.
    """

    def __init__(self, model: PolicyModel | None = None, calibration: Calibration = SHIPPED, worlds: int = WORLDS):
        chosen = load_policy() if model is None else model
        self._evaluator = Evaluator(chosen, leaf_kind(chosen, "critic"), 1.0)
        self._calibration, self._worlds = calibration, worlds

    def chances(self, view: View, moves: Sequence[Move], rng: np.random.Generator) -> list[float]:
        """The chance of winning after each of some moves, for the side of the seat to act.

        Args:
            view: What the seat to act knows, when the landlord is known.
            moves: Legal moves, in any order.
            rng: The generator; it is drawn from once.

        Raises:
            IllegalMoveError: If it is not the seat's turn to play cards.
            InconsistentViewError: If the view contradicts itself.
        """
        means = self.means(view, moves, rng)
        found: list[float] = self._calibration[view.landlord == view.seat].chances(means).tolist()
        return found

    def means(self, view: View, moves: Sequence[Move], rng: np.random.Generator) -> Reals:
        """The critic's means over the worlds, 0 to 1, shape ``[moves]``; as :meth:`chances` without the map."""
        if view.landlord is None or view.acting_seat != view.seat or view.stage != "play":
            raise IllegalMoveError(f"seat {view.seat} plays no cards now: the stage is {view.stage}")
        check_view(view.row, view.seat, view.rule_words)
        deal = np.uint64(rng.integers(0, 2**64, dtype=np.uint64))
        known = np.uint64(view.seat), view.rule_words, uniform(), np.float64(0.0), np.bool_(True), nobody()
        searcher, stages = Searcher(view.row, view.ring, *known), [move.actions for move in moves]
        return chances_after(searcher, stages, deal, range(self._worlds), self._evaluator.values).mean(axis=0)


def fitted(means: Reals, won: npt.NDArray[np.bool_]) -> Curve:
    """The curve under which the games that were won are likeliest (Newton's method for a logistic regression).

    Args:
        means: The critic's, shape ``[n]``.
        won: Whether the game was won, shape ``[n]``.
    """
    open_ones = (means > 0) & (means < 1)
    inputs, wins, weights = _inputs(means[open_ones]), won[open_ones].astype(np.float64), np.zeros(3)
    for _ in range(_STEPS):
        chances = 1 / (1 + np.exp(-inputs @ weights))
        curvature = (inputs * (chances * (1 - chances))[:, None]).T @ inputs
        weights += np.linalg.solve(curvature, inputs.T @ (wins - chances))
    return Curve(*(round(float(weight), _DIGITS) for weight in weights))
