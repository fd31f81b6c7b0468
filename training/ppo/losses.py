"""The losses of proximal policy optimization, as pure functions of tensors.

J. Schulman et al., "Proximal policy optimization algorithms", 2017.  Masked probabilities and their entropy are in
:mod:`agents.neural.network`, because an agent needs them too.
"""

from __future__ import annotations

import torch
from torch import Tensor

from agents.neural.network import masked_entropy, masked_log_probabilities

__all__ = [
    "chosen_log_probabilities",
    "clipped_policy_losses",
    "masked_entropy",
    "masked_log_probabilities",
    "soft_cross_entropies",
    "value_losses",
]


def chosen_log_probabilities(log_probabilities: Tensor, actions: Tensor) -> Tensor:
    """The entries of the actions that were chosen.

    Args:
        log_probabilities: Shape ``[n, actions]``.
        actions: Shape ``[n]``, int64.

    Returns:
        Shape ``[n]``.
    """
    return log_probabilities.gather(1, actions.unsqueeze(1)).squeeze(1)


def clipped_policy_losses(new: Tensor, old: Tensor, advantages: Tensor, clip: float) -> Tensor:
    """The clipped surrogate objective (equation 7), negated.

    Args:
        new: Logarithms of the probabilities of the chosen actions under the policy that learns, shape ``[n]``.
        old: The same under the policy that chose, shape ``[n]``.
        advantages: Shape ``[n]``.
        clip: How far the ratio may move, ε.

    Returns:
        Shape ``[n]``.

    Example:
        A ratio of 2 counts as 1.2 where that is worse for the learner:

        >>> old, new = torch.zeros(2), torch.full((2,), 2.0).log()
        >>> clipped_policy_losses(new, old, torch.tensor([1.0, -1.0]), 0.2).tolist()
        [-1.2000000476837158, 2.0]
    """
    ratios = (new - old).exp()
    return -torch.minimum(ratios * advantages, ratios.clamp(1.0 - clip, 1.0 + clip) * advantages)


def value_losses(values: Tensor, targets: Tensor) -> Tensor:
    """Half the squared errors, shape ``[n]``."""
    return 0.5 * (values - targets).square()


def soft_cross_entropies(log_probabilities: Tensor, shares: Tensor) -> Tensor:
    """The cross-entropy of a policy with a distribution that it should imitate.

    Args:
        log_probabilities: Shape ``[n, actions]``, minus infinity where illegal.
        shares: Shape ``[n, actions]``; zero where illegal, rows sum to 1.

    Returns:
        Shape ``[n]``.
    """
    return -(shares * log_probabilities.masked_fill(shares == 0, 0.0)).sum(1)
