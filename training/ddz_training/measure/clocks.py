"""A clock that stops while Numba compiles, so that compile time does not count as thinking or training time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ddz_env.support.compiling import CompileListener


class PausingClock(CompileListener):
    """A clock in seconds that leaves out the time for which Numba compiles.

    Args:
        clock: The time, in seconds.

    Attributes:
        stopped: Seconds that it has been stopped.

    Example:
        >>> clock = PausingClock(time.perf_counter)
        >>> clock() <= clock()
        True
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.stopped = 0.0
        self._clock = clock
        self._since = 0.0
        self._depth = 0
        self.register()

    def __call__(self) -> float:
        """Return the time in seconds, without compile time; only differences are meaningful."""
        return (self._since if self._depth else self._clock()) - self.stopped

    @property
    def is_stopped(self) -> bool:
        """Whether Numba is compiling at the moment."""
        return self._depth > 0

    def exclude(self, seconds: float) -> None:
        """Exclude from the clock's time the seconds that another process spent compiling."""
        self.stopped += seconds

    def on_start(self, event: Any) -> None:
        """Stop the clock when a compilation starts."""
        if self._depth == 0:
            self._since = self._clock()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        """Start the clock again when a compilation ends, unless another one is still running."""
        self._depth -= 1
        if self._depth == 0:
            self.stopped += self._clock() - self._since


wall_time = PausingClock(time.perf_counter)
"""Seconds of wall time."""

cpu_time = PausingClock(time.process_time)
"""Seconds of processor time."""
