"""A sample of the policies that a run has gone through."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from ddz_agents.neural.tensor_file import Arrays
from ddz_agents.neural.weights import load_module


class PastSelves:
    """A uniform sample of all snapshots so far (reservoir sampling: J. S. Vitter, 1985, algorithm R).

    Args:
        size: How many are kept.

    Attributes:
        members: The snapshots, each weight's name to its array.
        offered: How many there have been.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self.members: list[Arrays] = []
        self.offered = 0

    def offer(self, policy: nn.Module, rng: np.random.Generator) -> None:
        """Take a snapshot; once there is no room it replaces another, or is dropped."""
        self.offered += 1
        room = len(self.members) < self._size
        place = len(self.members) if room else int(rng.integers(self.offered))
        snapshot: Arrays = {name: weight.detach().cpu().numpy().copy() for name, weight in policy.state_dict().items()}
        if room:
            self.members.append(snapshot)
        elif place < self._size:
            self.members[place] = snapshot

    def draw(self, network: nn.Module, rng: np.random.Generator) -> bool:
        """Turn a network into a random member; False if there is none."""
        if not self.members:
            return False
        member = self.members[int(rng.integers(len(self.members)))]
        network.load_state_dict({name: torch.from_numpy(array) for name, array in member.items()})
        return True

    def arrays(self) -> Arrays:
        """All snapshots, for a checkpoint."""
        return {
            f"pool.{place}.{name}": array for place, member in enumerate(self.members) for name, array in member.items()
        }

    def restore(self, arrays: Arrays, about: dict[str, Any], network: nn.Module, where: str) -> None:
        """Continue from a checkpoint.

        Args:
            arrays: The checkpoint's arrays.
            about: ``{"members": ..., "offered": ...}``.
            network: Any network of the right architecture; it is overwritten.
            where: Names the file in messages.

        Raises:
            TensorFileMismatchError: If a snapshot is missing or does not fit.
        """
        self.offered = int(about["offered"])
        self.members = []
        for place in range(int(about["members"])):
            load_module(network, arrays, f"pool.{place}.", where)
            self.members.append({name: weight.cpu().numpy().copy() for name, weight in network.state_dict().items()})
