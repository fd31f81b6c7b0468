"""A figure of a paper beside ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

OnProgress = Callable[[int, int], None]
"""Called with units done and units in all."""


@dataclass(frozen=True)
class Comparison:
    """One line of a report.

    Attributes:
        what: What is measured.
        paper: The paper's figure as it prints it; empty where it prints none.
        ours: Ours.
        note: Its interval, or what differs.
    """

    what: str
    paper: str
    ours: str
    note: str = ""


def no_progress(done: int, total: int) -> None:
    """Ignore how far an experiment is."""
