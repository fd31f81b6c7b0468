"""Distribution of a batch of games among threads.

Kernels release the interpreter's lock, so plain Python threads suffice.  Numba's own ``prange`` was measured against
them: with both cores free it steps 4,096 games equally fast, but as soon as another process wants a core its OpenMP
threads wait for each other while spinning, and a step takes up to fifty times as long.  A parallel kernel also takes
seconds to compile, and must not be used on both sides of a ``fork``.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar, cast

from ddz_env.support.checks import check_integer
from ddz_env.support.errors import SharedGamesError

MAX_THREADS = 256
_CHUNKS_PER_THREAD = 4  # a thread that loses its core for a while leaves its share to the others
_SMALLEST_CHUNK = 64  # a call costs microseconds, a game less than one

_F = TypeVar("_F", bound=Callable[..., Any])


class GamesLock:
    """A lock that lets one thread at a time use a batch of games; copies start out unlocked.

    Kernels release the interpreter's lock, and a step checks its actions in one call and plays them in the next: a
    second thread in between would play actions that are not checked, and compiled code does not survive that.
    """

    __slots__ = ("acquire", "release")

    def __init__(self) -> None:
        lock = threading.Lock()
        self.acquire, self.release = lock.acquire, lock.release

    def __reduce__(self) -> tuple[Any, ...]:
        return GamesLock, ()

    def make_error(self) -> SharedGamesError:
        """Create the error to raise when a second thread uses the games at the same time."""
        return SharedGamesError(
            "another thread is using these games at this moment: give each thread its own games, or let one thread "
            "have them until it is done"
        )


def exclusive(method: _F) -> _F:
    """Decorate a method so that one thread at a time runs it, guarded by the object's :class:`GamesLock`.

    Raises:
        SharedGamesError: If another thread is in a method of this object.  Nothing has changed.
    """

    @functools.wraps(method)
    def alone(self: Any, *arguments: Any, **options: Any) -> Any:
        lock = self._lock
        if not lock.acquire(False):
            raise lock.make_error()
        try:
            return method(self, *arguments, **options)
        finally:
            lock.release()

    return cast(_F, alone)


def check_threads(threads: int | None) -> int:
    """Check a number of threads and return it; None means all cores that this process may use.

    Raises:
        InvalidOptionError: If it is not in 1..256.
    """
    if threads is None:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        return min(cores or 1, MAX_THREADS)
    return check_integer("threads", threads, 1, MAX_THREADS)


def run_chunks(function: Callable[..., Any], count: int, threads: int, *arguments: Any) -> None:
    """Call ``function(first, stop, *arguments)`` on several threads, for chunks that together cover ``0..count``.

    The result must not depend on the order or the size of the chunks.

    Args:
        function: A kernel; it releases the interpreter's lock.
        count: How many items.
        threads: How many threads at most, the caller's included.
        *arguments: Passed on.
    """
    size = max(_SMALLEST_CHUNK, -(-count // (threads * _CHUNKS_PER_THREAD)))
    if threads == 1 or count <= size:
        function(0, count, *arguments)
        return
    starts = iter(range(0, count, size))
    helpers = min(threads, -(-count // size)) - 1
    pool = _get_pool(os.getpid())
    futures = [pool.submit(_run_remaining_chunks, starts, function, count, size, arguments) for _ in range(helpers)]
    try:
        _run_remaining_chunks(starts, function, count, size, arguments)
    finally:
        # A thread that has not begun is not waited for: nothing is left for it to do.
        errors = [future.exception() for future in futures if not future.cancel()]
    for error in filter(None, errors):
        raise error


def _run_remaining_chunks(
    starts: Iterator[int], function: Callable[..., Any], count: int, size: int, arguments: tuple[Any, ...]
) -> None:
    for first in starts:  # shared: the interpreter's lock makes taking the next start atomic
        function(first, min(first + size, count), *arguments)


@functools.lru_cache(maxsize=1)
def _get_pool(_process: int) -> ThreadPoolExecutor:
    """Return this process's thread pool, making a new one after a fork, which threads do not survive."""
    return ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="ddz-batch")
