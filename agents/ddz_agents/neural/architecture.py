"""The sizes, inputs, layers and weight shapes of the networks, defined without PyTorch.

The list of layers is given once, here: PyTorch's modules (:mod:`ddz_agents.neural.network`), what a file must hold
(:mod:`ddz_agents.neural.weights`) and compiled code (:mod:`ddz_agents.neural.compiled_policy`) follow from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_agents.neural.errors import InvalidArchitectureError, TensorFileMismatchError
from ddz_agents.neural.feature_table import (
    CRITIC_INPUTS,
    GAME_COLUMNS,
    REST_COLUMNS,
    REST_INPUTS,
    observation_columns,
    policy_inputs,
)
from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.observation import HISTORY
from ddz_env.support.options import Options, Range

Width = Annotated[int, Range(1, 8192)]
Blocks = Annotated[int, Range(0, 64)]

Shapes = dict[str, tuple[int, ...]]
"""The shape of each weight, by name."""


@dataclass(frozen=True)
class Architecture(Options):
    """The layer sizes of the policy network and the critic.

    Attributes:
        width: Units of the policy's layers.
        blocks: Residual blocks of the policy.
        rest_width: Units of the layer that looks at the hand an action leaves.
        rest_features: Outputs of that layer, which the state weighs.
        critic_width: Units of the critic's layers.
        critic_blocks: Residual blocks of the critic.
        history: Completed moves that the policy sees.

    Raises:
        InvalidArchitectureError: If a size is out of range.
    """

    error = InvalidArchitectureError

    width: Width = 256
    blocks: Blocks = 2
    rest_width: Width = 64
    rest_features: Width = 32
    critic_width: Width = 256
    critic_blocks: Blocks = 2
    history: Annotated[int, Range(0, HISTORY)] = 15


class Layers(NamedTuple):
    """The layers of a network: a trunk of residual blocks, and linear layers that read the trunk's output.

    Attributes:
        columns: Columns of the input.
        width: Units of the trunk.
        blocks: Its residual blocks.
        linear: Outputs and inputs of each linear layer, by name.
    """

    columns: int
    width: int
    blocks: int
    linear: dict[str, tuple[int, int]]

    @property
    def norm_names(self) -> list[str]:
        """The names of the normalization layers: one in each residual block and one after the last block."""
        return [*(f"trunk.{2 + block}.norm" for block in range(self.blocks)), f"trunk.{2 + self.blocks}"]

    @property
    def residual_names(self) -> list[str]:
        """The names of the linear layers in the residual blocks, as in PyTorch's state dict."""
        return [f"trunk.{2 + block}.linear" for block in range(self.blocks)]

    def shapes(self) -> Shapes:
        """Return the shape of each weight array, keyed by its name."""
        inside = {"trunk.0": (self.width, self.columns)} | dict.fromkeys(self.residual_names, (self.width, self.width))
        linear = {**inside, **self.linear}
        weights: Shapes = {f"{name}.weight": size for name, size in linear.items()}
        weights |= {f"{name}.bias": size[:1] for name, size in linear.items()}
        return weights | {f"{name}.{part}": (self.width,) for name in self.norm_names for part in ("weight", "bias")}


def policy_layers(sizes: Architecture) -> Layers:
    """Return the layers of a :class:`~ddz_agents.neural.network.PolicyNetwork` with the given sizes."""
    linear = {
        "logits": (NUM_ACTIONS, sizes.width),
        "value": (1, sizes.width),
        "rest.0": (sizes.rest_width, REST_COLUMNS),
        "rest.2": (sizes.rest_features, sizes.rest_width),
        "weigh": (sizes.rest_features, sizes.width),
    }
    return Layers(observation_columns(sizes.history), sizes.width, sizes.blocks, linear)


def critic_layers(sizes: Architecture) -> Layers:
    """Return the layers of a :class:`~ddz_agents.neural.network.Critic` with the given sizes."""
    return Layers(GAME_COLUMNS, sizes.critic_width, sizes.critic_blocks, {"value": (1, sizes.critic_width)})


# --- What they read ---------------------------------------------------------------------------------------------------

INPUT_TABLES = {"policy": policy_inputs(1), "rest": REST_INPUTS, "critic": CRITIC_INPUTS}
"""The tables of inputs: of a policy's trunk, of its part that looks at the hand an action leaves, and of a critic."""

POLICY_TABLES, CRITIC_TABLES = ("policy", "rest"), ("critic",)
"""The tables of a policy, and those of a critic."""

Inputs = dict[str, list[str]]
"""The inputs of some tables by the table's name, in order, each with its columns (of one move for the history):
``hand=231``."""

_ASIDE = "target=60 sizes=60 key=15"
EARLIER_INPUTS: Inputs = {
    "policy": f"table=256 history=16 state=16 hand=231 prospects=33 unseen=60 {_ASIDE} signs=60".split(),
    "rest": ["rest=60", "prospects=33"],
    "critic": (
        "counts=3 half_built=32 state=16 undealt=16 own=60 own_prospects=33 next=60 next_prospects=33 previous=60 "
        f"previous_prospects=33 {_ASIDE} against_rules=1"
    ).split(),
}
"""What a file reads that does not name its inputs, as those of 0.2.0 and before do not."""


def describe_inputs(*tables: str) -> Inputs:
    """Return the names and widths of this package's network inputs, to be stored in network files.

    Args:
        *tables: Names of :data:`INPUT_TABLES`.
    """
    rows = {name: INPUT_TABLES[name].inputs for name in tables}
    return {name: [f"{entry.name}={len(entry.columns)}" for entry in rows[name]] for name in tables}


def check_inputs(where: object, written: Any, *tables: str) -> Inputs:
    """Check that this package can compute the inputs that a network file names, and return them.

    Args:
        where: Names the file in messages.
        written: What the file names; None where it does not.
        *tables: The tables of its networks.

    Returns:
        The inputs that these networks read.

    Raises:
        TensorFileMismatchError: If a table is missing, or an input is not computed here or has another size.
    """
    named = EARLIER_INPUTS if written is None else written
    for name, computed in describe_inputs(*tables).items():
        read = named.get(name) if isinstance(named, dict) else None
        if not isinstance(read, list) or any(entry not in computed for entry in read):
            raise TensorFileMismatchError(f"{where} reads the {name} inputs {read}; this package computes {computed}")
    return {name: named[name] for name in tables}


def pad_missing_inputs(layer: npt.NDArray[Any], read: Sequence[str], table: str, history: int) -> npt.NDArray[Any]:
    """Pad a first layer with zero weights for inputs that were added after the network was trained.

    So the network answers as it did.  Columns behind those of the table stay behind them.

    Args:
        layer: Shape ``[units, columns]``.
        read: The inputs that it reads, in order.
        table: The table that they are of.
        history: Completed moves that the network sees.
    """
    columns, size = dict[str, range](), 0
    for entry in describe_inputs(table)[table]:
        name, _, width = entry.partition("=")
        columns[entry] = range(size, size + int(width) * (history if name == "history" else 1))
        size = columns[entry].stop
    indices = [index for entry in read for index in columns[entry]]
    if indices == [*range(size)] or layer.ndim != 2 or layer.shape[1] < len(indices):
        return layer  # nothing is missing; or it is of another shape than the file says, and will be refused
    whole = np.zeros((len(layer), size), layer.dtype)
    whole[:, indices] = layer[:, : len(indices)]
    return np.concatenate([whole, layer[:, len(indices) :]], axis=1)
