"""Plots of the full-game experiments, where matplotlib is installed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from training.arena.statistics import Interval
from training.experiments.full_branching import BranchingResult
from training.experiments.full_cheating import BASELINE
from training.experiments.full_cheating import PAPER as PAPER_TABLE_1
from training.experiments.full_games import GameResult, win_rate
from training.experiments.full_landlord import LANDLORDS, PAPER_RATES
from training.experiments.full_sweeps import Sweep
from training.experiments.full_thresholds import ThresholdResult
from training.experiments.plotting import new_axes, save_figure

_BLUE, _ORANGE, _GREY = "#4477aa", "#ee7733", "#bbbbbb"
_PAPER: dict[str, Any] = {"marker": "D", "linestyle": "", "color": "#cc3311", "markeredgecolor": "white", "zorder": 5}
"""How the paper's figures are marked; over bars they stand a little to the left of ours."""


def _percentages(rates: Sequence[Interval]) -> tuple[list[float], list[float]]:
    """Heights and half widths for bars."""
    return [100 * rate.mean for rate in rates], [100 * rate.half_width for rate in rates]


def _bars(axes: Any, places: Sequence[float], rates: Sequence[Interval], width: float, **style: Any) -> None:
    heights, errors = _percentages(rates)
    drawn = axes.bar(places, heights, width=width, yerr=errors, capsize=3, **style)
    axes.bar_label(drawn, fmt="%.1f", padding=2, fontsize=8)


def plot_cheating(results: Sequence[GameResult], path: Path) -> None:
    """Table 1: win rates of whoever cheats beside those of the baseline."""
    figure, axes = new_axes(7.0)
    names = list(PAPER_TABLE_1)
    places = range(len(names))
    for offset, label, color in ((-0.2, "determinized", _GREY), (0.2, "cheating", _BLUE)):
        rates = [
            win_rate(results, name if label == "cheating" else BASELINE, peasants=name != "player 1") for name in names
        ]
        printed = [float(PAPER_TABLE_1[name][label == "determinized"]) for name in names]
        _bars(axes, [place + offset for place in places], rates, 0.38, label=label, color=color)
        beside = [place + offset - 0.1 for place in places]
        axes.plot(beside, printed, label="paper" if offset > 0 else None, **_PAPER)
    axes.set_xticks(places, names)
    axes.set_ylabel("their side wins, %")
    axes.set_ylim(0, 100)
    axes.legend(frameon=False)
    save_figure(figure, path)


def plot_landlord(results: Sequence[GameResult], path: Path) -> None:
    """The three landlords beside the paper."""
    figure, axes = new_axes(5.5)
    _bars(axes, range(len(LANDLORDS)), [win_rate(results, name) for name in LANDLORDS], 0.5, color=_BLUE)
    beside = [place - 0.14 for place in range(len(LANDLORDS))]
    axes.plot(beside, [float(PAPER_RATES[name]) for name in LANDLORDS], label="paper", **_PAPER)
    axes.set_xticks(range(len(LANDLORDS)), [f"{name}\nUCT" for name in LANDLORDS])
    axes.set_ylabel("landlord wins, %")
    axes.legend(frameon=False)
    save_figure(figure, path)


def plot_thresholds(results: Sequence[ThresholdResult], path: Path) -> None:
    """Table 2: information-set minus determinized UCT, row by row."""
    figure, axes = new_axes(7.0)
    series: list[tuple[str, str, float, list[Interval]]] = [
        ("chosen and reported by the same games", _ORANGE, -0.1, [result.same.gain for result in results]),
        ("reported games held out", _BLUE, 0.1, [result.held_out.gain for result in results]),
    ]
    for label, color, offset, gains in series:
        heights, errors = _percentages(gains)
        places = [place + offset for place in range(len(results))]
        axes.errorbar(places, heights, yerr=errors, fmt="o", capsize=3, color=color, label=label)
    printed = [float(result.threshold.paper[1]) - float(result.threshold.paper[0]) for result in results]
    axes.plot(range(len(results)), printed, label="paper", **_PAPER)
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set_xticks(range(len(results)), [result.threshold.label for result in results])
    axes.set_xlabel("deals by how much more cheating wins than determinized UCT")
    axes.set_ylabel("information-set over\ndeterminized UCT, points")
    axes.legend(frameon=False)
    save_figure(figure, path)


def plot_sweep(sweep: Sweep, results: Sequence[GameResult], path: Path) -> None:
    """Win rates over the values tried."""
    figure, axes = new_axes(6.5)
    played = {result.lineup for result in results}
    pairs = [(label, value) for label, value in zip(sweep.labels, sweep.values, strict=True) if label in played]
    heights, errors = _percentages([win_rate(results, label) for label, _ in pairs])
    axes.errorbar([value for _, value in pairs], heights, yerr=errors, fmt="o-", capsize=3, color=_BLUE, label="ours")
    if sweep.paper_rates:
        axes.plot(list(sweep.paper_rates), list(map(float, sweep.paper_rates.values())), label="paper", **_PAPER)
    axes.set_xscale("log")
    axes.set_xticks([value for _, value in pairs], [f"{value:,g}" for _, value in pairs], fontsize=8)
    axes.minorticks_off()
    axes.set_xlabel(sweep.name)
    axes.set_ylabel("landlord wins, %")
    axes.legend(frameon=False)
    save_figure(figure, path)


def plot_branching(results: Sequence[BranchingResult], path: Path) -> None:
    """The landlord's first decision, counted three ways."""
    figure, axes = new_axes(6.5)
    first = {result.deal: result for result in results}.values()
    counted = (
        ("main groups", _BLUE, [result.first.main_groups for result in first]),
        ("whole moves", _ORANGE, [result.first.whole_moves for result in first]),
        ("whole moves, cards told apart by suit", _GREY, [result.first_by_suit for result in first]),
    )
    bins = [10 * 2 ** (step / 4) for step in range(37)]
    for label, color, counts in counted:
        axes.hist(counts, bins=bins, label=label, color=color, alpha=0.7)
    axes.axvspan(20, 70, color="black", alpha=0.06, label="paper, grouped: 20 to 70")
    axes.axvline(300, color="black", linestyle=":", label="paper, not grouped: often more")
    axes.set_xscale("log")
    axes.set_xlabel("choices at the first decision")
    axes.set_ylabel("deals")
    axes.legend(frameon=False, fontsize=8)
    save_figure(figure, path)
