"""Trained weights on disk as arrays, with what they are for: read and checked without PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ddz_agents.neural.architecture import Architecture, Shapes, critic_layers, policy_layers
from ddz_agents.neural.errors import InvalidArchitectureError, TensorFileMismatchError
from ddz_agents.neural.tensor_file import Arrays, check_purpose, read_tensor_file

KIND = "ddz-policy"
VERSION = 1

POLICY, CRITIC = "policy.", "critic."
"""What the names of their weights begin with."""

_FLOAT, _HALF = np.dtype(np.float32), np.dtype(np.float16)


@dataclass(frozen=True)
class StoredPolicy:
    """What a file of weights holds.

    Attributes:
        architecture: The sizes.
        policy: The policy's weights, by name.
        critic: The critic's, None where it was not saved.
        rules: The preset that they were trained under.
        objective: What their values mean: ``win`` or ``stake``.
        notes: Plain values for people.
        values_trained: Whether the policy's own value was taught.
    """

    architecture: Architecture
    policy: Arrays
    critic: Arrays | None
    rules: str
    objective: str
    notes: dict[str, Any]
    values_trained: bool


def fitting(arrays: Mapping[str, npt.NDArray[Any]], prefix: str, shapes: Shapes, where: str) -> Arrays:
    """The arrays of a network as float32, by name without their prefix; a file may hold them in half precision.

    Args:
        arrays: The arrays; those without the prefix are ignored.
        prefix: Stands before each name.
        shapes: What the network needs.
        where: Names the file in messages.

    Raises:
        TensorFileMismatchError: If a weight is missing, left over, or of another shape or type.
    """
    found = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
    if found.keys() != shapes.keys():
        names = ", ".join(prefix + name for name in sorted(found.keys() ^ shapes.keys()))
        raise TensorFileMismatchError(f"{where} does not have the weights of its architecture; the difference: {names}")
    for name, shape in shapes.items():
        array = found[name]
        if array.shape != shape or array.dtype not in (_FLOAT, _HALF):
            raise TensorFileMismatchError(
                f"{where}: {prefix}{name} is {array.dtype} of shape {list(array.shape)}; "
                f"its architecture needs {_FLOAT} of shape {list(shape)}"
            )
    return {name: array.astype(_FLOAT, copy=False) for name, array in found.items()}


def check_architecture(
    architecture: Architecture, arrays: Mapping[str, npt.NDArray[Any]], critic: bool, where: str
) -> tuple[Arrays, Arrays | None]:
    """Compare arrays with an architecture before memory is taken for it: a file may claim gigabytes.

    Args:
        architecture: What the file claims.
        arrays: What it holds.
        critic: Whether a critic must be among them.
        where: Names the file in messages.

    Returns:
        The weights of the policy, and of the critic.

    Raises:
        TensorFileMismatchError: If a weight is missing, left over, or of another shape or type.
    """
    policy = fitting(arrays, POLICY, policy_layers(architecture).shapes(), where)
    return policy, fitting(arrays, CRITIC, critic_layers(architecture).shapes(), where) if critic else None


def read_about(path: str | Path, about: Mapping[str, Any]) -> tuple[Architecture, dict[str, Any]]:
    """The sizes of the networks in a file, and what they are for: the last four attributes of :class:`StoredPolicy`.

    Args:
        path: Names the file in messages.
        about: The plain values in it.

    Raises:
        TensorFileMismatchError: If something is missing, or is something else.
    """
    try:
        architecture = Architecture.from_dict(about["architecture"])
        purpose = {name: about[name] for name in ("rules", "objective", "notes")}
    except (InvalidArchitectureError, KeyError) as error:
        raise TensorFileMismatchError(f"{path} does not say what its weights are for: {error}") from error
    purpose["values_trained"] = about.get("values_trained", True)  # files of earlier versions do not say
    check_purpose(path, **purpose)
    return architecture, purpose


def read_policy(path: str | Path) -> StoredPolicy:
    """Read weights from a file.

    Args:
        path: The file.

    Raises:
        TensorFileError: If the file is missing, truncated, corrupt or of another format, or holds numbers that are not
            finite.
        TensorFileMismatchError: If it was written for other observations, actions or another architecture.
    """
    arrays, about = read_tensor_file(path, KIND, VERSION)
    architecture, purpose = read_about(path, about)
    critic = any(name.startswith(CRITIC) for name in arrays)
    return StoredPolicy(architecture, *check_architecture(architecture, arrays, critic, str(path)), **purpose)
