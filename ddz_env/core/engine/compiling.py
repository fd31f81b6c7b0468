"""The ``kernel`` decorators: how Numba compiles the engine, with the cache of :mod:`ddz_env.core.engine.cache`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

from ddz_env.core.engine.cache import FLAGS, LazyCache
from ddz_env.core.engine.called import separate

LINKED_BY = ((0, 68),)
"""Versions of Numba with whose inner parts :mod:`ddz_env.core.engine.called` was tested.  Under others every kernel is
compiled as if Python called it, too: the first start takes about twice as long, and nothing else changes."""

_F = TypeVar("_F", bound=Callable[..., Any])


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


def part_kernel(function: _F) -> _F:
    """A part of one kernel: woven into it before anything is compiled, and not compiled on its own.

    Every other kernel is lowered to code of its own (:mod:`ddz_env.core.engine.called`), which a function of one caller
    need not be.
    """
    return _compile(function, {"_nrt": False, "inline": "always"})


def _compile(function: _F, extra: dict[str, Any]) -> _F:
    dispatcher: Any = numba.njit(**FLAGS, **extra)(function)
    if hasattr(dispatcher, "py_func"):  # a plain function under NUMBA_DISABLE_JIT=1
        dispatcher._cache = LazyCache(function)
        if numba.version_info.short not in LINKED_BY:
            return cast(_F, dispatcher)
        separate(dispatcher, functools.partial(_for_kernels, function, extra))
    return cast(_F, dispatcher)


def _for_kernels(function: Callable[..., Any], extra: dict[str, Any]) -> Any:
    """The dispatcher that other kernels call."""
    dispatcher: Any = numba.njit(**FLAGS, **extra)(function)
    dispatcher._cache = LazyCache(function, called=True)
    return dispatcher
