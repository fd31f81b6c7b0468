"""What a demonstration shows: a chart and a table for terminals, and a report as one HTML file that needs no other."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ddz_env.core.errors import DouDizhuError
from ddz_env.core.whole_file import replace_file
from ddz_training.measure.match.statistics import AgentResult
from ddz_training.measure.plotting import new_axes

if TYPE_CHECKING:
    from ddz_training.apps.demo.fresh import LearningPoint

PAGE = "report.html"
MARKS = "●○◆◇"

_LABEL = 7

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 0.9rem; }
th, td { padding: 0.3rem 0.7rem; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
img { max-width: 100%; }
pre { background: #f5f5f5; padding: 0.8rem; white-space: pre-wrap; overflow-wrap: anywhere; }
"""


class ReportError(DouDizhuError):
    """The report cannot be written."""


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
    for mark, values in reversed(list(zip(MARKS, series.values(), strict=False))):
        for place, value in enumerate(values):
            column = round(place * (width - 1) / max(1, len(values) - 1))
            rows[round((1 - value) * (height - 1))][column] = mark
    labels = (f"{100 * (height - 1 - row) / (height - 1):.0f} %" for row in range(height))
    lines = [f"{label:>{_LABEL - 2}} ┤{''.join(row)}".rstrip() for label, row in zip(labels, rows, strict=True)]
    key = "   ".join(f"{mark} {name}" for mark, name in zip(MARKS, series, strict=False))
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


def learning_curve(points: Sequence[LearningPoint]) -> bytes:
    """Win rates against time, with their intervals, as PNG."""
    figure, axes = new_axes(7.0)
    for opponent in dict.fromkeys(point.opponent for point in points):
        line = [point for point in points if point.opponent == opponent]
        seconds = [point.seconds for point in line]
        wins, lows, highs = zip(*((100 * point.wins, 100 * point.low, 100 * point.high) for point in line), strict=True)
        axes.plot(seconds, wins, marker="o", markersize=3, label=f"against {opponent}")
        axes.fill_between(seconds, lows, highs, alpha=0.2)
    axes.set_xlabel("seconds of self-play from random weights")
    axes.set_ylabel("games won, % (95 % intervals)")
    axes.set_ylim(0, 100)
    axes.legend(frameon=False)
    return _png(figure)


def strength_bars(standings: Sequence[AgentResult]) -> bytes:
    """Win rates against all others with their intervals, the best on top, as PNG."""
    figure, axes = new_axes(7.0)
    names, wins = [result.agent for result in standings], [result.wins for result in standings]
    margins = [[100 * (rate.mean - rate.low) for rate in wins], [100 * (rate.high - rate.mean) for rate in wins]]
    axes.barh(names, [100 * rate.mean for rate in wins], xerr=margins, color="#4477aa", ecolor="black", capsize=3)
    axes.invert_yaxis()
    axes.set_xlim(0, 100)
    axes.set_xlabel("games won against all others, % (95 % intervals)")
    return _png(figure)


def _png(figure: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it.

    Attributes:
        title: The heading.
        text: Paragraphs.
        picture: File name of a picture; empty for none.
        headings: Headings of a table's columns.
        rows: Its cells, row by row.
        commands: Lines for a shell.
    """

    title: str
    text: Sequence[str] = ()
    picture: str = ""
    headings: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    commands: Sequence[str] = ()

    def html(self, pictures: Mapping[str, bytes]) -> str:
        """The section; a picture stands in it as data, and is left out where there is none."""
        parts = [f"<h2>{escape(self.title)}</h2>", *(f"<p>{escape(text)}</p>" for text in self.text)]
        if self.picture in pictures:
            data = base64.b64encode(pictures[self.picture]).decode()
            parts.append(f'<img alt="{escape(self.title)}" src="data:image/png;base64,{data}">')
        if self.rows:
            parts += ["<table>", _row("th", self.headings), *(_row("td", row) for row in self.rows), "</table>"]
        if self.commands:
            parts.append(f"<pre>{escape(chr(10).join(self.commands))}</pre>")
        return "\n".join(parts)


def _row(tag: str, cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"


@dataclass(frozen=True)
class Page:
    """A report.

    Attributes:
        title: Its title.
        sections: What it says.
        pictures: File name to PNG.
    """

    title: str
    sections: Sequence[Section]
    pictures: Mapping[str, bytes] = field(default_factory=dict)

    def html(self) -> str:
        """The whole page."""
        head = f'<meta charset="utf-8"><title>{escape(self.title)}</title><style>{_STYLE}</style>'
        lines = [
            "<!doctype html>",
            f'<html lang="en"><head>{head}</head><body>',
            f"<h1>{escape(self.title)}</h1>",
            *(section.html(self.pictures) for section in self.sections),
            "</body></html>",
        ]
        return "\n".join(lines) + "\n"

    def write(self, folder: Path) -> Path:
        """Write pictures and page, the page last, each replaced atomically.

        Returns:
            The page's path.

        Raises:
            ReportError: If a file cannot be written.
        """
        for name, picture in self.pictures.items():
            _replace(folder / name, picture)
        _replace(folder / PAGE, self.html().encode())
        return folder / PAGE


def _replace(path: Path, data: bytes) -> None:
    try:
        replace_file(path, data)
    except OSError as error:
        raise ReportError(f"cannot write {path}: {error.strerror or error}") from error
