"""The full-game experiments of Whitehouse, Powley and Cowling (2011), sections IV.B and IV.D, and their two tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated, NamedTuple

from ddz_env.core.options import Range
from ddz_training.experiments import full_games as full
from ddz_training.experiments.experiment import Comparison, Experiment, Lines, Saved, Table, grouped
from ddz_training.experiments.full_games import FullOptions, GameResult
from ddz_training.measure.errors import InvalidExperimentError
from ddz_training.measure.plotting import BLUE, GREY, ORANGE, PAPER, draw_bars, finish_figure, new_axes, percentages
from ddz_training.measure.statistics import Interval, clustered_interval, within

# --- Table 1: how much knowing the hidden cards is worth --------------------------------------------------------------

BASELINE = "nobody"
CHEATS = {BASELINE: (), "player 1": (0,), "player 2": (1,), "player 3": (2,), "players 2 & 3": (1, 2)}
"""Line-ups by name: the seats that search the true game while all others have determinized UCT."""

CHEATING_RATES = {
    "player 1": ("49.9", "43.0", "6.9"),
    "player 2": ("65.6", "57.0", "8.6"),
    "player 3": ("68.9", "57.0", "11.9"),
    "players 2 & 3": ("78.0", "57.0", "21.0"),
}
"""Table 1: win rates in percent with cheating and with determinized UCT, and the difference."""


def cheating_cast(options: FullOptions) -> full.Cast:
    """The baseline and the four rows of table 1."""
    cheat, plain = options.cheating, options.determinized
    lineups = {name: tuple(cheat if seat in seats else plain for seat in range(3)) for name, seats in CHEATS.items()}
    return full.Cast(lineups, {"cheating": cheat, "determinized": plain})


def compare_cheating(results: Sequence[GameResult]) -> list[Comparison]:
    """Table 1 beside ours: the win rate of whoever cheats, that of the baseline, and the paired difference."""
    lines = []
    for name, (cheating, determinized, gain) in CHEATING_RATES.items():
        peasants = name != "player 1"
        for what, lineup, paper in (("cheating", name, cheating), ("determinized", BASELINE, determinized)):
            lines.append(full.rate_line(f"{name}, {what}", paper, full.win_rate(results, lineup, peasants=peasants)))
        gained = full.difference(results, name, BASELINE, peasants=peasants)
        lines.append(full.gain_line(f"{name}, difference", f"+{gain}", gained))
    return lines


def plot_cheating(saved: Saved[GameResult], path: Path) -> None:
    """Table 1: win rates of whoever cheats beside those of the baseline."""
    figure, axes = new_axes(7.0)
    names = list(CHEATING_RATES)
    places = range(len(names))
    for column, offset, label, color in ((1, -0.2, "determinized", GREY), (0, 0.2, "cheating", BLUE)):
        lineups = ((BASELINE if column else name, name != "player 1") for name in names)
        rates = [full.win_rate(saved.results, lineup, peasants=peasants) for lineup, peasants in lineups]
        draw_bars(axes, [place + offset for place in places], rates, 0.38, label=label, color=color)
        printed = [float(CHEATING_RATES[name][column]) for name in names]
        axes.plot([place + offset - 0.1 for place in places], printed, label=None if column else "paper", **PAPER)
    axes.set_xticks(places, names)
    axes.set_ylim(0, 100)
    finish_figure(figure, axes, path, "", "their side wins, %")


CHEATING_UCT = full.lineup_experiment(
    "cheating",
    "section IV.B, table 1",
    "Table 1: cheating over determinized UCT",
    """Table 1: who gains how much by seeing all cards.

    Plays 5 games a deal for each of --games, of about 0.2 CPU seconds: 17 CPU minutes by default.  (The paper: 1 game.)
    """,
    cheating_cast,
    compare_cheating,
    plot_cheating,
)


# --- Section IV.D: three searches as landlord, all at 10,000 iterations, against determinized UCT ---------------------

CHEATING, DETERMINIZED, INFORMATION_SET = "cheating", "determinized", "information-set"
LANDLORDS = (CHEATING, DETERMINIZED, INFORMATION_SET)
PAPER_RATES = {CHEATING: "54.0", DETERMINIZED: "42.4", INFORMATION_SET: "42.0"}


def landlord_cast(options: FullOptions) -> full.Cast:
    """The three landlords."""
    agents = dict(zip(LANDLORDS, (options.cheating, options.determinized, options.information_set()), strict=True))
    peasant = options.determinized
    lineups = {name: (landlord, peasant, peasant) for name, landlord in agents.items()}
    return full.Cast(lineups, {**agents, "peasants": peasant})


def compare_landlord(results: Sequence[GameResult]) -> list[Comparison]:
    """The paper's win rates beside ours, and the differences from determinized UCT, paired by deal."""
    rates = {name: full.win_rate(results, name) for name in LANDLORDS}
    lines = [full.rate_line(f"{name} as landlord", PAPER_RATES[name], rate) for name, rate in rates.items()]
    for name in (CHEATING, INFORMATION_SET):
        paper = float(PAPER_RATES[name]) - float(PAPER_RATES[DETERMINIZED])
        gained = full.difference(results, name, DETERMINIZED)
        lines.append(full.gain_line(f"{name} over {DETERMINIZED}", f"{paper:+.1f}", gained))
    return lines


