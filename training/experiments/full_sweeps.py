"""How information-set UCT depends on its two parameters (Whitehouse, Powley and Cowling 2011, section IV.D).

The landlord is information-set UCT, the peasants determinized UCT.  One sweep tries numbers of iterations with
exploration 0.44, the other exploration constants with 10,000 iterations.  The paper plays each of its 1,000 deals 5
times a setting, and prints one number and some words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from training.arena.errors import InvalidExperimentError
from training.experiments.comparison import Comparison, OnProgress, no_progress
from training.experiments.full_games import (
    FullExperiment,
    FullRun,
    GameResult,
    Lineup,
    difference,
    gain_line,
    rate_line,
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
        paper_rates: Win rates in percent that the paper prints.
        paper_words: What it says of other values.
    """

    name: str
    values: tuple[float, ...]
    base: float
    paper_rates: Mapping[float, str]
    paper_words: Mapping[float, str]

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the line-ups."""
        return tuple(f"{value:g}" for value in self.values)

    def paper(self, value: float) -> str:
        """What the paper prints or says of a value; empty for nothing."""
        return self.paper_rates.get(value) or self.paper_words.get(value, "")


ITERATIONS = Sweep(
    "iterations",
    (500, 1000, 2000, 5000, 10_000, 20_000, 30_000),
    10_000,
    {10_000: "40.8"},
    {
        **dict.fromkeys((500, 1000, 2000, 5000), "rises to 10,000"),
        **dict.fromkeys((20_000, 30_000), "no significant change"),
    },
)
EXPLORATION = Sweep(
    "exploration",
    (0.1, 0.2, 0.44, 0.7, 1.0, 1.5, 2.0, 3.0),
    1.0,
    {},
    {
        **dict.fromkeys((0.1, 0.2, 0.44), "poor below 0.5"),
        **dict.fromkeys((1.5, 2.0, 3.0), "little change from 1"),
    },
)


def sweep_experiment(sweep: Sweep, searchers: Searchers, values: Sequence[float] | None = None) -> FullExperiment:
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
    return FullExperiment(sweep.name, tuple(lineups), agents)


def _landlord(sweep: Sweep, value: float, searchers: Searchers) -> str:
    if sweep.name == ITERATIONS.name:
        return searchers.information_set(ITERATIONS_EXPLORATION, int(value))
    return searchers.information_set(value)


def run_sweep(
    sweep: Sweep, run: FullRun, on_progress: OnProgress = no_progress, values: Sequence[float] | None = None
) -> list[GameResult]:
    """Play every value on the same deals.

    Args:
        sweep: ``ITERATIONS`` or ``EXPLORATION``.
        run: How many games, where to save them, with how many processes.
        on_progress: Told how many games are done.
        values: Only these values; all of the sweep's if None.

    Raises:
        InvalidExperimentError: If a value is none of the sweep's.
    """
    return run_games(sweep_experiment(sweep, run.searchers, values), run, on_progress)


def compare_sweep(sweep: Sweep, results: Sequence[GameResult]) -> list[Comparison]:
    """Win rates by value with the paper's words beside them, and the differences from the base, paired by deal."""
    played, base = {result.lineup for result in results}, f"{sweep.base:g}"
    pairs = [pair for pair in zip(sweep.labels, sweep.values, strict=True) if pair[0] in played]
    lines = [
        rate_line(f"{sweep.name} {value:,g}", sweep.paper(value), win_rate(results, label)) for label, value in pairs
    ]
    if base in played:
        lines += [
            gain_line(f"{sweep.name} {value:,g} over {sweep.base:,g}", "", difference(results, label, base))
            for label, value in pairs
            if label != base
        ]
    return lines
