"""What kernels call: code that is optimized inside its callers, without machine code of its own.

Numba compiles a function that another one calls as if Python called it too: with wrappers for Python and for C, fully
optimized and down to machine code; then the caller, with this code in it, is optimized and translated again.  Here a
kernel has two dispatchers.  Called from Python it is compiled as Numba does it.  Called from a kernel it becomes LLVM
code only; what Python calls is linked from such pieces and optimized once, as a whole.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from llvmlite import binding  # type: ignore[import-untyped]
from numba import _dynfunc
from numba.core import compiler
from numba.core.codegen import JITCodeLibrary
from numba.core.dispatcher import _FunctionCompiler  # type: ignore[attr-defined]

from ddz_env.core.engine.frontend import KernelCompiler, hurried


class CalledLibrary(JITCodeLibrary):  # type: ignore[misc]  # Numba ships no types
    """The code of a kernel that others call, with all that it calls itself, ready to be linked into theirs."""

    def finalize(self) -> None:
        """Gather the code, and leave optimizing it to the kernel that Python calls."""
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True


class CalledCompiler(_FunctionCompiler):  # type: ignore[misc]  # Numba ships no types
    """Compiles a kernel for others to call."""

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        typing, target = self.targetdescr.typing_context, self.targetdescr.target_context
        flags = compiler.Flags()
        self.targetdescr.options.parse_as_flags(flags, self.targetoptions)
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        library = CalledLibrary(target.codegen(), self.py_func.__qualname__)
        given = args, return_type, flags, self.locals, library, self.pipeline_class
        found = hurried(lambda: compiler.compile_extra(typing, target, self.py_func, *given))
        found = found._replace(entry_point=_name_of(found.fndesc, found.environment, library))
        target.insert_user_function(found.entry_point, found.fndesc, [library])
        return found


def _name_of(described: Any, environment: Any, library: Any) -> Any:
    """What Numba knows a compiled function by; it has no address and is never called."""
    name: str = described.qualname
    return _dynfunc.make_function(described.lookup_module(), name, f"{name} for kernels", 0, environment, (library,))


def packed(found: Any) -> tuple[Any, ...]:
    """A compiled kernel as it is kept in files: LLVM bitcode and its description."""
    described = found.fndesc
    described.typemap = described.calltypes = None  # as Numba does: they are large and not read again
    bitcode = found.library._get_module_for_linking().as_bitcode()
    return found.library.name, bitcode, described, found.environment, found.signature


def unpacked(target: Any, name: str, bitcode: bytes, described: Any, environment: Any, signature: Any) -> Any:
    """The compiled kernel that was :func:`packed`."""
    library = CalledLibrary(target.codegen(), name)
    library._final_module = binding.parse_bitcode(bitcode)
    library._finalized = True
    return compiler.compile_result(
        typing_context=target.typing_context,
        target_context=target,
        entry_point=_name_of(described, environment, library),
        signature=signature,
        objectmode=False,
        lifted=(),
        fndesc=described,
        library=library,
        environment=environment,
        reload_init=[],
    )


class EntryCompiler(_FunctionCompiler):  # type: ignore[misc]  # Numba ships no types
    """Compiles a kernel for Python to call."""

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        found = hurried(functools.partial(super()._compile_core, args, return_type))
        for (
            environment
        ) in found._find_referenced_environments():  # of what it calls: printing and some errors need them
            found.codegen.set_env(environment.env_name, environment)
        return found


def separate(dispatcher: Any, make_called: Callable[[], Any]) -> None:
    """Let kernels call one dispatcher of a function, and Python another one.

    Args:
        dispatcher: What Python calls.
        make_called: Makes what kernels call; Python never does, which would follow a null pointer.
    """

    @functools.cache
    def called() -> Any:
        made = make_called()
        made._compiler.__class__, made._compiler.pipeline_class = CalledCompiler, KernelCompiler
        return made

    dispatcher._compiler.__class__, dispatcher._compiler.pipeline_class = EntryCompiler, KernelCompiler
    dispatcher.get_call_template = lambda args, named: called().get_call_template(args, named)
    dispatcher.get_overload = lambda signature: called().get_overload(signature)
