"""What an ONNX file says about itself, and putting it into one that other programs wrote.

A file without these words is refused: nothing in it would tell for which observations and actions it was trained, and
one for others would play badly without an error.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ddz_agents.neural.errors import MissingOnnxError, TensorFileError, TensorFileMismatchError
from ddz_agents.neural.model import Bytes
from ddz_agents.neural.onnx_policy import NO_DIGEST, OWN, Format, check_nodes, digest_of, session_of
from ddz_agents.neural.tensor_file import check_purpose, heading, read_bytes, replace_file
from ddz_env import Rules, State, __version__
from ddz_env.core.errors import install_hint
from ddz_env.core.observation import action_mask, observe


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
    onnx = _onnx()
    kept = {entry.key: entry.value for entry in model.metadata_props}
    metadata = {
        **heading(form.kind, form.version),
        "package": f"ddz-env {__version__}",
        "rules": rules,
        "objective": objective,
        "values_trained": json.dumps(values_trained),
        "notes": json.dumps(dict(notes), sort_keys=True),
        "digest": NO_DIGEST,
    }
    onnx.helper.set_model_props(model, kept | metadata)
    data: bytes = model.SerializeToString()
    return data.replace(NO_DIGEST.encode(), digest_of(data, NO_DIGEST).encode())


def two_rows() -> tuple[Bytes, Bytes]:
    """Observations and masks to try a graph on."""
    state = State.new(0)
    return np.stack([observe(state)] * 2), np.stack([action_mask(state)] * 2)


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
        TensorFileMismatchError: If it has other inputs or outputs, takes one row only, or the words are no plain data.

    Example:
        ``stamp_onnx("mine.onnx", "player.onnx")``, then ``ddz arena policy:path=player.onnx rules``.
    """
    name, said = Rules.preset(rules).name, dict(notes or {})
    check_purpose(path, name, objective, said, False)
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
    model = _onnx().load_from_string(data)
    try:
        content = stamped(model, OWN, name, objective, said, False)
    except (TypeError, ValueError) as error:
        raise TensorFileError(f"{path}: the notes are no plain values: {error}") from error
    replace_file(Path(out), content)


def _onnx() -> Any:
    try:
        import onnx
    except ImportError as error:
        raise MissingOnnxError(f"writing ONNX needs onnx ({error}): {install_hint('onnx')}") from error
    return onnx
