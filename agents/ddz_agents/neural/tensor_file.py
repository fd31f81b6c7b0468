"""A file format for arrays and plain values that can be read without running any code from the file.

The file is in the safetensors format (https://huggingface.co/docs/safetensors): the length of a header, the header in
JSON, then bytes.  The header's metadata say what the file is, which observation and action tables it was written for,
and a digest of everything, so that a flipped bit is an error and not a weaker policy.  Files are replaced atomically: a
reader, or a kill, sees the old one or the new one.

The format is read and written here, not by the package safetensors: a policy plays on Botzone, where there are NumPy
and Numba alone, and that package writes metadata in another order every time: equal weights would be different files.
"""

from __future__ import annotations

import functools
import hashlib
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ddz_agents.neural.errors import TensorFileError, TensorFileMismatchError
from ddz_agents.neural.features import PROSPECT_NUMBERS
from ddz_env.core.observation import OBSERVATION, fingerprint
from ddz_env.core.rules import Rules
from ddz_env.support import atomic_files
from ddz_env.support.errors import DouDizhuError, short_repr

Arrays = dict[str, npt.NDArray[Any]]

_DTYPES = {
    name: np.dtype(code)
    for name, code in (
        ("F64", "<f8"), ("F32", "<f4"), ("F16", "<f2"), ("I64", "<i8"), ("I32", "<i4"), ("I16", "<i2"), ("I8", "i1"),
        ("U64", "<u8"), ("U32", "<u4"), ("U16", "<u2"), ("U8", "u1"), ("BOOL", "?"),
    )
}  # fmt: skip
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}
MOST_BYTES = 4 * 2**30
"""Of a file that is read as a whole; a larger one is no policy."""
_LENGTH = 8
"""Bytes of the header's length, least significant first; the header is padded to a multiple of it."""
_MOST_HEADER = 8 * 2**20
"""Bytes of a header: a checkpoint's with a hundred past selves has less than one million."""


EARLIER_LAYOUTS = {"70fe356474e77c0d": "4771d11c82cb6176"}
"""Fingerprints that files were written with, and what the layouts that they meant have now.

Until 0.2.0 a fingerprint was made of the layouts' descriptions, too.  Files are read for ever: where a layout gets
another fingerprint without being another, what it was called before is added here.  A layout that has only grown needs
no entry (:func:`readable_layouts`).
"""


def layout_fingerprint() -> str:
    """Return a hash of the byte layouts that determine what a network's inputs and outputs mean.

    Which inputs are made of an observation is not part of it: files name those
    (:func:`ddz_agents.neural.architecture.describe_inputs`).
    """
    return fingerprint(True, str(PROSPECT_NUMBERS))


@functools.cache
def readable_layouts() -> frozenset[str]:
    """Return the fingerprints of all byte layouts whose files this package can read.

    A network that was trained for one of them finds every byte that it reads where it was.
    """
    counts = range(1, 1 + len([*OBSERVATION.feature_lines()]))
    return frozenset(fingerprint(True, str(PROSPECT_NUMBERS), places=count) for count in counts)


def make_heading(kind: str, version: int) -> dict[str, str]:
    """Return the metadata common to all weights files: kind, format version and layout fingerprint.

    Args:
        kind: What the file is.
        version: The version of that kind of file.
    """
    return {"kind": kind, "version": str(version), "layout": layout_fingerprint()}


def parse_plain_values(where: object, text: str | bytes) -> dict[str, Any]:
    """Parse a file's JSON description of itself into a dictionary, or raise an error that names the file.

    Args:
        where: Names the file in messages.
        text: JSON.

    Raises:
        TensorFileMismatchError: If it is not JSON, or not an object with names and values.
    """
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TensorFileMismatchError(f"{where} has metadata that are not JSON: {error}") from error
    if not isinstance(values, dict):
        raise TensorFileMismatchError(
            f"{where} has metadata that are not an object with names and values: {short_repr(values)}"
        )
    return values


