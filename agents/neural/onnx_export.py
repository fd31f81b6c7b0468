"""Policies as ONNX files: bytes and prospects of hands in, logarithms of probabilities and values out."""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from agents.neural.errors import MissingOnnxError, OnnxExportError
from agents.neural.heading import heading
from agents.neural.leavings import describe_prospects
from agents.neural.masking import masked_log_probabilities
from agents.neural.network import PolicyNetwork
from agents.neural.onnx_policy import (
    KIND,
    LOG_PROBABILITIES,
    MASKS,
    NO_DIGEST,
    OBSERVATIONS,
    OWN,
    RESTS,
    VALUES,
    VERSION,
    digest_of,
)
from agents.neural.standalone import StandalonePolicy
from agents.neural.tensor_file import replace_file
from agents.neural.weights import Weights
from ddz_env import State, __version__
from ddz_env.observation import action_mask, observe

_OLDEST = "2.6"
"""The first PyTorch whose exporter takes what depends on the data, as the number of legal actions does."""


class _Exported(nn.Module):
    """What the file computes: a :class:`StandalonePolicy` whose logits are masked and normalized."""

    def __init__(self, network: PolicyNetwork) -> None:
        super().__init__()
        self.policy = StandalonePolicy(network)

    def forward(
        self, observations: Tensor, masks: Tensor, prospects: Tensor, rest_prospects: Tensor
    ) -> tuple[Tensor, Tensor]:
        """As :meth:`StandalonePolicy.forward`, to shapes ``[n, 400]`` and ``[n]``, float32."""
        logits, values = self.policy(observations, masks, prospects, rest_prospects)
        return masked_log_probabilities(logits, masks.to(torch.int32)), values


def export_onnx(weights: Weights, path: str | Path) -> None:
    """Write a policy as ONNX, for :class:`~agents.neural.onnx_policy.OnnxPolicy` and for everybody else.

    The inputs are ``observations`` and ``masks``, the outputs ``log_probabilities`` and ``values``, as
    :meth:`agents.neural.model.PolicyModel.evaluate` has them, for any number of rows; ``prospects`` and
    ``rest_prospects`` go with them (:func:`agents.neural.leavings.describe_prospects`).  The critic stays behind.

    Args:
        weights: The networks; only the policy is written.
        path: Where to; the file is replaced at one stroke.

    Raises:
        MissingOnnxError: If onnx or onnxscript is not installed.
        OnnxExportError: If this PyTorch is too old.
        TensorFileError: If the file cannot be written.
    """
    try:
        import onnx
        import onnxscript  # noqa: F401  # PyTorch's exporter imports it
    except ImportError as error:
        raise MissingOnnxError(
            f'writing ONNX needs onnx and onnxscript ({error}): pip install "ddz-env[onnx]"'
        ) from error
    model = _converted(weights.policy)
    metadata = {
        **heading(KIND, VERSION),
        "package": f"ddz-env {__version__}",
        "rules": weights.rules,
        "objective": weights.objective,
        "values_trained": json.dumps(weights.values_trained),
        "notes": json.dumps(dict(weights.notes), sort_keys=True),
        "digest": NO_DIGEST,
    }
    onnx.helper.set_model_props(model, metadata)
    data = model.SerializeToString()
    replace_file(Path(path), data.replace(NO_DIGEST.encode(), digest_of(data, NO_DIGEST).encode()))


def _converted(network: PolicyNetwork) -> Any:
    """The graph."""
    if torch.__version__ < _OLDEST:
        raise OnnxExportError(f"PyTorch {torch.__version__} cannot export this network: {_OLDEST} or newer can")
    state = State.new(0)
    seen = np.stack([observe(state)] * 2), np.stack([action_mask(state)] * 2)
    example = tuple(map(torch.from_numpy, (*seen, *describe_prospects(*seen))))
    rows = torch.export.Dim("n")
    with _quiet():
        program = torch.onnx.export(
            _Exported(network).eval(),
            example,
            dynamo=True,
            verbose=False,
            input_names=[OBSERVATIONS, MASKS, OWN, RESTS],
            output_names=[LOG_PROBABILITIES, VALUES],
            dynamic_shapes=({0: rows},) * 4,
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
