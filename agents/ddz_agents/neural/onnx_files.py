"""Writing ONNX files that can be played: the export of a policy, and a stamp for a network of another program.

A file says in its metadata what it is (:mod:`ddz_agents.neural.onnx_policy`).  One without these words is refused: it
could have been trained for other observations and actions, and would then play badly without an error.
"""

from __future__ import annotations

import importlib
import json
import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ddz_agents.neural.architecture import inputs_of
from ddz_agents.neural.errors import MissingOnnxError, OnnxExportError, TensorFileError, TensorFileMismatchError
from ddz_agents.neural.onnx_policy import (
    NO_DIGEST,
    OWN,
    Format,
    check_nodes,
    digest_of,
    exported_format,
    session_of,
    two_rows,
)
from ddz_agents.neural.tensor_file import check_purpose, heading, read_bytes, replace_file
from ddz_agents.neural.weights import Weights
from ddz_env import Rules, __version__
from ddz_env.support.errors import install_hint

if TYPE_CHECKING:
    from torch import Tensor, nn

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
    _import("onnx", "onnxscript")  # PyTorch's exporter imports the second
    from ddz_agents.neural.network import policy_input

    form, (network, _) = exported_format(weights.architecture.history), weights.networks()
    inputs = policy_input(*two_rows(), network.architecture.history)
    model = to_graph(network, inputs, form, ("n", "pairs", "pairs", "pairs"))
    purpose = weights.rules, weights.objective, weights.notes, weights.values_trained
    replace_file(Path(path), stamped(model, form, *purpose))


def to_graph(network: nn.Module, inputs: Sequence[Tensor], form: Format, batches: Sequence[str]) -> Any:
    """The ONNX graph of a PyTorch network, an ``onnx.ModelProto``.

    Args:
        network: The network.
        inputs: What it takes, for two rows.
        form: Names of inputs and outputs.
        batches: The name of each input's first size; inputs of the same size have the same name.

    Raises:
        OnnxExportError: If this PyTorch is too old.
    """
    import torch

    if torch.__version__ < _OLDEST:
        raise OnnxExportError(f"PyTorch {torch.__version__} cannot export this network: {_OLDEST} or newer can")
    sizes = {name: torch.export.Dim(name) for name in batches}
    with _quiet():
        program = torch.onnx.export(
            network,
            tuple(inputs),
            dynamo=True,
            verbose=False,
            input_names=list(form.inputs),
            output_names=list(form.outputs),
            dynamic_shapes=tuple({0: sizes[name]} for name in batches),
        )
    if program is None:
        raise OnnxExportError("PyTorch's exporter returned nothing")
    return _without_origins(program.model_proto)


def _without_origins(model: Any) -> Any:
    """A graph without what the exporter notes of the code, such as the names of folders on this machine."""
    graph = model.graph
    for part in (graph, *graph.node, *graph.initializer, *graph.value_info, *graph.input, *graph.output):
        part.ClearField("metadata_props")
    return model


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the exporter's remarks on operators that are not used and on its own future."""
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


def stamped(
    model: Any, form: Format, rules: str, objective: str, notes: Mapping[str, Any], values_trained: bool
) -> bytes:
    """An ONNX file that says what it is.

    Args:
        model: An ``onnx.ModelProto``, changed in place; what else its metadata say is kept.
        form: The kind of file.
        rules: The preset that it was trained under.
        objective: ``win`` or ``stake``.
        notes: Plain values for people.
        values_trained: Whether its values mean anything.

    Raises:
        MissingOnnxError: If onnx is not installed.
    """
    (onnx,) = _import("onnx")
    properties = {entry.key: entry.value for entry in model.metadata_props}
    metadata = {
        **heading(form.kind, form.version),
        "inputs": json.dumps(inputs_of(*form.tables)),
        "package": f"ddz-env {__version__}",
        "rules": rules,
        "objective": objective,
        "values_trained": json.dumps(values_trained),
        "notes": json.dumps(dict(notes), sort_keys=True),
        "digest": NO_DIGEST,
    }
    onnx.helper.set_model_props(model, properties | metadata)
    data: bytes = model.SerializeToString()
    return data.replace(NO_DIGEST.encode(), digest_of(data, NO_DIGEST).encode())


def stamp_onnx(
    path: str | Path,
    out: str | Path,
    *,
    rules: str = "standard",
    objective: str = "win",
    notes: Mapping[str, Any] | None = None,
) -> None:
    """Make an ONNX file of your own playable as ``policy:path=FILE``.

    The file has the inputs ``observation`` ``[n, 512]`` and ``action_mask`` ``[n, 400]``, both int8, and the output
    ``logits`` ``[n, 400]``, float32, for any number ``n`` of rows.  What it says of illegal actions is ignored.
    Observations and actions are taken to be those of this package: stamp a file with the version that it was trained
    with.

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
    session = session_of(path, data, 1)
    check_nodes(path, session, OWN)
    seen = two_rows()
    try:
        (logits,) = session.run(list(OWN.outputs), dict(zip(OWN.inputs, seen, strict=True)))
    except Exception as error:  # ONNX Runtime's own classes
        raise TensorFileMismatchError(f"{path} does not take two rows (is its batch dynamic?): {error}") from error
    if logits.shape != seen[1].shape or np.isnan(logits).any():
        raise TensorFileMismatchError(f"{path} answers two rows with logits of shape {logits.shape}, or with NaN")
    (onnx,) = _import("onnx")
    model = onnx.load_from_string(data)
    try:
        content = stamped(model, OWN, name, objective, plain_notes, False)
    except (TypeError, ValueError) as error:
        raise TensorFileError(f"{path}: the notes are not plain values: {error}") from error
    replace_file(Path(out), content)


def _import(*packages: str) -> list[Any]:
    """Import packages that write ONNX files."""
    try:
        return [importlib.import_module(package) for package in packages]
    except ImportError as error:
        needed = " and ".join(packages)
        raise MissingOnnxError(f"writing ONNX needs {needed} ({error}): {install_hint('onnx')}") from error
