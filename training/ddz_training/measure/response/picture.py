"""The curve of a response: what it gained over the agent's own rate as it learned, and what the report says."""

from __future__ import annotations

import csv
from pathlib import Path

from ddz_training.learn.run import EVALUATIONS
from ddz_training.measure.match.duplicate import SIDES
from ddz_training.measure.plotting import BLUE, ORANGE, PAPER, finish_figure, new_axes
from ddz_training.measure.response.gains import BOTH, sides_of
from ddz_training.measure.response.response import ExploitReport

_COLORS = {BOTH: "black", SIDES[0]: BLUE, SIDES[1]: ORANGE}
_NAMES = {BOTH: "gain", SIDES[0]: "landlord", SIDES[1]: "peasants"}


def plot_response(folder: Path, report: ExploitReport, path: Path) -> None:
    """Draw the gains over the decisions learned from, and the report's beside the policy that it is of.

    Args:
        folder: The run's folder.
        report: The report.
        path: The picture.
    """
    lines = list(csv.DictReader((folder / EVALUATIONS).read_text(encoding="utf-8").splitlines()))
    where = [int(line["decisions"]) / 1e6 for line in lines]
    figure, axes = new_axes(7.0)
    axes.axhline(0, color="grey", linewidth=1, linestyle=":")
    for side in sides_of(report.gains[0].side):
        start = _NAMES[side]
        middle = "gain" if side == BOTH else f"{start}_gain"
        mean, low, high = (
            [100 * float(line[name]) for line in lines] for name in (middle, f"{start}_low", f"{start}_high")
        )
        label = "both sides" if side == BOTH else side
        axes.plot(where, mean, marker="o", markersize=3, color=_COLORS[side], label=label)
        axes.fill_between(where, low, high, alpha=0.15, color=_COLORS[side])
    gain = report.gains[0].gain
    axes.errorbar(
        report.decisions / 1e6, 100 * gain.mean, 100 * gain.half_width, capsize=3, label="report, other deals", **PAPER
    )
    below = "decisions learned from, millions"
    finish_figure(figure, axes, path, below, f"gain on {report.agent}, points (95 %)", loc="best")
