"""What ``ddz demo`` does besides talking: who plays, a policy trained from random weights, and the report."""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from ddz_env.core.errors import DouDizhuError
from ddz_training.experiments.experiment import Table
from ddz_training.learn.checkpoint import CHECKPOINT
from ddz_training.learn.curves import CurveLine
from ddz_training.learn.ppo.config import SelfPlayConfig
from ddz_training.learn.ppo.selfplay import SelfPlay
from ddz_training.learn.run import CURVES, EVALUATIONS, POLICY, Budget, measure, train
from ddz_training.learn.strength import Evaluation
from ddz_training.measure.match.one_writer import writing
from ddz_training.measure.match.statistics import AgentResult
from ddz_training.measure.plotting import finish_figure, new_axes, percentages, save_figure

ENTRANTS = {
    "shipped policy": "policy",
    "fresh policy": "policy:path={fresh}",
    "shipped policy in search": "neural-ismcts:milliseconds={milliseconds},particles=0",
    "fresh policy in search": "neural-ismcts:path={fresh},milliseconds={milliseconds},particles=0",
    "information-set UCT": "isuct:milliseconds={milliseconds}",
    "determinized UCT": "duct:trees=20,milliseconds={milliseconds}",
    "rules": "rules",
    "random": "random",
}
"""Who plays, by what tables call it; ``fresh`` is the file of the new policy, ``milliseconds`` what searches think."""

STAGES = 10
"""How often the strength is measured, in equal shares of the time."""

SETTINGS: dict[str, Any] = {
    "num_games": 256,
    "steps": 64,
    "minibatch": 2048,
    "learning_rate": 1e-3,
    "evaluate_deals": 50,
}
"""Small, frequent updates: the defaults are for hours."""

