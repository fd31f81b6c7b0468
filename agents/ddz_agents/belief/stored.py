"""A belief network on disk: read and checked without PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from ddz_agents.belief.conduct import TALLIES
from ddz_agents.belief.layers import COLUMNS, COUNTS, BeliefLayers
from ddz_agents.neural.architecture import Shapes, layer_shapes, trunk_shapes
from ddz_agents.neural.compiled_policy import trunk_layers, turned
from ddz_agents.neural.errors import InvalidArchitectureError, TensorFileMismatchError
from ddz_agents.neural.stored_policy import fitting
from ddz_agents.neural.tensor_file import Arrays, read_tensor_file, write_tensor_file
from ddz_env.core.cards import NUM_RANKS
from ddz_env.core.options import Options, Range

KIND = "ddz-belief"
VERSION = 1
NETWORK = "belief."
"""What the names of the weights begin with."""

_Width = Annotated[int, Range(1, 8192)]


@dataclass(frozen=True)
class BeliefArchitecture(Options):
    """The sizes of a belief network.

    Attributes:
        width: Units of the layers that read the table.
        blocks: Residual blocks among them.
        hidden: Units of the head, to which each drawn count adds.

    Raises:
        InvalidArchitectureError: If a size is out of range.
    """

    error = InvalidArchitectureError

    width: _Width = 192
    blocks: Annotated[int, Range(0, 64)] = 1
    hidden: _Width = 128


def belief_shapes(architecture: BeliefArchitecture) -> Shapes:
    """The weights of :class:`ddz_agents.belief.network.BeliefNetwork`."""
    width, hidden = architecture.width, architecture.hidden
    return {
        **trunk_shapes(COLUMNS, width, architecture.blocks),
        **layer_shapes("context", hidden, width),
        "counts": (NUM_RANKS, COUNTS - 1, hidden),
        "logits": (NUM_RANKS, COUNTS, hidden),
        "logits_bias": (NUM_RANKS, COUNTS),
    }


@dataclass(frozen=True)
class StoredBelief:
    """What a file of a belief network holds.

    Attributes:
        architecture: The sizes.
        arrays: The weights, by name.
        rules: The preset that it was trained under.
        notes: Plain values for people.
    """

    architecture: BeliefArchitecture
    arrays: Arrays
    rules: str
    notes: dict[str, Any]

    def layers(self) -> BeliefLayers:
        """The weights as compiled code takes them."""
        arrays = self.arrays
        return BeliefLayers(
            trunk_layers(arrays, self.architecture.blocks),
            turned(arrays["context.weight"]),
            arrays["context.bias"],
            *(np.ascontiguousarray(arrays[name]) for name in ("counts", "logits", "logits_bias")),
        )


def write_belief(path: str | Path, stored: StoredBelief) -> None:
    """Write a belief network, replacing the file atomically.

    Raises:
        TensorFileError: If the file cannot be written.
    """
    arrays = {NETWORK + name: array for name, array in stored.arrays.items()}
    write_tensor_file(path, KIND, VERSION, arrays, _about(stored))


def _about(stored: StoredBelief) -> Mapping[str, Any]:
    # The policy's inputs have their own fingerprint in the heading.
    return {
        "architecture": stored.architecture.as_dict(),
        "conduct": list(TALLIES),
        "rules": stored.rules,
        "notes": stored.notes,
    }


def read_belief(path: str | Path) -> StoredBelief:
    """Read a belief network.

    Raises:
        TensorFileError: If the file is missing, truncated, corrupt or of another format, or holds numbers that are not
            finite.
        TensorFileMismatchError: If it was written for other observations, conduct or another architecture.
    """
    arrays, about = read_tensor_file(path, KIND, VERSION)
    try:
        architecture = BeliefArchitecture.from_dict(about["architecture"])
        conduct, rules, notes = about["conduct"], str(about["rules"]), dict(about["notes"])
    except (InvalidArchitectureError, KeyError, TypeError, ValueError) as error:
        raise TensorFileMismatchError(f"{path} does not say what its weights are for: {error}") from error
    if conduct != list(TALLIES):
        raise TensorFileMismatchError(f"{path} counts the seats' conduct as {conduct}, this package as {list(TALLIES)}")
    return StoredBelief(architecture, fitting(arrays, NETWORK, belief_shapes(architecture), str(path)), rules, notes)
