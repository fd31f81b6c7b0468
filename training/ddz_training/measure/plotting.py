"""Plots of results: panels of lines, points, bars and histograms, with a paper's values as red diamonds."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ddz_training.measure.statistics import Interval

_COLORS = ("#4477aa", "#ee7733", "#bbbbbb", "#228833", "#aa3377", "#66ccee")
_PAPER: dict[str, Any] = {"marker": "D", "linestyle": "", "color": "#cc3311", "markeredgecolor": "white", "zorder": 5}
_REFERENCE: dict[str, Any] = {"color": "black", "linestyle": ":", "linewidth": 1}
_DPI = 90


def can_plot() -> bool:
    """Return whether matplotlib is installed (``pip install -e '.[plot]'``)."""
    return importlib.util.find_spec("matplotlib") is not None


@dataclass(frozen=True)
class Series:
    """One set of values in a plot panel, drawn in one style with one legend entry.

    Attributes:
        label: Its name in the legend; empty for none.
        x: Positions; categories of bars, and the edges of a histogram's bins.
        y: Numbers, or estimates that are drawn with their 95 % intervals.
        kind: ``line`` (with a marker at every estimate), ``band`` (a line in its shaded intervals), ``points``,
            ``steps``, ``bars``, ``histogram`` (per cent of the numbers) or ``list`` (estimates beside names, the first
            on top).  A bar that is NaN is labelled as not played.
        paper: A paper's figure for each position (drawn a little to the left of bars); NaN where it prints none.
        scale: What estimates are multiplied by; by default they are drawn in per cent.
        style: More of matplotlib's arguments.
    """

    label: str
    x: Sequence[Any]
    y: Sequence[float] | Sequence[Interval]
    kind: str = "line"
    paper: Sequence[float] = ()
    scale: float = 100
    style: Mapping[str, Any] = field(default_factory=dict)

    @property
    def numbers(self) -> list[float]:
        """The values that are drawn: scaled, with the mean in place of each interval."""
        return [self.scale * value.mean if isinstance(value, Interval) else value for value in self.y]

    @property
    def errors(self) -> Any:
        """The distances from the means to both interval ends, ``[2, positions]``; None without intervals."""
        reach = [(value.mean - value.low, value.high - value.mean) for value in self.y if isinstance(value, Interval)]
        return np.fmax(0.0, self.scale * np.transpose(reach)) if reach else None


@dataclass(frozen=True)
class Panel:
    """One pair of axes in a plot, with its series, labels and reference lines.

    Attributes:
        series: What is drawn.
        x: Label of the horizontal axis.
        y: Label of the vertical axis.
        title: Its heading.
        horizontal_lines: Heights of horizontal dotted lines by their names.
        vertical_lines: Positions of vertical dotted lines by their names.
        axes: More properties of matplotlib's axes, such as ``ylim`` or ``xscale``.
    """

    series: Sequence[Series]
    x: str = ""
    y: str = ""
    title: str = ""
    horizontal_lines: Mapping[str, float] = field(default_factory=dict)
    vertical_lines: Mapping[str, float] = field(default_factory=dict)
    axes: Mapping[str, Any] = field(default_factory=dict)


def save_plot(path: Path | BinaryIO, *panels: Panel, columns: int = 0, size: tuple[float, float] = (6.5, 3.6)) -> None:
    """Draw panels and write the figure to a file, creating its directory if needed.

    Panels beside each other share the vertical scale, unless they measure different things.

    Args:
        path: The file, or what takes a PNG.
        panels: What is drawn, row by row.
        columns: Panels beside each other; by default all.
        size: Width and height in inches.
    """
    from matplotlib.figure import Figure

    columns = columns or len(panels)
    figure = Figure(figsize=size, dpi=_DPI, layout="constrained")
    rows = [panels[first : first + columns] for first in range(0, len(panels), columns)]
    alike = all(len({panel.y for panel in row}) == 1 for row in rows)
    grid = figure.subplots(len(rows), columns, squeeze=False, sharey="row" if alike else False)
    for axes, panel in zip(grid.flat, panels, strict=True):
        _draw_panel(axes, panel)
    if isinstance(path, Path):
        path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def _draw_panel(axes: Any, panel: Panel) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_prop_cycle(color=_COLORS)
    for number, series in enumerate(panel.series):
        positions = series.x
        if series.kind in ("bars", "list"):
            positions = _draw_named(axes, series, number, len(panel.series))
        else:
            _draw_series(axes, series)
        if not all(map(math.isnan, series.paper)):
            named = "paper" in axes.get_legend_handles_labels()[1]
            beside = [position - 0.1 for position in positions] if series.kind == "bars" else positions
            axes.plot(beside, series.paper, label=None if named else "paper", **_PAPER)
    for label, height in panel.horizontal_lines.items():
        axes.axhline(height, label=label, **_REFERENCE)
    for label, position in panel.vertical_lines.items():
        axes.axvline(position, label=label, **_REFERENCE)
    axes.set(xlabel=panel.x, ylabel=panel.y, title=panel.title, **panel.axes)
    if axes.get_legend_handles_labels()[1]:
        axes.legend(frameon=False, fontsize=8)


def _draw_named(axes: Any, series: Series, number: int, count: int) -> list[float]:
    """Draw one of several series that share named positions, as bars or as a list, and return its positions."""
    width, numbers = 0.8 / count, series.numbers
    positions = [position + (number - (count - 1) / 2) * width for position in range(len(series.x))]
    if series.kind == "list":
        axes.errorbar(numbers, positions, xerr=series.errors, fmt="o", capsize=2, label=series.label or None)
        axes.set_yticks(range(len(series.x)), series.x)
        axes.set_ylim(len(series.x) - 0.5, -0.5)
        return positions
    drawn = axes.bar(positions, numbers, 0.95 * width, yerr=series.errors, label=series.label or None, **series.style)
    axes.bar_label(drawn, fmt="%.0f" if series.errors is None else "%.1f", padding=2, fontsize=7)
    axes.set_xticks(range(len(series.x)), series.x)
    for position in (position for position, height in zip(positions, numbers, strict=True) if math.isnan(height)):
        axes.text(position, 1, "not played", rotation=90, ha="center", va="bottom", fontsize=7, color="grey")
    return positions


def _draw_series(axes: Any, series: Series) -> None:
    label, numbers = series.label or None, series.numbers
    if series.kind == "histogram":
        weights = [100 / len(numbers)] * len(numbers)
        axes.hist(numbers, **{"bins": series.x, "weights": weights, "label": label, **series.style})
    elif series.kind == "steps":
        axes.step(series.x, numbers, where="post", label=label, **series.style)
    elif series.kind == "band":
        (line,) = axes.plot(series.x, numbers, label=label, **series.style)
        below, above = series.errors
        axes.fill_between(series.x, numbers - below, numbers + above, color=line.get_color(), alpha=0.25, linewidth=0)
    else:
        marked = series.errors is not None or series.kind == "points"
        style = {"linestyle": "" if series.kind == "points" else "-", "marker": "o" if marked else "", "capsize": 3}
        axes.errorbar(series.x, numbers, yerr=series.errors, label=label, **{**style, **series.style})
