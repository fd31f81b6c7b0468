"""The losses of proximal policy optimization as the paper has them: what the compiled gradient is compared with.

J. Schulman et al., "Proximal policy optimization algorithms", 2017.
"""

from __future__ import annotations

import torch
from torch import Tensor


def chosen_log_probabilities(log_probabilities: Tensor, actions: Tensor) -> Tensor:
    """The entries of the actions that were chosen, shape ``[n]``, from ``[n, actions]`` and ``[n]``, int64."""
    return log_probabilities.gather(1, actions.unsqueeze(1)).squeeze(1)


def clipped_policy_losses(new: Tensor, old: Tensor, advantages: Tensor, clip: float) -> Tensor:
    """The clipped surrogate objective (equation 7), negated, of the chosen actions' log-probabilities and advantages.

    ``new`` is of the policy that learns, ``old`` of the one that chose; ``clip`` is ε; all others have shape ``[n]``.
    """
    ratios = (new - old).exp()
    return -torch.minimum(ratios * advantages, ratios.clamp(1.0 - clip, 1.0 + clip) * advantages)


def value_losses(values: Tensor, targets: Tensor) -> Tensor:
    return 0.5 * (values - targets).square()


def masked_entropy(log_probabilities: Tensor) -> Tensor:
    """The entropy of each row, in nats, shape ``[n]``; of ``[n, actions]``, minus infinity where illegal."""
    probabilities = log_probabilities.exp()
    return -(probabilities * log_probabilities.masked_fill(probabilities == 0, 0.0)).sum(1)
