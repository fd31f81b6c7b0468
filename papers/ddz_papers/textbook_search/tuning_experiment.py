"""Experiments that tune the rule agent's cost weights and the position weights by local search.

An evaluation is a race: batch after batch of the same deals, until the weights are clearly worse than the best so far.
The best weights on these deals are partly lucky, so the finalists of a method are played on other deals to choose one,
and that one on fresh deals, where nothing is chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from ddz_env.support.options import Range
from ddz_papers.experiments import experiment as ex
from ddz_papers.textbook_search.tuning import METHODS, SUBJECTS, Floats, Point, Subject, deal_keys
from ddz_training.measure.markdown import Table
from ddz_training.measure.statistics import Interval, normal_interval

POINTS = 12
"""Points of a run's learning curve in the file."""
FINALISTS = 3
"""Weights of a run that are played on other deals."""
_SEARCH, _CHOICE, _FRESH = 10_000_000, 20_000_000, 30_000_000
"""Numbers of the first deals."""


@dataclass(frozen=True)
class TuningResult:
    """The best weights at one moment of a tuning run, and their gain over the current weights.

    Attributes:
        subject: What is tuned.
        method: The method.
        stage: ``search`` for a point of the learning curve; ``choice`` and ``fresh`` for what came out of it.
        evaluation: Evaluations so far.
        deals: Deals played in all evaluations so far.
        gain: By how much the best weights win more than today's, in points; of ``search`` on the deals of the search.
        margin: Half the width of its 95 % interval.
        weights: The weights.
    """

    subject: str
    method: str
    stage: str
    evaluation: int
    deals: int
    gain: float
    margin: float
    weights: tuple[float, ...]


@dataclass(frozen=True)
class TuningOptions(ex.ChosenOptions):
    """Options of ``tuning``; the position weights get a twentieth of the deals, with two games each.

    Attributes:
        only: Only this subject; may be repeated.
        evaluations: Weights that each method tries.
        deals: Deals that weights are tried on, unless they prove clearly worse earlier.
        batch: Deals of a batch; after each one, weights that are clearly worse are dropped.
        choice: Other deals, on which the finalists are played.
        fresh: Fresh deals on which the chosen weights are played.
    """

    evaluations: Annotated[int, Range(POINTS)] = 60
    deals: Annotated[int, Range(40)] = 20_000
    batch: Annotated[int, Range(40)] = 2_000
    choice: Annotated[int, Range(40)] = 20_000
    fresh: Annotated[int, Range(40)] = 40_000


class WeightRace:
    """A fitness function that measures weights on common deals, and keeps the best weights so far.

    Args:
        subject: What is tuned.
        games: Generator states of the deals, batch by batch.

    Attributes:
        curve: Deals played so far and the best gain, evaluation by evaluation.
        finalists: Weights that were played on all deals, with their gains, the best first.
    """

    def __init__(self, subject: Subject, games: Sequence[np.ndarray]) -> None:
        self._subject, self._games = subject, games
        self._today = [subject.play_games(subject.start, batch) for batch in games]
        nothing = np.zeros(sum(map(len, games)))
        self.finalists: list[tuple[Floats, Floats]] = [(nothing, subject.start)]
        self.curve: list[tuple[int, Interval, Floats]] = []
        self._played = 0

    def __call__(self, point: Point) -> float:
        """Estimate the share of deals won with the weights of a point, stopping early if they are clearly worse."""
        weights = self._subject.weights(point)
        gains = np.zeros(0)
        for batch, today in zip(self._games, self._today, strict=True):
            gains = np.concatenate([gains, self._subject.play_games(weights, batch) - today])
            if normal_interval((gains - self.finalists[0][0][: len(gains)]).tolist()).high <= 0.0:
                break
        else:
            self.finalists.append((gains, weights))
            self.finalists.sort(key=lambda finalist: -finalist[0].mean())
        self._played += len(gains)
        best, best_weights = self.finalists[0]
        self.curve.append((self._played, normal_interval(best.tolist()), best_weights))
        return float(np.clip(np.concatenate(self._today).mean() + gains.mean(), 0.0, 1.0))


def run_tuning(options: TuningOptions, name: str, method: str) -> list[TuningResult]:
    """Tune a set of weights by a local search, and measure the best of them on other deals."""
    subject = SUBJECTS[name]()

    def gains(finalists: Sequence[Floats], first: int, count: int) -> list[tuple[Interval, Floats]]:
        """Return each finalist's gain in win rate over the current weights."""
        games = deal_keys(options.seed, first, subject.equivalent_deals(count))
        today = subject.play_games(subject.start, games)
        return [
            (normal_interval((subject.play_games(weights, games) - today).tolist()), weights) for weights in finalists
        ]

    def make_result(stage: str, evaluation: int, played: int, gain: Interval, weights: Floats) -> TuningResult:
        digits = tuple(float(f"{weight:.4g}") for weight in weights)
        points = round(100 * gain.mean, 3), round(100 * gain.half_width, 3)
        return TuningResult(name, method, stage, evaluation, played, *points, digits)

    games, size = (
        deal_keys(options.seed, _SEARCH, subject.equivalent_deals(options.deals)),
        subject.equivalent_deals(options.batch),
    )
    race = WeightRace(subject, [games[first : first + size] for first in range(0, len(games), size)])
    METHODS[method](race, subject.size, options.evaluations, np.random.default_rng(options.seed))
    lines = []
    for evaluation in np.linspace(1, options.evaluations, POINTS).astype(int).tolist():
        played, gain, weights = race.curve[evaluation - 1]
        lines.append(make_result("search", evaluation, played, gain, weights))
    others = gains([weights for _, weights in race.finalists[:FINALISTS]], _CHOICE, options.choice)
    gain, weights = max(others, key=lambda other: other[0].mean)
    lines.append(make_result("choice", options.evaluations, played, gain, weights))
    [(gain, weights)] = gains([weights], _FRESH, options.fresh)
    return [*lines, make_result("fresh", options.evaluations, played, gain, weights)]


def tuning_table(saved: ex.SavedResults[TuningResult]) -> Table:
    """Make the table of each method's gain on the search deals, on the choosing deals and on fresh deals."""
    lines = []
    for (subject, method), results in ex.group_by(saved.results, "subject", "method").items():
        *_, last, choice, fresh = results
        gains = (f"{result.gain:+.2f} ±{result.margin:.2f}" for result in (last, choice, fresh))
        lines.append((subject, method, str(last.evaluation), f"{last.deals:,}", *gains))
    header = ("subject", "method", "evaluations", "deals", "gain, search", "gain, choice", "gain, fresh deals")
    note = f"Gains are points of win rate against `rules`, with 95 % intervals. Computed from {saved.name}."
    return Table("Tuned weights", header, lines, note)


TUNING = ex.Experiment(
    name="tuning",
    about="Local searches tune the rule agent's prices and the weights of a position.",
    options=TuningOptions,
    result=TuningResult,
    key=("subject", "method"),
    tasks=lambda options: [
        (name, method) for name in ex.check_names("subject", options.only, SUBJECTS) for method in METHODS
    ],
    work=run_tuning,
    unit="runs",
    tables={"tuning": tuning_table},
)
