"""A policy trained before the spectator's eyes: self-play from random weights, its strength measured on the way."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ddz_training.learn.checkpoint import CHECKPOINT
from ddz_training.learn.curves import CurveLine
from ddz_training.learn.ppo.config import SelfPlayConfig
from ddz_training.learn.ppo.selfplay import SelfPlay
from ddz_training.learn.run import CURVES, EVALUATIONS, POLICY, Budget, measure, train
from ddz_training.learn.strength import Evaluation
from ddz_training.measure.match.one_writer import writing

STAGES = 10
"""How often the strength is measured, in equal shares of the time."""

SETTINGS: dict[str, Any] = {
    "num_games": 256,
    "steps": 64,
    "minibatch": 2048,
    "learning_rate": 1e-3,
    "evaluate_deals": 50,
}
"""Small, frequent updates: the defaults are for hours."""

_AT_ENDS = 10**9
"""No evaluation by the number of updates; each stage ends with one."""


@dataclass(frozen=True)
class LearningPoint:
    """The strength against one opponent after some training.

    Attributes:
        seconds: Seconds of training before it, evaluations not counted.
        decisions: Decisions that were learned from before it.
        opponent: The opponent.
        wins: Win rate over both sides.
        low: Lower end of its 95 % interval.
        high: Upper end.
    """

    seconds: float
    decisions: int
    opponent: str
    wins: float
    low: float
    high: float

    @classmethod
    def of(cls, run: SelfPlay, found: Evaluation) -> LearningPoint:
        """Where a run stands."""
        counters = run.counters
        return cls(counters.seconds, counters.decisions, found.opponent, found.wins, found.low, found.high)


def demonstration_settings(seed: int) -> SelfPlayConfig:
    """The settings of the run.

    Args:
        seed: Seed of deals, actions and weights.
    """
    return SelfPlayConfig().changed(SETTINGS | {"seed": seed, "evaluate_every": _AT_ENDS})


def train_fresh(
    config: SelfPlayConfig,
    folder: Path,
    minutes: float,
    *,
    on_update: Callable[[CurveLine], None],
    on_points: Callable[[Sequence[LearningPoint]], None],
    threads: int | None = None,
) -> list[LearningPoint]:
    """Train a policy from random weights and measure it before, after, and between.

    The folder gets what every run of ``ddz train selfplay`` writes; another run's files there are removed first, so
    that after a kill it never holds those of two runs.

    Args:
        config: The settings.
        folder: Where its files go.
        minutes: Minutes of training; evaluations and compilation come on top.
        on_update: Called after every update.
        on_points: Called after every measurement with its results, one an opponent.
        threads: Threads; None for one a core.

    Returns:
        All measurements.

    Raises:
        CheckpointError: If a file cannot be written.
        InUseError: If another process trains in the folder.
    """
    with writing(folder, folder=True):
        for name in (CHECKPOINT, POLICY, CURVES, EVALUATIONS):
            (folder / name).unlink(missing_ok=True)
        _compile(config, threads)
        return _train_fresh(config, folder, minutes, on_update, on_points, threads)


def _train_fresh(
    config: SelfPlayConfig,
    folder: Path,
    minutes: float,
    on_update: Callable[[CurveLine], None],
    on_points: Callable[[Sequence[LearningPoint]], None],
    threads: int | None,
) -> list[LearningPoint]:
    points: list[LearningPoint] = []
    run = SelfPlay(config, threads)

    def measured(found: Sequence[Evaluation]) -> None:
        latest = [LearningPoint.of(run, evaluation) for evaluation in found]
        points.extend(latest)
        on_points(latest)

    try:
        measured(measure(run))
        for stage in range(1, STAGES + 1):
            budget = Budget(minutes=minutes * stage / STAGES)
            train(run, folder, budget, on_update=on_update, on_evaluation=measured)
    finally:
        run.close()
    return points


def _compile(config: SelfPlayConfig, threads: int | None) -> None:
    """An update of a game a group: whatever still has to be compiled is not to be counted as training."""
    run = SelfPlay(dataclasses.replace(config, num_games=config.groups, steps=4), threads)
    try:
        run.step()
    finally:
        run.close()
