"""Learning curves of training in stages, each of which starts from the weights of the previous stage.

A run's folder holds one line per update (``curves.csv``) and one per evaluation (``evaluations.csv``).  The same two
tables with a column for the stage hold all stages of a training run, and outlive their folders.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ddz_env.support.atomic_files import read_text, replace_file
from ddz_training.learn.loop import RENAMED_COLUMNS
from ddz_training.measure.errors import InvalidExperimentError
from ddz_training.measure.markdown import Table
from ddz_training.measure.plotting import Panel, Series, save_plot
from ddz_training.measure.statistics import Interval

CURVES, EVALUATIONS = "curves.csv", "evaluations.csv"
"""The files of a run."""
JOINED_CURVES, JOINED_EVALUATIONS = f"training_{CURVES}", f"training_{EVALUATIONS}"
"""Those of a whole training."""

WRITERS = "ddz train selfplay and dmc"
"""What writes such files."""

_CURVE_COLUMNS = ("update", "decisions", "games", "seconds")
_EVALUATION_COLUMNS = ("update", "opponent", "deals", "wins", "low", "high")


@dataclass(frozen=True)
class Stage:
    """The learning curve and the evaluations of one stage of training.

    Attributes:
        name: Its name.
        updates: Lines of its curve, as text by column.
        evaluations: Lines of its evaluations.
    """

    name: str
    updates: list[dict[str, str]]
    evaluations: list[dict[str, str]]

    def final_count(self, column: str) -> float:
        """Return the value of a counter, such as ``decisions``, after the stage's last update."""
        return float(self.updates[-1][column])

    def last_evaluation(self, opponent: str) -> dict[str, str] | None:
        """Return the last evaluation against an opponent, or None if there is none."""
        return next((line for line in reversed(self.evaluations) if line["opponent"] == opponent), None)

    def counter_at(self, column: str, evaluation: Mapping[str, str]) -> float:
        """Return a counter's value at the update after which an evaluation was made, or 0 before the first."""
        return next((float(line[column]) for line in self.updates if line["update"] == evaluation["update"]), 0.0)


def read_run(name: str, folder: Path) -> Stage:
    """Read the curve of one training stage from its run folder; the run may still be in progress.

    Raises:
        InvalidExperimentError: If it is not the folder of a run that writes curves, or these have no update or lack
            columns.
    """
    updates = _read_lines(folder / CURVES, _CURVE_COLUMNS)
    if not updates:
        raise InvalidExperimentError(f"{folder / CURVES} has no update yet: train longer, or leave this folder out")
    reached = {"0", *(line["update"] for line in updates)}
    evaluations = _read_lines(folder / EVALUATIONS, _EVALUATION_COLUMNS)
    return Stage(name, updates, [line for line in evaluations if line["update"] in reached])


def save_training(stages: Sequence[Stage], folder: Path) -> None:
    """Write the updates and evaluations of all stages to ``training_curves.csv`` and ``training_evaluations.csv``."""
    folder.mkdir(parents=True, exist_ok=True)
    _write_lines(folder / JOINED_CURVES, [(stage.name, line) for stage in stages for line in stage.updates])
    _write_lines(folder / JOINED_EVALUATIONS, [(stage.name, line) for stage in stages for line in stage.evaluations])


def load_training(folder: Path) -> list[Stage]:
    """Read the stages written by :func:`save_training`, in their order.

    Raises:
        InvalidExperimentError: If the files are missing or are something else.
    """
    updates = _read_lines(folder / JOINED_CURVES, ("stage", *_CURVE_COLUMNS))
    evaluations = _read_lines(folder / JOINED_EVALUATIONS, ("stage", *_EVALUATION_COLUMNS))
    return [
        Stage(name, *([line for line in lines if line["stage"] == name] for lines in (updates, evaluations)))
        for name in dict.fromkeys(line["stage"] for line in updates)
    ]


