"""The ``kernel`` decorators, which compile functions with Numba and cache their machine code on disk.

What is used of Numba's inner parts is here, and nowhere else: the option ``_nrt``, the base classes of the on-disk
cache (no public option gives one program's kernels a folder of their own, or sees an edit of another file), what begins
its runtime, and the events of its developers' manual.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast

import numba
from numba.core import caching, event
from numba.core.runtime import rtsys

from ddz_env.support.compile_cache import KernelLock, announce_compilation, kernel_folder, kernel_sources, warn_once

_FLAGS: dict[str, Any] = {"nogil": True, "boundscheck": False, "error_model": "numpy", "no_cfunc_wrapper": True}
"""No kernel is handed on as a function pointer: without the wrapper for that its code is compiled once less."""

_F = TypeVar("_F", bound=Callable[..., Any])


def kernel(function: _F) -> _F:
    """Compile a function that Python code calls, at its first call; the function may allocate memory."""
    return _compile(function)


def pure_kernel(function: _F) -> _F:
    """Compile a function that allocates nothing, without Numba's reference counting.

    Numba counts references to every array argument with atomic operations, at a call as well as at a return.
    Without them a legal-move mask costs 6 ns instead of 138 ns.
    It returns no array to a kernel that counts them: the array owns nothing, and would be freed.
    """
    return _compile(function, _nrt=False)


def inline_kernel(function: _F) -> _F:
    """Compile a function that allocates nothing, and inline it into its callers."""
    return _compile(function, _nrt=False, forceinline=True)


def part_kernel(function: _F) -> _F:
    """Mark a function that is inlined into compiled functions before compilation, not compiled separately."""
    return _compile(function, _nrt=False, inline="always")


def _compile(function: _F, **options: Any) -> _F:
    dispatcher: Any = numba.njit(**_FLAGS, **options)(function)
    if hasattr(dispatcher, "py_func"):  # a plain function under NUMBA_DISABLE_JIT=1
        dispatcher._cache = _KernelCache(function)
    return cast(_F, dispatcher)


class CompileListener(event.Listener):  # type: ignore[misc]  # Numba ships no types
    """A listener that Numba calls before (``on_start``) and after (``on_end``) compiling or loading a kernel.

    A kernel that others need is compiled while they are.
    """

    def register(self) -> None:
        """Register this listener for Numba's compiler-lock events."""
        event.register("numba:compiler_lock", self)


class _Locator(caching._CacheLocator):  # type: ignore[misc]  # Numba ships no types
    """A locator that tells Numba where a kernel's files are stored."""

    def __init__(self, function_hash: str, folder: Path) -> None:
        self._function_hash, self._folder = function_hash, folder

    def get_cache_path(self) -> str:
        return str(self._folder)

    def ensure_cache_path(self) -> None:
        """Do nothing, because the folder exists; if it disappears, a later save fails with a warning."""

    def get_source_stamp(self) -> str:
        return self._folder.name

    def get_disambiguator(self) -> str:
        return self._function_hash[:16]

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> _Locator | None:
        sources = kernel_sources(function.__module__, file)
        folder = None if sources is None else kernel_folder(sources)
        if sources is None or folder is None:
            return None
        return cls(sources.function_hash(function.__code__.co_firstlineno), folder)


class _Results(caching.CompileResultCacheImpl):  # type: ignore[misc]  # Numba ships no types
    """A kernel's cached machine code with a digest, so that damaged code is never run."""

    _locator_classes: ClassVar[list[type]] = [_Locator]

    def reduce(self, compiled: Any) -> tuple[bytes, bytes]:
        content = pickle.dumps(super().reduce(compiled))
        return hashlib.sha256(content).digest(), content

    def rebuild(self, context: Any, kept: tuple[bytes, bytes]) -> Any:
        digest, content = kept
        if digest != hashlib.sha256(content).digest():
            raise ValueError("the code of a kernel is damaged")
        return super().rebuild(context, pickle.loads(content))


class _Files(caching.FunctionCache):  # type: ignore[misc]  # Numba ships no types
    _impl_class = _Results

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Load a compiled kernel without preparing Numba's compiler, which saves 0.6 s at startup.

        A damaged index may name the file of other arguments.
        """
        rtsys.initialize(context)
        loaded = self._load_overload(signature, context)
        if loaded is not None and loaded.signature.args != signature:
            raise ValueError("the index of a kernel is damaged")
        return loaded


class _KernelCache:
    """A kernel's cache for Numba's dispatchers, which keeps file errors from reaching the caller.

    Its files are looked for when it is first used: most kernels of an import are not.

    Args:
        function: The Python function that is compiled.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    @functools.cached_property
    def _files(self) -> Any:
        """Numba's cache files for the function, or ``None`` if no folder is safe."""
        try:
            return _Files(self._function)
        except RuntimeError:  # Numba found no locator
            return None

    @functools.cached_property
    def _lock(self) -> KernelLock:
        return KernelLock(Path(self._files.cache_path, f"{self._function.__qualname__}.lock"))

    @property
    def cache_path(self) -> str | None:
        """The folder of the cache files, which a dispatcher shows in its statistics."""
        folder: str | None = self._files and self._files.cache_path
        return folder

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Load a compiled kernel, or return ``None`` and hold the lock until this process saves one."""
        loaded = self._load_kept(signature, context)
        if loaded is None:
            announce_compilation(self._function.__module__.partition(".")[0])
            if self._files is not None and self._find_changed_source() is None:
                self._lock.acquire()
                loaded = self._load_kept(signature, context)
                if loaded is not None:
                    self._lock.release()
        return loaded

    def _find_changed_source(self) -> Path | None:
        """Return a source file that may differ from what this process imported, or ``None`` if there is none."""
        sources = kernel_sources(self._function.__module__, inspect.getfile(self._function))
        return None if sources is None else sources.find_changed_file()

    def _load_kept(self, signature: Any, context: Any) -> Any:
        """Load a compiled kernel from its files, or return ``None`` if none is stored or a source has changed."""
        if self._files is None or self._find_changed_source() is not None:
            return None
        try:
            return self._files.load_overload(signature, context)
        except Exception:  # unpickling a damaged file can raise anything: it is replaced by what is compiled now
            with contextlib.suppress(OSError):
                self._files.flush()
            return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Store a compiled kernel in its files, unless a source file has changed."""
        if self._files is None:
            return
        changed = self._find_changed_source()
        try:
            if changed is None:
                self._files.save_overload(signature, compiled)
            else:
                warn_once(f"{changed} changed after this program began")
        except Exception as fault:  # a full disk, a folder that has gone, a read-only one
            self._files.disable()
            warn_once(f"{self.cache_path} cannot be written ({getattr(fault, 'strerror', None) or fault})")
        finally:
            self._lock.release()