def plot_landlord(saved: Saved[GameResult], path: Path) -> None:
    """The three landlords beside the paper."""
    figure, axes = new_axes(5.5)
    draw_bars(axes, range(len(LANDLORDS)), [full.win_rate(saved.results, name) for name in LANDLORDS], 0.5, color=BLUE)
    beside = [place - 0.14 for place in range(len(LANDLORDS))]
    axes.plot(beside, [float(PAPER_RATES[name]) for name in LANDLORDS], label="paper", **PAPER)
    axes.set_xticks(range(len(LANDLORDS)), [f"{name}\nUCT" for name in LANDLORDS])
    finish_figure(figure, axes, path, "", "landlord wins, %")


LANDLORD = full.lineup_experiment(
    "landlord",
    "section IV.D",
    "The landlord against determinized UCT",
    """Three searches as landlord: 54.0, 42.4 and 42.0 %.

    Plays 3 games a deal for each of --games, of about 0.2 CPU seconds: 10 CPU minutes by default.  (The paper: 40.)
    """,
    landlord_cast,
    compare_landlord,
    plot_landlord,
)


# --- Section IV.D: how information-set UCT as landlord depends on its two parameters ----------------------------------

ITERATIONS_EXPLORATION = 0.44
"""The exploration with which numbers of iterations are tried; exploration constants are tried with 10,000."""


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


@dataclass(frozen=True)
class Sweep:
    """Settings of one parameter.

    Attributes:
        name: Name of the experiment and of the parameter.
        base: The value that the others are compared with.
        landlord: The landlord with a value, from the options.
        paper: What the paper says of each value that is tried, or the win rate in percent that it prints.
    """

    name: str
    base: float
    landlord: Callable[[FullOptions, float], str]
    paper: Mapping[float, str]

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the line-ups."""
        return tuple(f"{value:g}" for value in self.paper)

    def cast(self, options: SweepOptions) -> full.Cast:
        """A landlord for each value; a file may hold the games of other values as well.

        Raises:
            InvalidExperimentError: If a value is none of the sweep's.
        """
        chosen, peasant = options.at or tuple(self.paper), options.determinized
        if unknown := [value for value in chosen if value not in self.paper]:
            raise InvalidExperimentError(f"{self.name}: {unknown} is not among {', '.join(self.labels)}")
        landlords = {f"{value:g}": self.landlord(options, value) for value in self.paper if value in chosen}
        agents = {"landlord at the base": self.landlord(options, self.base), "peasants": peasant}
        return full.Cast({name: (landlord, peasant, peasant) for name, landlord in landlords.items()}, agents)

    def played(self, results: Iterable[GameResult]) -> dict[str, float]:
        """The values of which there are games, by the names of their line-ups."""
        found = {result.lineup for result in results}
        return {f"{value:g}": value for value in self.paper if f"{value:g}" in found}

    def compare(self, results: Sequence[GameResult]) -> list[Comparison]:
        """Win rates by value with the paper's words beside them, and the differences from the base, paired by deal."""
        played, base = self.played(results), f"{self.base:g}"
        names = {label: f"{self.name} {value:,g}" for label, value in played.items()}
        lines = [
            full.rate_line(names[label], self.paper[value], full.win_rate(results, label))
            for label, value in played.items()
        ]
        for label in (label for label in played if base in played and label != base):
            gained = full.difference(results, label, base)
            lines.append(full.gain_line(f"{names[label]} over {self.base:,g}", "", gained))
        return lines

    def plot(self, saved: Saved[GameResult], path: Path) -> None:
        """Win rates over the values tried."""
        figure, axes = new_axes(6.5)
        played = self.played(saved.results)
        values = list(played.values())
        heights, errors = percentages([full.win_rate(saved.results, label) for label in played])
        axes.errorbar(values, heights, yerr=errors, fmt="o-", capsize=3, color=BLUE, label="ours")
        if printed := {value: float(said) for value, said in self.paper.items() if said[:1].isdigit()}:
            axes.plot(list(printed), list(printed.values()), label="paper", **PAPER)
        axes.set_xscale("log")
        axes.set_xticks(values, [f"{value:,g}" for value in values], fontsize=8)
        axes.minorticks_off()
        finish_figure(figure, axes, path, self.name, "landlord wins, %")

    def experiment(self, options: type[FullOptions], about: str) -> Experiment[FullOptions, GameResult]:
        """The experiment that tries them."""
        title = f"Information-set UCT as landlord: {self.name}"
        return full.lineup_experiment(
            self.name, "section IV.D", title, about, self.cast, self.compare, self.plot, options
        )


