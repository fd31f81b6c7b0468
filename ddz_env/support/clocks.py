"""Clocks: a thinking time that runs out, and clocks that stand still while Numba compiles."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ddz_env.support.compiling import CompileListener


class Clock:
    """A thinking time that begins to run when it is made.

    Args:
        milliseconds: How long; None for a budget other than time, with which the clock is always over.
    """

    def __init__(self, milliseconds: float | None) -> None:
        self.seconds = None if milliseconds is None else milliseconds / 1000
        self._start = time.perf_counter()

    def over(self, share: float = 1.0) -> bool:
        """Whether a share of the time is spent."""
        return self.seconds is None or time.perf_counter() - self._start >= share * self.seconds

    def affordable(self, done: int) -> int:
        """How much can be done in all, at the speed of what has been done so far."""
        elapsed = max(time.perf_counter() - self._start, 1e-6)
        return int(done * (self.seconds or 0.0) / elapsed)


class ThinkingClock(CompileListener):
    """A clock that stops while Numba compiles.

    Args:
        clock: The time, in seconds.

    Example:
        >>> clock = ThinkingClock(time.perf_counter)
        >>> clock() <= clock()
        True
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._stopped = 0.0
        self._since = 0.0
        self._depth = 0
        self.listen()

    def __call__(self) -> float:
        """Seconds; only differences are meaningful."""
        return (self._since if self._depth else self._clock()) - self._stopped

    def on_start(self, event: Any) -> None:
        """Stop the clock."""
        if self._depth == 0:
            self._since = self._clock()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        """Start the clock again, unless something else is still being compiled."""
        self._depth -= 1
        if self._depth == 0:
            self._stopped += self._clock() - self._since


thinking_time = ThinkingClock(time.perf_counter)
"""Seconds of wall time."""

processor_time = ThinkingClock(time.process_time)
"""Seconds of processor time."""
