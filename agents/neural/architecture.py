"""The sizes of the networks, and the weights that follow from them; nothing here needs PyTorch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from agents.neural.columns import GAME_COLUMNS, REST_COLUMNS, observation_columns
from agents.neural.errors import InvalidArchitectureError
from ddz_env.actions import NUM_ACTIONS
from ddz_env.observation import HISTORY
from ddz_env.options import Options, Range

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


def _layer(name: str, outputs: int, inputs: int) -> Shapes:
    return {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}


def _norm(name: str, width: int) -> Shapes:
    return {f"{name}.weight": (width,), f"{name}.bias": (width,)}


def _trunk(columns: int, width: int, blocks: int) -> Shapes:
    """The layers 0 (linear), 2 and on (blocks), then a normalization, with rectifiers in the places between."""
    shapes = _layer("trunk.0", width, columns)
    for block in range(blocks):
        shapes |= _norm(f"trunk.{2 + block}.norm", width) | _layer(f"trunk.{2 + block}.linear", width, width)
    return shapes | _norm(f"trunk.{2 + blocks}", width)


def policy_shapes(architecture: Architecture) -> Shapes:
    """The weights of :class:`agents.neural.network.PolicyNetwork`."""
    width, rest, features = architecture.width, architecture.rest_width, architecture.rest_features
    return {
        **_trunk(observation_columns(architecture.history), width, architecture.blocks),
        **_layer("logits", NUM_ACTIONS, width),
        **_layer("value", 1, width),
        **_layer("rest.0", rest, REST_COLUMNS),
        **_layer("rest.2", features, rest),
        **_layer("weigh", features, width),
    }


def critic_shapes(architecture: Architecture) -> Shapes:
    """The weights of :class:`agents.neural.network.Critic`."""
    width = architecture.critic_width
    return {**_trunk(GAME_COLUMNS, width, architecture.critic_blocks), **_layer("value", 1, width)}
