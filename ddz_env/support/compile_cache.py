"""On-disk storage of compiled functions, in private folders named by a hash of their source code.

Numba's own on-disk cache sees edits in a function's own file only, and compiled code freezes global tables, so
an edited action table would run with yesterday's rules.  A kernel therefore lies in a folder named by the sources that
it is made of (:mod:`.source_stamps`).  The process-wide ``NUMBA_CACHE_DIR`` is never touched.

Cache files are pickles of machine code: their writer decides what runs.  They are read only from a folder that no other
user can write to (:func:`find_privacy_fault`).  A cache that cannot be used costs time, never a game: what is wrong is
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
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import ClassVar

import numba
import numpy as np

from ddz_env.support.folders import temporary_folder, user_folder
from ddz_env.support.source_stamps import KernelSources

if sys.platform != "win32":
    import fcntl

_MAX_WAIT, _SILENT_WAIT = 30.0, 2.0
"""Seconds that a process waits for another one that compiles the same kernel, and how many of them without a word."""

_VERSIONS = "\n".join((sys.version, numba.__version__, np.__version__))
"""What a kernel depends on besides its sources; of the processor, Numba itself takes care."""


class CompileCacheWarning(UserWarning):
    """A warning that compiled functions cannot be stored or read, so that they will be compiled again."""


# --- which folder is safe ---------------------------------------------------------------------------------------------


def find_privacy_fault(folder: Path) -> str | None:
    """Describe how another user could have put files into a folder, or return ``None`` if that is impossible.

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
def _find_folder_fault(folder: Path) -> str | None:
    """Create a private folder for this user; return why it is unusable, as a string, or ``None`` if it is usable."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return find_privacy_fault(folder)
    except OSError as fault:
        return f"cannot be used ({fault.strerror or fault})"


def _find_write_fault(folder: Path) -> str | None:
    try:
        with tempfile.TemporaryFile(dir=folder):
            return None
    except OSError as fault:
        return f"cannot be written ({fault.strerror or fault})"


@functools.cache
def cache_root() -> Path | None:
    """Return the folder for compiled functions: ``DDZ_CACHE_DIR``, the user's cache folder, or a temporary one.

    A named folder is used alone, and may be read-only, as in an image with kernels compiled in advance.

    Returns:
        A private folder, or ``None`` if there is none; a warning says why.
    """
    named = os.environ.get("DDZ_CACHE_DIR")
    if named:
        faults = [(Path(named), _find_folder_fault(Path(named)))]
    else:
        folders = dict.fromkeys((user_folder("XDG_CACHE_HOME", ".cache"), temporary_folder()))
        faults = [(folder, _find_folder_fault(folder) or _find_write_fault(folder)) for folder in folders]
    for folder, fault in faults:
        if fault is None:
            return folder
    warn_once("; ".join(f"{folder} {fault}" for folder, fault in faults) + "; DDZ_CACHE_DIR names another folder")
    return None


@functools.cache
def kernel_sources(module: str, file: str) -> KernelSources | None:
    """Return the source files on which a file's compiled functions depend, or ``None`` if they cannot be read.

    Args:
        module: The dotted name of the module that defines the kernels.
        file: Its source.
    """
    root = cache_root()
    memory = None if root is None else root / "sources"
    try:
        usable = memory is not None and _find_folder_fault(memory) is None
        return KernelSources(module, Path(file).resolve(), memory if usable else None)
    except (OSError, ImportError, SyntaxError):
        return None


def kernel_folder(sources: KernelSources) -> Path | None:
    """Return the cache folder for a file's compiled functions, or ``None`` (with a warning) if none is safe.

    Args:
        sources: What they are made of.
    """
    root = cache_root()
    if root is None:
        return None
    folder = root / hashlib.sha256(f"{sources.stamp}\n{_VERSIONS}".encode()).hexdigest()[:16]
    fault = _find_folder_fault(folder)
    if fault:
        warn_once(f"{folder} {fault}")
    return None if fault else folder


# --- what is said -----------------------------------------------------------------------------------------------------


_given_notices: set[str] = set()
"""The notices that this process has given: ``fault``, ``announce_as`` and ``waiting``."""


def _is_first_notice(subject: str) -> bool:
    """Return whether to give a notice: once per process, and only in the main process or the first worker."""
    number = re.findall(r"\d+", multiprocessing.current_process().name)  # of SpawnProcess-3: 3
    news = subject not in _given_notices and set(number) <= {"1"}
    _given_notices.add(subject)
    return news


def warn_once(fault: str) -> None:
    """Warn once that compiled functions cannot be stored, and why.

    Args:
        fault: What is wrong, beginning with the folder or the file.
    """
    if _is_first_notice("fault"):
        text = f"compiled kernels are not kept and will be compiled again: {fault}"
        warnings.warn(text, CompileCacheWarning, stacklevel=4)


def print_once(subject: str, text: str) -> None:
    """Print a line once per subject to standard error, unless ``DDZ_QUIET`` is set.

    Args:
        subject: What it is about.
        text: A line.
    """
    if _is_first_notice(subject) and not os.environ.get("DDZ_QUIET"):
        print(text, file=sys.stderr)


_announced_work: ContextVar[str] = ContextVar("_work", default="")


@contextlib.contextmanager
def announce_as(what: str, seconds: int) -> Iterator[None]:
    """Set, within a ``with`` block, what :func:`announce_compilation` says is being compiled.

    Args:
        what: What is compiled there.
        seconds: About how long it takes.
    """
    before = _announced_work.set(f"{what} for this machine: about {seconds} s")
    try:
        yield
    finally:
        _announced_work.reset(before)


def announce_compilation(package: str) -> None:
    """Print once that functions are being compiled, and roughly how long that takes.

    Args:
        package: What is compiled.
    """
    work = _announced_work.get() or f"{package}, and what else this program needs, for this machine: up to a minute"
    print_once(
        _announced_work.get() or "compiling",
        f"Compiling {work}, the first time only (ddz warmup prepares all programs) ...",
    )


# --- processes that begin alike ---------------------------------------------------------------------------------------


class KernelLock:
    """A file lock that the operating system releases when its process ends; on Windows it does nothing.

    Processes that need the same kernel at the same time, as the workers of a match do, take turns: one compiles it, and
    the others load it.  They cannot wait in a circle, because kernels do not call each other in one.  A process that
    has waited in vain, because another one was stopped while it compiled, waits for no kernel again.

    It is not one of :mod:`filelock`: bots and policies run where there are NumPy and Numba alone.

    Args:
        path: A file that all of them name.
    """

    _patience: ClassVar[float] = _MAX_WAIT

    def __init__(self, path: Path) -> None:
        self._path, self._file = path, -1

    def acquire(self) -> None:
        """Acquire the lock, waiting up to a time limit until no other process holds it."""
        self.release()
        if sys.platform == "win32":
            return
        with contextlib.suppress(OSError):  # a read-only folder, or one that has no locks
            self._file = os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600)
            began = time.monotonic()
            while not self._is_taken():
                waited = time.monotonic() - began
                if waited >= KernelLock._patience:
                    KernelLock._patience = 0.0
                    return
                if waited >= _SILENT_WAIT:
                    print_once(
                        "waiting", f"Another process compiles what this one needs: waiting up to {_MAX_WAIT:.0f} s ..."
                    )
                time.sleep(0.02)

    def _is_taken(self) -> bool:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        return False

    def release(self) -> None:
        """Release the lock if this process holds it."""
        if self._file >= 0:
            os.close(self._file)
        self._file = -1
