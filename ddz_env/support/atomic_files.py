"""Atomic file writing, and reading of text files that users name.

A symbolic link stays one: the file that it leads to is written.  What can be appended to is either as it was before, or
has all that was added, unless the process is killed meanwhile.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_STREAM_ERROR = "it is a device or a pipe, not a file"


def real_path(path: Path) -> Path:
    """Resolve all symbolic links in a path, leaving links that form a loop unresolved instead of raising an error.

    ``Path.resolve`` raises a RuntimeError for a loop.  Here the error comes from the code that uses the file.
    """
    return Path(os.path.realpath(path))


@contextmanager
def errors_with_path(path: Path) -> Iterator[None]:
    """Add a file's path to any ``OSError`` that a ``with`` block raises without a path, as failed writes do.

    Args:
        path: The file.

    Raises:
        OSError: The same one.
    """
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            error.filename = str(path)
        raise


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield a temporary path to write a file to, and rename the file once it is complete.

    One process at a time may do this (:mod:`ddz_training.measure.store`); what a killed one left is
    replaced.

    Args:
        path: The file; folders are made.

    Yields:
        The name to write to; there is no such file yet.

    Raises:
        OSError: If it cannot be written.  The file is as it was, and nothing lies beside it.
    """
    target = real_path(path)
    temporary = target.with_name(f"{target.name}.tmp")
    with errors_with_path(path):
        if is_stream(target):
            raise OSError(errno.EINVAL, _STREAM_ERROR, str(path))
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary.unlink(missing_ok=True)
        try:
            yield temporary
            _sync_to_disk(temporary, os.O_RDWR)
            os.replace(temporary, target)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
    with contextlib.suppress(OSError):  # not every system can
        _sync_to_disk(target.parent)


def replace_file(path: Path, data: bytes, mode: int = 0o666) -> None:
    """Replace a file atomically: even after a kill or a power loss it has its old or its new contents.

    Args:
        path: The file; folders are made.  A device or a pipe is written to as it is.
        data: Its contents.
        mode: Its permissions, before the umask.

    Raises:
        OSError: If it cannot be written.
    """
    if is_stream(path):
        with errors_with_path(path):
            path.write_bytes(data)
        return
    with atomic_write(path) as temporary:
        number = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
        with os.fdopen(number, "wb") as file:
            file.write(data)


def read_text(path: Path, errors: str = "strict") -> str:
    """Read a UTF-8 text file, with or without a byte order mark.

    Args:
        path: The file.
        errors: What becomes of bytes that are not UTF-8, as for ``bytes.decode``.

    Raises:
        OSError: If it cannot be read, or is a device or a pipe: those may never end.
        UnicodeDecodeError: If it is not UTF-8.
    """
    if is_stream(path):
        raise OSError(errno.EINVAL, _STREAM_ERROR, str(path))
    return path.read_text(encoding="utf-8-sig", errors=errors)


def append_bytes(path: Path, data: bytes) -> None:
    """Append bytes to a file, restoring the file if writing fails.

    Args:
        path: The file.
        data: What is added.

    Raises:
        OSError: If it cannot be written.
    """
    with errors_with_path(path), path.open("ab", buffering=0) as file:
        before, remaining = file.tell(), memoryview(data)
        try:
            while remaining:
                remaining = remaining[file.write(remaining) or 0 :]
        except OSError:
            file.truncate(before)
            raise


def is_stream(path: Path) -> bool:
    """Return whether a path exists but is neither a file nor a folder (a device, pipe or socket)."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _sync_to_disk(path: Path, access: int = os.O_RDONLY) -> None:
    number = os.open(path, access)
    try:
        os.fsync(number)
    finally:
        os.close(number)
