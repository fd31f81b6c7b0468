"""Numba's own work on a kernel, without what it does again and again.

A first game compiles a hundred small functions, and most of that time is spent in Numba's Python code, not in LLVM.
Nearly half of it is repeated: what ``uint64 & uint64`` is gets searched for at every ``&``, every pass is announced to
listeners, and Python's garbage collector looks through Numba's million objects.  The code that comes out is the same.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable
from types import CodeType
from typing import Any, TypeVar

from numba.core import compiler, event, transforms, types, untyped_passes
from numba.core.compiler_machinery import PassManager
from numba.core.cpu import CPUContext
from numba.core.postproc import PostProcessor
from numba.core.targetconfig import ConfigStack

_T = TypeVar("_T")

_FOR_CLOSURES = {untyped_passes.InlineClosureLikes, untyped_passes.MakeFunctionToJitFunction}
"""Passes of functions that have other functions or comprehensions in them."""


class _Passes(PassManager):  # type: ignore[misc]  # Numba ships no types
    """Runs passes and nothing else: no events, times or dumps."""

    def _runPass(self, index: int, one: Any, state: Any) -> None:
        one.analysis = self._analysis
        one.run_initialization(state)
        one.run_pass(state)
        one.run_finalizer(state)


class KernelCompiler(compiler.Compiler):  # type: ignore[misc]  # Numba ships no types
    """The steps in which Numba compiles a kernel."""

    def define_pipelines(self) -> list[PassManager]:
        """Numba's own passes, without those that would find nothing."""
        [usual] = super().define_pipelines()
        lean = _Passes(usual.pipeline_name)
        has_closures = any(isinstance(constant, CodeType) for constant in self.state.func_id.code.co_consts)
        lean.passes = [one for one in usual.passes if has_closures or one[0] not in _FOR_CLOSURES]
        lean.finalize()
        return [lean]


# --- what is replaced while kernels compile ---

_search, _analyse, _refresh = types.BaseFunction.get_call_type, PostProcessor.run, CPUContext.refresh
_found: dict[Any, tuple[Any, Any]] = {}
"""The signatures of Numba's functions and operators, with their implementations."""


def _remembered(function: Any, context: Any, args: Any, named: Any) -> Any:
    """Numba's search for a function's signature, done once for each kind of arguments and flags."""
    flags = ConfigStack.top_or_none()
    key = function, context, tuple(args), flags and flags.summary()
    if named or key not in _found:
        signature = _search(function, context, args, named)
        if named or signature is None:
            return signature
        _found[key] = signature, function._impl_keys[signature.args]
    signature, function._impl_keys[signature.args] = _found[key]
    return signature


def _in_order(processor: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
    """Numba's analysis after a pass: only the last one, which writes down where variables end, is read."""
    if emit_dels or processor.func_ir.is_generator:
        _analyse(processor, emit_dels, extend_lifetimes)
    else:
        processor.func_ir.blocks = transforms.canonicalize_cfg(processor.func_ir.blocks)


_entries = 0
"""How many entries Numba's registries had when they were last looked through."""


def _if_new(target: Any) -> None:
    """Numba's search for new functions in all its modules, where there are any."""
    global _entries
    registries = (*target._registries, *target.typing_context._registries)
    entries = sum(len(kind) for registry in registries for kind in vars(registry).values() if isinstance(kind, list))
    if entries != _entries:
        _refresh(target)
        _entries = entries


_QUICKER: tuple[tuple[Any, str, Any], ...] = (
    (types.BaseFunction, "get_call_type", _remembered),
    (PostProcessor, "run", _in_order),
    (CPUContext, "refresh", _if_new),
    (event, "install_timer", lambda kind, callback: contextlib.nullcontext()),
)


def hurried(compiling: Callable[[], _T]) -> _T:
    """Compile without repeated work; Numba's lock is held.

    Args:
        compiling: Compiles a kernel.

    Returns:
        What it returns.
    """
    if types.BaseFunction.get_call_type is _remembered:  # a kernel that another one calls
        return compiling()
    usual = [getattr(owner, name) for owner, name, _ in _QUICKER]
    collects_all = gc.get_freeze_count() == 0
    if collects_all:
        gc.freeze()  # Numba's million objects stay: looking through them finds nothing
    try:
        for owner, name, quicker in _QUICKER:
            setattr(owner, name, quicker)
        return _with_room(compiling)
    finally:
        for (owner, name, _), before in zip(_QUICKER, usual, strict=True):
            setattr(owner, name, before)
        if collects_all:
            gc.unfreeze()


def _with_room(compiling: Callable[[], _T]) -> _T:
    """Work in one large piece of Python's stack.

    Kernels that call kernels nest deeply, and Python 3.11 and later get their stack from the system in pieces of 16 kB.
    A loop at the edge of a piece gets and returns the next one at every turn, which took a tenth of the time.
    """
    return compiling()


_with_room.__code__ = _with_room.__code__.replace(co_stacksize=1 << 17)
