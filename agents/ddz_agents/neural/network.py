"""The networks: a policy over the 400 actions for all three roles, and a critic that sees every hand.

The policy reads the observation, in which role and seats are relative to the observer, so that one network plays
landlord and peasants.  An action's logit is a row of weights, as usual, plus what the state makes of the hand that the
action leaves: how well the rest can be played out is the same question after every action, so the part that looks at
the rest is shared by all of them.  The critic reads the concealed cards, the table without its history, and whether the
other side is known to be the rule agent's; it is used in training (and on determinizations, where nothing is
concealed).  The policy never sees what is concealed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from ddz_agents.neural.architecture import Architecture, Layers, critic_layers, policy_layers
from ddz_agents.neural.decisions import describe_afterstates, describe_observations
from ddz_agents.neural.model import Bytes
from ddz_agents.neural.tensor_file import extract_network_arrays

_SMALL_GAIN = 0.01
"""The gain of output layers."""


class PolicyInput(NamedTuple):
    """The arguments of :meth:`ddz_agents.neural.network.PolicyNetwork.forward`, computed from int8 observations.

    Attributes:
        columns: Of the observations.
        rows: The observation of each pair.
        actions: Its action.
        rests: Columns of the hand that it leaves.
    """

    columns: Tensor
    rows: Tensor
    actions: Tensor
    rests: Tensor


def encode_policy_input(observations: Bytes, masks: Bytes, history: int) -> PolicyInput:
    """Convert observations and masks to the tensors that a policy network takes.

    Args:
        observations: Shape ``[n, OBSERVATION_SIZE]``, int8.
        masks: Shape ``[n, 400]``, int8.
        history: Of the policy's architecture.
    """
    described = describe_observations(observations, history), *describe_afterstates(observations, masks)
    return PolicyInput(*map(torch.from_numpy, described))


class Block(nn.Module):
    """A residual block that normalizes its input, applies a linear layer and a rectifier, and adds the result.

    Args:
        width: Units.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.linear = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        """Apply the residual block to an input of shape ``[n, width]``."""
        return x + torch.relu(self.linear(self.norm(x)))


def new_trunk(layers: Layers) -> nn.Sequential:
    """Create the layers below a network's outputs: a first layer, residual blocks and a final normalization."""
    width = layers.width
    blocks = [Block(width) for _ in range(layers.blocks)]
    return nn.Sequential(nn.Linear(layers.columns, width), nn.ReLU(), *blocks, nn.LayerNorm(width), nn.ReLU())


def new_linear(layers: Layers, name: str, gain: float | None = None) -> nn.Linear:
    """Create a linear layer, initialized orthogonally and with zero biases if a gain is given.

    An untrained policy is then nearly uniform, and an untrained value nearly 0.
    """
    outputs, inputs = layers.linear[name]
    layer = nn.Linear(inputs, outputs)
    if gain is not None:
        nn.init.orthogonal_(layer.weight, gain)
        nn.init.zeros_(layer.bias)
    return layer


class PolicyNetwork(nn.Module):
    """The policy network, which gives the logits of the actions and the value of an information set.

    Args:
        architecture: The sizes.
    """

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        self.architecture = architecture
        layers = policy_layers(architecture)
        self.trunk = new_trunk(layers)
        self.logits, self.value = (new_linear(layers, name, _SMALL_GAIN) for name in ("logits", "value"))
        self.rest = nn.Sequential(new_linear(layers, "rest.0"), nn.ReLU(), new_linear(layers, "rest.2"))
        self.weigh = new_linear(layers, "weigh")
        self.scale = float(architecture.rest_features) ** -0.5

    def forward(self, columns: Tensor, rows: Tensor, actions: Tensor, rests: Tensor) -> tuple[Tensor, Tensor]:
        """Compute action logits and values from observations encoded by :func:`encode_policy_input`.

        Args:
            columns: Of the observations, shape ``[n, observation_columns(history)]``, float32.
            rows: The observation of each pair of observation and legal action, shape ``[pairs]``, int64.
            actions: The action, shape ``[pairs]``, int64.
            rests: Columns of the hand that it leaves, shape ``[pairs, REST_COLUMNS]``, float32.

        Returns:
            Logits, shape ``[n, 400]``, to be masked; values for the observer, shape ``[n]``.
        """
        state = self.trunk(columns)
        logits = self.logits(state).index_put((rows, actions), self._rest_logits(state, rows, rests), accumulate=True)
        return logits, self.value(state).squeeze(1)

    def _rest_logits(self, state: Tensor, rows: Tensor, rests: Tensor) -> Tensor:
        """Compute the part of each legal action's logit that depends on the hand it leaves, shape ``[pairs]``."""
        scores: Tensor = (self.rest(rests) * self.weigh(state)[rows]).sum(1) * self.scale
        return scores

    def evaluate(self, observations: Bytes, masks: Bytes) -> tuple[Tensor, Tensor]:
        """Return the log-probabilities and the values that the network computes for a batch of observations.

        Args:
            observations: Shape ``[n, OBSERVATION_SIZE]``, int8.
            masks: Shape ``[n, 400]``, int8.

        Returns:
            Logarithms of the probabilities, shape ``[n, 400]``, minus infinity where illegal; values, shape ``[n]``.
        """
        seen = encode_policy_input(observations, masks, self.architecture.history)
        logits, values = self(*seen)
        return masked_log_probabilities(logits, torch.from_numpy(masks)), values


