"""Does information-set UCT gain where knowing the cards helps (Whitehouse et al. 2011, section IV.D, table 2)?

The deals of the landlord experiment are filtered by how much more cheating UCT wins than determinized UCT.  In the
deals so chosen the paper compares determinized UCT with information-set UCT.

The filter looks at the very games whose win rate is then reported.  A deal in which determinized UCT had bad luck
passes "> 25 %" the more easily, so that determinized UCT's rate comes out too low there (and too high in "< 0 %"), the
more so the fewer games a deal has: regression to the mean.  The held-out figures avoid that.  Determinized UCT's games
of each deal are split in two halves, the deal is judged by one half and the other is reported, and the same with the
halves exchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated

from ddz_env.core.options import Range
from ddz_training.experiments.experiment import Experiment, Lines, Saved, Table
from ddz_training.experiments.full_games import FullOptions, GameResult, games_note
from ddz_training.experiments.full_landlord import CHEATING, DETERMINIZED, INFORMATION_SET, LANDLORD, LANDLORDS
from ddz_training.measure.match.statistics import Interval, clustered_interval, within
from ddz_training.measure.plotting import BLUE, ORANGE, PAPER, finish_figure, new_axes, percentages


@dataclass(frozen=True)
class Threshold:
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


@dataclass(frozen=True)
class Filtered:
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


@dataclass(frozen=True)
class ThresholdResult:
    """One row of table 2.

    Attributes:
        threshold: The filter and the paper's figures.
        same: Ours as the paper has it: the games that choose a deal are reported.
        held_out: Ours with the games of determinized UCT that are reported kept out of the filter.
    """

    threshold: Threshold
    same: Filtered
    held_out: Filtered


@dataclass(frozen=True)
class _Case:
    """One judgement of a deal: by how much cheating wins more, and the rates to report if the filter takes it."""

    deal: int
    advantage: Fraction
    determinized: Fraction
    information_set: Fraction


def filter_deals(results: Iterable[GameResult]) -> list[ThresholdResult]:
    """Table 2 from the games of the landlord experiment.

    Args:
        results: Games of :func:`ddz_training.experiments.full_landlord.run_landlord`.  Deals that lack one of the
        landlords
            are left out, from the held-out figures also those with a single game of determinized UCT.
    """
    won: dict[int, dict[str, list[bool]]] = {}
    for result in sorted(results, key=lambda result: result.game):
        won.setdefault(result.deal, {}).setdefault(result.lineup, []).append(result.landlord_won)
    complete = {deal: rows for deal, rows in won.items() if all(name in rows for name in LANDLORDS)}
    same = [case for deal, rows in complete.items() for case in _whole(deal, rows)]
    held_out = [case for deal, rows in complete.items() for case in _halves(deal, rows)]
    return [ThresholdResult(row, _select(same, row), _select(held_out, row)) for row in THRESHOLDS]


def _rate(won: Sequence[bool]) -> Fraction:
    return Fraction(sum(won), len(won))


def _whole(deal: int, rows: dict[str, list[bool]]) -> list[_Case]:
    determinized = _rate(rows[DETERMINIZED])
    return [_Case(deal, _rate(rows[CHEATING]) - determinized, determinized, _rate(rows[INFORMATION_SET]))]


def _halves(deal: int, rows: dict[str, list[bool]]) -> list[_Case]:
    even, odd = rows[DETERMINIZED][::2], rows[DETERMINIZED][1::2]
    if not odd:
        return []
    cheating, information_set = _rate(rows[CHEATING]), _rate(rows[INFORMATION_SET])
    return [
        _Case(deal, cheating - _rate(judged), _rate(reported), information_set)
        for judged, reported in ((even, odd), (odd, even))
    ]


def _select(cases: Sequence[_Case], threshold: Threshold) -> Filtered:
    chosen: dict[int, list[_Case]] = {}
    for case in cases:
        if threshold.admits(case.advantage):
            chosen.setdefault(case.deal, []).append(case)

    def mean(value: Callable[[_Case], Fraction]) -> Interval:
        return clustered_interval([[float(value(case)) for case in group] for group in chosen.values()])

    return Filtered(
        deals=len(chosen),
        determinized=within(mean(lambda case: case.determinized), 0.0, 1.0),
        information_set=within(mean(lambda case: case.information_set), 0.0, 1.0),
        gain=mean(lambda case: case.information_set - case.determinized),
    )


def threshold_cells(results: Sequence[ThresholdResult]) -> Lines:
    """Table 2 with ours beside it, a row a list."""
    return [
        [
            result.threshold.label,
            *result.threshold.paper,
            *_filtered_cells(result.same),
            *_filtered_cells(result.held_out),
        ]
        for result in results
    ]


def _filtered_cells(filtered: Filtered) -> list[str]:
    return [
        filtered.determinized.text(),
        filtered.information_set.text(),
        filtered.gain.both("+.1f"),
        f"{filtered.deals:,}",
    ]


def _table(saved: Saved[GameResult]) -> Table:
    title = (
        "Table 2: deals by cheating minus determinized (same: the games that choose a deal are reported, as in the "
        "paper; held out: others are; points: information-set minus determinized, with 95 % intervals)"
    )
    return Table(title, THRESHOLD_COLUMNS, threshold_cells(filter_deals(saved.results)), games_note(saved))


def plot_thresholds(saved: Saved[GameResult], path: Path) -> None:
    """Table 2: information-set minus determinized UCT, row by row."""
    results = filter_deals(saved.results)
    figure, axes = new_axes(7.0)
    series: list[tuple[str, str, float, list[Interval]]] = [
        ("chosen and reported by the same games", ORANGE, -0.1, [result.same.gain for result in results]),
        ("reported games held out", BLUE, 0.1, [result.held_out.gain for result in results]),
    ]
    for label, color, offset, gains in series:
        heights, errors = percentages(gains)
        places = [place + offset for place in range(len(results))]
        axes.errorbar(places, heights, yerr=errors, fmt="o", capsize=3, color=color, label=label)
    printed = [float(result.threshold.paper[1]) - float(result.threshold.paper[0]) for result in results]
    axes.plot(range(len(results)), printed, label="paper", **PAPER)
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set_xticks(range(len(results)), [result.threshold.label for result in results])
    below = "deals by how much more cheating wins than determinized UCT"
    finish_figure(figure, axes, path, below, "information-set over\ndeterminized UCT, points")


@dataclass(frozen=True)
class ThresholdOptions(FullOptions):
    """The options of the landlord experiment, with the two games a deal that the held-out figures need."""

    games: Annotated[int, Range(1, 2**32)] = 2


THRESHOLDS_2011 = Experiment(
    name="thresholds",
    source="Whitehouse, Powley and Cowling 2011, section IV.D, table 2",
    about="""Table 2: determinized and information-set UCT in the deals where seeing all cards helps.

    Needs the games of `landlord`: give its file and its options; games that are missing are played first.  The filter
    picks luck as well; the held-out figures, which need 2 games a deal, avoid that.
    """,
    unit="games",
    options=ThresholdOptions,
    result=GameResult,
    run=LANDLORD.run,
    tables={"full-thresholds": _table},
    file="full_landlord",
    plot=plot_thresholds,
)
