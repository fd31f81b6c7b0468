"""Probabilities under a mask: what is illegal has probability zero, exactly."""

from __future__ import annotations

import torch
from torch import Tensor


def masked_log_probabilities(logits: Tensor, masks: Tensor) -> Tensor:
    """The logarithm of the softmax over the legal actions.

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


def masked_entropy(log_probabilities: Tensor) -> Tensor:
    """The entropy of each row of :func:`masked_log_probabilities`, in nats.

    Args:
        log_probabilities: Shape ``[n, actions]``, minus infinity where illegal.

    Returns:
        Shape ``[n]``.
    """
    probabilities = log_probabilities.exp()
    return -(probabilities * log_probabilities.masked_fill(probabilities == 0, 0.0)).sum(1)
