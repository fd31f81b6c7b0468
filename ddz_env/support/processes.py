"""Ending of processes: workers end with their parent, and a program with all processes that it started."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import NoReturn

CLOSE_SECONDS = 0.5
"""What agents get to let go of what they hold when a process ends."""


def bind_to_parent(lifeline: Connection, close: Callable[[], object]) -> None:
    """Make this process a worker that ends with its parent, ignores Ctrl-C and uses one core.

    It leads a group of processes, which ends with it; Windows has no such groups.

    Args:
        lifeline: The end of a pipe whose other end is the parent's alone: it closes when the parent closes it or ends,
            for whatever reason.
        close: Releases what this process holds.
    """

    def end_with_parent() -> None:
        lifeline.poll(None)
        _close_and_flush(close)
        if hasattr(os, "killpg"):
            os.killpg(0, signal.SIGKILL)
        os._exit(0)

    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)
    threading.Thread(target=end_with_parent, name="parent-watch").start()  # Python waits for it
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # libraries must not start one thread per core


def kill_process_group(leader: int | None) -> None:
    """Kill a process and the process group that it leads, ignoring those that no longer exist.

    Args:
        leader: The number of the process; None if it was never started.
    """
    if leader is not None:
        with contextlib.suppress(OSError, AttributeError):  # Windows has no groups
            os.killpg(leader, signal.SIGKILL)


def exit_at_once(code: int, close: Callable[[], object] | None = None) -> NoReturn:
    """Exit this process at once, without waiting for threads and child processes that agents may have left behind.

    Args:
        code: The exit code.
        close: Releases what this process holds; an agent that hangs in it is not waited for.
    """
    _close_and_flush(close)
    for child in multiprocessing.active_children():
        child.kill()
    os._exit(code)


def _close_and_flush(close: Callable[[], object] | None) -> None:
    if close is not None:
        closing = threading.Thread(target=close, daemon=True)
        closing.start()
        closing.join(CLOSE_SECONDS)
    for stream in filter(None, (sys.stdout, sys.stderr)):  # a daemon's are None
        with contextlib.suppress(OSError):
            stream.flush()
