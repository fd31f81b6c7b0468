"""Policies as ONNX files: the network as it was trained, which takes columns and gives logits and values."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from ddz_agents.neural.errors import MissingOnnxError, OnnxExportError
from ddz_agents.neural.network import PolicyNetwork, policy_input
from ddz_agents.neural.onnx_policy import Format, exported_format
from ddz_agents.neural.onnx_stamp import stamped, two_rows
from ddz_agents.neural.tensor_file import replace_file
from ddz_agents.neural.weights import Weights
from ddz_env.core.errors import install_hint

_OLDEST = "2.6"
"""The first PyTorch whose exporter takes what depends on the data, as the number of legal actions does."""


def export_onnx(weights: Weights, path: str | Path) -> None:
    """Write a policy as ONNX, for :class:`~ddz_agents.neural.onnx_policy.OnnxPolicy` and for everybody else.

    The inputs are those of :class:`ddz_agents.neural.network.PolicyInput`, by their names and for any number of rows;
    the outputs are ``logits``, which say nothing where an action is illegal, and ``values``.  The critic is left out.

    Args:
        weights: The weights; only the policy is written.
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
    form, (network, _) = exported_format(weights.architecture.history), weights.networks()
    purpose = weights.rules, weights.objective, weights.notes, weights.values_trained
    replace_file(Path(path), stamped(_converted(network, form), form, *purpose))


def _converted(network: PolicyNetwork, form: Format) -> Any:
    """The graph."""
    if torch.__version__ < _OLDEST:
        raise OnnxExportError(f"PyTorch {torch.__version__} cannot export this network: {_OLDEST} or newer can")
    seen, _ = policy_input(*two_rows(), network.architecture.history)
    rows, pairs = torch.export.Dim("n"), torch.export.Dim("pairs")
    with _quiet():
        program = torch.onnx.export(
            network,
            tuple(seen),
            dynamo=True,
            verbose=False,
            input_names=list(form.inputs),
            output_names=list(form.outputs),
            dynamic_shapes=({0: rows}, {0: pairs}, {0: pairs}, {0: pairs}),
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
