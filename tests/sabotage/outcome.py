"""What one kind of sabotage tried, and what did not hold."""

from __future__ import annotations

from dataclasses import dataclass, field

MOST_FAULTS = 20
"""This many faults are kept with their text; the rest are counted."""


@dataclass
class Outcome:
    """The attempts of one kind.

    Attributes:
        kind: What was tried.
        promise: What must hold at every attempt.
        needed: How many attempts at least.
        tried: How many were made.
        failed: At how many the promise did not hold.
        faults: The first of them, in words.
        left_out: Why nothing was tried here, where this machine cannot do it.
    """

    kind: str
    promise: str
    needed: int
    tried: int = 0
    failed: int = 0
    faults: list[str] = field(default_factory=list)
    left_out: str = ""

    def held(self) -> None:
        """Count an attempt at which the promise held."""
        self.tried += 1

    def fault(self, text: str) -> None:
        """Count an attempt at which it did not."""
        self.tried += 1
        self.failed += 1
        if len(self.faults) < MOST_FAULTS:
            self.faults.append(text)

    def check(self, holds: bool, text: str) -> None:
        """Count an attempt."""
        if holds:
            self.held()
        else:
            self.fault(text)

    @property
    def is_kept(self) -> bool:
        """Whether enough was tried and everything held; what this machine cannot do is not held against it."""
        return not self.failed and (bool(self.left_out) or self.tried >= self.needed)
