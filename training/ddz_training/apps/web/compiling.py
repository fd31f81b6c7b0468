"""Whether this process is compiling kernels: a page that waits says so."""

from __future__ import annotations

import functools
from typing import Any

from numba.core import event


class _Compilations(event.Listener):  # type: ignore[misc]  # Numba ships no types
    """Counts the compilations that have begun and not ended."""

    running = 0

    def on_start(self, event: Any) -> None:
        self.running += 1

    def on_end(self, event: Any) -> None:
        self.running -= 1


@functools.cache
def _compilations() -> _Compilations:
    found = _Compilations()
    event.register("numba:compile", found)
    return found


def watch() -> None:
    """Count compilations from now on."""
    _compilations()


def is_compiling() -> bool:
    """Whether a kernel is being compiled now."""
    return _compilations().running > 0
