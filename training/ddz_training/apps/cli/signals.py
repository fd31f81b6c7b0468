"""Ctrl-C and a polite kill are answered within two seconds, wherever the command is.

Python calls its signal handlers between two of its own instructions.  Compiled code and compilers may delay them for as
long as they run; a thread then ends the process instead.  Where they call back into Python, an interruption is lost and
is raised again.  What was saved is whole at any moment.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

EXIT_INTERRUPTED = 130

PATIENCE = 1.5
"""Seconds that Python's own handler has to answer."""
_ONCE_MORE = 0.05
"""Seconds until a lost interruption is raised again."""

STOPPING = "stopping after the update at hand; Ctrl-C once more ends at once"

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class _Watch:
    """What the thread and the handlers know of each other."""

    answers = 0
    """How many signals the handlers have answered."""
    finishing = False
    """Whether the command finishes what is at hand after the first signal."""


@contextmanager
def answering(answer: Callable[[], None]) -> Iterator[None]:
    """Answer Ctrl-C and a polite kill; outside the main thread it does nothing.

    Args:
        answer: Called at each of these signals; it may raise.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(number: int, frame: Any) -> None:
        _Watch.answers += 1
        answer()

    before = {number: signal.signal(number, handle) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def interrupt() -> None:
    """The answer of most commands: both signals end them."""
    raise KeyboardInterrupt


@contextmanager
def finishing(say: Callable[[str], None]) -> Iterator[Callable[[], bool]]:
    """Let the first signal only request the end; the second one raises ``KeyboardInterrupt``.

    Args:
        say: Called with the answer to the first.

    Yields:
        Whether the run is to end.
    """
    requests: list[str] = []

    def request() -> None:
        if requests:
            interrupt()
        requests.append(STOPPING)
        say(STOPPING)

    _Watch.finishing = True
    try:
        with answering(request):
            yield lambda: bool(requests)
    finally:
        _Watch.finishing = False


def end_soon() -> None:
    """End the process by force if it has not ended by itself; nothing is left to save."""
    force = threading.Timer(PATIENCE, os._exit, (0,))
    force.daemon = True
    force.start()


def watch() -> None:
    """Start the thread that answers where Python's own handlers do not come to it (on POSIX)."""
    if os.name != "posix":
        return
    sys.unraisablehook = _interrupt_again
    heard, arrived = os.pipe()
    os.set_blocking(arrived, False)
    signal.set_wakeup_fd(arrived, warn_on_full_buffer=False)
    threading.Thread(target=_listen, args=(heard,), name="signals", daemon=True).start()


def _interrupt_again(lost: sys.UnraisableHookArgs) -> None:
    """Interrupt again where it could not be raised: in what a compiler calls back, or in a finalizer."""
    if lost.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(lost)
        return
    again = threading.Timer(_ONCE_MORE, signal.pthread_kill, (threading.get_ident(), signal.SIGINT))
    again.daemon = True
    again.start()


def _listen(heard: int) -> None:
    came = _Watch.answers
    while number := os.read(heard, 1):
        if number[0] not in _SIGNALS:
            continue
        came, deadline = came + 1, time.monotonic() + PATIENCE
        while _Watch.answers < came and time.monotonic() < deadline:
            time.sleep(_ONCE_MORE)
        if _Watch.answers >= came:
            continue
        if not _Watch.finishing:
            os.write(2, b"interrupted\n")
            os._exit(EXIT_INTERRUPTED)
        _Watch.finishing = False  # once more ends at once
        os.write(2, f"{STOPPING}\n".encode())