def check_purpose(where: object, rules: object, objective: object, notes: object, values_trained: object) -> None:
    """Check that a policy file's rules, objective, notes and ``values_trained`` flag are valid.

    Args:
        where: Names the file in messages.
        rules: Must name a preset.
        objective: Must be ``win`` or ``stake``.
        notes: Must be names with values.
        values_trained: Must be true or false.

    Raises:
        TensorFileMismatchError: If one is something else.
    """
    for name, value, allowed, right in (
        ("rules", rules, isinstance(rules, str) and _is_preset(rules), "the name of a preset of this version"),
        ("objective", objective, objective in ("win", "stake"), "win or stake"),
        ("notes", notes, isinstance(notes, dict), "an object with names and values"),
        ("values_trained", values_trained, isinstance(values_trained, bool), "true or false"),
    ):
        if not allowed:
            raise TensorFileMismatchError(f"{where} has invalid metadata: {name}={short_repr(value)} must be {right}")


def _is_preset(name: str) -> bool:
    try:
        Rules.preset(name)
    except DouDizhuError:
        return False
    return True


def check_heading(where: object, metadata: Mapping[str, str], kind: str, version: int) -> None:
    """Check that a file's metadata have the expected kind and format version and a readable byte layout.

    Args:
        where: Names the file in messages.
        metadata: Its metadata.
        kind: What it must be.
        version: The version that it must have.

    Raises:
        TensorFileMismatchError: If it is of another kind or version, or was written for other observations or actions.
    """
    if "kind" not in metadata:
        raise TensorFileMismatchError(f"{where} is not a {kind} file: it has no metadata of this package")
    if metadata["kind"] != kind:
        raise TensorFileMismatchError(f"{where} is not a {kind} file but {short_repr(metadata['kind'])}")
    if metadata.get("version") != str(version):
        raise TensorFileMismatchError(
            f"{where} has version {short_repr(metadata.get('version'))} of the {kind} format; this package reads "
            f"{version}"
        )
    layout = metadata.get("layout", "")
    if EARLIER_LAYOUTS.get(layout, layout) not in readable_layouts():
        raise TensorFileMismatchError(
            f"{where} was written for observations or actions with the fingerprint {short_repr(layout)}; "
            f"those of this package have {layout_fingerprint()!r}"
        )


def read_bytes(path: Path) -> bytes:
    """Read a file's content as bytes, refusing a file that is too large.

    Raises:
        TensorFileError: If it is missing, too large or cannot be read.
    """
    if not path.is_file():
        raise TensorFileError(f"{path}: there is no such file")
    check_size(path, path.stat().st_size)
    try:
        return path.read_bytes()
    except OSError as error:
        raise TensorFileError(f"cannot read {path}: {error}") from error


def check_size(where: object, size: int) -> None:
    """Raise an error if a file's unpacked size is above ``MOST_BYTES``, which no policy reaches.

    Args:
        where: Names the file in the message.
        size: Its bytes, once unpacked.

    Raises:
        TensorFileError: If it is larger than any policy.
    """
    if size > MOST_BYTES:
        raise TensorFileError(
            f"{where} holds {size / 2**30:.1f} GiB, more than the {MOST_BYTES >> 30} GiB of any policy"
        )


