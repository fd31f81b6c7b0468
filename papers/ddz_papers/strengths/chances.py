"""A calibration check of the chances of winning that ``ddz web`` shows, on games between policies.

At some decisions of every game :mod:`ddz_agents.neural_search.win_probability` values the move that is then
played, from what its seat knows; the game says who won.  The map from the critic's means to chances is fitted on the
games with even numbers, and the table counts those with odd ones.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ddz_agents.neural.agent import ModelAgent
from ddz_agents.neural.loading import load_policy
from ddz_agents.neural.shipped import shipped_policy_path
from ddz_agents.neural_search.win_probability import (
    CALIBRATIONS,
    STRONG,
    WORLDS,
    Calibration,
    LogOddsCurve,
    WinProbability,
    log_odds,
)
from ddz_env import State
from ddz_env.core.view import list_legal_actions
from ddz_env.playing.generators import make_published_generator
from ddz_papers.experiments import experiment as ex
from ddz_training.measure.markdown import Table
from ddz_training.measure.provenance import digest_file
from ddz_training.measure.statistics import share_interval

FIRST_DEAL = 7_000_000
BINS, ROLES = 10, ("landlord", "peasant after the landlord", "peasant before the landlord")
_GAME, _CHOICE, _WORLDS = range(3)
"""Keys of the generators: playing the game, choosing decisions, drawing worlds."""
_STEPS, _DIGITS = 25, 3
"""Steps of Newton's method, and decimal digits that its result is rounded to."""


ChanceAndOutcome = tuple[float, int]
"""A chance of winning, and whether the game was won, 0 or 1."""


class EstimatedDecision(Protocol):
    """A decision with the critic's estimate of its winning chance, the mover's role and the game's outcome."""

    @property
    def deal(self) -> int: ...  # noqa: D102
    @property
    def role(self) -> int: ...  # noqa: D102
    @property
    def mean(self) -> float: ...  # noqa: D102
    @property
    def won(self) -> int: ...  # noqa: D102


@dataclass(frozen=True)
class ChanceOptions(ex.ParallelOptions):
    """Options of ``chances``: which games are played.

    Attributes:
        seed: Seed of deals, decisions and worlds.
        games: How many games.
        decisions: Decisions of each game that are looked at, at most.
    """

    games: ex.Count = 4000
    decisions: ex.Count = 3


@dataclass(frozen=True)
class ChanceResult:
    """A decision with the critic's estimate of its winning chance, and how its game ended.

    Attributes:
        deal: Number of the deal.
        number: Number of the move that was played.
        landlord: Whether the landlord moved, 0 or 1.
        mean: The critic's mean after the move, 0 to 1.
        won: Whether the mover's side won, 0 or 1.
    """

    deal: int
    number: int
    landlord: int
    mean: float
    won: int

    @property
    def role(self) -> int:
        """The mover's role: 0 for the landlord, who begins, then 1 and 2 for the peasants in seating order."""
        return self.number % len(ROLES)


@functools.cache
def _load_players() -> tuple[ModelAgent, WinProbability]:
    model = load_policy()
    return ModelAgent(model), WinProbability(model)


def play_and_estimate(options: ChanceOptions, deal: int) -> list[ChanceResult]:
    """Let the policy play a game against itself, and estimate the winning chances of some of its moves."""
    (agent, estimator), seed, rng = _load_players(), options.seed, make_published_generator
    state, decisions = State.new(seed, game=deal), []
    while not state.is_over:
        view = state.view()
        move = agent.act(view, rng([seed, deal, _GAME]))  # the likeliest: it draws nothing
        if len(list_legal_actions(state.row, state.rule_words)) > 1:
            decisions.append((len(state.history), view, move))
        state.step(move)
    returns = state.returns()
    count = min(options.decisions, len(decisions))
    chosen = sorted(rng([seed, deal, _CHOICE]).choice(len(decisions), count, replace=False).tolist())
    lines = []
    for number, view, move in (decisions[index] for index in chosen):
        mean = round(float(estimator.critic_means(view, [move], rng([seed, deal, _WORLDS, number]))[0]), 4)
        lines.append(ChanceResult(deal, number, int(view.seat == view.landlord), mean, int(returns[view.seat] > 0)))
    return lines


