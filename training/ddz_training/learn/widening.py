"""Larger networks that begin where smaller ones are: wider by copies of their units, deeper by quiet blocks.

A copy of a unit sees what the unit sees, and what they send on is split between them at random.  So the function is the
same, and the copies learn different things (T. Chen, I. Goodfellow and J. Shlens, "Net2Net: Accelerating learning via
knowledge transfer", ICLR 2016).  Every unit has equally many copies, so layer normalization sees the same mean and
variance.  A block that is added begins with small weights and changes next to nothing.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from ddz_agents.neural.model import Floats
from ddz_training.learn.errors import InvalidTrainingError

_QUIET = 0.01
"""What the weights of an added block begin with is multiplied by."""


def grow(network: nn.Module, start: nn.Module, rng: np.random.Generator) -> None:
    """Turn a network into one that computes what a smaller one does.

    Args:
        network: A policy or a critic, new; its weights are replaced.
        start: One of the same kind, of the same size or smaller.
        rng: Splits what the copies of a unit send on.

    Raises:
        InvalidTrainingError: If a width is not a multiple of the smaller one's, or the network is otherwise smaller.
    """
    old, new = start.state_dict(), network.state_dict()
    last, final = _last_layer(old), _last_layer(new)
    if final < last:
        raise _unfit(f"{final - 2} blocks, and the weights have {last - 2}")
    for name, weight in new.items():
        source = name.replace(f"trunk.{final}.", f"trunk.{last}.") if name.startswith(f"trunk.{final}.") else name
        layer = int(name.split(".")[1]) if name.startswith("trunk.") else 0
        if last <= layer < final:
            if "linear" in name:
                weight.mul_(_QUIET)
        else:
            weight.copy_(torch.from_numpy(_stretched(old[source].numpy(), tuple(weight.shape), name, rng)))
    network.load_state_dict(new)


def _last_layer(weights: dict[str, torch.Tensor]) -> int:
    """The number of the normalization that ends the trunk."""
    return max(int(name.split(".")[1]) for name in weights if name.startswith("trunk."))


def _stretched(weight: Floats, shape: tuple[int, ...], name: str, rng: np.random.Generator) -> Floats:
    """A weight with its rows copied, and with each column split at random among the copies of its unit."""
    times = [large // small for small, large in zip(weight.shape, shape, strict=True)]
    if any(small * time != large for small, large, time in zip(weight.shape, shape, times, strict=True)):
        raise _unfit(f"{name} of shape {list(shape)}, no multiple of {list(weight.shape)}")
    tall = np.concatenate([weight] * times[0])
    if len(times) == 1 or times[1] == 1:
        return tall
    shares = rng.dirichlet(np.full(times[1], 4.0), size=tall.shape).astype(np.float32)
    return np.concatenate([tall * shares[..., copy] for copy in range(times[1])], axis=1)


def _unfit(what: str) -> InvalidTrainingError:
    return InvalidTrainingError(f"the weights to start from cannot grow to the run's architecture: it has {what}")
