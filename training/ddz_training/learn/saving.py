"""When a run is saved: by time, so that a kill costs seconds whatever a step takes."""

from __future__ import annotations

import math
import time

SECONDS = 10.0
"""Between two times; a save takes a small part of one."""


class Saving:
    """Says when a run is to be saved: after its first step, so that a fault shows at once, and then by time."""

    def __init__(self) -> None:
        self._last = -math.inf

    def is_due(self) -> bool:
        """Whether it is time; the next time is counted from here."""
        now = time.monotonic()
        due = now - self._last >= SECONDS
        if due:
            self._last = now
        return due
