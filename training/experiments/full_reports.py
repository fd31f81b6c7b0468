"""The reports of the full-game experiments from the lines of their files: a header and rows, for pages and screens."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from training.experiments.comparison import Comparison
from training.experiments.full_branching import branching_of, compare_branching
from training.experiments.full_cheating import compare_cheating
from training.experiments.full_games import GameResult, games_of
from training.experiments.full_landlord import compare_landlord
from training.experiments.full_sweeps import EXPLORATION, ITERATIONS, compare_sweep
from training.experiments.full_thresholds import THRESHOLD_COLUMNS, filter_deals, threshold_cells

Rows = Sequence[Mapping[str, str]]
Cells = tuple[Sequence[str], list[Sequence[str]]]
"""A header, and the rows under it."""

_HEADER = ("what", "paper", "ours", "95 % interval, or what is counted")


@dataclass(frozen=True)
class Report:
    """How a file becomes a table.

    Attributes:
        source: The experiment whose file it is.
        table: Computes the table from the lines of the file.
    """

    source: str
    table: Callable[[Rows], Cells]


def _compared(lines: Iterable[Comparison]) -> Cells:
    return _HEADER, [(line.what, line.paper, line.ours, line.note) for line in lines]


def _of_games(compare: Callable[[Sequence[GameResult]], Iterable[Comparison]]) -> Callable[[Rows], Cells]:
    return lambda rows: _compared(compare(games_of(rows)))


REPORTS: Mapping[str, Report] = {
    "cheating": Report("cheating", _of_games(compare_cheating)),
    "landlord": Report("landlord", _of_games(compare_landlord)),
    "thresholds": Report(
        "landlord", lambda rows: (THRESHOLD_COLUMNS, list(threshold_cells(filter_deals(games_of(rows)))))
    ),
    "iterations": Report("iterations", _of_games(functools.partial(compare_sweep, ITERATIONS))),
    "exploration": Report("exploration", _of_games(functools.partial(compare_sweep, EXPLORATION))),
    "branching": Report("branching", lambda rows: _compared(compare_branching(branching_of(rows)))),
}
"""Every report by name."""
