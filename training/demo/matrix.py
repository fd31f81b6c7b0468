"""Everybody against everybody, as one square of win rates."""

from __future__ import annotations

import math
from collections.abc import Sequence

from training.arena.statistics import AgentResult, Interval


def rate_and_margin(interval: Interval) -> str:
    """A win rate in per cent with half its interval's width, where it has one.

    Example:
        >>> rate_and_margin(Interval(0.625, 0.5, 0.75, 8)), rate_and_margin(Interval(1.0, 1.0, 1.0, 8))
        ('62 ±12', '100')
    """
    rate = f"{100 * interval.mean:.0f}"
    known = not math.isnan(interval.low) and interval.half_width > 0
    return f"{rate} ±{100 * interval.half_width:.0f}" if known else rate


def win_matrix(pairs: Sequence[AgentResult], order: Sequence[str]) -> list[list[str]]:
    """Win rates of the agents of the rows against those of the columns.

    Args:
        pairs: Two results a pair.
        order: The agents from the first row down and the first column on.

    Returns:
        A row of cells an agent; the diagonal is a dash.
    """
    found = {(result.agent, result.opponent): rate_and_margin(result.wins) for result in pairs}
    return [[found.get((row, column), "–") for column in order] for row in order]
