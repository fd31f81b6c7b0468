"""PyTorch's networks as a model, an oracle for the compiled policy."""

from __future__ import annotations

import torch

from ddz_agents.neural.decisions import describe_games
from ddz_agents.neural.model import Bytes, Floats, LeafValue
from ddz_agents.neural.network import Critic, PolicyNetwork


class NetworkPolicy:
    """PyTorch's networks as a :class:`~ddz_agents.neural.model.PolicyModel`.

    Args:
        network: The policy.
        critic: The critic, for :meth:`value_of_games`.
    """

    def __init__(self, network: PolicyNetwork, critic: Critic | None = None) -> None:
        self.network, self.critic = network.eval(), critic
        self.leaf: LeafValue = "value" if critic is None else "critic"
        torch.set_num_threads(1)

    def evaluate(self, observations: Bytes, masks: Bytes) -> tuple[Floats, Floats]:
        """Logarithms of the probabilities, shape ``[n, 400]``, and values, shape ``[n]``, both float32."""
        with torch.inference_mode():
            log_probabilities, values = self.network.evaluate(observations, masks)
            return log_probabilities.numpy(), values.numpy()

    def value_of_games(self, observations: Bytes, masks: Bytes, concealed: Bytes) -> Floats:
        """The critic's values, shape ``[n]``, float32."""
        assert self.critic is not None
        with torch.inference_mode():
            values: Floats = self.critic(torch.from_numpy(describe_games(observations, concealed))).numpy()
            return values
