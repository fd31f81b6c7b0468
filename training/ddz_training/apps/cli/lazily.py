"""``with lazily:`` the modules imported below are only loaded where one of their names is used.

It is what Python 3.15 writes as ``lazy from package import module``.  Commands name what they need at the top of their
files, and ``ddz --help`` still answers at once, whatever is not installed.
"""

from __future__ import annotations

import builtins
import importlib
import threading
from typing import Any


class _Later:
    """A package or module that stands for itself until a name of it is asked for."""

    def __init__(self, name: str, is_package: bool = False) -> None:
        self._name, self._is_package = name, is_package

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # whoever looks through a file's names loads nothing
            raise AttributeError(name)
        return (
            _Later(f"{self._name}.{name}") if self._is_package else getattr(importlib.import_module(self._name), name)
        )


class _Lazily:
    """The block; ``from package import module`` is the one form of import in it."""

    def __enter__(self) -> None:
        self._import, mine = builtins.__import__, threading.get_ident()

        def later(name: str, *rest: Any) -> Any:
            """What other threads import meanwhile is imported."""
            here = threading.get_ident() == mine
            return _Later(name, is_package=True) if here else self._import(name, *rest)

        builtins.__import__ = later  # type: ignore[assignment]

    def __exit__(self, *_: object) -> None:
        builtins.__import__ = self._import


lazily = _Lazily()
