"""Trained weights on disk as arrays, with what they are for: read and checked without PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ddz_agents.neural.architecture import Architecture, Shapes, critic_shapes, policy_shapes
from ddz_agents.neural.errors import InvalidArchitectureError, TensorFileMismatchError
from ddz_agents.neural.heading import check_purpose
from ddz_agents.neural.tensor_file import Arrays, read_tensor_file

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
    fitting(arrays, POLICY, policy_shapes(architecture), where)
    if critic:
        fitting(arrays, CRITIC, critic_shapes(architecture), where)


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
    try:
        architecture = Architecture.from_dict(about["architecture"])
        rules, objective, notes = about["rules"], about["objective"], about["notes"]
        values_trained = about.get("values_trained", True)  # files of earlier versions do not say
    except (InvalidArchitectureError, KeyError) as error:
        raise TensorFileMismatchError(f"{path} does not say what its weights are for: {error}") from error
    check_purpose(path, rules, objective, notes, values_trained)
    policy, critic = fitting(arrays, POLICY, policy_shapes(architecture), str(path)), None
    if any(name.startswith(CRITIC) for name in arrays):
        critic = fitting(arrays, CRITIC, critic_shapes(architecture), str(path))
    return StoredPolicy(architecture, policy, critic, rules, objective, notes, values_trained)
