"""The report's pictures, where matplotlib is installed."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from training.arena.statistics import AgentResult
from training.demo.fresh import LearningPoint
from training.experiments.plotting import new_axes


def _png(figure: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()


def learning_curve(points: Sequence[LearningPoint]) -> bytes:
    """Win rates against time, with their intervals, as PNG."""
    figure, axes = new_axes(7.0)
    for opponent in dict.fromkeys(point.opponent for point in points):
        line = [point for point in points if point.opponent == opponent]
        seconds = [point.seconds for point in line]
        axes.plot(seconds, [100 * point.wins for point in line], marker="o", markersize=3, label=f"against {opponent}")
        axes.fill_between(seconds, [100 * point.low for point in line], [100 * point.high for point in line], alpha=0.2)
    axes.set_xlabel("seconds of self-play from random weights")
    axes.set_ylabel("games won, % (95 % intervals)")
    axes.set_ylim(0, 100)
    axes.legend(frameon=False)
    return _png(figure)


def strength_bars(standings: Sequence[AgentResult]) -> bytes:
    """Win rates against all others with their intervals, the best on top, as PNG."""
    figure, axes = new_axes(7.0)
    names = [result.agent for result in standings]
    rates = [100 * result.wins.mean for result in standings]
    margins = [
        [100 * (result.wins.mean - result.wins.low) for result in standings],
        [100 * (result.wins.high - result.wins.mean) for result in standings],
    ]
    axes.barh(names, rates, xerr=margins, color="#4477aa", ecolor="black", capsize=3)
    axes.invert_yaxis()
    axes.set_xlim(0, 100)
    axes.set_xlabel("games won against all others, % (95 % intervals)")
    return _png(figure)
