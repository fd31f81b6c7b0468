"""Threads for the networks; results do not depend on their number.

Each piece of work is one shard of a batch, computed by one thread from beginning to end, and PyTorch's own threads are
switched off.  Measured against this, PyTorch's threads lose: where another process wants a core, they wait for each
other while spinning, and two of them multiplied matrices of 512 rows at a tenth of the speed of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch
from torch import Tensor

from ddz_env.envs.threads import usable_threads

_LAST_RATE = 0.02

_In = TypeVar("_In")
_Out = TypeVar("_Out")


class Threads:
    """Threads, each with PyTorch's own parallelism off.

    Args:
        threads: How many; None for one a core.

    Raises:
        InvalidOptionError: If the number is out of range.
    """

    def __init__(self, threads: int | None = None) -> None:
        self.threads = usable_threads(threads)
        torch.set_num_threads(1)
        # With OpenMP the setting is per thread, so every thread makes it.
        self._pool = ThreadPoolExecutor(self.threads, "ddz-train", initializer=torch.set_num_threads, initargs=(1,))

    def map(self, function: Callable[[_In], _Out], items: Iterable[_In]) -> list[_Out]:
        """The results of a function, in the order of the items."""
        return list(self._pool.map(function, items))

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown(wait=True, cancel_futures=True)


def shards(count: int, size: int) -> Iterator[slice]:
    """Cut ``count`` rows into shards of ``size``, the last one shorter."""
    for first in range(0, count, size):
        yield slice(first, min(first + size, count))


def add_gradients(
    threads: Threads,
    weights: Sequence[torch.nn.Parameter],
    loss: Callable[[slice], tuple[Tensor, _Out]],
    pieces: Iterable[slice],
) -> list[_Out]:
    """Give weights the gradient of a batch, the sum of those of its shards.

    Args:
        threads: The threads; each computes a shard at a time.
        weights: The weights.
        loss: The share that some rows have in the loss of the batch, and anything else that is to be returned.
        pieces: The rows, shard by shard.

    Returns:
        What ``loss`` returned beside the losses, in the order of the shards.
    """

    def gradient(rows: slice) -> tuple[tuple[Tensor, ...], _Out]:
        part, found = loss(rows)
        return torch.autograd.grad(part, weights, materialize_grads=True), found

    gradients, found = zip(*threads.map(gradient, pieces), strict=True)
    for weight, parts in zip(weights, zip(*gradients, strict=True), strict=True):
        weight.grad = sum(parts[1:], parts[0])
    return list(found)


def take_step(optimizer: torch.optim.Optimizer, rate: float, spent: float, max_gradient: float) -> None:
    """Clip the gradient of all weights together, and take a step whose size falls in a straight line.

    Args:
        optimizer: Has the weights.
        rate: The size of the first step.
        spent: The share of the training that is over, from 0; the last steps have a fiftieth of the size.
        max_gradient: The norm at which the gradient is clipped.
    """
    for group in optimizer.param_groups:
        torch.nn.utils.clip_grad_norm_(group["params"], max_gradient)
        group["lr"] = rate * max(_LAST_RATE, 1.0 - spent)
    optimizer.step()
