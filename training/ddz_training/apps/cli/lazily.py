"""``with lazily():`` the modules imported below are only loaded where one of their names is used.

It is what Python 3.15 writes as ``lazy from package import module``.  Commands name what they need at the top of their
files, and ``ddz --help`` still answers at once, also where packages are missing.
"""

from __future__ import annotations

import builtins
import importlib
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any


class _Later:
    """A placeholder for a module, which is imported when one of its names is used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # inspecting the names of a file loads nothing
            raise AttributeError(name)
        return getattr(importlib.import_module(self._name), name)


@contextmanager
def lazily() -> Iterator[None]:
    """The block; ``from package import module`` is the one form of import in it."""
    at_once, mine = builtins.__import__, threading.get_ident()

    def later(package: str, names: Any = None, local: Any = None, modules: Sequence[str] = (), level: int = 0) -> Any:
        if threading.get_ident() != mine:  # what other threads import meanwhile is imported
            return at_once(package, names, local, modules, level)
        return SimpleNamespace(**{module: _Later(f"{package}.{module}") for module in modules})

    builtins.__import__ = later  # type: ignore[assignment]  # its own parameters are looser
    try:
        yield
    finally:
        builtins.__import__ = at_once
