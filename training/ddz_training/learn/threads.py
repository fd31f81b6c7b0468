"""A thread pool for network computations whose results do not depend on the number of threads.

Each piece of work is one microbatch, computed by one thread from beginning to end, and PyTorch's own threads are
switched off.  Measured against this, PyTorch's threads lose: where another process wants a core, they wait for each
other while spinning, and two of them multiplied matrices of 512 rows at a tenth of the speed of one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch
from torch import Tensor

from ddz_agents.rules.workspace import RuleWorkspace, new_rule_workspace
from ddz_env.support.threads import check_threads

_FINAL_LR_FACTOR = 0.02
_MAX_LEADERS = 16
_CHUNKS_PER_THREAD, _SMALLEST_CHUNK = 2, 64

_In = TypeVar("_In")
_Out = TypeVar("_Out")


class Threads:
    """A pool of threads, each of which runs PyTorch with PyTorch's own parallelism switched off.

    Args:
        threads: How many; None for one per core.
        share_groups: Whether the items of one group of games are shared among the threads, for a device whose groups
            take turns with it; otherwise each thread has a group of its own.

    Attributes:
        threads: How many.
        busy: Seconds that the threads have worked, all together.

    Raises:
        InvalidOptionError: If the number is out of range.
    """

    def __init__(self, threads: int | None = None, *, share_groups: bool = False) -> None:
        self.threads, self.busy = check_threads(threads), 0.0
        torch.set_num_threads(1)
        # With OpenMP the setting is per thread, so every thread makes it.
        self._pool = ThreadPoolExecutor(self.threads, "ddz-train", initializer=torch.set_num_threads, initargs=(1,))
        self._leaders = ThreadPoolExecutor(_MAX_LEADERS, "ddz-lead") if share_groups else self._pool
        self._share_groups, self._own, self._lock = share_groups, threading.local(), threading.Lock()

    def map(self, function: Callable[[_In], _Out], items: Iterable[_In]) -> list[_Out]:
        """Call a function for each item, and return the results in the order of the items."""
        return list(self._pool.map(function, items))

    def map_groups(self, function: Callable[[int], _Out], count: int) -> list[_Out]:
        """Call a function, which may use :meth:`run_in_chunks`, for each group number in ``0..count-1``."""
        return list(self._leaders.map(function if self._share_groups else self._with_timing(function), range(count)))

    def run_in_chunks(self, function: Callable[..., object], count: int, *, searches: bool = False) -> None:
        """Call a kernel with ``first, stop`` for chunks of ``0..count``, or once if threads do not share groups.

        Args:
            function: Its results do not depend on the chunks.
            count: How many items.
            searches: Whether it also takes its thread's memory for searches through hands.
        """

        def work(first: int) -> None:
            function(first, min(first + size, count), *([self._workspace()] if searches else []))

        size = max(_SMALLEST_CHUNK, -(-count // (_CHUNKS_PER_THREAD * self.threads))) if self._share_groups else count
        if self._share_groups:
            list(self._pool.map(self._with_timing(work), range(0, count, size)))
        else:
            work(0)

    def _with_timing(self, function: Callable[[int], _Out]) -> Callable[[int], _Out]:
        """Wrap a function so that its run time is added to :attr:`busy`."""

        def timed(item: int) -> _Out:
            began = time.perf_counter()
            try:
                return function(item)
            finally:
                with self._lock:
                    self.busy += time.perf_counter() - began

        return timed

    def _workspace(self) -> RuleWorkspace:
        """Return the calling thread's workspace for the rule agent's kernels, created on first use."""
        if not hasattr(self._own, "workspace"):
            self._own.workspace = new_rule_workspace()
        scratch: RuleWorkspace = self._own.workspace
        return scratch

    def close(self) -> None:
        """Shut down the pool's threads, cancelling work that has not started."""
        for pool in {self._pool, self._leaders}:
            pool.shutdown(wait=True, cancel_futures=True)


def split_rows(count: int, size: int) -> Iterator[slice]:
    """Yield slices of ``size`` array rows that cover ``0..count``; the last slice may be shorter."""
    for first in range(0, count, size):
        yield slice(first, min(first + size, count))


def accumulate_gradients(
    threads: Threads,
    weights: Sequence[torch.nn.Parameter],
    loss: Callable[[slice], tuple[Tensor, _Out]],
    pieces: Iterable[slice],
) -> list[_Out]:
    """Compute the loss gradients of microbatches in parallel, and store their sum in the weights' ``grad``.

    Args:
        threads: The threads; each computes a microbatch at a time.
        weights: The weights.
        loss: Computes the part of some rows in the loss of the batch, and anything else that is to be returned.
        pieces: The rows, microbatch by microbatch.

    Returns:
        What ``loss`` returned beside the losses, in the order of the microbatches.
    """

    def gradient(rows: slice) -> tuple[tuple[Tensor, ...], _Out]:
        part, details = loss(rows)
        return torch.autograd.grad(part, weights, materialize_grads=True), details

    gradients, details = zip(*threads.map(gradient, pieces), strict=True)
    for weight, parts in zip(weights, zip(*gradients, strict=True), strict=True):
        weight.grad = sum(parts[1:], parts[0])
    return list(details)


def take_gradient_step(optimizer: torch.optim.Optimizer, rate: float, spent: float, max_grad_norm: float) -> None:
    """Clip the total gradient norm, and take one optimizer step at a linearly decreasing learning rate.

    Args:
        optimizer: Has the weights.
        rate: The size of the first step.
        spent: The share of the training that is over, from 0; the last steps have a fiftieth of the size.
        max_grad_norm: The norm at which the gradient is clipped.
    """
    for group in optimizer.param_groups:
        torch.nn.utils.clip_grad_norm_(group["params"], max_grad_norm)
        group["lr"] = rate * max(_FINAL_LR_FACTOR, 1.0 - spent)
    optimizer.step()
