"""Arrays and plain values in one file, read without running anything that the file says.

The file is in the safetensors format: a header of JSON, then bytes.  The header's metadata say what the file is, which
observation and action tables it was written for, and a digest of everything, so that a flipped bit is an error and
not a weaker policy.  A file is replaced at one stroke: a reader, or a kill, sees the old one or the new one.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from agents.neural.errors import TensorFileError, TensorFileMismatchError
from ddz_env.actions import NUM_ACTIONS, action_name
from ddz_env.observation import CONCEALED, OBSERVATION

Arrays = dict[str, npt.NDArray[Any]]


@functools.cache
def layout_fingerprint() -> str:
    """A hash of the tables that give a network's inputs and outputs their meaning, sixteen hexadecimal digits."""
    lines = [*map(str, OBSERVATION.rows()), *map(str, CONCEALED.rows()), *map(action_name, range(NUM_ACTIONS))]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def _digest(arrays: Mapping[str, npt.NDArray[Any]], about: str) -> str:
    digest = hashlib.sha256(about.encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def write_tensor_file(
    path: str | Path, kind: str, version: int, arrays: Mapping[str, npt.NDArray[Any]], about: Mapping[str, Any]
) -> None:
    """Write arrays and plain values, replacing the file at one stroke.

    Args:
        path: Where to; folders are made.
        kind: What the file is.
        version: The version of that kind of file.
        arrays: The arrays, by name.
        about: Plain JSON values.

    Raises:
        TensorFileError: If the file cannot be written.
    """
    path = Path(path)
    text = json.dumps(about, sort_keys=True)
    metadata = {
        "kind": kind,
        "version": str(version),
        "layout": layout_fingerprint(),
        "about": text,
        "digest": _digest(arrays, text),
    }
    data = save({name: np.asarray(array, order="C") for name, array in arrays.items()}, metadata)
    temporary = path.with_name(path.name + ".tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise TensorFileError(f"cannot write {path}: {error}") from error


def read_tensor_file(path: str | Path, kind: str, version: int) -> tuple[Arrays, dict[str, Any]]:
    """Read what :func:`write_tensor_file` wrote.

    Args:
        path: The file.
        kind: What it must be.
        version: The version that it must have.

    Returns:
        The arrays by name, and the plain values.

    Raises:
        TensorFileError: If the file is missing, truncated, corrupt or of another format.
        TensorFileMismatchError: If it is of another kind or version, or was written for other observations or actions.
    """
    path = Path(path)
    if not path.is_file():
        raise TensorFileError(f"{path}: there is no such file")
    try:
        with safe_open(str(path), framework="np") as file:
            metadata = dict(file.metadata() or {})
            arrays: Arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # not a dict
    except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
        raise TensorFileError(f"{path} is no {kind} file, or was truncated: {error}") from error
    about = _about(path, kind, version, metadata, arrays)
    return arrays, about


def _about(path: Path, kind: str, version: int, metadata: dict[str, str], arrays: Arrays) -> dict[str, Any]:
    """The plain values of a file, once everything about it is in order."""
    if metadata.get("kind") != kind:
        raise TensorFileMismatchError(f"{path} is no {kind} file but {metadata.get('kind', 'something else')!r}")
    if metadata.get("version") != str(version):
        raise TensorFileMismatchError(
            f"{path} has version {metadata.get('version')!r} of the {kind} format; this package reads {version}"
        )
    text = metadata.get("about", "")
    if metadata.get("digest") != _digest(arrays, text):
        raise TensorFileError(f"{path} is corrupt: its contents do not match their digest")
    if metadata.get("layout") != layout_fingerprint():
        raise TensorFileMismatchError(
            f"{path} was written for observations or actions with the fingerprint {metadata.get('layout')!r}; "
            f"those of this package have {layout_fingerprint()!r}"
        )
    about: dict[str, Any] = json.loads(text)
    return about
