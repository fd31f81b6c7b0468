"""The saboteur: kills, fuzzed values, hostile files and agents, full disks, other users.

``python -m tests.sabotage`` tries everything and prints the counts; ``docs/reference/trust.md`` says what is promised.
"""

from __future__ import annotations

from dataclasses import dataclass, field

MOST_FAULTS = 20
"""This many faults are kept with their text; the rest are counted."""


@dataclass
class Outcome:
    """The attempts of one kind: what was tried, and what must hold at every attempt."""

    kind: str
    promise: str
    needed: int
    tried: int = 0
    failed: int = 0
    faults: list[str] = field(default_factory=list)
    left_out: str = ""
    """Why nothing was tried here, where this machine cannot do it."""

    def check(self, holds: bool, text: str = "") -> None:
        """Count an attempt; the first at which the promise did not hold are kept in words."""
        self.tried += 1
        if not holds:
            self.failed += 1
            if len(self.faults) < MOST_FAULTS:
                self.faults.append(text)

    def held(self) -> None:
        self.check(True)

    def fault(self, text: str) -> None:
        self.check(False, text)

    @property
    def is_kept(self) -> bool:
        """Whether enough was tried and everything held; what this machine cannot do is not held against it."""
        return not self.failed and (bool(self.left_out) or self.tried >= self.needed)