class Critic(nn.Module):
    """The critic network, which gives the value of a game in which no card is hidden.

    Args:
        architecture: The sizes.
    """

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        self.architecture = architecture
        layers = critic_layers(architecture)
        self.trunk, self.value = new_trunk(layers), new_linear(layers, "value", _SMALL_GAIN)

    def forward(self, columns: Tensor) -> Tensor:
        """Return the critic's values of games for the seats to act, shape ``[n]``, given the network inputs.

        Args:
            columns: Of the games (:func:`ddz_agents.neural.decisions.describe_games`), shape ``[n, GAME_COLUMNS]``,
                float32.

        Returns:
            Values for the seats to act, shape ``[n]``.
        """
        value: Tensor = self.value(self.trunk(columns))
        return value.squeeze(1)


def masked_log_probabilities(logits: Tensor, masks: Tensor) -> Tensor:
    """Return the log-softmax over the legal actions, with minus infinity at all others.

    Args:
        logits: Shape ``[n, actions]``, float.
        masks: Shape ``[n, actions]``, non-zero where legal.

    Returns:
        Shape ``[n, actions]``; minus infinity where illegal, so that ``exp`` is exactly zero.  A row without legal
        actions is all NaN.

    Example:
        >>> masked_log_probabilities(torch.zeros(1, 3), torch.tensor([[1, 0, 1]])).exp().tolist()
        [[0.5, 0.0, 0.5]]
    """
    return torch.log_softmax(logits.masked_fill(masks == 0, -torch.inf), 1)


def legal_log_probabilities(logits: Tensor, rows: Tensor, count: int) -> Tensor:
    """Return the log-softmax over each row's legal actions, given the logits of only those actions.

    Args:
        logits: Of the pairs of a row and a legal action, shape ``[pairs]``, float.
        rows: The row of each pair, shape ``[pairs]``, int64.
        count: How many rows.

    Example:
        >>> legal_log_probabilities(torch.zeros(3), torch.tensor([0, 0, 1]), 2).exp().tolist()
        [0.5, 0.5, 1.0]
    """
    most = logits.new_full((count,), -torch.inf).scatter_reduce(0, rows, logits.detach(), "amax")
    shifted = logits - most[rows]
    return shifted - logits.new_zeros(count).index_add(0, rows, shifted.exp()).log()[rows]


_Module = TypeVar("_Module", bound=nn.Module)


def load_module(
    module: _Module, arrays: Mapping[str, npt.NDArray[Any]], prefix: str = "", where: str = "the weights"
) -> _Module:
    """Load named weight arrays into a PyTorch module, checking their names, shapes and types.

    Args:
        module: The module.
        arrays: The arrays; those without the prefix are ignored.
        prefix: What each name begins with.
        where: Names the file in messages.

    Returns:
        The module.

    Raises:
        TensorFileMismatchError: If a weight is missing, left over, or of another shape or type.
    """
    shapes = {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}
    weights = extract_network_arrays(arrays, prefix, shapes, where)
    module.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in weights.items()})
    return module
