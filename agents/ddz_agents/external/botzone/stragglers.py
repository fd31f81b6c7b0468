"""Ending all descendants of a program, also those that left its process group: they carry a mark in their environment.

This needs ``/proc`` (Linux); elsewhere only the process group ends.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
import uuid
from pathlib import Path

_PROC = Path("/proc")
_ROUNDS = 200
_PAUSE = 0.005


def new_mark(name: str) -> dict[str, str]:
    """A variable for the environment of a program that nobody else has.

    Args:
        name: The variable.
    """
    return {name: uuid.uuid4().hex}


def marked(mark: dict[str, str]) -> list[int]:
    """The running processes that carry a mark."""
    [(name, value)] = mark.items()
    text = f"{name}={value}".encode()
    found = []
    for entry in _PROC.glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if int(entry.parent.name) != os.getpid() and text in entry.read_bytes().split(b"\0"):
                found.append(int(entry.parent.name))
    return found


def end_marked(mark: dict[str, str]) -> None:
    """Kill every process that carries a mark, until there is none."""
    for _ in range(_ROUNDS):
        found = marked(mark)
        if not found:
            return
        for pid in found:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_PAUSE)
