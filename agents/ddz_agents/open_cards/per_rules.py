"""One object for each set of rules, such as a solver, made when it is first needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ddz_env.core.rules import Rules

_Made = TypeVar("_Made")


class PerRules(dict[Rules, _Made]):
    """A dictionary of one object per rules, such as a solver, which is made when it is first looked up.

    Args:
        make: Makes the object from the rules.
    """

    def __init__(self, make: Callable[[Rules], _Made]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, rules: Rules) -> _Made:
        """Make the object of some rules."""
        self[rules] = made = self._make(rules)
        return made
