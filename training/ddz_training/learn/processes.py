"""The processes of one run, where each plays its own games on its own GPU and all learn from all games.

A run of several processes is started by ``torchrun``.  Gradients are added up before every step (data parallelism), so
that all processes have the same weights; the first one writes files and measures strength.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.distributed as dist
from torch import Tensor

from ddz_training.learn.errors import LostProcessError


class Processes:
    """The processes of a run as seen by one of them, or a single process without ``torchrun``.

    Args:
        rank: The number of this process.
        size: How many there are.
    """

    def __init__(self, rank: int = 0, size: int = 1) -> None:
        self.rank, self.size = rank, size

    @property
    def is_leader(self) -> bool:
        """Whether this process writes files and measures strength."""
        return self.rank == 0

    def all_reduce(self, tensors: Sequence[Tensor]) -> None:
        """Replace tensors with their sums over all processes.

        Raises:
            LostProcessError: If another process is gone.
        """
        if self.size == 1 or not tensors:
            return
        flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
        with _lost_process_errors():
            dist.all_reduce(flat)
        for tensor, part in zip(tensors, torch.split(flat, [tensor.numel() for tensor in tensors]), strict=True):
            tensor.copy_(part.view_as(tensor))

    def sum_numbers(self, numbers: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Sum numbers over all processes in float64.

        Raises:
            LostProcessError: If another process is gone.
        """
        summed = torch.as_tensor(np.atleast_1d(np.asarray(numbers, np.float64))).clone()
        self.all_reduce([summed])
        return summed.numpy()

    def broadcast(self, number: float) -> float:
        """Return in every process the number that the first process gives.

        Raises:
            LostProcessError: If another process is gone.
        """
        return float(self.sum_numbers(number if self.is_leader else 0.0)[0])

    def gather(self, part: Any) -> list[Any]:
        """Gather a value from each process in the first one; the other processes get an empty list.

        Raises:
            LostProcessError: If another process is gone.
        """
        if self.size == 1:
            return [part]
        parts: list[Any] = [None] * self.size
        with _lost_process_errors():
            dist.gather_object(part, parts if self.is_leader else None)
        return parts if self.is_leader else []


@contextlib.contextmanager
def _lost_process_errors() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:  # what every backend raises where a connection is closed
        raise LostProcessError(f"another process of this run is gone; resume all of them ({error})") from error


@contextlib.contextmanager
def join_processes(device: str) -> Iterator[Processes]:
    """Connect the processes that ``torchrun`` has started, or use this process alone if there are none.

    Args:
        device: ``cuda``: by NCCL, each process with the GPU of its local rank; ``cpu``: by gloo.
    """
    if not dist.is_torchelastic_launched():
        yield Processes()
        return
    if device == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("cpu:gloo,cuda:nccl" if device == "cuda" else "gloo")
    try:
        yield Processes(dist.get_rank(), dist.get_world_size())
    finally:
        dist.destroy_process_group()


def threads_of_process(threads: int | None) -> int | None:
    """Choose this process's number of threads, by default an equal share of the cores for each process."""
    local = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return threads if threads is not None or local == 1 else max(1, cores // local)
