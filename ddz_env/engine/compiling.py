"""The ``kernel`` decorator: Numba compilation with a cache that cannot go stale.

Numba's own on-disk cache sees edits in a function's own file only, and compiled code freezes global tables, so
an edited action table would run with yesterday's rules.  Kernels therefore cache under a directory named by a
hash of the source of every package that holds kernels.  The directory is ours (``DDZ_CACHE_DIR``, else the user's
cache directory, else a temporary one), so a read-only installation works and the process-wide
``NUMBA_CACHE_DIR`` is never touched.  Numba replaces cache files atomically, so parallel workers may share it.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast

import numba
from numba.core import caching

_F = TypeVar("_F", bound=Callable[..., Any])

_ENGINE_ROOT = Path(__file__).resolve().parent.parent

FLAGS: dict[str, Any] = {"nogil": True, "boundscheck": False, "error_model": "numpy"}
"""How every kernel is compiled; a part of the cache's stamp."""


def _package_root(file: str) -> Path:
    """The top-level package directory that holds ``file``."""
    path = Path(file).resolve().parent
    while (path.parent / "__init__.py").exists():
        path = path.parent
    return path


@functools.cache
def _tree_hash(root: Path) -> str:
    digest = hashlib.sha256()
    for source in sorted(root.rglob("*.py")):
        digest.update(str(source.relative_to(root)).encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()


def source_stamp(file: str) -> str:
    """Hash the engine's source, the source of ``file``'s own package, and the compiler's flags.

    Args:
        file: Path of the Python file that defines the kernel.

    Returns:
        Sixteen hexadecimal digits.
    """
    roots = {_ENGINE_ROOT, _package_root(file)}
    parts = [_tree_hash(root) for root in sorted(roots)]
    parts += [repr(sorted(FLAGS.items())), numba.__version__, sys.version.split()[0]]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _writable(path: Path) -> bool:
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            return True
    except OSError:
        return False


@functools.cache
def cache_root() -> Path:
    """The first writable of ``DDZ_CACHE_DIR``, the user's cache directory and the temporary directory."""
    named = os.environ.get("DDZ_CACHE_DIR")
    if named:
        return Path(named)
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    user = Path(home) / "ddz-env"
    uid = os.getuid() if hasattr(os, "getuid") else 0
    return user if _writable(user) else Path(tempfile.gettempdir()) / f"ddz-env-{uid}"


class _StampedLocator(caching._CacheLocator):  # type: ignore[misc]  # Numba ships no types
    """Tells Numba where a kernel's cache lies and when it is stale."""

    def __init__(self, py_func: Callable[..., Any], py_file: str) -> None:
        self._line = py_func.__code__.co_firstlineno
        self._stamp = source_stamp(py_file)

    def get_cache_path(self) -> str:
        return str(cache_root() / self._stamp)

    def get_source_stamp(self) -> str:
        return self._stamp

    def get_disambiguator(self) -> str:
        return str(self._line)

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _StampedLocator | None:
        locator = cls(py_func, py_file)
        try:
            locator.ensure_cache_path()
        except OSError:
            return None
        return locator


class _StampedCacheImpl(caching.CompileResultCacheImpl):  # type: ignore[misc]  # Numba ships no types
    _locator_classes: ClassVar[list[type]] = [_StampedLocator]


class _StampedCache(caching.FunctionCache):  # type: ignore[misc]  # Numba ships no types
    _impl_class = _StampedCacheImpl


def kernel(function: _F) -> _F:
    """Compile an entry point: it may allocate.  Compilation is lazy, at the first call."""
    return _compile(function, {})


def pure_kernel(function: _F) -> _F:
    """Compile a function that allocates nothing, so that it needs no reference counts.

    Numba counts references to every array argument with atomic operations, at a call as well as at a return.
    Without them a legal-move mask costs 6 ns instead of 138 ns.
    """
    return _compile(function, {"_nrt": False})


def inline_kernel(function: _F) -> _F:
    """Like :func:`pure_kernel`, inlined into its callers."""
    return _compile(function, {"_nrt": False, "forceinline": True})


def _compile(function: _F, extra: dict[str, Any]) -> _F:
    dispatcher = numba.njit(**FLAGS, **extra)(function)
    if hasattr(dispatcher, "py_func"):  # a plain function under NUMBA_DISABLE_JIT=1
        with contextlib.suppress(RuntimeError):  # no writable place at all: compile anew in each process
            dispatcher._cache = _StampedCache(function)
    return cast(_F, dispatcher)
