"""What a fresh machine compiles, in the order in which a person needs it, while the page is served.

Compiling takes Python's lock and Numba's, so a server that compiles answers late.  On an empty cache two helper
processes therefore compile into the cache, and the server loads what they have made.  Nothing depends on them: what
is missing is compiled where it is asked for.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from ddz_env.core.engine.cache import cache_root
from ddz_env.playing.provenance import code_stamp
from ddz_training.measure.match.ordered_map import end_with_parent

_HELPERS = 2
_NICER = 5
"""The helpers' place behind the server when both want a core."""
_log = logging.getLogger(__name__)


class Step(NamedTuple):
    """Something to prepare.

    Attributes:
        what: What a person is told: ``table``, ``opponents``, ``hints``, ``search`` or ``puzzles``.
        name: What waits for it: an agent's specification, or its own.
        work: Does it, by doing once what will be asked for; a function of a module, with its arguments.
        given: These arguments.
    """

    what: str
    name: str
    work: Callable[..., object]
    given: tuple[Any, ...] = ()


class Preparation:
    """Prepares one step after the other.

    Args:
        steps: In the order in which they are needed.
    """

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = tuple(steps)
        self._done = {step.name: threading.Event() for step in steps}
        self._queue: list[Step] = []
        self._lock = threading.Lock()
        self._begun = self._helped = False

    def start(self) -> None:
        """Begin, in threads of this process; with helpers where the cache has nothing of this code yet."""
        mark = self._mark()
        self._begun, self._helped, self._queue = True, mark is not None and not mark.exists(), list(self._steps)
        for _ in range(_HELPERS if self._helped else 1):
            threading.Thread(target=self._prepare, args=(mark,), daemon=True).start()

    def status(self) -> dict[str, Any]:
        """How far it is, as the page reads it; ready too where nothing was begun."""
        left = [step for step in self._steps if self._begun and not self._done[step.name].is_set()]
        total = len(self._steps)
        preparing = left[0].what if left else None
        return {"ready": not left, "preparing": preparing, "done": total - len(left), "of": total}

    def is_ready(self, name: str) -> bool:
        """Whether nothing has to be waited for: without helpers, nobody else is at work on it."""
        return not self._helped or name not in self._done or self._done[name].is_set()

    def wait(self, name: str) -> None:
        """Wait until a step is done, which comes next; at once where there is nothing to wait for."""
        if self.is_ready(name):
            return
        with self._lock:
            self._queue.sort(key=lambda step: step.name != name)
        self._done[name].wait()

    def _prepare(self, mark: Path | None) -> None:
        """Do steps until none is left."""
        with _Helper() if self._helped else contextlib.nullcontext() as helper:
            while (step := self._next()) is not None:
                try:
                    if helper is not None:
                        helper.do(step)
                    step.work(*step.given)
                except Exception as fault:  # told to whoever asks for it
                    _log.debug("preparing %s: %s", step.name, fault)
                finally:
                    self._done[step.name].set()
        if mark is not None and self.status()["ready"]:
            with contextlib.suppress(OSError):
                mark.touch()

    def _next(self) -> Step | None:
        with self._lock:
            return self._queue.pop(0) if self._queue else None

    def _mark(self) -> Path | None:
        """The file that says that these steps are in the cache; None where there is no cache."""
        root = cache_root()
        names = "\n".join([code_stamp("ddz_training.apps.web"), *(step.name for step in self._steps)])
        return None if root is None else root / f"prepared-{hashlib.sha256(names.encode()).hexdigest()[:16]}"


class _Helper:
    """A process that does steps first, so that this one only loads what it compiled."""

    def __enter__(self) -> _Helper:
        context = multiprocessing.get_context("spawn")
        self._mine, theirs = context.Pipe()
        self._process = context.Process(target=_help, args=(theirs,), daemon=True)
        with contextlib.suppress(OSError):  # no memory, no processes left: everything is compiled here
            self._process.start()
        theirs.close()
        return self

    def do(self, step: Step) -> None:
        """Have a step done, whatever comes of it."""
        with contextlib.suppress(OSError, EOFError):
            self._mine.send(step)
            self._mine.recv()

    def __exit__(self, *_: object) -> None:
        self._mine.close()


def _help(connection: Connection) -> None:
    """Do steps until nobody asks any more, or nobody is left who could; Ctrl-C is the server's."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end_with_parent, daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(_NICER)
    with contextlib.suppress(EOFError, OSError):
        while True:
            step: Step = connection.recv()
            with contextlib.suppress(Exception):
                step.work(*step.given)
            connection.send(None)
