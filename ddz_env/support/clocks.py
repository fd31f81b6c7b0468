"""Time limits for decisions."""

from __future__ import annotations

import time


class Clock:
    """A time limit that starts running on construction.

    Args:
        milliseconds: How long; None for a budget other than time, with which the clock is always over.
    """

    def __init__(self, milliseconds: float | None) -> None:
        self.seconds = None if milliseconds is None else milliseconds / 1000
        self._start = time.perf_counter()

    def is_over(self, share: float = 1.0) -> bool:
        """Return whether a given fraction of the time limit has passed."""
        return self.seconds is None or time.perf_counter() - self._start >= share * self.seconds

    def estimate_affordable(self, done: int) -> int:
        """Estimate how many units of work fit into the whole time limit, given the number done so far."""
        elapsed = max(time.perf_counter() - self._start, 1e-6)
        return int(done * (self.seconds or 0.0) / elapsed)
