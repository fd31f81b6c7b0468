"""Where the commands write.  Consoles are made anew, because tests and pipes replace the streams."""

from __future__ import annotations

from rich.console import Console

_LOG_WIDTH = 160
"""Width where there is no terminal: a table in a log should not be folded."""


def _console(stderr: bool) -> Console:
    console = Console(stderr=stderr, highlight=False)
    if not console.is_terminal:
        console = Console(stderr=stderr, highlight=False, width=_LOG_WIDTH)
    return console


def console() -> Console:
    """Standard output: results."""
    return _console(stderr=False)


def error_console() -> Console:
    """Standard error: errors and progress."""
    return _console(stderr=True)