_AT_ENDS = 10**9
"""No evaluation by the number of updates; each stage ends with one."""
_MARKS = "●○◆◇"
_LABEL = 7
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 0.9rem; }
th, td { padding: 0.3rem 0.7rem; border-bottom: 1px solid #ddd; text-align: right; overflow-wrap: anywhere; }
th:first-child, td:first-child { text-align: left; }
img { max-width: 100%; }
"""


class InvalidDemonstrationError(DouDizhuError):
    """The demonstration was asked for something that it cannot do."""


def specifications(fresh: Path, milliseconds: float) -> dict[str, str]:
    """The agents to be made.

    Args:
        fresh: The file of the policy that has just been trained.
        milliseconds: Thinking time of a search.

    Returns:
        Specification to name, in the order of :data:`ENTRANTS`.

    Raises:
        InvalidDemonstrationError: If the file's name cannot stand in a specification.

    Example:
        >>> specifications(Path("fresh.safetensors"), 20)["policy:path=fresh.safetensors"]
        'fresh policy'
    """
    if "," in str(fresh):
        raise InvalidDemonstrationError(f"{fresh}: options of agents are separated by commas; name a folder without")
    settings = {"fresh": fresh.as_posix(), "milliseconds": f"{milliseconds:g}"}
    return {agent.format(**settings): name for name, agent in ENTRANTS.items()}


# --- the fresh policy --------------------------------------------------------


class LearningPoint(NamedTuple):
    """The strength against one opponent after some training.

    Attributes:
        seconds: Seconds of training before it, evaluations not counted.
        decisions: Decisions that were learned from before it.
        found: The strength.
    """

    seconds: float
    decisions: int
    found: Evaluation


def demonstration_settings(seed: int) -> SelfPlayConfig:
    """The settings of the run.

    Args:
        seed: Seed of deals, actions and weights.
    """
    return SelfPlayConfig().changed(SETTINGS | {"seed": seed, "evaluate_every": _AT_ENDS})


def train_fresh(
    config: SelfPlayConfig,
    folder: Path,
    minutes: float,
    *,
    on_update: Callable[[CurveLine], None],
    on_points: Callable[[Sequence[LearningPoint]], None],
    threads: int | None = None,
) -> list[LearningPoint]:
    """Train a policy from random weights and measure it before, after, and between.

    The folder gets what every run of ``ddz train selfplay`` writes; another run's files there are removed first, so
    that after a kill it never holds those of two runs.

    Args:
        config: The settings.
        folder: Where its files go.
        minutes: Minutes of training; evaluations and compilation come on top.
        on_update: Called after every update.
        on_points: Called after every measurement with its results, one an opponent.
        threads: Threads; None for one a core.

    Returns:
        All measurements.

    Raises:
        CheckpointError: If a file cannot be written.
        InUseError: If another process trains in the folder.
    """
    points: list[LearningPoint] = []

    def measured(found: Sequence[Evaluation]) -> None:
        latest = [LearningPoint(run.counters.seconds, run.counters.decisions, one) for one in found]
        points.extend(latest)
        on_points(latest)

    with writing(folder, folder=True):
        for name in (CHECKPOINT, POLICY, CURVES, EVALUATIONS):
            (folder / name).unlink(missing_ok=True)
        # Whatever still has to be compiled is not to be counted as training.
        with closing(SelfPlay(dataclasses.replace(config, num_games=config.groups, steps=4), threads)) as small:
            small.step()
        with closing(SelfPlay(config, threads)) as run:
            measured(measure(run))
            for stage in range(1, STAGES + 1):
                budget = Budget(minutes=minutes * stage / STAGES)
                train(run, folder, budget, on_update=on_update, on_evaluation=measured)
    return points


# --- the report --------------------------------------------------------------


def percent_chart(series: Mapping[str, Sequence[float]], width: int = 60, height: int = 11) -> list[str]:
    """Draw shares between 0 and 1 as percentages, evenly spaced from left to right.

    Args:
        series: Name to values; where two would stand in one place, the earlier series shows.
        width: Characters of the drawing, behind the labels.
        height: Its lines, 2 at least.

    Returns:
        Lines of text: the drawing, its base line and the key.

    Example:
        >>> for line in percent_chart({"a": [0.0, 0.5, 1.0]}, width=9, height=3):
        ...     print(line)
        100 % ┤        ●
         50 % ┤    ●
          0 % ┤●
              └─────────
               ● a
    """
    rows = [[" "] * width for _ in range(height)]
    for mark, values in reversed(list(zip(_MARKS, series.values(), strict=False))):
        for place, value in enumerate(values):
            column = round(place * (width - 1) / max(1, len(values) - 1))
            rows[round((1 - value) * (height - 1))][column] = mark
    labels = (f"{100 * (height - 1 - row) / (height - 1):.0f} %" for row in range(height))
    lines = [f"{label:>{_LABEL - 2}} ┤{''.join(row)}".rstrip() for label, row in zip(labels, rows, strict=True)]
    key = "   ".join(f"{mark} {name}" for mark, name in zip(_MARKS, series, strict=False))
    return [*lines, " " * (_LABEL - 1) + "└" + "─" * width, " " * _LABEL + key]


def win_matrix(pairs: Sequence[AgentResult], order: Sequence[str]) -> list[list[str]]:
    """Win rates of the agents of the rows against those of the columns.

    Args:
        pairs: Two results a pair.
        order: The agents from the first row down and the first column on.

    Returns:
        A row an agent: its number and name, and a cell a column; the diagonal is a dash.
    """
    found = {(result.agent, result.opponent): result.wins.plus_minus(".0f", 100) for result in pairs}
    return [
        [f"{number} {row}", *(found.get((row, column), "–") for column in order)] for number, row in enumerate(order, 1)
    ]


def draw_learning(points: Sequence[LearningPoint], path: Path) -> None:
    """Draw win rates against time, with their intervals."""
    figure, axes = new_axes(7.0)
    for opponent in dict.fromkeys(point.found.opponent for point in points):
        seconds, _, found = zip(*(point for point in points if point.found.opponent == opponent), strict=True)
        wins, lows, highs = (
            [100 * end for end in ends] for ends in zip(*(one.interval.ends for one in found), strict=True)
        )
        axes.plot(seconds, wins, marker="o", markersize=3, label=f"against {opponent}")
        axes.fill_between(seconds, lows, highs, alpha=0.2)
    axes.set_ylim(0, 100)
    finish_figure(figure, axes, path, "seconds of self-play from random weights", "games won, % (95 % intervals)")


def draw_strengths(standings: Sequence[AgentResult], path: Path) -> None:
    """Draw win rates against all others with their intervals, the best on top."""
    figure, axes = new_axes(7.0)
    wins, margins = percentages([result.wins for result in standings])
    names = [result.agent for result in standings]
    axes.barh(names, wins, xerr=margins, color="#4477aa", ecolor="black", capsize=3)
    axes.invert_yaxis()
    axes.set_xlim(0, 100)
    axes.set_xlabel("games won against all others, % (95 % intervals)")
    save_figure(figure, path)


def report(title: str, tables: Sequence[Table], pictures: Mapping[str, Path]) -> str:
    """A page of HTML that needs no other file.

    Args:
        title: Its title.
        tables: What it says, each below its title.
        pictures: PNG files by the titles of the tables that they stand above.
    """
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{_STYLE}</style>'
    lines = ["<!doctype html>", f'<html lang="en"><head>{head}</head><body>', f"<h1>{escape(title)}</h1>"]
    for table in tables:
        heading = escape(table.title)
        lines.append(f"<h2>{heading}</h2>")
        if table.title in pictures:
            data = base64.b64encode(pictures[table.title].read_bytes()).decode()
            lines.append(f'<img alt="{heading}" src="data:image/png;base64,{data}">')
        rows = (_row("td", line) for line in table.lines)
        lines += ["<table>", _row("th", table.header), *rows, "</table>", f"<p>{escape(table.note)}</p>"]
    return "\n".join([*lines, "</body></html>", ""])


def _row(tag: str, cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"
