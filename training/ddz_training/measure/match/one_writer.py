"""One process at a time writes to a file or a folder; a second one is told which process that is.

The lock is the operating system's (:mod:`filelock`): it ends with the process that holds it, however that ends.  It
belongs to the file behind all symbolic links; a file with several names (hard links) is refused.  While it is held
there are two small files, ``NAME.lock`` and ``NAME.owner`` beside a file, ``.lock`` and ``.owner`` in a folder.  They
are removed with the lock; what a killed process leaves behind blocks nobody and is used again.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import stat
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path

from filelock import FileLock, Timeout

from ddz_env.core.whole_file import real_path
from ddz_training.measure.match.errors import InUseError, ResultsFileError

_READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)

_claims: weakref.WeakValueDictionary[Path, Claim] = weakref.WeakValueDictionary()
_guard = threading.Lock()


class Claim:
    """The right to write to a file or into a folder, until the last reference to it is gone.

    Args:
        path: The file or folder.
        base: What the names of the two files begin with.
        made: Folders that were made for it, the innermost first; those that are still empty in the end are removed.
    """

    def __init__(self, path: Path, base: str, made: Sequence[Path]) -> None:
        self._lock = FileLock(f"{base}.lock", timeout=0, mode=0o666, thread_local=False)
        owner = Path(f"{base}.owner")
        try:
            self._lock.acquire()
        except Timeout as error:
            raise InUseError(
                f"{path} is being written by {_named(owner)}: wait until it has ended, or name another"
            ) from error
        self._end = weakref.finalize(self, _release, self._lock, owner, made, os.getpid())
        now = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")
        about = {"pid": os.getpid(), "host": socket.gethostname(), "since": now}
        with contextlib.suppress(OSError):  # the lock holds without it
            owner.unlink(missing_ok=True)
            owner.write_text(json.dumps(about) + "\n", encoding="utf-8")


def _named(owner: Path) -> str:
    """Who holds a lock, in words."""
    try:
        about = json.loads(owner.read_text(encoding="utf-8"))
        return f"process {about['pid']} on {about['host']} since {about['since']}"
    except (OSError, ValueError, KeyError, TypeError):  # it has not said so yet
        return "another process"


def _release(lock: FileLock, owner: Path, made: Sequence[Path], process: int) -> None:
    if os.getpid() == process:  # not in a fork of the holder
        with contextlib.suppress(OSError):
            owner.unlink(missing_ok=True)
            Path(lock.lock_file).unlink(missing_ok=True)  # whoever has just opened it sees that, and makes a new one
        lock.release()
        with contextlib.suppress(OSError):  # the first one that is not empty, and all above it, stay
            for folder in made:
                folder.rmdir()


def claim(path: Path, *, folder: bool = False) -> Claim | None:
    """Claim a file or a folder for this process, which may claim it more than once.

    Args:
        path: The file or folder; it need not exist.  Folders are made, and go again if nothing was written there.
        folder: Whether it is a folder.

    Returns:
        The claim: keep it.  None where no lock can be written, so that a file in a read-only place can still be read.

    Raises:
        InUseError: If another process has it; the message says which.
        ResultsFileError: If it is no file, or a file with several names: each of them would have a lock of its own.
        OSError: If there can be no such file: its name is too long, or a link leads back to itself.
    """
    path = real_path(path)
    with _guard:
        held = _claims.get(path)
        if held is None:
            if not folder:
                _check_one_name(path)
            try:
                inner = path if folder else path.parent
                made = [each for each in (inner, *inner.parents) if not each.exists()]
                inner.mkdir(parents=True, exist_ok=True)
                held = _claims[path] = Claim(path, f"{path}/" if folder else str(path), made)
            except OSError as error:
                if error.errno in _READ_ONLY:
                    return None
                raise
        return held


def _check_one_name(path: Path) -> None:
    """Refuse what is no file, and a file with several names (hard links).

    Raises:
        ResultsFileError: If it is one of these.
        OSError: If nothing can be there.
    """
    try:
        found = path.stat()
    except FileNotFoundError:
        return
    except NotADirectoryError:  # writing says so
        return
    if not stat.S_ISREG(found.st_mode):
        raise ResultsFileError(f"{path} is not a file: name another")
    if found.st_nlink > 1:
        raise ResultsFileError(
            f"{path} has {found.st_nlink} names (hard links), and another process could write to it by another name: "
            f"copy it, and name the copy"
        )


@contextmanager
def writing(path: Path, *, folder: bool = False) -> Iterator[Path]:
    """:func:`claim` a file or a folder for the time of a ``with`` block.

    Yields:
        What is claimed: the path behind all links.  Write to this one, for a link may be changed meanwhile.

    Raises:
        InUseError: If another process has it.
        ResultsFileError: If it is no file, or has several names.
    """
    held = claim(path, folder=folder)
    yield real_path(path)
    del held
