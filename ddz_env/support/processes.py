"""How processes end: a worker with its parent, and a program with everything that it has started."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

CLOSE_SECONDS = 1.0
"""What agents get to let go of what they hold when a process ends."""

_PROC = Path("/proc")
_ROUNDS, _PAUSE = 200, 0.005
"""How often at most marked processes are looked for and killed, and seconds between."""


def end_with_parent() -> None:
    """End this process when the one that started it has ended, for whatever reason.

    A killed parent cannot end its workers, and the queue that they read from stays open: each holds its other end.
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def serve_parent() -> None:
    """Make this process work for its parent: it ends with it, ignores Ctrl-C, and uses one core."""
    threading.Thread(target=end_with_parent, name="parent-watch", daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # libraries must not start one thread per core


def leave(code: int, close: Callable[[], object] | None = None) -> NoReturn:
    """End this process at once: agents may have left threads and children behind, for which Python would wait.

    Args:
        code: The exit code.
        close: Releases what this process holds; an agent that hangs in it is not waited for.
    """
    if close is not None:
        closing = threading.Thread(target=close, daemon=True)
        closing.start()
        closing.join(CLOSE_SECONDS)
    for child in multiprocessing.active_children():
        child.kill()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
    os._exit(code)


def new_mark(name: str) -> dict[str, str]:
    """A variable for the environment of a program, with a value of its own.

    Args:
        name: The variable.
    """
    return {name: uuid.uuid4().hex}


def marked(mark: dict[str, str]) -> list[int]:
    """The running processes that carry a mark."""
    [(name, value)] = mark.items()
    text = f"{name}={value}".encode()
    pids = []
    for entry in _PROC.glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if int(entry.parent.name) != os.getpid() and text in entry.read_bytes().split(b"\0"):
                pids.append(int(entry.parent.name))
    return pids


def end_marked(mark: dict[str, str]) -> None:
    """Kill every process that carries a mark, until there is none."""
    for _ in range(_ROUNDS):
        pids = marked(mark)
        if not pids:
            return
        for pid in pids:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_PAUSE)
