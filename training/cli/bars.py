"""Bars of what takes longer than a few seconds: where it is, how long it took, and how long it will."""

from __future__ import annotations

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from training.cli.console import error_console


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
