"""What the plots of experiments share."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ddz_training.measure.statistics import Interval

BLUE, ORANGE, GREY = "#4477aa", "#ee7733", "#bbbbbb"
PAPER: dict[str, Any] = {"marker": "D", "linestyle": "", "color": "#cc3311", "markeredgecolor": "white", "zorder": 5}
"""How the paper's figures are marked; over bars they are a little to the left of ours."""

_DPI = 90


def can_plot() -> bool:
    """Whether matplotlib is installed (``pip install -e '.[plot]'``)."""
    return importlib.util.find_spec("matplotlib") is not None


def new_axes(width: float, height: float = 3.6, panels: int = 1) -> tuple[Any, Any]:
    """A figure that needs no window, and its axes.

    Args:
        width: In inches.
        height: In inches.
        panels: Axes beside each other; of several a list is returned.
    """
    figure, (every,) = _bare(width, height, 1, panels, sharey=True)
    return figure, every[0] if panels == 1 else every


def _bare(width: float, height: float, rows: int, columns: int, **shared: Any) -> tuple[Any, Any]:
    """A figure and its axes, ``[rows, columns]``, without the lines above and to the right."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=_DPI, layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, **shared)
    for axes in grid.flat:
        axes.spines[["top", "right"]].set_visible(False)
    return figure, grid


def new_grid(columns: int, rows: int, width: float = 2.8, height: float = 2.0) -> tuple[Any, Any]:
    """A figure that needs no window, and its axes, a list a row.

    Args:
        columns: Axes beside each other.
        rows: Axes below each other.
        width: Inches a column.
        height: Inches a row.
    """
    return _bare(columns * width, rows * height, rows, columns)


def finish_figure(figure: Any, axes: Any, path: Path, xlabel: str, ylabel: str, **legend: Any) -> None:
    """Label a figure, give it a legend, and save it, making its directory if need be."""
    if xlabel:
        axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    axes.legend(frameon=False, **legend)
    save_figure(figure, path)


def save_figure(figure: Any, path: Path) -> None:
    """Write a figure, making its directory if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def percentages(rates: Sequence[Interval]) -> tuple[list[float], list[float]]:
    """Heights and half widths for bars."""
    return [100 * rate.mean for rate in rates], [100 * rate.half_width for rate in rates]


def draw_bars(axes: Any, places: Sequence[Any], rates: Sequence[Interval], width: float, **style: Any) -> None:
    """Bars with their intervals and figures."""
    heights, errors = percentages(rates)
    drawn = axes.bar(places, heights, width=width, yerr=errors, capsize=3, **style)
    axes.bar_label(drawn, fmt="%.1f", padding=2, fontsize=8)
