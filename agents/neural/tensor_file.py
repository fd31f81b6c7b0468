"""Arrays and plain values in one file, read without running anything that the file says.

The file is in the safetensors format: a header of JSON, then bytes.  The header's metadata say what the file is, which
observation and action tables it was written for, and a digest of everything, so that a flipped bit is an error and
not a weaker policy.  Files are replaced atomically: a reader, or a kill, sees the old one or the new one.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from agents.neural.errors import TensorFileError
from agents.neural.heading import check_heading, heading, plain_values

Arrays = dict[str, npt.NDArray[Any]]


def _digest(arrays: Mapping[str, npt.NDArray[Any]], about: str) -> str:
    digest = hashlib.sha256(about.encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A name beside a file, in a folder that exists.

    Raises:
        TensorFileError: If anything that is done there fails.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield path.with_name(path.name + ".tmp")
    except OSError as error:
        raise TensorFileError(f"cannot write {path}: {error}") from error


def replace_file(path: Path, data: bytes) -> None:
    """Write a file atomically: a reader, or a kill, sees the old one or the new one.

    Args:
        path: Where to; folders are made.
        data: Its contents.

    Raises:
        TensorFileError: If the file cannot be written.
    """
    with _beside(path) as temporary:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)


def write_tensor_file(
    path: str | Path, kind: str, version: int, arrays: Mapping[str, npt.NDArray[Any]], about: Mapping[str, Any]
) -> None:
    """Write arrays and plain values, replacing the file atomically.

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
    metadata = {**heading(kind, version), "about": text, "digest": _digest(arrays, text)}
    data = save({name: np.asarray(array, order="C") for name, array in arrays.items()}, metadata)
    replace_file(path, data)


def read_tensor_file(path: str | Path, kind: str, version: int) -> tuple[Arrays, dict[str, Any]]:
    """Read what :func:`write_tensor_file` wrote.

    Args:
        path: The file.
        kind: What it must be.
        version: The version that it must have.

    Returns:
        The arrays by name, and the plain values.

    Raises:
        TensorFileError: If the file is missing, truncated, corrupt or of another format, or holds numbers that are not
            finite.
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
    check_heading(path, metadata, kind, version)
    text = metadata.get("about", "")
    if metadata.get("digest") != _digest(arrays, text):
        raise TensorFileError(f"{path} is corrupt: its contents do not match their digest")
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise TensorFileError(f"{path}: {name} holds numbers that are not finite")
    return arrays, plain_values(path, text)
