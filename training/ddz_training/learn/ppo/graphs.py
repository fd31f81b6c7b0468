"""Captured graphs: what a GPU does for given shapes, recorded once and replayed without asking Python again.

Launching the many small operations of a network takes longer than computing them.  A graph replays them in one launch,
but only with the shapes and at the addresses that it was captured with.  So what is evaluated is padded to few sizes:
rows and pairs that nobody reads, whose gradients are zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ddz_agents.neural.network import PolicyInput, PolicyNetwork

Forward = Callable[[PolicyInput], Tensor]
"""Logits, shape ``[n, 400]``, of observations."""

_WARM_UP = 3
_MOST_GRAPHS = 64
_STEPS = 8


class Captured:
    """A pass, replayed as a graph for each set of shapes.

    Args:
        function: The pass.
    """

    def __init__(self, function: Callable[..., tuple[Tensor, ...]]) -> None:
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


def _capture(function: Callable[..., tuple[Tensor, ...]], tensors: tuple[Tensor, ...]) -> _Graph:
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


class Pass:
    """A gradient of the networks: tensors in, one tensor a weight and the sums of statistics out.

    Its shapes depend on nothing but the shapes that go in, and it does not wait for the device.

    Args:
        function: Takes what the policy sees, or nothing; a named tuple of tensors, a row a decision, with ``counts``;
            and numbers.
        captured: Whether it is replayed as graphs, for which the rows are filled up; those that do so count nothing.
    """

    def __init__(self, function: Callable[..., tuple[Tensor, ...]], captured: bool) -> None:
        self._function = function
        self._graphs = Captured(self._unpacked) if captured else None
        self._parts: tuple[Any, Any] = (tuple, tuple)

    def __call__(self, seen: Any, rows: Any, total: float, *numbers: Any) -> tuple[Tensor, ...]:
        """What the function returns."""
        if self._graphs is None:
            return self._function(seen, rows, total, *numbers)
        seen = pad_input(seen) if seen else seen
        size = len(seen[0]) if seen else padded_size(len(rows.counts))
        filled = rows._make(padded(each, size) for each in rows)
        filled = filled._replace(counts=torch.nn.functional.pad(rows.counts, (0, size - len(rows.counts))))
        # A graph reads the number anew each time.
        count = torch.tensor(float(total), dtype=torch.float64, device=rows.counts.device)
        self._parts = seen, filled
        return self._graphs(*seen, *filled, count, *numbers)

    def _unpacked(self, *tensors: Any) -> tuple[Tensor, ...]:
        seen, rows = self._parts
        first, last = len(seen), len(seen) + len(rows)
        seen = PolicyInput(*tensors[:first]) if seen else seen
        return self._function(seen, rows._make(tensors[first:last]), *tensors[last:])


def replayed(network: PolicyNetwork) -> Forward:
    """A policy's logits by captured graphs."""
    graphs = Captured(lambda *seen: network(*seen)[:1])

    def forward(seen: PolicyInput) -> Tensor:
        return graphs(*pad_input(seen))[0][: len(seen.columns)]

    return forward


def pad_input(seen: PolicyInput) -> PolicyInput:
    """Observations and pairs padded to few sizes, with at least one row that nobody reads."""
    size, pairs = padded_size(len(seen.columns) + 1), padded_size(len(seen.rows))
    rows = padded_pairs(seen.rows, pairs, size - 1)
    return PolicyInput(padded(seen.columns, size), rows, padded(seen.actions, pairs), padded(seen.rests, pairs))


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
