"""Captured graphs: what a GPU does for given shapes, recorded once and replayed without asking Python again.

Launching the many small operations of a network takes longer than computing them.  A graph replays them in one launch,
but only with the shapes and at the addresses that it was captured with.  So what is evaluated is padded to few sizes:
rows and pairs that nobody reads, whose gradients are zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

Pass = Callable[..., tuple[Tensor, ...]]
"""Tensors to tensors, of shapes that depend on nothing but the shapes that go in, without waiting for the device."""

_WARM_UP = 3
_MOST_GRAPHS = 64
_STEPS = 8


class Captured:
    """A pass, replayed as a graph for each set of shapes.

    Args:
        function: The pass.
    """

    def __init__(self, function: Pass) -> None:
        self._function = function
        self._graphs: dict[tuple[torch.Size, ...], _Graph] = {}

    def __call__(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        """What the pass returns, in new tensors."""
        key = tuple(each.shape for each in tensors)
        if key not in self._graphs:
            if len(self._graphs) == _MOST_GRAPHS:  # each holds memory
                return self._function(*tensors)
            self._graphs[key] = _capture(self._function, tensors)
        graph, given, found = self._graphs[key]
        for place, tensor in zip(given, tensors, strict=True):
            place.copy_(tensor)
        graph.replay()
        return tuple(each.clone() for each in found)


class _Graph(NamedTuple):
    graph: torch.cuda.CUDAGraph
    given: tuple[Tensor, ...]
    found: tuple[Tensor, ...]


def _capture(function: Pass, tensors: tuple[Tensor, ...]) -> _Graph:
    """Record a pass, after it has run beside the main stream: what it compiles and allocates once is not recorded."""
    given = tuple(each.detach().clone() for each in tensors)
    side: torch.cuda.Stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(_WARM_UP):
            function(*given)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = function(*given)
    return _Graph(graph, given, found)


def padded_size(count: int) -> int:
    """The next of the few sizes that graphs are captured for: at most an eighth more.

    Example:
        >>> [padded_size(count) for count in (1, 9, 100, 1000, 4096)]
        [16, 16, 104, 1024, 4096]
    """
    step = 1 << max(count.bit_length() - 4, 3)
    step = step if count > 2 * _STEPS else 2 * _STEPS
    return -(-count // step) * step


def padded(tensor: Tensor, size: int) -> Tensor:
    """A tensor with its last row repeated up to a size."""
    return tensor[torch.arange(size, device=tensor.device).clamp(max=len(tensor) - 1)]


def padded_pairs(rows: Tensor, size: int, unread: int) -> Tensor:
    """The observations of pairs, those that fill up belonging to a row that nobody reads."""
    found = torch.full((size,), unread, dtype=rows.dtype, device=rows.device)
    found[: len(rows)] = rows
    return found
