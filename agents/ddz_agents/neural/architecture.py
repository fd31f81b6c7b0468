"""The sizes of the networks, and the weights that follow from them; nothing here needs PyTorch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ddz_agents.neural.columns import GAME_COLUMNS, REST_COLUMNS, observation_columns
from ddz_agents.neural.errors import InvalidArchitectureError
from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.observation import HISTORY
from ddz_env.core.options import Options, Range

_Width = Annotated[int, Range(1, 8192)]
_Blocks = Annotated[int, Range(0, 64)]

Shapes = dict[str, tuple[int, ...]]
"""The shape of each weight, by name."""


@dataclass(frozen=True)
class Architecture(Options):
    """The sizes of the networks.

    Attributes:
        width: Units of the policy's layers.
        blocks: Residual blocks of the policy.
        rest_width: Units of the layer that looks at the hand an action leaves.
        rest_features: How many numbers it makes of it; the state weighs them.
        critic_width: Units of the critic's layers.
        critic_blocks: Residual blocks of the critic.
        history: Completed moves that the policy sees.

    Raises:
        InvalidArchitectureError: If a size is out of range.
    """

    error = InvalidArchitectureError

    width: _Width = 256
    blocks: _Blocks = 2
    rest_width: _Width = 64
    rest_features: _Width = 32
    critic_width: _Width = 256
    critic_blocks: _Blocks = 2
    history: Annotated[int, Range(0, HISTORY)] = 15


def layer_shapes(name: str, outputs: int, inputs: int) -> Shapes:
    """A linear layer."""
    return {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}


def _norm(name: str, width: int) -> Shapes:
    return {f"{name}.weight": (width,), f"{name}.bias": (width,)}


def trunk_shapes(columns: int, width: int, blocks: int) -> Shapes:
    """The layers 0 (linear), 2 and on (blocks), then a normalization, with rectifiers in the places between."""
    shapes = layer_shapes("trunk.0", width, columns)
    for block in range(blocks):
        shapes |= _norm(f"trunk.{2 + block}.norm", width) | layer_shapes(f"trunk.{2 + block}.linear", width, width)
    return shapes | _norm(f"trunk.{2 + blocks}", width)


def policy_shapes(architecture: Architecture) -> Shapes:
    """The weights of :class:`ddz_agents.neural.network.PolicyNetwork`."""
    width, rest, features = architecture.width, architecture.rest_width, architecture.rest_features
    return {
        **trunk_shapes(observation_columns(architecture.history), width, architecture.blocks),
        **layer_shapes("logits", NUM_ACTIONS, width),
        **layer_shapes("value", 1, width),
        **layer_shapes("rest.0", rest, REST_COLUMNS),
        **layer_shapes("rest.2", features, rest),
        **layer_shapes("weigh", features, width),
    }


def critic_shapes(architecture: Architecture) -> Shapes:
    """The weights of :class:`ddz_agents.neural.network.Critic`."""
    width = architecture.critic_width
    return {**trunk_shapes(GAME_COLUMNS, width, architecture.critic_blocks), **layer_shapes("value", 1, width)}
