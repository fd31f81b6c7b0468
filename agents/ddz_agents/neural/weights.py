"""Reading and writing of trained weights, in files that need neither PyTorch nor pickle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ddz_agents.neural.architecture import (
    CRITIC_TABLES,
    POLICY_TABLES,
    Architecture,
    check_inputs,
    critic_layers,
    describe_inputs,
    pad_missing_inputs,
    policy_layers,
)
from ddz_agents.neural.errors import InvalidArchitectureError, TensorFileError, TensorFileMismatchError
from ddz_agents.neural.tensor_file import (
    Arrays,
    check_purpose,
    extract_network_arrays,
    read_tensor_file,
    write_tensor_file,
)

if TYPE_CHECKING:
    from torch import nn

    from ddz_agents.neural.network import Critic, PolicyNetwork

KIND, VERSION = "ddz-policy", 1

POLICY, CRITIC = "policy.", "critic."
"""What the names of their weights begin with in a file."""

FIRST_LAYERS = {"policy": "policy.trunk.0.weight", "rest": "policy.rest.0.weight", "critic": "critic.trunk.0.weight"}
"""The weights by which a network reads each table of inputs."""


@dataclass(frozen=True)
class Weights:
    """The weights of a policy and optionally of a critic, with a record of what they were trained for.

    Attributes:
        architecture: The sizes.
        policy: The policy's weights, by name.
        critic: The critic's, None where it was not saved.
        rules: The preset that they were trained under.
        objective: What their values mean: ``win`` or ``stake``.
        notes: Plain values for people: seeds, decisions, hours.
        values_trained: Whether the policy's own value was taught; imitation teaches moves only.
    """

    architecture: Architecture
    policy: Arrays
    critic: Arrays | None = None
    rules: str = "standard"
    objective: str = "win"
    notes: Mapping[str, Any] = field(default_factory=dict)
    values_trained: bool = True

    @classmethod
    def of(cls, policy: PolicyNetwork, critic: Critic | None = None, **purpose: Any) -> Weights:
        """Create weights from PyTorch networks, as arrays that share the networks' memory.

        Args:
            policy: The policy.
            critic: The critic.
            **purpose: The last four attributes.
        """
        return cls(policy.architecture, module_arrays(policy), module_arrays(critic) if critic else None, **purpose)

    def networks(self) -> tuple[PolicyNetwork, Critic | None]:
        """Create PyTorch networks with copies of these weights, in evaluation mode."""
        from ddz_agents.neural.network import Critic, PolicyNetwork, load_module

        policy, critic = load_module(PolicyNetwork(self.architecture), self.policy).eval(), None
        if self.critic is not None:
            critic = load_module(Critic(self.architecture), self.critic).eval()
        return policy, critic


def module_arrays(module: nn.Module, prefix: str = "") -> Arrays:
    """Return a module's weights as arrays that share its memory, or as copies if they lie on another device.

    Args:
        module: The module.
        prefix: What each name begins with.
    """
    return {prefix + name: tensor.detach().cpu().numpy() for name, tensor in module.state_dict().items()}


def save_weights(path: str | Path, weights: Weights, *, half: bool = False) -> None:
    """Write the weights of a policy and optionally of a critic to a file, replacing it atomically.

    Args:
        path: The file.
        weights: The weights.
        half: Whether numbers are rounded to half precision (float16), which halves the file; they are read as float32.

    Raises:
        TensorFileError: If the file cannot be written, or a number is too large for half precision.
    """
    about = {name: getattr(weights, name) for name in ("rules", "objective", "values_trained")}
    inputs = describe_inputs(*POLICY_TABLES, *(CRITIC_TABLES if weights.critic is not None else ()))
    about |= {"architecture": weights.architecture.as_dict(), "inputs": inputs, "notes": dict(weights.notes)}
    arrays = {POLICY + name: array for name, array in weights.policy.items()}
    arrays |= {CRITIC + name: array for name, array in (weights.critic or {}).items()}
    if half:
        arrays = {name: _round_to_half(name, array) for name, array in arrays.items()}
    write_tensor_file(path, KIND, VERSION, arrays, about)


def _round_to_half(name: str, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array as float16, or raise an error if a number is too large for that type."""
    most = np.finfo(np.float16).max
    if np.abs(array).max(initial=0) > most:
        raise TensorFileError(
            f"{name} holds numbers above {most:,.0f}, which half precision cannot hold: save with half=False"
        )
    return array.astype(np.float16)


def load_weights(path: str | Path) -> Weights:
    """Read the weights of a policy and, if present, of a critic from a file, checking all shapes.

    Args:
        path: The file.

    Raises:
        TensorFileError: If the file is missing, truncated, corrupt or of another format, or holds numbers that are not
            finite.
        TensorFileMismatchError: If it was written for other observations or actions, or another architecture: other
            sizes or inputs.
    """
    arrays, about = read_tensor_file(path, KIND, VERSION)
    try:
        architecture = Architecture.from_dict(about["architecture"])
        purpose = {name: about[name] for name in ("rules", "objective", "notes")}
    except KeyError as error:
        raise TensorFileMismatchError(
            f"{path} has metadata that do not describe its weights: they lack {error}"
        ) from error
    except InvalidArchitectureError as error:
        raise TensorFileMismatchError(f"{path} has metadata that do not describe its weights: {error}") from error
    purpose["values_trained"] = about.get("values_trained", True)  # files of earlier versions do not say
    check_purpose(path, **purpose)
    critic = any(name.startswith(CRITIC) for name in arrays)
    inputs = check_inputs(path, about.get("inputs"), *POLICY_TABLES, *(CRITIC_TABLES if critic else ()))
    for table, read in inputs.items():
        layer = FIRST_LAYERS[table]
        if layer in arrays:  # if not, it is named among those that are missing
            arrays[layer] = pad_missing_inputs(arrays[layer], read, table, architecture.history)
    return Weights(architecture, *check_architecture(architecture, arrays, critic, str(path)), **purpose)


def check_architecture(
    architecture: Architecture, arrays: Mapping[str, npt.NDArray[Any]], critic: bool, where: str
) -> tuple[Arrays, Arrays | None]:
    """Return the policy's and the critic's arrays after checking their shapes against the architecture.

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
    policy = extract_network_arrays(arrays, POLICY, policy_layers(architecture).shapes(), where)
    return policy, extract_network_arrays(
        arrays, CRITIC, critic_layers(architecture).shapes(), where
    ) if critic else None
