"""Sharing the games of a batch among threads.

Kernels release the interpreter's lock, so plain Python threads suffice.  Numba's own ``prange`` was measured against
them: with both cores free it steps 4,096 games equally fast, but as soon as another process wants a core its OpenMP
threads wait for each other while spinning, and a step takes up to fifty times as long.  A parallel kernel also takes
seconds to compile, and must not be used on both sides of a ``fork``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ddz_env.checks import check_integer

MOST_THREADS = 256
_CHUNKS_PER_THREAD = 4  # a thread that loses its core for a while leaves its share to the others
_SMALLEST_CHUNK = 64  # a call costs microseconds, a game less than one

_pools: dict[int, ThreadPoolExecutor] = {}


def usable_threads(threads: int | None) -> int:
    """Check a number of threads; None stands for the cores this process may use.

    Raises:
        InvalidOptionError: If it is not in 1..256.
    """
    if threads is None:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        return min(cores or 1, MOST_THREADS)
    return check_integer("threads", threads, 1, MOST_THREADS)


def run_chunks(function: Callable[..., Any], count: int, threads: int, *arguments: Any) -> None:
    """Call ``function(first, stop, *arguments)`` for chunks that cover ``0..count``, on several threads.

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
    pool = _pool()
    futures = [pool.submit(_work, starts, function, count, size, arguments) for _ in range(helpers)]
    _work(starts, function, count, size, arguments)
    for future in futures:
        future.result()


def _work(
    starts: Iterator[int], function: Callable[..., Any], count: int, size: int, arguments: tuple[Any, ...]
) -> None:
    for first in starts:  # shared: the interpreter's lock makes taking the next start atomic
        function(first, min(first + size, count), *arguments)


def _pool() -> ThreadPoolExecutor:
    """This process's pool: threads do not survive a fork."""
    process = os.getpid()
    if process not in _pools:
        _pools.clear()
        _pools[process] = ThreadPoolExecutor(MOST_THREADS, thread_name_prefix="ddz-batch")
    return _pools[process]
