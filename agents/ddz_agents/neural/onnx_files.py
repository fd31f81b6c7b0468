"""Writing of playable ONNX files: from a PyTorch module, or by adding metadata to another program's file.

A file says in its metadata what it is (:mod:`ddz_agents.neural.onnx_policy`).  One without these words is refused: it
could have been trained for other observations and actions, and would then play badly without an error.
"""

from __future__ import annotations

import importlib
import json
import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ddz_agents.neural.errors import (
    MissingOnnxError,
    MissingTorchError,
    OnnxExportError,
    TensorFileError,
    TensorFileMismatchError,
)
from ddz_agents.neural.onnx_policy import (
    INPUTS,
    KIND,
    LOGITS,
    LOGITS_AND_VALUES,
    NO_DIGEST,
    VERSION,
    check_nodes,
    compute_digest,
    example_inputs,
    open_session,
)
from ddz_agents.neural.tensor_file import check_purpose, make_heading, read_bytes, replace_file
from ddz_env import Rules, __version__
from ddz_env.support.errors import install_hint

if TYPE_CHECKING:
    from torch import nn

_OLDEST = "2.6"
"""The first PyTorch whose exporter takes what depends on the data, as the number of legal actions does."""


def save_policy(
    module: nn.Module,
    path: str | Path,
    rules: str = "standard",
    *,
    objective: str = "win",
    notes: Mapping[str, Any] | None = None,
    dtype: str = "float32",
) -> None:
    """Write a PyTorch module as an ONNX file that ``policy:path=FILE`` or any ONNX runtime can run.

    The file has the inputs ``observation`` ``[n, 512]`` and ``action_mask`` ``[n, 400]``, both int8, and the outputs
    ``logits`` ``[n, 400]`` and, if the module answers with values, ``values`` ``[n]``, both float32, for any number
    ``n`` of rows.

    Args:
        module: What :class:`~ddz_agents.neural.torch_model.TorchModel` plays: it is called with observations and masks,
            and answers with logits, or with logits and values.  It is put into evaluation mode.
        path: Where to; the file is replaced atomically.
        rules: The preset that it was trained under.
        objective: What it was trained for, and what its values mean: ``win`` or ``stake``.
        notes: Plain values for people, by name.
        dtype: The form of observations that it learned from: ``"float32"``, scaled to 0..1, or ``"int8"``.

    Raises:
        MissingOnnxError: If onnx or onnxscript is not installed.
        MissingTorchError: If PyTorch is not.
        OnnxExportError: If PyTorch cannot export the module.
        InvalidPolicyOutputError: If it does not take observations and masks, or answers with something else.
        InvalidRulesError: If there is no such preset.
        TensorFileError: If the file cannot be written.
        TensorFileMismatchError: If the objective is unknown, or the notes are not plain values.

    Example:
        ``save_policy(module, "mine.onnx", "standard")``, then ``ddz arena policy:path=mine.onnx rules``.
    """
    _import_onnx("onnx", "onnxscript")  # PyTorch's exporter imports the second
    try:
        from ddz_agents.neural.torch_model import ByteInputModule, TorchModel, first_weight
    except ImportError as error:
        raise MissingTorchError(f"writing a module needs PyTorch ({error}): {install_hint('train')}") from error
    name, plain_notes = Rules.preset(rules).name, dict(notes or {})
    has_values = TorchModel(module, dtype).leaf == "value"
    check_purpose(path, name, objective, plain_notes, has_values)
    device = first_weight(module).device
    try:
        model = to_graph(ByteInputModule(module.cpu(), dtype), has_values)
    finally:
        module.to(device)
    try:
        content = with_metadata(model, name, objective, plain_notes, has_values)
    except (TypeError, ValueError) as error:
        raise TensorFileError(f"{path}: notes must be values that JSON can hold: {error}") from error
    replace_file(Path(path), content)


def to_graph(network: nn.Module, has_values: bool = False) -> Any:
    """Convert a PyTorch network with int8 inputs to an ONNX graph (an ``onnx.ModelProto``).

    Args:
        network: Called with observations and masks, int8; it answers with logits, or with logits and values.
        has_values: Whether it does.

    Raises:
        OnnxExportError: If PyTorch cannot export it.
    """
    import torch

    if torch.__version__ < _OLDEST:
        raise OnnxExportError(f"PyTorch {torch.__version__} cannot export this network: {_OLDEST} or newer can")
    rows = torch.export.Dim("n")
    try:
        with _silence_exporter():
            program = torch.onnx.export(
                network,
                tuple(map(torch.from_numpy, example_inputs())),
                dynamo=True,
                verbose=False,
                input_names=list(INPUTS),
                output_names=list(LOGITS_AND_VALUES if has_values else LOGITS),
                dynamic_shapes=tuple({0: rows} for _ in INPUTS),
            )
    except torch.onnx.errors.OnnxExporterError as error:
        raise OnnxExportError(f"PyTorch cannot export this network: {str(error).splitlines()[0]}") from error
    if program is None:
        raise OnnxExportError(f"PyTorch {torch.__version__} cannot export this network: its exporter returned nothing")
    return _remove_origins(program.model_proto)


