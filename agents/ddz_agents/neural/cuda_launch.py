"""Launching compiled kernels on PyTorch's tensors: one thread a row, in PyTorch's own order of work, nothing copied.

Words of the engine are unsigned; PyTorch calculates with signed ones, so tensors hold the same bits as int64 and
:func:`words` shows them to a kernel.  Under Numba's simulator tensors of the CPU stand for those of a device.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import torch
from numba import cuda
from torch import Tensor

from ddz_env.envs.cuda_batch import THREADS_PER_BLOCK, check_device, simulated


def torch_device() -> torch.device:
    """Where tensors lie that kernels are launched on.

    Raises:
        NoDeviceError: If there is no device.
    """
    _check_once()
    return torch.device("cpu" if simulated() else "cuda")


@functools.cache
def _check_once() -> None:
    check_device()


def words(tensor: Tensor) -> Any:
    """A tensor of int64 as unsigned words that a kernel takes."""
    return device_array(tensor).view(np.uint64)


def device_array(tensor: Tensor) -> Any:
    """A tensor as a device array of Numba's, sharing memory.

    Raises:
        NoDeviceError: If the tensor does not lie on a device, and none is simulated.
    """
    _check_once()
    if simulated():
        from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray

        return FakeCUDAArray(tensor.detach().numpy())
    return cuda.as_cuda_array(tensor.detach())


def as_tensor(array: Any) -> Tensor:
    """A device array of Numba's as a tensor, sharing memory; words become int64."""
    signed = array.view(np.int64) if array.dtype == np.uint64 else array
    return torch.from_numpy(signed.__array__()) if simulated() else torch.as_tensor(signed, device="cuda")


def launch(kernel: Any, count: int, *arguments: Any) -> None:
    """Run a kernel with a thread a row; it is queued behind what PyTorch has queued.

    Args:
        kernel: A kernel of :func:`numba.cuda.jit`; it must leave threads beyond the rows alone.
        count: How many rows.
        *arguments: Tensors, arrays of the device, and numbers.
    """
    if not count:
        return
    threads = min(THREADS_PER_BLOCK, count) if simulated() else THREADS_PER_BLOCK
    given = [device_array(each) if isinstance(each, Tensor) else each for each in arguments]
    kernel[-(-count // threads), threads, _stream()](*given)


def _stream() -> Any:
    """PyTorch's current stream: kernels take part in what it captures."""
    if simulated():
        return 0
    handle = torch.cuda.current_stream().cuda_stream
    return cuda.external_stream(handle) if handle else 0
