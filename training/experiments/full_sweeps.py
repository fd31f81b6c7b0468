"""How information-set UCT depends on its two parameters (Whitehouse, Powley and Cowling 2011, section IV.D).

The landlord is information-set UCT, the peasants determinized UCT.  One sweep tries numbers of iterations with
exploration 0.44, the other exploration constants with 10,000 iterations.  The paper plays each of its 1,000 deals 5
times a setting, and prints one number and some words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from training.evaluation.errors import InvalidExperimentError
from training.experiments.comparison import Comparison, OnProgress, no_progress
from training.experiments.full_games import (
    FullExperiment,
    GameResult,
    Lineup,
    Scale,
    difference,
    in_percent,
    run_games,
    win_rate,
)
from training.experiments.searchers import Searchers

PAPER_GAMES = 5
ITERATIONS_EXPLORATION = 0.44


@dataclass(frozen=True)
class Sweep:
    """Settings of one parameter.

    Attributes:
        name: Name of the experiment and of the parameter.
        values: The values tried.
        base: The value that the others are compared with.
        paper: What the paper says of a value, where it says anything.
    """

    name: str
    values: tuple[float, ...]
    base: float
    paper: dict[float, str]

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the line-ups."""
        return tuple(f"{value:g}" for value in self.values)


ITERATIONS = Sweep(
    "iterations",
    (500, 1000, 2000, 5000, 10_000, 20_000, 30_000),
    10_000,
    {
        **dict.fromkeys((500, 1000, 2000, 5000), "less: strength rises to 10,000"),
        10_000: "40.8",
        **dict.fromkeys((20_000, 30_000), "no significant change"),
    },
)
EXPLORATION = Sweep(
    "exploration",
    (0.1, 0.2, 0.44, 0.7, 1.0, 1.5, 2.0, 3.0),
    1.0,
    {
        **dict.fromkeys((0.1, 0.2, 0.44), "poor below 0.5"),
        **dict.fromkeys((1.5, 2.0, 3.0), "little change from 1"),
    },
)


def sweep_experiment(
    sweep: Sweep, searchers: Searchers, seed: int = 0, values: Sequence[float] | None = None
) -> FullExperiment:
    """A landlord for each value; a file may hold the games of other values as well.

    Raises:
        InvalidExperimentError: If a value is none of the sweep's.
    """
    chosen = sweep.values if values is None else tuple(values)
    unknown = [value for value in chosen if value not in sweep.values]
    if unknown or not chosen:
        raise InvalidExperimentError(f"{sweep.name}: {unknown or 'nothing'} is not among {', '.join(sweep.labels)}")
    peasant = searchers.determinized
    lineups = [
        Lineup(label, (_landlord(sweep, value, searchers), peasant, peasant))
        for label, value in zip(sweep.labels, sweep.values, strict=True)
        if value in chosen
    ]
    agents = {"landlord at the base": _landlord(sweep, sweep.base, searchers), "peasants": peasant}
    return FullExperiment(sweep.name, tuple(lineups), agents, seed)


def _landlord(sweep: Sweep, value: float, searchers: Searchers) -> str:
    if sweep.name == ITERATIONS.name:
        return searchers.information_set(ITERATIONS_EXPLORATION, int(value))
    return searchers.information_set(value)


def run_sweep(
    sweep: Sweep,
    scale: Scale,
    path: Path | None = None,
    on_progress: OnProgress = no_progress,
    searchers: Searchers | None = None,
    seed: int = 0,
    values: Sequence[float] | None = None,
) -> list[GameResult]:
    """Play every value on the same deals.

    Args:
        sweep: ``ITERATIONS`` or ``EXPLORATION``.
        scale: How many games.
        path: Where to save, one line a game; a file of an earlier run is gone on with.
        on_progress: Told how many games are done.
        searchers: The agents; the paper's if None.
        seed: Seed of all agents.
        values: Only these values; all of the sweep's if None.

    Raises:
        InvalidExperimentError: If a value is none of the sweep's.
    """
    return run_games(sweep_experiment(sweep, searchers or Searchers(), seed, values), scale, path, on_progress)


def compare_sweep(sweep: Sweep, results: Sequence[GameResult]) -> list[Comparison]:
    """Win rates by value with the paper's words beside them, and the differences from the base, paired by deal."""
    played = {result.lineup for result in results}
    lines = []
    for label, value in zip(sweep.labels, sweep.values, strict=True):
        if label not in played:
            continue
        rate = win_rate(results, label)
        mean, interval = in_percent(rate)
        note = f"{interval}; {rate.count:,} games"
        if value != sweep.base and f"{sweep.base:g}" in played:
            gain, spread = in_percent(difference(results, label, f"{sweep.base:g}"), "+")
            note += f"; {gain} ({spread}) from {sweep.base:g}, paired by deal"
        lines.append(Comparison(f"{sweep.name} {value:g}, %", sweep.paper.get(value, ""), mean, note))
    return lines
