"""Where compiled kernels are kept between processes: in a folder of this user alone, named by what they depend on.

Numba's own on-disk cache sees edits in a function's own file only, and compiled code freezes global tables, so
an edited action table would run with yesterday's rules.  A kernel therefore lies in a folder named by a hash of the
packages that it may import.  The process-wide ``NUMBA_CACHE_DIR`` is never touched.

Cache files are pickles of machine code: their writer decides what runs.  They are read only from a folder that no other
user can write to (:func:`why_not_private`).  A cache that cannot be used costs time, never a game: what is wrong is
said once, as a :class:`CompileCacheWarning`.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import multiprocessing
import os
import re
import stat
import sys
import tempfile
import time
import warnings
from importlib.util import find_spec
from pathlib import Path

import numba
import numpy as np

from ddz_env.support.folders import PACKAGES, package_folder, temporary_folder, user_folder

if sys.platform != "win32":
    import fcntl

_PATIENCE = 120.0
"""Seconds that a process waits for another one that compiles the same kernel, before it compiles it, too."""


class CompileCacheWarning(UserWarning):
    """Compiled kernels cannot be kept or read; everything works, but compiling is repeated."""


# --- when a cached kernel is stale ------------------------------------------------------------------------------------


@functools.cache
def _package_hash(package: str) -> str:
    """A hash of all sources of an installed package; nothing of one that is not installed."""
    digest = hashlib.sha256()
    if find_spec(package) is not None:
        folder = package_folder(package)
        for file in sorted(folder.rglob("*.py")):
            digest.update(f"{file.relative_to(folder).as_posix()}\n".encode() + file.read_bytes())
    return digest.hexdigest()


def source_stamp(module: str, file: str) -> str:
    """A hash of what the kernels of a file depend on; of the processor, Numba itself takes care.

    Compiled code holds what it calls and the constants that it reads.  Both come from the file and from its package and
    those below it: ``ddz_env`` alone, and for others ``ddz_agents``, too.

    Args:
        module: The dotted name of the module that defines the kernels.
        file: Its source.

    Returns:
        Sixteen hexadecimal digits.
    """
    top = module.partition(".")[0]
    packages = PACKAGES[: PACKAGES.index(top) + 1] if top in PACKAGES else PACKAGES[:2]
    versions = sys.version, numba.__version__, np.__version__
    parts = [*map(_package_hash, packages), hashlib.sha256(Path(file).read_bytes()).hexdigest(), *versions]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


# --- which folder is safe ---------------------------------------------------------------------------------------------


def why_not_private(folder: Path) -> str | None:
    """Say why another user could have put files into a folder, or ``None`` if no other user could.

    The folder, and the link that leads to it, belong to this user or to root, and neither its group nor others may
    write to it.  Systems without user numbers (Windows) keep these folders private by themselves.

    Args:
        folder: An existing directory.

    Returns:
        What is wrong, as the end of a sentence about the folder.

    Raises:
        OSError: The folder cannot be looked at.
    """
    if not hasattr(os, "getuid"):
        return None
    target = folder.stat()
    if not {folder.lstat().st_uid, target.st_uid} <= {0, os.getuid()}:
        return f"belongs to another user (number {target.st_uid})"
    if target.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "can be written by other users (`chmod go-w` makes it private)"
    return None


@functools.cache
def _why_unusable(folder: Path) -> str | None:
    """Create a folder for this user alone; say what is wrong with it if it cannot be used."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return why_not_private(folder)
    except OSError as fault:
        return f"cannot be used ({fault.strerror or fault})"


def _why_not_writable(folder: Path) -> str | None:
    try:
        with tempfile.TemporaryFile(dir=folder):
            return None
    except OSError as fault:
        return f"cannot be written ({fault.strerror or fault})"


@functools.cache
def cache_root() -> Path | None:
    """The folder of compiled kernels: ``DDZ_CACHE_DIR``, or the user's cache directory, or a temporary one.

    A named folder is used alone, and may be read-only, as in an image with kernels compiled in advance.

    Returns:
        A private folder, or ``None`` if there is none; a warning says why.
    """
    named = os.environ.get("DDZ_CACHE_DIR")
    if named:
        faults = [(Path(named), _why_unusable(Path(named)))]
    else:
        folders = dict.fromkeys((user_folder("XDG_CACHE_HOME", ".cache"), temporary_folder()))
        faults = [(folder, _why_unusable(folder) or _why_not_writable(folder)) for folder in folders]
    for folder, fault in faults:
        if fault is None:
            return folder
    warn("; ".join(f"{folder} {fault}" for folder, fault in faults) + "; DDZ_CACHE_DIR names another folder")
    return None


def kernel_folder(module: str, file: str) -> Path | None:
    """The folder of the kernels of a file, or ``None`` if no folder is safe; a warning says why.

    Args:
        module: The dotted name of the module that defines the kernels.
        file: Its source.
    """
    root = cache_root()
    if root is None:
        return None
    folder = root / source_stamp(module, file)
    fault = _why_unusable(folder)
    if fault:
        warn(f"{folder} {fault}")
    return None if fault else folder


# --- what is said -----------------------------------------------------------------------------------------------------


_told: set[str] = set()
"""The notices that this process has given: ``fault`` and ``compiling``."""


def _is_news(subject: str) -> bool:
    """Whether a notice is still to be given: once per process, and by the first of several workers only."""
    number = re.findall(r"\d+", multiprocessing.current_process().name)  # of SpawnProcess-3: 3
    news = subject not in _told and set(number) <= {"1"}
    _told.add(subject)
    return news


def warn(fault: str) -> None:
    """Warn once that compiled kernels cannot be kept, and why.

    Args:
        fault: What is wrong, beginning with the folder.
    """
    if _is_news("fault"):
        text = f"compiled kernels are not kept, so every process compiles again: {fault}"
        warnings.warn(text, CompileCacheWarning, stacklevel=4)


def announce(package: str) -> None:
    """Say once why nothing happens for a while, unless ``DDZ_QUIET`` is set.

    Args:
        package: What is compiled.
    """
    if _is_news("compiling") and not os.environ.get("DDZ_QUIET"):
        work = f"Compiling {package}, and what else this program needs, for this machine"
        print(f"{work}: up to a minute, the first time only (ddz warmup prepares all programs) ...", file=sys.stderr)


# --- processes that begin alike ---------------------------------------------------------------------------------------


class KernelLock:
    """A lock of the operating system, which ends with its process; where there is none (Windows), no process waits.

    Processes that need the same kernel at the same time, as the workers of a match do, take turns: one compiles it, and
    the others load it.  They cannot wait in a circle, because kernels do not call each other in one.

    It is not one of :mod:`filelock`: bots and policies run where there are NumPy and Numba alone.

    Args:
        path: A file that all of them name.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._file = path, -1

    def take(self) -> None:
        """Take the lock: wait until no other process has it, but not for ever."""
        self.pass_on()
        if sys.platform == "win32":
            return
        until = time.monotonic() + _PATIENCE
        with contextlib.suppress(OSError):  # a read-only folder, or one that has no locks
            self._file = os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600)
            while time.monotonic() < until:
                with contextlib.suppress(BlockingIOError):
                    return fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                time.sleep(0.02)

    def pass_on(self) -> None:
        """Release the lock if it was taken."""
        if self._file >= 0:
            os.close(self._file)
        self._file = -1
