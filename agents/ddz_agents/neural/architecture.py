"""The sizes of the networks, and the layers and weights that follow from them; nothing here needs PyTorch.

The list of layers is given once, here: PyTorch's modules (:mod:`ddz_agents.neural.network`), what a file must hold
(:mod:`ddz_agents.neural.weights`) and compiled code (:mod:`ddz_agents.neural.compiled_policy`) follow from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple

from ddz_agents.neural.columns import GAME_COLUMNS, REST_COLUMNS, observation_columns
from ddz_agents.neural.errors import InvalidArchitectureError
from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.observation import HISTORY
from ddz_env.core.options import Options, Range

Width = Annotated[int, Range(1, 8192)]
Blocks = Annotated[int, Range(0, 64)]

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

    width: Width = 256
    blocks: Blocks = 2
    rest_width: Width = 64
    rest_features: Width = 32
    critic_width: Width = 256
    critic_blocks: Blocks = 2
    history: Annotated[int, Range(0, HISTORY)] = 15


class Layers(NamedTuple):
    """The layers of a network: a trunk of residual blocks, and linear layers that read what it makes.

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
    def norms(self) -> list[str]:
        """The names of the normalizations: one in each block, and one behind them."""
        return [*(f"trunk.{2 + block}.norm" for block in range(self.blocks)), f"trunk.{2 + self.blocks}"]

    @property
    def added(self) -> list[str]:
        """The names of the linear layers in the blocks; place 1 of the trunk, and its last, are rectifiers."""
        return [f"trunk.{2 + block}.linear" for block in range(self.blocks)]

    def shapes(self) -> Shapes:
        """The shape of each weight."""
        inside = {"trunk.0": (self.width, self.columns)} | dict.fromkeys(self.added, (self.width, self.width))
        linear = {**inside, **self.linear}
        weights: Shapes = {f"{name}.weight": size for name, size in linear.items()}
        weights |= {f"{name}.bias": size[:1] for name, size in linear.items()}
        return weights | {f"{name}.{part}": (self.width,) for name in self.norms for part in ("weight", "bias")}


def policy_layers(sizes: Architecture) -> Layers:
    """The layers of :class:`ddz_agents.neural.network.PolicyNetwork`."""
    linear = {
        "logits": (NUM_ACTIONS, sizes.width),
        "value": (1, sizes.width),
        "rest.0": (sizes.rest_width, REST_COLUMNS),
        "rest.2": (sizes.rest_features, sizes.rest_width),
        "weigh": (sizes.rest_features, sizes.width),
    }
    return Layers(observation_columns(sizes.history), sizes.width, sizes.blocks, linear)


def critic_layers(sizes: Architecture) -> Layers:
    """The layers of :class:`ddz_agents.neural.network.Critic`."""
    return Layers(GAME_COLUMNS, sizes.critic_width, sizes.critic_blocks, {"value": (1, sizes.critic_width)})
