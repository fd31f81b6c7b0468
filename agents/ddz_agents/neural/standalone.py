"""A policy that needs nothing of this package once it is written as ONNX: bytes in, logits out.

It is the network of :mod:`ddz_agents.neural.network` without the columns that only this package can compute (prospects
are found by a search through the hand).  In their place the chains of each hand that an action leaves are among the
columns.  A full policy teaches it (:mod:`ddz_training.learn.distillation`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ddz_agents.neural.architecture import Architecture
from ddz_agents.neural.columns import POLICY_INPUTS, observation_columns
from ddz_agents.neural.errors import TensorFileMismatchError
from ddz_agents.neural.features import HAND_COLUMNS, PROSPECTS
from ddz_agents.neural.model import Bytes
from ddz_agents.neural.network import PolicyNetwork, masked_log_probabilities
from ddz_agents.neural.stored_policy import POLICY, fitting, read_about
from ddz_agents.neural.tensor_columns import ByteReader
from ddz_agents.neural.tensor_file import read_tensor_file
from ddz_agents.neural.weights import load_module, module_shapes
from ddz_env.core.errors import command_line

KIND = "ddz-standalone"
VERSION = 1

ILLEGAL = -1e9
"""The logit of an illegal action: its probability is exactly zero, and a row without legal actions has no NaN."""


class StandalonePolicy(nn.Module):
    """A policy network that reads bytes alone.

    Args:
        architecture: The sizes; those of the critic are not used.
    """

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        columns = observation_columns(architecture.history) - PROSPECTS
        self.network = PolicyNetwork(architecture, columns, HAND_COLUMNS)
        self.reader = ByteReader(architecture.history)

    def forward(self, observations: Tensor, masks: Tensor) -> Tensor:
        """Evaluate observations.

        Args:
            observations: Shape ``[n, OBSERVATION_SIZE]``, int8.
            masks: Shape ``[n, 400]``, int8, non-zero where legal.

        Returns:
            Logits, shape ``[n, 400]``, float32; ``ILLEGAL`` where illegal.
        """
        return self._evaluate(observations, masks)[0]

    def answer(self, observations: Bytes, masks: Bytes) -> tuple[Tensor, Tensor]:
        """Logarithms of probabilities, shape ``[n, 400]``, and values that nobody teaches, shape ``[n]``."""
        legal = torch.from_numpy(masks)
        logits, values = self._evaluate(torch.from_numpy(observations), legal)
        return masked_log_probabilities(logits, legal), values

    def _evaluate(self, observations: Tensor, masks: Tensor) -> tuple[Tensor, Tensor]:
        legal = masks.to(torch.bool)
        rows, actions = legal.nonzero(as_tuple=True)
        rests = self.reader.describe_hands(self.reader.leave(observations, rows, actions))
        inputs = self.reader.inputs(observations)
        columns = torch.cat([inputs[entry.name] for entry in POLICY_INPUTS.inputs if entry.name in inputs], 1)
        logits, values = self.network(columns, rows, actions, rests)
        return torch.where(legal, logits, ILLEGAL), values


@dataclass(frozen=True)
class StandaloneWeights:
    """A distilled policy and what it is for.

    Attributes:
        policy: The policy.
        rules: The preset that it was distilled under.
        objective: What its teacher was trained for: ``win`` or ``stake``.
        notes: Plain values for people.
    """

    policy: StandalonePolicy
    rules: str = "standard"
    objective: str = "win"
    notes: Mapping[str, Any] = field(default_factory=dict)


def load_standalone(path: str | Path) -> StandaloneWeights:
    """Read a distilled policy from the file of its training (``ddz train distil``).

    Args:
        path: The file.

    Raises:
        TensorFileError: If the file is missing, truncated, corrupt or of another format.
        TensorFileMismatchError: If it was written for other observations, actions or another architecture.
    """
    try:
        arrays, about = read_tensor_file(path, KIND, VERSION)
    except TensorFileMismatchError as error:
        how = command_line("ddz", "train", "distil", path)
        raise TensorFileMismatchError(f"{error}; a policy is distilled by: {how}") from error
    architecture, purpose = read_about(path, about)
    with torch.device("meta"):  # shapes without memory
        shapes = module_shapes(StandalonePolicy(architecture))
    fitting(arrays, POLICY, shapes, str(path))
    policy = StandalonePolicy(architecture)
    load_module(policy, arrays, POLICY, str(path))
    return StandaloneWeights(policy.eval(), purpose["rules"], purpose["objective"], purpose["notes"])