_RISES: dict[float, str] = dict.fromkeys((500, 1000, 2000, 5000), "rises to 10,000")
_SAME: dict[float, str] = dict.fromkeys((20_000, 30_000), "no significant change")
ITERATIONS = Sweep(
    "iterations",
    10_000,
    lambda options, value: options.information_set(ITERATIONS_EXPLORATION, int(value)),
    {**_RISES, 10_000: "40.8", **_SAME},
)
_POOR, _LITTLE = "poor below 0.5", dict.fromkeys((1.5, 2.0, 3.0), "little change from 1")
EXPLORATION = Sweep(
    "exploration",
    1.0,
    FullOptions.information_set,
    {0.1: _POOR, 0.2: _POOR, 0.44: _POOR, 0.7: "", 1.0: "", **_LITTLE},
)

ITERATIONS_SWEEP = ITERATIONS.experiment(
    IterationsOptions,
    """Information-set UCT as landlord with 500 to 30,000 iterations: rises to 10,000 (40.8 %).

    Plays 7 games a deal for each of --games, of 0.13 (500 iterations) to 0.4 CPU seconds (30,000): 26 CPU minutes by
    default.  (The paper: 5 games.)
    """,
)
EXPLORATION_SWEEP = EXPLORATION.experiment(
    ExplorationOptions,
    """Information-set UCT as landlord with exploration 0.1 to 3: poor below 0.5, best above 1.

    Plays 8 games a deal for each of --games, of about 0.2 CPU seconds: 27 CPU minutes by default.  (The paper: 5.)
    """,
)


# --- Table 2: does information-set UCT gain where knowing the cards helps? --------------------------------------------
#
# The deals of the landlord experiment are filtered by how much more cheating UCT wins than determinized UCT.  In the
# deals so chosen the paper compares determinized UCT with information-set UCT.
#
# The filter looks at the very games whose win rate is then reported.  A deal in which determinized UCT had bad luck
# passes "> 25 %" the more easily, so that determinized UCT's rate comes out too low there (and too high in "< 0 %"),
# the more so the fewer games a deal has: regression to the mean.  The held-out figures avoid that.  Determinized UCT's
# games of each deal are split in two halves, the deal is judged by one half and the other is reported, and the same
# with the halves exchanged.


class Threshold(NamedTuple):
    """A row of table 2.

    Attributes:
        label: The row's name.
        admits: Whether a difference of win rates, cheating minus determinized, belongs to it.
        paper: What the paper prints: determinized UCT's and information-set UCT's rate in percent, and deals.
    """

    label: str
    admits: Callable[[Fraction], bool]
    paper: tuple[str, str, str]


THRESHOLDS = (
    Threshold("none", lambda gain: True, ("42.4", "42.0", "1000")),
    Threshold("< 0 %", lambda gain: gain < 0, ("53.0", "45.2", "133")),
    Threshold("= 0 %", lambda gain: gain == 0, ("44.9", "43.3", "138")),
    Threshold("> 0 %", lambda gain: gain > 0, ("40.0", "41.1", "729")),
    Threshold("> 25 %", lambda gain: gain > Fraction(1, 4), ("31.6", "38.4", "166")),
    Threshold("> 50 %", lambda gain: gain > Fraction(1, 2), ("20.4", "35.0", "12")),
    Threshold("> 75 %", lambda gain: gain > Fraction(3, 4), ("15.0", "95.0", "1")),
)

THRESHOLD_COLUMNS = (
    "cheating over determinized",
    *("paper: determinized %", "information-set %", "deals"),
    *("same: determinized %", "information-set %", "points", "deals"),
    *("held out: determinized %", "information-set %", "points", "deals"),
)
"""Headings of table 2 with ours beside it."""


class Filtered(NamedTuple):
    """Win rates in the deals that pass a filter; each deal is one observation (two, if both halves chose it).

    Attributes:
        deals: How many deals passed.
        determinized: Determinized UCT's win rate.
        information_set: Information-set UCT's.
        gain: Information-set minus determinized.
    """

    deals: int
    determinized: Interval
    information_set: Interval
    gain: Interval


class ThresholdResult(NamedTuple):
    """One row of table 2.

    Attributes:
        threshold: The filter and the paper's figures.
        same: Ours as the paper has it: the games that choose a deal are reported.
        held_out: Ours with the games of determinized UCT that are reported kept out of the filter.
    """

    threshold: Threshold
    same: Filtered
    held_out: Filtered