def _read_lines(path: Path, columns: Sequence[str]) -> list[dict[str, str]]:
    """Read the complete lines of a CSV file as dicts, and refuse a file that lacks any of the given columns."""
    if not path.is_file():
        raise InvalidExperimentError(f"there is no {path}: name folders of {WRITERS}, which alone write curves")
    try:
        text = read_text(path)
        reader = csv.DictReader(text[: text.rfind("\n") + 1].splitlines())
        lines = [{RENAMED_COLUMNS.get(name, name): cell for name, cell in line.items()} for line in reader]
        if missing := [column for column in columns if column not in (reader.fieldnames or ())]:
            raise InvalidExperimentError(f"{path} is not a training curve: it has no {missing[0]}")
        for line in lines:
            _ = [line[column] if column in ("stage", "opponent") else float(line[column]) for column in columns]
    except (OSError, ValueError, TypeError, csv.Error) as error:
        raise InvalidExperimentError(f"{path} is not a training curve: {error}") from error
    return lines


def _write_lines(path: Path, lines: Sequence[tuple[str, Mapping[str, str]]]) -> None:
    text = io.StringIO()
    header = dict.fromkeys(column for _, line in lines for column in line) or dict.fromkeys(_EVALUATION_COLUMNS)
    writer = csv.DictWriter(text, ["stage", *(column for column in header if column != "stage")], lineterminator="\n")
    writer.writeheader()
    writer.writerows({**line, "stage": name} for name, line in lines)
    replace_file(path, text.getvalue().encode())


def make_stage_table(stages: Sequence[Stage]) -> Table:
    """Make the table of training stages, with the length of each stage and the win rates at its end."""
    met = (line["opponent"] for stage in stages for line in stage.evaluations)
    opponents = sorted({*met, "random", "rules"})
    lines = [
        (stage.name, *_format_totals([stage]), *map(format_win_rate, map(stage.last_evaluation, opponents)))
        for stage in stages
    ]
    header = ("stage", "updates", "games", "decisions learned from", "hours", *(f"v `{name}` %" for name in opponents))
    title = f"Training: {', '.join(stage.name for stage in stages)}"
    return Table(title, header, [*lines, ("all", *_format_totals(stages), *("" for _ in opponents))])


def _format_totals(stages: Sequence[Stage]) -> tuple[str, ...]:
    counts = (sum(stage.final_count(column) for stage in stages) for column in ("update", "games", "decisions"))
    return *(f"{count:,.0f}" for count in counts), f"{sum(stage.final_count('seconds') for stage in stages) / 3600:.2f}"


def _win_rate_of(line: Mapping[str, str]) -> Interval:
    wins, low, high = (float(line[column]) for column in ("wins", "low", "high"))
    return Interval(wins, low, high, 0)


def format_win_rate(line: Mapping[str, str] | None) -> str:
    """Format an evaluation's win rate and interval in per cent, or return an empty string for None."""
    return _win_rate_of(line).text_with_range(to="–") if line else ""


def plot_training(stages: Sequence[Stage], path: Path) -> None:
    """Plot win rates over the number of training decisions, with a dotted line at the start of each stage."""
    earlier, begins = 0.0, dict[str, float]()
    points: dict[str, dict[float, Interval]] = {}
    for stage in stages:
        begins[stage.name] = earlier / 1e6
        for line in stage.evaluations:
            position = (earlier + stage.counter_at("decisions", line)) / 1e6
            points.setdefault(line["opponent"], {})[position] = _win_rate_of(line)
        earlier += stage.final_count("decisions")
    series = [Series(f"against {opponent}", [*rates], [*rates.values()]) for opponent, rates in points.items()]
    below, beside = "decisions learned from, millions", "games won, % (95 % intervals)"
    panel = Panel(series, below, beside, vertical_lines=begins, axes={"ylim": (0, 100)})
    save_plot(path, panel, size=(7.0, 3.6))
