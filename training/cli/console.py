"""How the commands talk to the terminal: where they write, bars, errors in one line, and ends before the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from typer.core import TyperGroup

from training.cli.faults import fault_of, wants_tracebacks
from training.cli.signals import EXIT_INTERRUPTED, finishing, interruptible

_LOG_WIDTH = 160
"""Width where there is no terminal: a table in a log should not be folded."""


def console(*, stderr: bool = False) -> Console:
    """Standard output, for results.  It is made anew, because tests and pipes replace the streams."""
    screen = Console(stderr=stderr, highlight=False)
    return screen if screen.is_terminal else Console(stderr=stderr, highlight=False, width=_LOG_WIDTH)


def error_console() -> Console:
    """Standard error: errors and progress."""
    return console(stderr=True)


def complain(message: str) -> None:
    """One red line on standard error."""
    error_console().print(message, style="bold red", markup=False, soft_wrap=True)


def counting_bar() -> Progress:
    """Bars that say how many are done of how many."""
    return _bar(MofNCompleteColumn())


def share_bar(*fields: str) -> Progress:
    """Bars that say what share is done.

    Args:
        fields: Fields of a task that are shown behind its bar.
    """
    return _bar(TextColumn("{task.percentage:>3.0f} %"), *(TextColumn(f"{{task.fields[{field}]}}") for field in fields))


def _bar(done: ProgressColumn, *behind: ProgressColumn) -> Progress:
    times = TimeElapsedColumn(), TextColumn("eta"), TimeRemainingColumn()
    return Progress(TextColumn("{task.description}"), BarColumn(), done, *times, *behind, console=error_console())


class FriendlyGroup(TyperGroup):
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
            if fault is None or ctx.parent or ctx.meta["ddz.debug"]:
                raise
            complain(_said(fault.message, ctx.meta.get("ddz.language", "en")))
            raise typer.Exit(fault.exit_code) from error


def _said(message: str, language: str) -> str:
    """A message in the language of the command; in English where it has none, or one that there is not."""
    from ddz_env.texts import LANGUAGES, Texts

    return Texts(language if language in LANGUAGES else "en").complaint(message)


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
