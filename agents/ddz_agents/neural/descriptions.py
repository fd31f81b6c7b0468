"""What the networks read, wherever the bytes lie: arrays by compiled code, tensors on the device that they are on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ddz_agents.neural import columns, leavings


class PolicyInput(NamedTuple):
    """What :meth:`ddz_agents.neural.network.PolicyNetwork.forward` takes, for observations as bytes.

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


def policy_input(observations: Any, masks: Any, history: int, appraisals: Any = None) -> tuple[PolicyInput, Any]:
    """Describe observations for a policy.

    Args:
        observations: Shape ``[n, OBSERVATION_SIZE]``, int8, an array or a tensor on the device.
        masks: Shape ``[n, 400]``, int8, likewise.
        history: Of the policy's architecture.
        appraisals: Of an earlier description of the same observations, to save time.

    Returns:
        What the policy takes, and what saves time when it is described again.
    """
    if isinstance(observations, np.ndarray):
        seen = columns.describe_observations(observations, history)
        *left, found = leavings.describe_leavings(observations, masks, appraisals)
        return PolicyInput(*map(torch.from_numpy, (seen, *left))), found
    from ddz_agents.neural import cuda_columns

    *rest, kept = cuda_columns.describe_leavings(observations, masks, appraisals)
    return PolicyInput(cuda_columns.describe_observations(observations, history), *rest), kept


def describe_games(observations: Any, concealed: Any, against_rules: Any = None) -> Any:
    """Games' columns, for critics only: :func:`ddz_agents.neural.columns.describe_games`, of arrays or tensors."""
    if isinstance(observations, np.ndarray):
        return columns.describe_games(observations, concealed, against_rules)
    from ddz_agents.neural import cuda_columns

    return cuda_columns.describe_games(observations, concealed, against_rules)


def as_tensor(array: Any) -> Tensor:
    """An array as a tensor that shares its memory; a tensor as it is."""
    return torch.from_numpy(array) if isinstance(array, np.ndarray) else array


def alike(tensor: Tensor, array: Any) -> Any:
    """A tensor as an array if another thing is one, sharing memory."""
    return tensor.numpy() if isinstance(array, np.ndarray) else tensor
