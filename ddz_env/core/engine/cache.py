"""Where compiled kernels are kept between processes: they cannot go stale, and their files cannot do harm.

Numba's own on-disk cache sees edits in a function's own file only, and compiled code freezes global tables, so
an edited action table would run with yesterday's rules.  A file's kernels therefore cache under a directory named by a
hash of its source and of everything that it imports.  The process-wide ``NUMBA_CACHE_DIR`` is never touched.

Cache files are pickles of machine code: their writer decides what runs.  They are read only from a folder that no other
user can write to (:func:`why_not_private`), and only when their digest is right, so that a damaged file is compiled
again instead of failing or crashing.  A cache that cannot be used costs time, never a game: what is wrong is said once,
as a :class:`CompileCacheWarning`.  Numba replaces files atomically, so parallel workers may share them.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import multiprocessing
import os
import pickle
import re
import stat
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numba
from numba.core import caching
from numba.core.runtime import rtsys

from ddz_env.core.engine.called import packed, unpacked
from ddz_env.core.folders import PACKAGES, package_folder, temporary_folder, user_folder

if sys.platform != "win32":
    import fcntl

_DIGEST_BYTES = 32
_PATIENCE = 120.0
"""Seconds that a process waits for another one that compiles the same kernel, before it compiles it, too."""

FLAGS: dict[str, Any] = {"nogil": True, "boundscheck": False, "error_model": "numpy"}
"""How every kernel is compiled; a part of the cache's stamp."""


class CompileCacheWarning(UserWarning):
    """Compiled kernels cannot be kept or read; everything works, but compiling is repeated."""


# --- when a cached kernel is stale ------------------------------------------------------------------------------------


_IMPORT = re.compile(
    r"^[ \t]*from[ \t]+(?P<source>[.\w]+)[ \t]+import[ \t]+(?P<names>\([^)]*\)|[^\n]*)"
    r"|^[ \t]*import[ \t]+(?P<modules>[^\n]*)",
    re.MULTILINE,
)


def import_base(file: Path) -> Path:
    """The folder from which a Python file is imported: the one that holds its outermost package."""
    folder = file.parent
    while (folder / "__init__.py").exists():
        folder = folder.parent
    return folder


@functools.cache
def _module_file(place: str) -> Path | None:
    """The source of a module, from its path without a suffix."""
    return next((Path(file) for file in (f"{place}.py", f"{place}/__init__.py") if os.path.isfile(file)), None)


@functools.cache
def _bases(file: Path, top: str) -> set[Path]:
    """Where a package that a file imports may lie: beside the file's own package, or among those of the engine."""
    base = import_base(file)
    if top in PACKAGES:
        return {base, package_folder(top).parent}
    if base.name in ("site-packages", "dist-packages") and top != file.relative_to(base).parts[0]:
        return set()  # others' packages are not followed
    return {base}


def _places(file: Path, module: str) -> list[str]:
    """Where a module that a file imports may lie, without a suffix."""
    name = module.lstrip(".")
    dots, parts = len(module) - len(name), name.split(".")
    bases = {file.parents[dots - 1]} if dots else _bases(file, parts[0])
    return [os.path.join(base, *parts) for base in bases]


@functools.cache
def _imports(file: Path) -> frozenset[Path]:
    """The sources that a file imports, anywhere in its code; Python's and other libraries are left out."""
    found: set[Path | None] = set()
    for statement in _IMPORT.finditer(file.read_text(encoding="utf-8")):
        if statement["modules"] is not None:
            modules = [part.split()[0] for part in statement["modules"].split(",") if part.split()]
        else:
            names = re.findall(r"\w+", statement["names"])
            modules = [statement["source"], *(f"{statement['source'].rstrip('.')}.{name}" for name in names)]
            if not statement["source"].strip("."):
                modules = [f"{statement['source']}{name}" for name in names]
        found |= {_module_file(place) for module in modules for place in _places(file, module)}
    return frozenset(source for source in found if source is not None)