def fit_curve(means: npt.NDArray[np.float64], won: npt.NDArray[np.bool_]) -> LogOddsCurve:
    """Fit a curve from the critic's means to winning chances by logistic regression (Newton's method).

    Args:
        means: The critic's, shape ``[n]``.
        won: Whether the game was won, shape ``[n]``.
    """
    open_ones = (means > 0) & (means < 1)
    logs, wins, weights = log_odds(means[open_ones]), won[open_ones].astype(np.float64), np.zeros(2)
    inputs = np.stack([np.ones(len(logs)), logs], axis=1)
    for _ in range(_STEPS):
        chances = 1 / (1 + np.exp(-inputs @ weights))
        curvature = (inputs * (chances * (1 - chances))[:, None]).T @ inputs
        weights += np.linalg.solve(curvature, inputs.T @ (wins - chances))
    return LogOddsCurve(*(round(float(weight), _DIGITS) for weight in weights))


def fit_calibration(results: Sequence[EstimatedDecision]) -> Calibration:
    """Fit one calibration curve per role to the even-numbered games."""
    even = [[one for one in results if one.deal % 2 == 0 and one.role == role] for role in range(len(ROLES))]
    return Calibration(
        *(
            fit_curve(np.array([one.mean for one in part]), np.array([one.won for one in part], np.bool_))
            for part in even
        )
    )


def shown_chance(result: EstimatedDecision, calibration: Calibration) -> float:
    """Return the winning chance shown to people for a decision: the critic's mean after calibration."""
    return float(calibration[result.role].chances(np.array([result.mean]))[0])


def bin_by_chance(
    results: Sequence[EstimatedDecision], calibration: Calibration = CALIBRATIONS[STRONG]
) -> list[list[ChanceAndOutcome]]:
    """Sort the decisions of odd-numbered games into ten bins by the winning chance that people see."""
    tenths: list[list[ChanceAndOutcome]] = [[] for _ in range(BINS)]
    for result in results:
        if result.deal % 2:
            chance = shown_chance(result, calibration)
            tenths[min(int(chance * BINS), BINS - 1)].append((chance, result.won))
    return tenths


def chances_table(saved: ex.SavedResults[ChanceResult]) -> Table:
    """Make the table of the winning chances that people see, in ten bins, beside the share of games won in each."""
    lines = []
    for tenth, games in enumerate(bin_by_chance(saved.results)):
        if games:
            mean, won = 100 * fmean(chance for chance, _ in games), [float(outcome) for _, outcome in games]
            rate = share_interval(won, games=1)
            name = f"{100 * tenth // BINS}–{100 * (tenth + 1) // BINS}"
            lines.append(
                (name, f"{len(games):,}", f"{mean:.1f}", rate.text_with_range(to="–"), f"{100 * rate.mean - mean:+.1f}")
            )
    note = f"Games with odd numbers; the map was fitted on those with even ones. Computed from {saved.name}."
    header = ("chance given, %", "positions", "its mean", "games won, %", "difference")
    return Table("Chances of winning, given and found", header, lines, note)


CHANCES = ex.Experiment(
    name="chances",
    about="Whether the chances of winning that ddz web shows are borne out, in games of the policy with itself.",
    options=ChanceOptions,
    result=ChanceResult,
    key=("deal",),
    tasks=lambda options: [(deal,) for deal in range(FIRST_DEAL, FIRST_DEAL + options.games)],
    work=play_and_estimate,
    changeable=("games",),
    more=lambda options: {"worlds": WORLDS, "weights": digest_file(shipped_policy_path())},
    agents=lambda options: ["policy"],
    unit="games",
    tables={"chances": chances_table},
)
