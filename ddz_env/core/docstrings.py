"""What docstrings say, for help, also where Python has dropped them (``-OO``, ``PYTHONOPTIMIZE=2``)."""

from __future__ import annotations

import ast
import functools
import inspect
import sys
from typing import Any


def own_docstring(thing: Any) -> str:
    """The docstring of a class or a function without its indentation; empty if it has none.

    Args:
        thing: The class or function.
    """
    if sys.flags.optimize < 2:
        return inspect.cleandoc(getattr(thing, "__doc__", None) or "")
    return _of_source(getattr(thing, "__module__", "")).get(getattr(thing, "__qualname__", ""), "")


def docstring(thing: Any) -> str:
    """The same; of a class without one, that of the nearest base that has one."""
    if not inspect.isclass(thing):
        return own_docstring(thing)
    return next(filter(None, map(own_docstring, thing.__mro__[:-1])), "")


@functools.cache
def _of_source(module: str) -> dict[str, str]:
    """Every docstring in the source of a module, by qualified name; none where there is no source."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (KeyError, OSError, TypeError, SyntaxError):
        return {}
    found: dict[str, str] = {}

    def note(node: ast.AST, within: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                found[within + child.name] = ast.get_docstring(child) or ""
                inner = "." if isinstance(child, ast.ClassDef) else ".<locals>."
                note(child, within + child.name + inner)
            else:
                note(child, within)

    note(tree, "")
    return found
