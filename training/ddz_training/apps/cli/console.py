"""How the commands talk to the terminal: lines that can be copied, prose that is folded, bars, tables that fit.

A string is printed by :func:`tell`, :func:`remark` or :func:`complain`, a table by :func:`show`, pictures by a console
of rich.  Nothing that is printed is ever cut, and no word or number that fits is broken in two.

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
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

import typer
from rich import box
from rich import progress as rich_bars
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Column
from rich.table import Table as Screen
from rich.text import Text

from ddz_env.core.errors import command_line
from ddz_training.apps.cli.signals import EXIT_INTERRUPTED, finishing
from ddz_training.experiments.experiment import Table
from ddz_training.measure.store import OnProgress

_Found = TypeVar("_Found")

_BAR_WIDTH = 40
_LOG_WIDTH = 160
"""Width where there is no terminal: a table in a log should not be folded."""
_ATOM = re.compile(r"\([^()]{1,24}\)\S*|\S+")
"""What is never broken: a word, a number, a short bracket."""
_INTERVAL = re.compile(r" \([^()]*\d[^()]*\)")
_WORD = re.compile(r"[A-Za-z]{3}")
_NUMBER = "+-−–0123456789"
_AGENTS = ("agent", "against")
"""Headings of columns of names, which somebody may have chosen freely."""
_BETWEEN = 2
"""Characters between two columns."""
_SPECIFICATION = re.compile(r"[A-Za-z][\w./-]*:\S.*")
_LONG = 32
_GAIN = 4
"""A name is shortened only where that saves more characters."""
_LONGEST = {120: 32, 100: 24, 0: 14}
"""Characters of a name, by the width of the screen from which on it holds."""


def widest_atom(text: str) -> int:
    """Cells of the widest part of a text that is never broken."""
    return max(map(cell_len, _ATOM.findall(text)), default=0)


def broken(text: str, width: int) -> str:
    """A text in lines of a width; a part that is wider and is never broken has a line of its own.

    Example:
        >>> print(broken("wins 62.5 (55 to 69) in all", 14))
        wins 62.5
        (55 to 69) in
        all
    """
    lines: list[str] = []
    for paragraph in text.split("\n"):
        if cell_len(paragraph) <= width:
            lines.append(paragraph)  # with its spaces
            continue
        indent = paragraph[: len(paragraph) - len(paragraph.lstrip())]
        lines.append("")
        for atom in _ATOM.findall(paragraph):
            joined = f"{lines[-1]} {atom}" if lines[-1] else indent + atom
            if lines[-1] and cell_len(joined) > width:
                lines.append(indent + atom)
            else:
                lines[-1] = joined
    return "\n".join(lines)


def console(*, stderr: bool = False) -> Console:
    """Standard output, for results.  It is made anew, because tests and pipes replace the streams."""
    screen = Console(stderr=stderr, highlight=False, emoji=False)
    if not screen.is_terminal:
        screen.width = _LOG_WIDTH
    return screen


def error_console() -> Console:
    """Standard error: errors and progress."""
    return console(stderr=True)


def tell(text: str, style: str | None = None, *, screen: Console | None = None) -> None:
    """Print a line that somebody may copy from: it holds a path, a command, an address, or a name somebody chose.

    The terminal wraps it at its edge, and what is copied there is whole; a line end of ours would stay in the copy.

    Args:
        text: Paths in it are written by :func:`quoted`, commands by :func:`ddz_env.core.errors.command_line`.
        style: As rich has it.
        screen: Where; standard output by default.
    """
    (screen or console()).print(text, style=style, markup=False, emoji=False, soft_wrap=True)


def remark(text: str, style: str | None = "dim", *, screen: Console | None = None) -> None:
    """Print prose, folded between its words; no word is broken."""
    screen = screen or console()
    tell(broken(text, screen.width), style, screen=screen)


def complain(message: str) -> None:
    """One red line on standard error."""
    tell(message, "bold red", screen=error_console())


def quoted(path: object) -> str:
    """A path as one types it into a shell: in quotes where it needs them."""
    return command_line(path)


def counting_bar() -> rich_bars.Progress:
    """Bars that say how many are done of how many."""
    return _bar(rich_bars.MofNCompleteColumn(table_column=Column(no_wrap=True)))


def share_bar() -> rich_bars.Progress:
    """Bars that say what share is done; the field ``state`` of a task stands in the line below its bar."""
    return _bar(rich_bars.TextColumn("{task.percentage:>3.0f} %"))


def _bar(done: rich_bars.ProgressColumn) -> rich_bars.Progress:
    passed, left = (
        kind(table_column=Column(no_wrap=True)) for kind in (rich_bars.TimeElapsedColumn, rich_bars.TimeRemainingColumn)
    )
    # Only the bar is ever narrowed.
    bar = rich_bars.BarColumn(None, table_column=Column(max_width=_BAR_WIDTH))
    return _Bars(
        rich_bars.TextColumn("{task.description}"),
        bar,
        done,
        passed,
        rich_bars.TextColumn("eta"),
        left,
        console=error_console(),
    )


class _Bars(rich_bars.Progress):
    """Bars with a line of words below each that has any: a narrow screen wraps the words and cuts nothing."""

    def get_renderables(self) -> Iterable[RenderableType]:
        """A bar and its words, task by task; tasks without words share one table."""
        if not any(task.fields.get("state") for task in self.tasks):
            yield self.make_tasks_table(self.tasks)
            return
        for task in self.tasks:
            yield self.make_tasks_table([task])
            if task.visible and task.fields.get("state"):
                yield Text(broken(f"  {task.fields['state']}", self.console.width))


def with_bar(what: str, run: Callable[[OnProgress], _Found]) -> _Found:
    """Run something under a bar, which appears as soon as it says how far it is."""
    with counting_bar() as progress:
        bar = progress.add_task(what, total=None, visible=False)
        return run(lambda done, total: progress.update(bar, completed=done, total=total, visible=True))


@contextmanager
def stopping(advice: str) -> Iterator[Callable[[], bool]]:
    """Let Ctrl-C and a polite kill end a run after the update at hand; a second Ctrl-C ends it at once.

    Args:
        advice: Said after a run that was ended so; the command then exits with the code of an interruption.

    Yields:
        Whether the run was asked to end.
    """
    with finishing(complain) as asked:
        yield asked
    if asked():
        complain(f"stopped; {advice}")
        raise typer.Exit(EXIT_INTERRUPTED)


# --- tables ------------------------------------------------------------------


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


_Blocks = list[list[tuple[_Column, int]]]
"""The columns of a table with their widths, block by block."""


def show(
    table: Table,
    *,
    screen: Console | None = None,
    sections: Collection[int] = (),
    styles: Mapping[int, str] | None = None,
) -> None:
    """Print a table with its title and its note, so that it fits the screen.

    Args:
        table: The table.
        screen: Where; standard output by default.
        sections: Numbers of lines with an empty line behind them.
        styles: Styles of lines by their numbers.
    """
    screen = screen or console()
    blocks, legend, left_out = _fitted(table, screen.width)
    if table.title:
        remark(table.title.replace("`", ""), "bold", screen=screen)
    for block in blocks:
        screen.print(_screen_table(block, len(table.lines), sections, styles or {}))
    for short, label in legend.items():
        tell(f"{short}  is  {label}", "dim", screen=screen)
    if left_out:
        remark(f"A wider terminal also shows: {', '.join(left_out)}.", screen=screen)
    if table.note:
        remark(table.note.replace("`", ""), screen=screen)
    screen.print()


def _fitted(table: Table, width: int) -> tuple[_Blocks, dict[str, str], list[str]]:
    """Let give way what must, in the order above: what is left, what short names stand for, and what gave way."""
    for columns, legend, left_out in _narrower(table, width):
        for widths in ([column.whole for column in columns], [column.natural for column in columns]):
            if _total(widths) <= width:
                return [list(zip(columns, widths, strict=True))], legend, left_out
    return [_widths(block, width) for block in _blocks(columns, width)], legend, left_out


def _narrower(table: Table, width: int) -> Iterator[tuple[list[_Column], dict[str, str], list[str]]]:
    """The columns, then with less and less in them, and what that is."""
    columns = [
        _Column(heading.replace("`", ""), [line[place].replace("`", "") for line in table.lines])
        for place, heading in enumerate(table.header)
    ]
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


def _total(widths: Sequence[int]) -> int:
    """Characters that columns of these widths take."""
    return sum(widths) + _BETWEEN * (len(widths) - 1) + 1


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


def may_be_shortened(text: str) -> bool:
    """Whether a cell is one long word, or what an agent is called by: a name with options, or a module's class.

    Example:
        >>> [may_be_shortened(text) for text in ("isuct:iterations=20", "rules", "at 12:30 or later")]
        [True, False, False]
    """
    return _SPECIFICATION.fullmatch(text) is not None or (len(text) > _LONG and " " not in text)


def short_names(labels: Sequence[str], width: int) -> dict[str, str]:
    """Names that fit the tables of a screen: long specifications lose their options, and stay different.

    Args:
        labels: What the results call the agents.
        width: Characters of a line.

    Example:
        >>> short_names(["rules", "isuct:iterations=20,trees=2", "isuct:iterations=20,trees=4"], 80)
        {'rules': 'rules', 'isuct:iterations=20,trees=2': 'isuct:…', 'isuct:iterations=20,trees=4': 'isuct:… 2'}
    """
    longest = next(most for least, most in _LONGEST.items() if width >= least)
    short: dict[str, str] = {}
    seen: Counter[str] = Counter()
    for label in labels:
        short[label] = label
        if len(label) > longest:
            before, equals, _ = label.partition("=")
            cut = f"{before.rpartition(':')[0] if equals else before[:longest]}:…"
            if len(cut) + _GAIN < len(label):
                seen[cut] += 1
                short[label] = cut if seen[cut] == 1 else f"{cut} {seen[cut]}"
    return short
