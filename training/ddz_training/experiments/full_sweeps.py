"""How information-set UCT depends on its two parameters (Whitehouse, Powley and Cowling 2011, section IV.D).

The landlord is information-set UCT, the peasants determinized UCT.  One sweep tries numbers of iterations with
exploration 0.44, the other exploration constants with 10,000 iterations.  The paper plays each of its 1,000 deals 5
times a setting, and prints one number and some words.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ddz_training.experiments import full_games as full
from ddz_training.experiments.experiment import Comparison, Experiment, Saved
from ddz_training.experiments.full_games import Cast, FullOptions, GameResult, Lineup, gain_line, rate_line
from ddz_training.measure.match.errors import InvalidExperimentError
from ddz_training.measure.plotting import BLUE, PAPER, finish_figure, new_axes, percentages

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
    {**dict.fromkeys((0.1, 0.2, 0.44), "poor below 0.5"), **dict.fromkeys((1.5, 2.0, 3.0), "little change from 1")},
)


@dataclass(frozen=True)
class IterationsOptions(FullOptions):
    """The options of the sweep of iterations.

    Attributes:
        at: Only this number of iterations; may be repeated.
    """

    at: tuple[int, ...] | None = None


@dataclass(frozen=True)
class ExplorationOptions(FullOptions):
    """The options of the sweep of exploration constants.

    Attributes:
        at: Only this constant; may be repeated.
    """

    at: tuple[float, ...] | None = None


SweepOptions = IterationsOptions | ExplorationOptions


def sweep_cast(sweep: Sweep, options: SweepOptions) -> Cast:
    """A landlord for each value; a file may hold the games of other values as well.

    Raises:
        InvalidExperimentError: If a value is none of the sweep's.
    """
    chosen = options.at or sweep.values
    unknown = [value for value in chosen if value not in sweep.values]
    if unknown:
        raise InvalidExperimentError(f"{sweep.name}: {unknown} is not among {', '.join(sweep.labels)}")
    peasant = options.determinized
    lineups = [
        Lineup(label, (_landlord(sweep, value, options), peasant, peasant))
        for label, value in zip(sweep.labels, sweep.values, strict=True)
        if value in chosen
    ]
    agents = {"landlord at the base": _landlord(sweep, sweep.base, options), "peasants": peasant}
    return Cast(sweep.name, tuple(lineups), agents)


def _landlord(sweep: Sweep, value: float, options: FullOptions) -> str:
    if sweep is ITERATIONS:
        return options.information_set(ITERATIONS_EXPLORATION, int(value))
    return options.information_set(value)


def compare_sweep(sweep: Sweep, results: Sequence[GameResult]) -> list[Comparison]:
    """Win rates by value with the paper's words beside them, and the differences from the base, paired by deal."""
    played, base = {result.lineup for result in results}, f"{sweep.base:g}"
    pairs = [pair for pair in zip(sweep.labels, sweep.values, strict=True) if pair[0] in played]
    lines = [
        rate_line(f"{sweep.name} {value:,g}", sweep.paper(value), full.win_rate(results, label))
        for label, value in pairs
    ]
    if base in played:
        lines += [
            gain_line(f"{sweep.name} {value:,g} over {sweep.base:,g}", "", full.difference(results, label, base))
            for label, value in pairs
            if label != base
        ]
    return lines


def plot_sweep(sweep: Sweep, saved: Saved[GameResult], path: Path) -> None:
    """Win rates over the values tried."""
    figure, axes = new_axes(6.5)
    played = {result.lineup for result in saved.results}
    pairs = [(label, value) for label, value in zip(sweep.labels, sweep.values, strict=True) if label in played]
    heights, errors = percentages([full.win_rate(saved.results, label) for label, _ in pairs])
    axes.errorbar([value for _, value in pairs], heights, yerr=errors, fmt="o-", capsize=3, color=BLUE, label="ours")
    if sweep.paper_rates:
        axes.plot(list(sweep.paper_rates), list(map(float, sweep.paper_rates.values())), label="paper", **PAPER)
    axes.set_xscale("log")
    axes.set_xticks([value for _, value in pairs], [f"{value:,g}" for _, value in pairs], fontsize=8)
    axes.minorticks_off()
    finish_figure(figure, axes, path, sweep.name, "landlord wins, %")


def _experiment(sweep: Sweep, options: type[FullOptions], about: str) -> Experiment[FullOptions, GameResult]:
    return full.lineup_experiment(
        about,
        "section IV.D",
        f"Information-set UCT as landlord: {sweep.name}",
        functools.partial(sweep_cast, sweep),
        functools.partial(compare_sweep, sweep),
        functools.partial(plot_sweep, sweep),
        options,
    )


ITERATIONS_SWEEP = _experiment(
    ITERATIONS,
    IterationsOptions,
    """Information-set UCT as landlord with 500 to 30,000 iterations: rises to 10,000 (40.8 %).

    Plays 7 games a deal for each of --games, of 0.13 (500 iterations) to 0.4 CPU seconds (30,000): 26 CPU minutes by
    default.  (The paper: 5 games.)
    """,
)
EXPLORATION_SWEEP = _experiment(
    EXPLORATION,
    ExplorationOptions,
    """Information-set UCT as landlord with exploration 0.1 to 3: poor below 0.5, best above 1.

    Plays 8 games a deal for each of --games, of about 0.2 CPU seconds: 27 CPU minutes by default.  (The paper: 5.)
    """,
)
