"""What every plot of an experiment begins and ends with."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

_DPI = 90


def can_plot() -> bool:
    """Whether matplotlib is installed (``pip install ddz-env[plot]``)."""
    return importlib.util.find_spec("matplotlib") is not None


def new_axes(width: float) -> tuple[Any, Any]:
    """A figure of a width in inches that needs no window, and its axes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, 3.6), dpi=_DPI, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def save_figure(figure: Any, path: Path) -> None:
    """Write a figure, making its directory if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
