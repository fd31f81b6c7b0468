"""Terminal output of the commands: copyable lines, wrapped prose, and tables and progress bars by rich."""

from __future__ import annotations

import math
import re
import signal
import textwrap
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

import click

from ddz_env.support.errors import format_command

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress
    from rich.text import Text

    from ddz_training.measure.markdown import Table
    from ddz_training.measure.store import OnProgress

EXIT_INTERRUPTED = 130
FIRST_NOTE_AFTER, NEXT_NOTE_AFTER = 30.0, 600.0
"""Seconds after which a command without a terminal first prints how long it will take, and at least prints it again."""
STOPPING_MESSAGE = "stopping after the update at hand; Ctrl-C once more ends at once"

_MAX_ERROR_LENGTH = 2_000
"""Characters of an error."""
_LOG_WIDTH = 160
"""Width where there is no terminal: a table in a log should not be folded."""
_COLUMN_GAP = 2
"""Cells between two columns of a table; behind the last one is one."""
_NUMBER = re.compile(r"[+\-−–]?\d|–$")


def make_console(*, stderr: bool = False) -> Console:
    """Create a rich console on standard output or error, with a fixed width if that is not a terminal."""
    from ddz_training.cli.screen import Screen

    screen = Screen(stderr=stderr, highlight=False, emoji=False)
    if not screen.is_terminal:
        screen.width = _LOG_WIDTH
    return screen


def print_prose(prose: str, **style: Any) -> None:
    """Print prose, wrapped between words to the width of the terminal."""
    click.secho(textwrap.fill(prose, make_console().width, break_long_words=False), **style)


def print_error(message: str) -> None:
    """Print one red line on standard error, truncated if it is excessively long."""
    message = message if len(message) <= _MAX_ERROR_LENGTH else f"{message[:_MAX_ERROR_LENGTH]} ..."
    click.secho(message, err=True, fg="red", bold=True)


def quote_path(path: object) -> str:
    """Return a path as a string, quoted for the shell if necessary."""
    return format_command(path)


def suggest_command(why: str, *words: object) -> None:
    """Suggest the next command on standard error, since standard output holds the results.

    Args:
        why: What it is for, behind "Next, ".
        *words: The command, without ``ddz``.
    """
    click.secho(f"Next, {why}:", err=True, dim=True)
    click.echo(f"  {format_command('ddz', *words)}", err=True)


def rules_arguments(rules: str) -> list[str]:
    """Return the ``--rules`` arguments of a command, or no arguments for the standard rules."""
    return [] if rules == "standard" else ["--rules", rules]


def print_table(content: Table, *, screen: Console | None = None, sections: Collection[int] = ()) -> None:
    """Print a table with its title and note, its columns fitted to the width of the terminal.

    Args:
        content: The table.
        screen: Where; standard output by default.
        sections: Numbers of lines with an empty line behind them.
    """
    from rich import box, table

    from ddz_training.cli.columns import column_widths, wrap_text

    screen = screen or make_console()
    drawn = table.Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    header, *lines = ([cell.replace("`", "") for cell in line] for line in (content.header, *content.lines))
    widths = column_widths(header, lines, screen.width - _COLUMN_GAP * len(header) + 1)
    for column, (heading, width) in enumerate(zip(header, widths, strict=True)):
        cells = [line[column] for line in lines if line[column]]
        side: Literal["left", "right"] = "right" if cells and all(map(_NUMBER.match, cells)) else "left"
        drawn.add_column(_make_text(wrap_text(heading, width)), justify=side, overflow="fold", width=width)
    for number, line in enumerate(lines):
        drawn.add_row(*map(_make_text, map(wrap_text, line, widths)), end_section=number in sections)
    for part in (
        content.title and _make_text(content.title, "bold"),
        drawn,
        content.note and _make_text(content.note, "dim"),
    ):
        if part:
            screen.print(part)
    screen.print()


def _make_text(cell: str, style: str = "") -> Text:
    from rich.text import Text

    return Text(cell.replace("`", ""), style)


# --- bars --------------------------------------------------------------------


def make_progress() -> Progress:
    """Make progress bars on standard error, shown only on a terminal, with a task's ``state`` after its bar."""
    from rich import progress

    screen = make_console(stderr=True)
    times = progress.TimeElapsedColumn(), "eta", progress.TimeRemainingColumn()
    columns = "{task.description}", progress.BarColumn(), "{task.percentage:>3.0f} %", *times, "{task.fields[state]}"
    return progress.Progress(*columns, console=screen, disable=not screen.is_terminal)


class NotePace:
    """A rule for logging progress without a terminal: at every tenth of the work, and at least every ten minutes."""

    def __init__(self) -> None:
        self._last, self._tenth = -math.inf, -1

    def is_due(self, share: float) -> bool:
        """Return whether to log progress at a completed fraction (0 to 1), and if so count it as logged."""
        now, tenth = time.monotonic(), int(10 * share)
        if tenth == self._tenth and now < self._last + NEXT_NOTE_AFTER:
            return False
        self._last, self._tenth = now, tenth
        return True


@contextmanager
def progress_bar(what: str) -> Iterator[OnProgress]:
    """Show a progress bar of completed and total items, which appears as soon as the total is known.

    Where there is no terminal, a line says after half a minute how long it will take, and from then on at every tenth,
    or after ten minutes.  Time counts from the first that is done, for which a fresh machine may have compiled.

    Yields:
        What is called with both numbers.
    """
    with make_progress() as drawn:
        task = drawn.add_task(what, total=None, state="", visible=False)
        before: int | None = None
        began: tuple[float, int] | None = None
        pace = NotePace()

        def tell(done: int, total: int) -> None:
            nonlocal before, began
            drawn.update(task, completed=done, total=total, state=f"{done:,}/{total:,}", visible=True)
            before = done if before is None else before
            if began is None and done > before:
                began = time.monotonic(), done
            passed, here = (0.0, 0) if began is None else (time.monotonic() - began[0], done - began[1])
            if drawn.disable and here and passed > FIRST_NOTE_AFTER and pace.is_due(done / total):
                left = timedelta(seconds=round(passed / here * (total - done)))
                click.echo(f"{what}: {done:,} of {total:,} done, about {left} to go", err=True)

        yield tell


@contextmanager
def stop_on_interrupt(advice: str) -> Iterator[Callable[[], bool]]:
    """Let the first Ctrl-C end training after the current update; a second one raises ``KeyboardInterrupt``.

    Args:
        advice: Said after a run that was ended so; the command then exits with the code of an interruption.

    Yields:
        Whether the run is to end.
    """
    requests: list[int] = []

    def request(number: int, _frame: Any) -> None:
        if requests:
            raise KeyboardInterrupt
        requests.append(number)
        print_error(STOPPING_MESSAGE)

    before = signal.signal(signal.SIGINT, request)
    try:
        yield lambda: bool(requests)
    finally:
        signal.signal(signal.SIGINT, before)
    if requests:
        print_error(f"stopped; {advice}")
        raise click.exceptions.Exit(EXIT_INTERRUPTED)