class _Case(NamedTuple):
    """One judgement of a deal: by how much cheating wins more, and the rates to report if the filter takes it."""

    deal: int
    advantage: Fraction
    determinized: Fraction
    information_set: Fraction


def filter_deals(results: Iterable[GameResult]) -> list[ThresholdResult]:
    """Table 2 from the games of the landlord experiment.

    Args:
        results: Games of the landlord experiment.  Deals that lack one of the landlords are left out, from the
            held-out figures also those with a single game of determinized UCT.
    """
    same, held_out = list[_Case](), list[_Case]()
    for deal, games in grouped(sorted(results, key=lambda result: result.game), "deal").items():
        won = {name: [game.landlord_won for game in own] for name, own in grouped(games, "lineup").items()}
        if all(name in won for name in LANDLORDS):
            cheating, information_set = _rate(won[CHEATING]), _rate(won[INFORMATION_SET])
            whole, even, odd = won[DETERMINIZED], won[DETERMINIZED][::2], won[DETERMINIZED][1::2]
            same.append(_Case(deal, cheating - _rate(whole), _rate(whole), information_set))
            for judged, reported in ((even, odd), (odd, even)) if odd else ():
                held_out.append(_Case(deal, cheating - _rate(judged), _rate(reported), information_set))
    return [ThresholdResult(row, _select(same, row), _select(held_out, row)) for row in THRESHOLDS]


def _rate(won: Sequence[bool]) -> Fraction:
    return Fraction(sum(won), len(won))


def _select(cases: Sequence[_Case], threshold: Threshold) -> Filtered:
    deals = grouped((case for case in cases if threshold.admits(case.advantage)), "deal").values()
    determinized, information_set = (
        within(clustered_interval([[float(getattr(case, name)) for case in own] for own in deals]), 0.0, 1.0)
        for name in ("determinized", "information_set")
    )
    gain = clustered_interval([[float(case.information_set - case.determinized) for case in own] for own in deals])
    return Filtered(len(deals), determinized, information_set, gain)


def threshold_cells(results: Sequence[ThresholdResult]) -> Lines:
    """Table 2 with ours beside it, a row a list."""
    return [
        [threshold.label, *threshold.paper, *_filtered_cells(same), *_filtered_cells(held_out)]
        for threshold, same, held_out in results
    ]


def _filtered_cells(own: Filtered) -> list[str]:
    return [own.determinized.text(), own.information_set.text(), own.gain.both("+.1f"), f"{own.deals:,}"]


def _table(saved: Saved[GameResult]) -> Table:
    title = (
        "Table 2: deals by cheating minus determinized (same: the games that choose a deal are reported, as in the "
        "paper; held out: others are; points: information-set minus determinized, with 95 % intervals)"
    )
    return Table(title, THRESHOLD_COLUMNS, threshold_cells(filter_deals(saved.results)), full.games_note(saved))


def plot_thresholds(saved: Saved[GameResult], path: Path) -> None:
    """Table 2: information-set minus determinized UCT, row by row."""
    figure, axes = new_axes(7.0)
    rows, same, held_out = zip(*filter_deals(saved.results), strict=True)
    for label, color, offset, filtered in (
        ("chosen and reported by the same games", ORANGE, -0.1, same),
        ("reported games held out", BLUE, 0.1, held_out),
    ):
        heights, errors = percentages([one.gain for one in filtered])
        places = [place + offset for place in range(len(rows))]
        axes.errorbar(places, heights, yerr=errors, fmt="o", capsize=3, color=color, label=label)
    printed = [float(row.paper[1]) - float(row.paper[0]) for row in rows]
    axes.plot(range(len(rows)), printed, label="paper", **PAPER)
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set_xticks(range(len(rows)), [row.label for row in rows])
    below = "deals by how much more cheating wins than determinized UCT"
    finish_figure(figure, axes, path, below, "information-set over\ndeterminized UCT, points")


@dataclass(frozen=True)
class ThresholdOptions(FullOptions):
    """The options of the landlord experiment, with the two games a deal that the held-out figures need."""

    games: Annotated[int, Range(1, 2**32)] = 2


THRESHOLDS_2011 = replace(
    LANDLORD,
    name="thresholds",
    about="""Table 2: determinized and information-set UCT in the deals where seeing all cards helps.

    Needs the games of `landlord`: give its file and its options; games that are missing are played first.  The filter
    picks luck as well; the held-out figures, which need 2 games a deal, avoid that.
    """,
    options=ThresholdOptions,
    more=lambda options: {**LANDLORD.more(options), "experiment": LANDLORD.name},
    tables={"full-thresholds": _table},
    source="Whitehouse, Powley and Cowling 2011, section IV.D, table 2",
    plot=plot_thresholds,
)
