"""Claims on files and folders that do not hold results: one process at a time writes to them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from ddz_env.core.whole_file import real_path
from ddz_training.measure.errors import InUseError

TAKEN = "being written by another process: wait until it has ended, or name another"


def claim(path: Path, *, folder: bool = False) -> FileLock:
    """Claim a file or a folder that does not hold results: a lock of the operating system (:mod:`filelock`).

    Args:
        path: The file or folder; it need not exist.
        folder: Whether it is a folder.

    Returns:
        The lock, which ends with this process if it is not released before.

    Raises:
        InUseError: If another process has it.
    """
    path = real_path(path)
    name = path / ".lock" if folder else path.with_name(f"{path.name}.lock")
    name.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(name, timeout=0, mode=0o666, thread_local=False, is_singleton=True)
    try:
        lock.acquire()
    except Timeout as error:
        raise InUseError(f"{path} is {TAKEN}") from error
    return lock


@contextmanager
def writing(path: Path, *, folder: bool = False) -> Iterator[Path]:
    """:func:`claim` a file or a folder for the time of a ``with`` block; a new folder that stays empty is removed.

    Yields:
        What is claimed: the path behind all links.  Write to this one, for a link may be changed meanwhile.

    Raises:
        InUseError: If another process has it.
    """
    there, lock = path.exists(), claim(path, folder=folder)
    try:
        yield real_path(path)
    finally:
        if lock.lock_counter == 1:
            Path(lock.lock_file).unlink(missing_ok=True)  # a process that has just opened it sees that
        lock.release()
        if folder and not there:
            with suppress(OSError):
                real_path(path).rmdir()  # nothing was written
