"""The belief network for training; :mod:`ddz_agents.belief.layers` says what it computes."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from ddz_agents.belief.layers import COUNTS
from ddz_agents.belief.model import BeliefArchitecture
from ddz_agents.neural.network import new_linear, new_trunk


class BeliefNetwork(nn.Module):
    """How likely hidden hands are.  An untrained one gives what plain dealing gives.

    Args:
        architecture: The sizes.
    """

    def __init__(self, architecture: BeliefArchitecture) -> None:
        super().__init__()
        self.architecture = architecture
        layers, head = architecture.layers, architecture.head
        self.trunk, self.context = new_trunk(layers), new_linear(layers, "context")
        self.counts = nn.Parameter(0.1 * torch.randn(head["counts"]))
        self.logits = nn.Parameter(torch.zeros(head["logits"]))
        self.logits_bias = nn.Parameter(torch.zeros(head["logits_bias"]))

    def forward(self, columns: Tensor, hands: Tensor, logs: Tensor) -> Tensor:
        """The logarithm of the probability of each hand.

        Args:
            columns: Shape ``[n, COLUMNS]``, float32.
            hands: Hidden cards of the next seat by rank, shape ``[n, 15]``, int64.
            logs: Logarithms of what plain dealing gives to each count, shape ``[n, 15, 5]``, float32.

        Returns:
            Shape ``[n]``.
        """
        held = functional.one_hot(hands, COUNTS)[:, :, 1:].float()
        added = torch.einsum("nrc,rch->nrh", held, self.counts)
        higher = added.flip(1).cumsum(1).flip(1) - added
        hidden = torch.relu(self.context(self.trunk(columns)).unsqueeze(1) + higher)
        logits = torch.einsum("nrh,rch->nrc", hidden, self.logits) + self.logits_bias
        chances = torch.log_softmax(logs + logits, 2)
        return chances.gather(2, hands.unsqueeze(2)).squeeze(2).sum(1)
