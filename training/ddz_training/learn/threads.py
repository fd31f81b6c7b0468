"""Threads for the networks, in such a way that results do not depend on how many there are.

Each piece of work is one shard of a batch, computed by one thread from beginning to end, and PyTorch's own threads are
switched off.  They were measured against this: where another process wants a core, PyTorch's threads wait for each
other while spinning, and two of them multiplied matrices of 512 rows at a tenth of the speed of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

from ddz_env.envs.threads import usable_threads

_In = TypeVar("_In")
_Out = TypeVar("_Out")


class Threads:
    """Threads, each with PyTorch's own parallelism off.

    Args:
        threads: How many; None for one a core.
        here: Use none of them: everything is done where :meth:`map` is called.

    Raises:
        InvalidOptionError: If the number is out of range.
    """

    def __init__(self, threads: int | None = None, *, here: bool = False) -> None:
        self.threads = usable_threads(threads)
        self._here = here
        torch.set_num_threads(1)
        # The setting belongs to the thread where PyTorch is built on OpenMP: every thread makes it.
        self._pool = ThreadPoolExecutor(self.threads, "ddz-train", initializer=torch.set_num_threads, initargs=(1,))

    def map(self, function: Callable[[_In], _Out], items: Iterable[_In]) -> list[_Out]:
        """The results of a function, in the order of the items."""
        return list(self._pool.map(function, items) if not self._here else map(function, items))

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown(wait=True, cancel_futures=True)


def shards(count: int, size: int) -> Iterator[slice]:
    """Cut ``count`` rows into shards of ``size``, the last one shorter."""
    for first in range(0, count, size):
        yield slice(first, min(first + size, count))
