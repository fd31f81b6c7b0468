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

from agents.neural.errors import InvalidArchitectureError, TensorFileMismatchError
from agents.neural.heading import check_purpose
from agents.neural.network import Architecture, Critic, PolicyNetwork
from agents.neural.tensor_file import Arrays, read_tensor_file, write_tensor_file

KIND = "ddz-policy"
VERSION = 1

_POLICY, _CRITIC = "policy.", "critic."


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
    """The weights of a module as arrays that share its memory.

    Args:
        module: The module.
        prefix: Stands before each name.
    """
    return {prefix + name: tensor.detach().numpy() for name, tensor in module.state_dict().items()}


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
    found = _fitting(module, arrays, prefix, where)
    module.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in found.items()})


def _fitting(module: nn.Module, arrays: Mapping[str, npt.NDArray[Any]], prefix: str, where: str) -> Arrays:
    """The arrays of a module, by name without the prefix."""
    found = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
    wanted = module.state_dict()
    if found.keys() != wanted.keys():
        names = ", ".join(prefix + name for name in sorted(found.keys() ^ wanted.keys()))
        raise TensorFileMismatchError(f"{where} does not have the weights of its architecture; the difference: {names}")
    for name, tensor in wanted.items():
        array, kind = found[name], torch.empty(0, dtype=tensor.dtype, device="cpu").numpy().dtype
        if array.shape != tuple(tensor.shape) or array.dtype != kind:
            raise TensorFileMismatchError(
                f"{where}: {prefix}{name} is {array.dtype} of shape {list(array.shape)}; "
                f"its architecture needs {kind} of shape {list(tensor.shape)}"
            )
    return found


def check_architecture(
    architecture: Architecture, arrays: Mapping[str, npt.NDArray[Any]], critic: bool, where: str
) -> None:
    """Compare arrays with an architecture before memory is taken for it: a file may claim gigabytes.

    Args:
        architecture: What the file claims.
        arrays: What it holds.
        critic: Whether a critic must be among them.
        where: Names the file in messages.

    Raises:
        TensorFileMismatchError: If a weight is missing, left over, or of another shape or type.
    """
    with torch.device("meta"):  # shapes without memory
        _fitting(PolicyNetwork(architecture), arrays, _POLICY, where)
        if critic:
            _fitting(Critic(architecture), arrays, _CRITIC, where)


def save_weights(path: str | Path, weights: Weights) -> None:
    """Write networks to a file, replacing it atomically.

    Args:
        path: The file.
        weights: The networks and what they are for.

    Raises:
        TensorFileError: If the file cannot be written.
    """
    arrays = module_arrays(weights.policy, _POLICY)
    if weights.critic is not None:
        arrays |= module_arrays(weights.critic, _CRITIC)
    about = {
        "architecture": weights.policy.architecture.as_dict(),
        "rules": weights.rules,
        "objective": weights.objective,
        "notes": dict(weights.notes),
        "values_trained": weights.values_trained,
    }
    write_tensor_file(path, KIND, VERSION, arrays, about)


def load_weights(path: str | Path) -> Weights:
    """Read networks from a file; they are in evaluation mode.

    Args:
        path: The file.

    Raises:
        TensorFileError: If the file is missing, truncated, corrupt or of another format, or holds numbers that are not
            finite.
        TensorFileMismatchError: If it was written for other observations, actions or another architecture.
    """
    arrays, about = read_tensor_file(path, KIND, VERSION)
    try:
        architecture = Architecture.from_dict(about["architecture"])
        rules, objective, notes = about["rules"], about["objective"], about["notes"]
        values_trained = about.get("values_trained", True)  # files of earlier versions do not say
    except (InvalidArchitectureError, KeyError) as error:
        raise TensorFileMismatchError(f"{path} does not say what its weights are for: {error}") from error
    check_purpose(path, rules, objective, notes, values_trained)
    critical = any(name.startswith(_CRITIC) for name in arrays)
    check_architecture(architecture, arrays, critical, str(path))
    policy = PolicyNetwork(architecture)
    load_module(policy, arrays, _POLICY, str(path))
    critic = None
    if critical:
        critic = Critic(architecture)
        load_module(critic, arrays, _CRITIC, str(path))
        critic.eval()
    policy.eval()
    return Weights(policy, critic, rules, objective, notes, values_trained)
