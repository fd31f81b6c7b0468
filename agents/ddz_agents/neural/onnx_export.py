"""Policies as ONNX files: bytes and prospects of hands in, logarithms of probabilities and values out.

What the file computes is :class:`ExportedPolicy`, the network with its columns as tensor operations
(:mod:`ddz_agents.neural.tensor_columns`).  Prospects alone are handed in: no tensor operation searches a hand.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ddz_agents.neural.afterstates import describe_prospects
from ddz_agents.neural.columns import POLICY_INPUTS
from ddz_agents.neural.errors import MissingOnnxError, OnnxExportError
from ddz_agents.neural.network import PolicyNetwork, masked_log_probabilities
from ddz_agents.neural.onnx_policy import FULL
from ddz_agents.neural.onnx_stamp import stamped, two_rows
from ddz_agents.neural.tensor_columns import ByteReader, thresholds
from ddz_agents.neural.tensor_file import replace_file
from ddz_agents.neural.weights import Weights
from ddz_env.core.errors import install_hint

_OLDEST = "2.6"
"""The first PyTorch whose exporter takes what depends on the data, as the number of legal actions does."""


def export_onnx(weights: Weights, path: str | Path) -> None:
    """Write a policy as ONNX, for :class:`~ddz_agents.neural.onnx_policy.OnnxPolicy` and for everybody else.

    The inputs are ``observations`` and ``masks``, the outputs ``log_probabilities`` and ``values``, as
    :meth:`ddz_agents.neural.model.PolicyModel.evaluate` has them, for any number of rows; ``prospects`` and
    ``rest_prospects`` go with them (:func:`ddz_agents.neural.afterstates.describe_prospects`).  The critic is left out.

    Args:
        weights: The networks; only the policy is written.
        path: Where to; the file is replaced atomically.

    Raises:
        MissingOnnxError: If onnx or onnxscript is not installed.
        OnnxExportError: If this PyTorch is too old.
        TensorFileError: If the file cannot be written.
    """
    try:
        import onnx  # noqa: F401
        import onnxscript  # noqa: F401  # PyTorch's exporter imports it
    except ImportError as error:
        raise MissingOnnxError(f"writing ONNX needs onnx and onnxscript ({error}): {install_hint('onnx')}") from error
    model = _converted(ExportedPolicy(weights.policy))
    data = stamped(model, FULL, weights.rules, weights.objective, weights.notes, weights.values_trained)
    replace_file(Path(path), data)


def _converted(module: ExportedPolicy) -> Any:
    """The graph."""
    if torch.__version__ < _OLDEST:
        raise OnnxExportError(f"PyTorch {torch.__version__} cannot export this network: {_OLDEST} or newer can")
    seen = two_rows()
    given = (*seen, *describe_prospects(*seen))
    rows = torch.export.Dim("n")
    with _quiet():
        program = torch.onnx.export(
            module.eval(),
            tuple(map(torch.from_numpy, given)),
            dynamo=True,
            verbose=False,
            input_names=list(FULL.inputs),
            output_names=list(FULL.outputs),
            dynamic_shapes=({0: rows},) * len(FULL.inputs),
        )
    if program is None:
        raise OnnxExportError("PyTorch's exporter returned nothing")
    return program.model_proto


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the exporter's remarks on operators that are not used and on its own future."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "onnxscript", "onnx_ir")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


class ExportedPolicy(nn.Module):
    """A policy network that reads bytes, and prospects beside them.

    Args:
        network: The network.
    """

    def __init__(self, network: PolicyNetwork) -> None:
        super().__init__()
        self.network = network
        self.reader = ByteReader(network.architecture.history)

    def forward(
        self, observations: Tensor, masks: Tensor, prospects: Tensor, rest_prospects: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Evaluate observations.

        Args:
            observations: Shape ``[n, OBSERVATION_SIZE]``, int8.
            masks: Shape ``[n, 400]``, int8.
            prospects: Of the observers' hands (:func:`ddz_agents.neural.afterstates.describe_prospects`), float32.
            rest_prospects: Of the hands that the actions leave, shape ``[n, 400, PROSPECTS]``, float32.

        Returns:
            Logarithms of the probabilities, shape ``[n, 400]``, minus infinity where illegal; values for the observer,
            shape ``[n]``; float32.
        """
        rows, actions = masks.to(torch.bool).nonzero(as_tuple=True)
        left = thresholds(self.reader.leave(observations, rows, actions))
        rests = torch.cat([left, rest_prospects[rows, actions]], 1)
        logits, values = self.network(self.describe(observations, prospects), rows, actions, rests)
        return masked_log_probabilities(logits, masks.to(torch.int32)), values

    def describe(self, observations: Tensor, prospects: Tensor) -> Tensor:
        """The columns of observations, shape ``[n, observation_columns(history)]``, float32."""
        inputs = {**self.reader.inputs(observations), "prospects": prospects}
        return torch.cat([inputs[entry.name] for entry in POLICY_INPUTS.inputs], 1)