def check_archive(path: Path | str) -> None:
    """Raise an error if a zip archive is unreadable or its unpacked content is too large.

    Raises:
        TensorFileError: If it is missing, no zip file or too large.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except (OSError, zipfile.BadZipFile) as error:
        raise TensorFileError(f"{path} is missing, no zip file, or was truncated: {error}") from error
    check_size(path, sum(member.file_size for member in members))


def _digest(arrays: Mapping[str, npt.NDArray[Any]], about: str) -> str:
    digest = hashlib.sha256(about.encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def replace_file(path: Path, data: bytes) -> None:
    """Write bytes to a file atomically, creating missing folders.

    Args:
        path: Where to; folders are made.
        data: Its contents.

    Raises:
        TensorFileError: If the file cannot be written.
    """
    try:
        atomic_files.replace_file(path, data)
    except OSError as error:
        raise TensorFileError(f"cannot write {path}: {error.strerror or error}") from error


def _pack(arrays: Mapping[str, npt.NDArray[Any]], metadata: Mapping[str, str]) -> bytes:
    """Pack arrays and metadata into bytes, widest number types first, so that each array is aligned."""
    header: dict[str, Any] = {"__metadata__": metadata}
    pieces, end = list[bytes](), 0
    for name in sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name)):
        array = arrays[name]
        pieces.append(array.tobytes())
        first, end = end, end + array.nbytes
        header[name] = {"dtype": _NAMES[array.dtype], "shape": array.shape, "data_offsets": [first, end]}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % _LENGTH)
    return b"".join([len(text).to_bytes(_LENGTH, "little"), text, *pieces])


def _unpack(data: bytes) -> tuple[dict[str, Any], Arrays]:
    """Unpack the bytes of a file into its metadata and arrays, checking that the arrays fill the file.

    Raises:
        ValueError: Or KeyError, TypeError, AttributeError, OverflowError or RecursionError: if the bytes are not in the
            format.
    """
    first = _LENGTH + int.from_bytes(data[:_LENGTH], "little")
    if first > _MOST_HEADER:
        raise ValueError(f"it is damaged: its header would have {first} bytes")
    header = json.loads(data[_LENGTH:first])
    metadata = dict(header.pop("__metadata__", {}))
    for text in (*header, *metadata.values()):
        str.encode(text)  # it must be text, and half a surrogate pair cannot be encoded
    arrays, end = Arrays(), first
    for name, about in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        start, stop = about["data_offsets"]
        array: npt.NDArray[Any] = np.ndarray(about["shape"], _DTYPES[about["dtype"]], data, first + start)
        if first + start != end or array.nbytes != stop - start:
            raise ValueError(f"it is damaged: the bytes of {name} do not follow those of the array before it")
        arrays[name], end = array.copy(), end + array.nbytes
    if end != len(data):
        raise ValueError(f"it is damaged: {len(data) - end} bytes follow the last array")
    return metadata, arrays


def write_tensor_file(
    path: str | Path, kind: str, version: int, arrays: Mapping[str, npt.NDArray[Any]], about: Mapping[str, Any]
) -> None:
    """Write arrays and plain values to a file, replacing it atomically.

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
    metadata = {**make_heading(kind, version), "about": text, "digest": _digest(arrays, text)}
    replace_file(path, _pack(arrays, metadata))


def read_tensor_file(path: str | Path, kind: str, version: int) -> tuple[Arrays, dict[str, Any]]:
    """Read the arrays and plain values from a file that :func:`write_tensor_file` wrote.

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
    data = read_bytes(Path(path))
    try:
        metadata, arrays = _unpack(data)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise TensorFileError(f"{path} is not a {kind} file, or was truncated: {error}") from error
    check_heading(path, metadata, kind, version)
    text = metadata.get("about", "")
    if metadata.get("digest") != _digest(arrays, text):
        raise TensorFileError(f"{path} is corrupt: its contents do not match their digest")
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise TensorFileError(f"{path}: {name} holds numbers that are not finite")
    return arrays, parse_plain_values(path, text)


def extract_network_arrays(
    arrays: Mapping[str, npt.NDArray[Any]], prefix: str, shapes: Mapping[str, tuple[int, ...]], where: str
) -> Arrays:
    """Return a network's arrays as float32, with their shapes checked and the prefix removed from their names.

    Args:
        arrays: The arrays; those without the prefix are ignored.
        prefix: What each name begins with.
        shapes: What the network needs.
        where: Names the file in messages.

    Raises:
        TensorFileMismatchError: If a weight is missing, left over, or of another shape or type.
    """
    weights = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
    if weights.keys() != shapes.keys():
        missing, left_over = shapes.keys() - weights.keys(), weights.keys() - shapes.keys()
        parts = (("missing", missing), ("left over", left_over))
        names = "; ".join(f"{what}: {', '.join(prefix + name for name in sorted(of))}" for what, of in parts if of)
        raise TensorFileMismatchError(f"{where} does not have the weights of its architecture; {names}")
    for name, shape in shapes.items():
        array = weights[name]
        if array.shape != shape or array.dtype not in (np.float32, np.float16):
            raise TensorFileMismatchError(
                f"{where}: {prefix}{name} is {array.dtype} of shape {list(array.shape)}; "
                f"its architecture needs float32 of shape {list(shape)}"
            )
    return {name: array.astype(np.float32, copy=False) for name, array in weights.items()}
