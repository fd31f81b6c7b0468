"""Trained weights on disk: safetensors with what they are for; nothing is ever unpickled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from ddz_agents.neural.architecture import Shapes
from ddz_agents.neural.errors import TensorFileError
from ddz_agents.neural.network import Critic, PolicyNetwork
from ddz_agents.neural.stored_policy import CRITIC, KIND, POLICY, VERSION, fitting, read_policy
from ddz_agents.neural.tensor_file import Arrays, write_tensor_file


@dataclass(frozen=True)
class Weights:
    """Networks and what they are for.

    Attributes:
        policy: The policy.
        critic: The critic, None where it was not saved.
        rules: The preset that they were trained under.
        objective: What their values mean: ``win`` or ``stake``.
        notes: Plain values for people: seeds, decisions, hours.
        values_trained: Whether the policy's own value was taught; imitation teaches moves only.
    """

    policy: PolicyNetwork
    critic: Critic | None = None
    rules: str = "standard"
    objective: str = "win"
    notes: Mapping[str, Any] = field(default_factory=dict)
    values_trained: bool = True


def module_arrays(module: nn.Module, prefix: str) -> Arrays:
    """The weights of a module as arrays that share its memory; those of a device are copied.

    Args:
        module: The module.
        prefix: Stands before each name.
    """
    return {prefix + name: tensor.detach().cpu().numpy() for name, tensor in module.state_dict().items()}


def load_module(module: nn.Module, arrays: Mapping[str, npt.NDArray[Any]], prefix: str, where: str) -> None:
    """Copy arrays into a module.

    Args:
        module: The module.
        arrays: The arrays; those without the prefix are ignored.
        prefix: Stands before each name.
        where: Names the file in messages.

    Raises:
        TensorFileMismatchError: If a weight is missing, left over, or of another shape or type.
    """
    found = fitting(arrays, prefix, module_shapes(module), where)
    module.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in found.items()})


def module_shapes(module: nn.Module) -> Shapes:
    """The shape of each weight of a module, by name."""
    return {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}


def save_weights(path: str | Path, weights: Weights, *, half: bool = False) -> None:
    """Write networks to a file, replacing it atomically.

    Args:
        path: The file.
        weights: The networks and what they are for.
        half: Whether numbers are rounded to half precision (float16), which halves the file; they are read as float32.

    Raises:
        TensorFileError: If the file cannot be written, or a number is too large for half precision.
    """
    arrays = module_arrays(weights.policy, POLICY)
    if weights.critic is not None:
        arrays |= module_arrays(weights.critic, CRITIC)
    if half:
        arrays = {name: _halved(name, array) for name, array in arrays.items()}
    about = {
        "architecture": weights.policy.architecture.as_dict(),
        "rules": weights.rules,
        "objective": weights.objective,
        "notes": dict(weights.notes),
        "values_trained": weights.values_trained,
    }
    write_tensor_file(path, KIND, VERSION, arrays, about)


def _halved(name: str, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """An array in half precision."""
    most = np.finfo(np.float16).max
    if np.abs(array).max(initial=0) > most:
        raise TensorFileError(f"{name} holds numbers beyond {most:,.0f}, which half precision does not have")
    return array.astype(np.float16)


def load_weights(path: str | Path) -> Weights:
    """Read networks from a file; they are in evaluation mode.

    Args:
        path: The file.

    Raises:
        TensorFileError: If the file is missing, truncated, corrupt or of another format, or holds numbers that are not
            finite.
        TensorFileMismatchError: If it was written for other observations, actions or another architecture.
    """
    stored = read_policy(path)
    policy, critic = PolicyNetwork(stored.architecture), None
    load_module(policy, stored.policy, "", str(path))
    if stored.critic is not None:
        critic = Critic(stored.architecture)
        load_module(critic, stored.critic, "", str(path))
        critic.eval()
    return Weights(policy.eval(), critic, stored.rules, stored.objective, stored.notes, stored.values_trained)
