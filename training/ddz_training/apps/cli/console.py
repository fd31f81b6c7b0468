"""How the commands talk to the terminal: where they write, bars, errors in one line, and ends before the end.

A string is printed by :func:`tell`, :func:`remark` or :func:`complain`, tables and pictures by a console of rich.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import typer
from rich.console import Console, RenderableType
from rich.markup import render
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column
from rich.text import Text
from typer.core import TyperCommand, TyperGroup

from ddz_env.core.errors import command_line
from ddz_training.apps.cli.breaking import broken
from ddz_training.apps.cli.faults import fault_of, wants_tracebacks
from ddz_training.apps.cli.signals import EXIT_INTERRUPTED, finishing, interruptible

_BAR_WIDTH = 40
_LOG_WIDTH = 160
"""Width where there is no terminal: a table in a log should not be folded."""


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


def counting_bar() -> Progress:
    """Bars that say how many are done of how many."""
    return _bar(MofNCompleteColumn(table_column=Column(no_wrap=True)))


def share_bar() -> Progress:
    """Bars that say what share is done; the field ``state`` of a task stands in the line below its bar."""
    return _bar(TextColumn("{task.percentage:>3.0f} %"))


def _bar(done: ProgressColumn) -> Progress:
    passed, left = (kind(table_column=Column(no_wrap=True)) for kind in (TimeElapsedColumn, TimeRemainingColumn))
    # Only the bar is ever narrowed.
    bar = BarColumn(None, table_column=Column(max_width=_BAR_WIDTH))
    return _Bars(TextColumn("{task.description}"), bar, done, passed, TextColumn("eta"), left, console=error_console())


class _Bars(Progress):
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


class _Examples:
    """Lets the help of a command end with its examples, each on a line of its own at any width."""

    epilog: str | None

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, and below it what one may type."""
        shown, self.epilog = self.epilog, None
        try:
            super().format_help(ctx, formatter)  # type: ignore[misc]  # of the class that this is mixed into
        finally:
            self.epilog = shown
        tell(render(shown or "").plain.replace("\n\n", "\n"))


class FriendlyCommand(_Examples, TyperCommand):
    """A command whose examples can be copied."""


class FriendlyGroup(_Examples, TyperGroup):
    """A group of commands that reports errors in one line, unless ``--debug`` is given or ``DDZ_DEBUG`` is set."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take ``--debug`` out of the arguments, wherever it stands before ``--``."""
        end = args.index("--") if "--" in args else len(args)
        ctx.meta["ddz.debug"] = ctx.meta.get("ddz.debug", wants_tracebacks()) or "--debug" in args[:end]
        return super().parse_args(ctx, [arg for arg in args[:end] if arg != "--debug"] + args[end:])

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            with nullcontext() if ctx.parent else interruptible():
                return super().invoke(ctx)
        except (Exception, KeyboardInterrupt) as error:
            fault = fault_of(error)
            if ctx.parent is None and hasattr(error, "format_message"):
                _complain_of_usage(error)
            if fault is None or ctx.parent or ctx.meta["ddz.debug"]:
                raise
            complain(_said(fault.message, ctx.meta.get("ddz.language", "en")))
            raise typer.Exit(fault.exit_code) from error


def _complain_of_usage(error: Any) -> None:
    """Say what is wrong with the words of a command, as typer does, but not in a box, whose edge would break a path.

    Raises:
        Exit: Always, with the error's own code.
    """
    message = error.format_message()
    if message and error.ctx is not None:
        tell(f"{error.ctx.get_usage()}\nTry '{error.ctx.command_path} -h' for help.", screen=error_console())
        complain(message)
    raise typer.Exit(error.exit_code) from error


def _said(message: str, language: str) -> str:
    """A message in the language of the command; in English where it has none, or one that there is not."""
    from ddz_env.table.texts import LANGUAGES, Texts

    return Texts(language if language in LANGUAGES else "en").complaint(message)


class FriendlyTyper(typer.Typer):
    """An app of such commands."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(
            **{"cls": FriendlyGroup, "add_completion": False, "pretty_exceptions_enable": False, **settings}
        )

    def command(self, name: str | None = None, **settings: Any) -> Callable[..., Any]:
        """Add a command, as :meth:`typer.Typer.command` does."""
        return super().command(name, **{"cls": FriendlyCommand, **settings})


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