@functools.cache
def _file_hash(file: Path) -> str:
    return f"{file.relative_to(import_base(file))} {hashlib.sha256(file.read_bytes()).hexdigest()}"


@functools.cache
def source_stamp(file: str) -> str:
    """Hash the source of a file, of all that it imports, directly or through others, and the compiler's flags.

    Compiled code holds what it calls and the constants that it reads, and both come from there.

    Args:
        file: Path of the Python file that defines the kernel.

    Returns:
        Sixteen hexadecimal digits.
    """
    sources, waiting = set(), [Path(file).resolve()]
    while waiting:
        source = waiting.pop()
        if source not in sources:
            sources.add(source)
            waiting += _imports(source)
    parts = sorted(map(_file_hash, sources))
    parts += [repr(sorted(FLAGS.items())), numba.__version__, sys.version.split()[0]]
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
    _warn("; ".join(f"{folder} {fault}" for folder, fault in faults) + "; DDZ_CACHE_DIR names another folder")
    return None


# --- what is said -----------------------------------------------------------------------------------------------------


_told: set[str] = set()
"""What this process has said: the words ``fault`` and ``compiling``."""


def _is_news(subject: str, *, by_workers: bool = False) -> bool:
    """Whether something is to be said: once a process; by no worker, who would repeat it, or by the first one."""
    process = multiprocessing.current_process()
    number = getattr(process, "_identity", ())  # (3,): the third child of the main process
    speaks = multiprocessing.parent_process() is None or (by_workers and set(number) == {1})
    news = subject not in _told and speaks
    _told.add(subject)
    return news


def _warn(fault: str) -> None:
    if _is_news("fault"):
        text = f"compiled kernels are not kept, so every process compiles again: {fault}"
        warnings.warn(text, CompileCacheWarning, stacklevel=4)


def _announce(package: str) -> None:
    """Say why nothing happens for a while, unless ``DDZ_QUIET`` is set; where only workers play, the first says it."""
    if _is_news("compiling", by_workers=True) and not os.environ.get("DDZ_QUIET"):
        what = f"Compiling {package}, and what else this program needs, for this machine"
        print(f"{what}: up to a minute, the first time only (ddz warmup prepares all programs) ...", file=sys.stderr)


# --- Numba's cache, with these folders and checks ---------------------------------------------------------------------


class _StampedLocator(caching._CacheLocator):  # type: ignore[misc]  # Numba ships no types
    """Says where a kernel's cache lies and when it is stale."""

    def __init__(self, py_func: Callable[..., Any], root: Path, stamp: str) -> None:
        self._line = py_func.__code__.co_firstlineno
        self._folder, self._stamp = root / stamp, stamp

    def get_cache_path(self) -> str:
        return str(self._folder)

    def ensure_cache_path(self) -> None:
        _why_unusable(self._folder)  # once a process; a later save into a folder that has gone fails with a warning

    def get_source_stamp(self) -> str:
        return self._stamp

    def get_disambiguator(self) -> str:
        return str(self._line)

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _StampedLocator | None:
        root = cache_root()
        if root is None:
            return None
        locator = cls(py_func, root, source_stamp(py_file))
        fault = _why_unusable(locator._folder)
        if fault:
            _warn(f"{locator._folder} {fault}")
        return None if fault else locator


