"""A dictionary that keeps one object for each set of rules, such as a solver, created on first use."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ddz_env.core.rules import Rules

_Made = TypeVar("_Made")


class PerRules(dict[Rules, _Made]):
    """A dictionary that keeps one object, such as a solver, for each set of rules and creates it on first use.

    Args:
        make: Makes the object from the rules.
    """

    def __init__(self, make: Callable[[Rules], _Made]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, rules: Rules) -> _Made:
        """Create, store and return the object for a set of rules that has none yet."""
        self[rules] = made = self._make(rules)
        return made