def _remove_origins(model: Any) -> Any:
    """Remove the metadata about the source code, such as local folder names, from an exported ONNX model."""
    graph = model.graph
    for part in (graph, *graph.node, *graph.initializer, *graph.value_info, *graph.input, *graph.output):
        part.ClearField("metadata_props")
    return model


@contextmanager
def _silence_exporter() -> Iterator[None]:
    """Silence the log messages and warnings of PyTorch's ONNX exporter within a ``with`` block."""
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


def with_metadata(model: Any, rules: str, objective: str, notes: Mapping[str, Any], values_trained: bool) -> bytes:
    """Return the bytes of an ONNX file with the metadata by which this package recognizes a policy.

    Args:
        model: An ``onnx.ModelProto``, changed in place; what else its metadata say is kept.
        rules: The preset that it was trained under.
        objective: ``win`` or ``stake``.
        notes: Plain values for people.
        values_trained: Whether its values mean anything.

    Raises:
        MissingOnnxError: If onnx is not installed.
    """
    (onnx,) = _import_onnx("onnx")
    properties = {entry.key: entry.value for entry in model.metadata_props}
    metadata = {
        **make_heading(KIND, VERSION),
        "package": f"ddz-env {__version__}",
        "rules": rules,
        "objective": objective,
        "values_trained": json.dumps(values_trained),
        "notes": json.dumps(dict(notes), sort_keys=True),
        "digest": NO_DIGEST,
    }
    onnx.helper.set_model_props(model, properties | metadata)
    data: bytes = model.SerializeToString()
    return data.replace(NO_DIGEST.encode(), compute_digest(data, NO_DIGEST).encode())


def stamp_onnx(
    path: str | Path,
    out: str | Path,
    *,
    rules: str = "standard",
    objective: str = "win",
    notes: Mapping[str, Any] | None = None,
) -> None:
    """Make a user's ONNX file playable as ``policy:path=FILE`` by adding metadata to a copy.

    The file has the inputs ``observation`` ``[n, 512]`` and ``action_mask`` ``[n, 400]``, both int8, and the output
    ``logits`` ``[n, 400]``, float32, for any number ``n`` of rows; it may have ``values`` ``[n]``, float32, too.
    What it says of illegal actions is ignored.  Observations and actions are taken to be those of this package: stamp a
    file with the version that it was trained with.

    Args:
        path: The file.
        out: Where to; the file is replaced atomically, and may be the same.
        rules: The preset that it was trained under.
        objective: What it was trained for: ``win`` or ``stake``.
        notes: Plain values for people, by name.

    Raises:
        MissingOnnxError: If onnx or ONNX Runtime is not installed.
        InvalidRulesError: If there is no such preset.
        TensorFileError: If the file is missing or no ONNX file, or the other cannot be written.
        TensorFileMismatchError: If it has other inputs or outputs, takes one row only, or the words are not plain data.

    Example:
        ``stamp_onnx("mine.onnx", "player.onnx")``, then ``ddz arena policy:path=player.onnx rules``.
    """
    name, plain_notes = Rules.preset(rules).name, dict(notes or {})
    check_purpose(path, name, objective, plain_notes, False)
    data = read_bytes(Path(path))
    session = open_session(path, data, 1)
    outputs, seen = check_nodes(path, session), example_inputs()
    try:
        logits, *_ = session.run(outputs, dict(zip(INPUTS, seen, strict=True)))
    except Exception as error:  # ONNX Runtime's own classes
        raise TensorFileMismatchError(f"{path} does not take two rows (is its batch dynamic?): {error}") from error
    if logits.shape != seen[1].shape:
        raise TensorFileMismatchError(
            f"{path} answers two rows with logits of shape {list(logits.shape)}, not {list(seen[1].shape)}"
        )
    if np.isnan(logits).any():
        raise TensorFileMismatchError(f"{path} answers two rows with logits that are NaN")
    (onnx,) = _import_onnx("onnx")
    model = onnx.load_from_string(data)
    try:
        content = with_metadata(model, name, objective, plain_notes, len(outputs) > 1)
    except (TypeError, ValueError) as error:
        raise TensorFileError(f"{path}: notes must be values that JSON can hold: {error}") from error
    replace_file(Path(out), content)


def _import_onnx(*packages: str) -> list[Any]:
    """Import packages for writing ONNX, or raise an error that says how to install them."""
    try:
        return [importlib.import_module(package) for package in packages]
    except ImportError as error:
        needed = " and ".join(packages)
        raise MissingOnnxError(f"writing ONNX needs {needed} ({error}): {install_hint('onnx')}") from error