class _CheckedFiles(caching.IndexDataCacheFile):  # type: ignore[misc]  # Numba ships no types
    """Index and data files that start with the SHA-256 digest of the rest, checked before anything is unpickled."""

    def _load_index(self) -> dict[Any, str]:
        try:
            stamp, overloads = _read_checked(self._index_path)
        except FileNotFoundError:
            return {}
        return overloads if stamp == self._source_stamp else {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        with self._open_for_write(self._index_path) as file:
            file.write(self._dump((self._source_stamp, overloads)))

    def _load_data(self, name: str) -> Any:
        return _read_checked(self._data_path(name))

    def _dump(self, content: Any) -> bytes:
        body: bytes = super()._dump(content)
        return hashlib.sha256(body).digest() + body


def _read_checked(path: str) -> Any:
    content = Path(path).read_bytes()
    digest, body = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    if hashlib.sha256(body).digest() != digest:
        raise ValueError(f"{path} is damaged")
    return pickle.loads(body)


class _StampedCacheImpl(caching.CompileResultCacheImpl):  # type: ignore[misc]  # Numba ships no types
    _locator_classes: ClassVar[list[type]] = [_StampedLocator]


class _CalledCacheImpl(_StampedCacheImpl):
    """Keeps what kernels call."""

    def reduce(self, found: Any) -> tuple[Any, ...]:
        return packed(found)

    def rebuild(self, target_context: Any, payload: tuple[Any, ...]) -> Any:
        return unpacked(target_context, *payload)


class _Turn:
    """A lock of the operating system, which ends with its process; where there is none (Windows), no process waits.

    It is not one of :mod:`filelock`: bots and policies run where there are NumPy and Numba alone.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._file = path, -1

    def take(self) -> None:
        """Wait until no other process has it, but not for ever."""
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
        """Let others have it, if it was taken."""
        if self._file >= 0:
            os.close(self._file)
        self._file = -1


class _KernelCache(caching.FunctionCache):  # type: ignore[misc]  # Numba ships no types
    """Numba's cache of a function, which only ever costs time: no fault of a file reaches the caller.

    Processes that need the same kernel at the same time, as the workers of a match do, take turns: one compiles it, and
    the others load it.  They cannot wait in a circle, because kernels do not call each other in one.
    """

    _impl_class, _suffix = _StampedCacheImpl, ""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = _CheckedFiles(self._cache_path, self._impl.filename_base, stamp)
        self._turn = _Turn(Path(self._cache_path, f"{self._impl.filename_base}{self._suffix}.lock"))

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        found = self._kept(signature, target_context)
        if found is None:
            _announce(self._py_func.__module__.partition(".")[0])
            self._impl.locator.ensure_cache_path()
            self._turn.take()
            found = self._kept(signature, target_context)
            if found is not None:
                self._turn.pass_on()
        return found

    def _kept(self, signature: Any, target_context: Any) -> Any:
        """What the files hold, if anything."""
        rtsys.initialize(target_context)  # all that loading needs; compiling looks for Numba's functions, too
        try:
            with self._guard_against_spurious_io_errors():
                return self._load_overload(signature, target_context)
        except Exception:  # unpickling a damaged file can raise anything: it is replaced by what is compiled now
            with contextlib.suppress(OSError):
                os.unlink(self._cache_file._index_path)
        return None

    def save_overload(self, signature: Any, data: Any) -> None:
        try:
            super().save_overload(signature, data)
        except Exception as fault:  # a full disk, a folder that has gone, a read-only one
            self.disable()
            _warn(f"{self._cache_path} cannot be written ({getattr(fault, 'strerror', None) or fault})")
        finally:
            self._turn.pass_on()


class _CalledCache(_KernelCache):
    """The cache of a function as kernels call it, in the same files under keys of its own."""

    _impl_class, _suffix = _CalledCacheImpl, ".called"

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        return (*super()._index_key(sig, codegen), "called")


class _NoCache(caching.NullCache):  # type: ignore[misc]  # Numba ships no types
    """No folder is safe: compile in each process, and say so."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._package = function.__module__.partition(".")[0]

    def load_overload(self, signature: Any, target_context: Any) -> None:
        _announce(self._package)


class LazyCache:
    """The cache of a kernel, as Numba's dispatchers expect it; it keeps nothing where no folder is safe.

    Its files are looked for when it is first used: most kernels of an import are not.

    Args:
        function: The Python function that is compiled.
        called: Whether for other kernels to call it (:mod:`ddz_env.core.engine.called`).
    """

    def __init__(self, function: Callable[..., Any], *, called: bool = False) -> None:
        self._function, self._kind = function, _CalledCache if called else _KernelCache

    @functools.cached_property
    def _opened(self) -> Any:
        try:
            return self._kind(self._function)
        except RuntimeError:  # Numba found no locator
            return _NoCache(self._function)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._opened, name)
