"""How a table fits a screen: nothing that is printed is ever cut, and no word or number that fits is broken in two.

Where the screen is too narrow for a table, these give way, one after the other, until it fits:

1. columns without an entry go;
2. long specifications of agents lose their options, and a line below says what each stands for;
3. what the table calls spare goes: whole columns, or the intervals in one; a line below names them;
4. headings and cells break, at spaces only, and never within an interval;
5. the columns are shown in several blocks, each with those that say what a line is;
6. what is a single word and wider than the screen is folded, as nothing else could be done.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as Screen
from rich.text import Text

from ddz_training.apps.cli.breaking import broken, widest_atom
from ddz_training.apps.cli.console import remark, tell
from ddz_training.apps.cli.names import may_be_shortened, short_names

if TYPE_CHECKING:
    from ddz_training.experiments.experiment import Table

_INTERVAL = re.compile(r" \([^()]*\d[^()]*\)")
_WORD = re.compile(r"[A-Za-z]{3}")
_NUMBER = "+-−–0123456789"
_AGENTS = ("agent", "against")
"""Headings of columns of names, which somebody may have chosen freely."""
_BETWEEN = 2
"""Characters between two columns."""


class _Column(NamedTuple):
    """A column as it is shown.

    Attributes:
        heading: Its heading.
        cells: Its cells, one a line.
    """

    heading: str
    cells: list[str]

    @property
    def is_numbers(self) -> bool:
        """Whether it stands to the right."""
        told = [cell for cell in self.cells if cell]
        return bool(told) and all(cell[0] in _NUMBER and not _WORD.search(cell) for cell in told)

    @property
    def whole(self) -> int:
        """Its width with nothing broken."""
        return max(self.natural, cell_len(self.heading))

    @property
    def natural(self) -> int:
        """Its width with unbroken cells; a heading breaks rather than that it widens its column."""
        lines = (line for cell in self.cells for line in cell.split("\n"))
        return max(widest_atom(self.heading), max(map(cell_len, lines), default=0))

    @property
    def least(self) -> int:
        """Its width with cells broken wherever they may be."""
        return max(map(widest_atom, (self.heading, *self.cells)))


class _Fitted(NamedTuple):
    """A table for a screen.

    Attributes:
        blocks: Its columns with their widths, block by block.
        legend: Labels by the short names that stand for them.
        left_out: Headings of what gave way.
    """

    blocks: list[list[tuple[_Column, int]]]
    legend: dict[str, str]
    left_out: list[str]


def print_table(
    screen: Console, table: Table, *, sections: Collection[int] = (), styles: Mapping[int, str] | None = None
) -> None:
    """Print a table with its title and its note.

    Args:
        screen: Where.
        table: The table.
        sections: Numbers of lines with an empty line behind them.
        styles: Styles of lines by their numbers.
    """
    fit = _fitted(table, screen.width)
    if table.title:
        remark(table.title.replace("`", ""), "bold", screen=screen)
    for block in fit.blocks:
        screen.print(_screen_table(block, len(table.lines), sections, styles or {}))
    for short, label in fit.legend.items():
        tell(f"{short}  is  {label}", "dim", screen=screen)
    if fit.left_out:
        remark(f"A wider terminal also shows: {', '.join(fit.left_out)}.", screen=screen)
    if table.note:
        remark(table.note.replace("`", ""), screen=screen)
    screen.print()


def _fitted(table: Table, width: int) -> _Fitted:
    """Let give way what must, in the order above."""
    columns = [
        _Column(heading.replace("`", ""), [line[place].replace("`", "") for line in table.lines])
        for place, heading in enumerate(table.header)
    ]
    legend: dict[str, str] = {}
    left_out: list[str] = []
    for narrower in _narrower(columns, table, width):
        columns, legend, left_out = narrower
        if _total(column.whole for column in columns) <= width:
            return _Fitted([[(column, column.whole) for column in columns]], legend, left_out)
        if _total(column.natural for column in columns) <= width:
            return _Fitted([[(column, column.natural) for column in columns]], legend, left_out)
    return _Fitted([_widths(block, width) for block in _blocks(columns, width)], legend, left_out)


def _narrower(
    columns: list[_Column], table: Table, width: int
) -> Iterator[tuple[list[_Column], dict[str, str], list[str]]]:
    """The columns, then with less and less in them, and what that is."""
    yield columns, {}, []
    columns = [column for column in columns if any(column.cells) or not column.cells]
    yield columns, {}, []
    labels = dict.fromkeys(
        cell for column in columns for cell in column.cells if column.heading in _AGENTS or may_be_shortened(cell)
    )
    legend = {short: label for label, short in short_names([*labels], width).items() if short != label}
    short_of = {label: short for short, label in legend.items()}
    columns = [column._replace(cells=[short_of.get(cell, cell) for cell in column.cells]) for column in columns]
    yield columns, legend, []
    left_out: list[str] = []
    for spare in table.spare:
        if not any(column.heading == spare.heading for column in columns):
            continue
        if spare.interval:
            columns = [_without_intervals(column) if column.heading == spare.heading else column for column in columns]
            left_out.append(f"the intervals of {spare.heading}")
        else:
            columns = [column for column in columns if column.heading != spare.heading]
            left_out = [text for text in left_out if text != f"the intervals of {spare.heading}"]
            left_out.append(spare.heading)
        yield columns, legend, [*left_out]


def _without_intervals(column: _Column) -> _Column:
    return column._replace(cells=[_INTERVAL.sub("", cell) for cell in column.cells])


def _total(widths: Iterator[int] | Sequence[int]) -> int:
    """Characters that columns of these widths take."""
    listed = list(widths)
    return sum(listed) + _BETWEEN * (len(listed) - 1) + 1


def _blocks(columns: list[_Column], width: int) -> list[list[_Column]]:
    """The columns in blocks that fit; each begins with those that say what a line is, to the first without numbers."""
    keys = 1 + next((place for place, column in enumerate(columns) if not column.is_numbers), 0)
    blocks: list[list[_Column]] = [columns[:keys]]
    for column in columns[keys:]:
        if _total([one.least for one in (*blocks[-1], column)]) > width and len(blocks[-1]) > keys:
            blocks.append(columns[:keys])
        blocks[-1] = [*blocks[-1], column]
    return blocks


def _widths(columns: list[_Column], width: int) -> list[tuple[_Column, int]]:
    """The columns with widths: each as wide as it would like to be, or as the widest that are not."""
    ends = [(column.least, column.natural) for column in columns]
    widths = [least for least, _ in ends]
    for most in range(width, 0, -1):
        widths = [min(natural, max(least, most)) for least, natural in ends]
        if _total(widths) <= width:
            break
    while _total(widths) > width and max(widths) > 1:  # a word is wider than the screen
        widths[widths.index(max(widths))] -= 1
    return list(zip(columns, widths, strict=True))


def _screen_table(
    block: Sequence[tuple[_Column, int]], lines: int, sections: Collection[int], styles: Mapping[int, str]
) -> Screen:
    screen = Screen(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    headings = [broken(column.heading, width) for column, width in block]
    tallest = max(heading.count("\n") for heading in headings)
    for place, (column, width) in enumerate(block):
        above = "\n" * (tallest - headings[place].count("\n"))
        screen.add_column(
            Text(above + headings[place]),
            justify="right" if column.is_numbers else "left",
            style="cyan" if place == 0 and not styles else None,
            overflow="fold",
            width=width,
        )
    for line in range(lines):
        cells = [Text(broken(column.cells[line], width)) for column, width in block]
        screen.add_row(*cells, end_section=line in sections, style=styles.get(line))
    return screen
