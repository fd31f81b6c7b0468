"""Checks that the settings of all kinds of training share."""

from __future__ import annotations

import math
from collections.abc import Iterable

from training.ppo.errors import InvalidTrainingError

OBJECTIVES = ("win", "stake")
"""What may be learned: to win, or to win much."""

MOST = 2**63 - 1
"""The largest integer that NumPy and PyTorch take, as a seed for example."""


def check_objective(objective: object) -> None:
    """Check an objective.

    Raises:
        InvalidTrainingError: If there is no such objective.
    """
    if objective not in OBJECTIVES:
        raise InvalidTrainingError(f"unknown objective {objective!r}; choose from {', '.join(OBJECTIVES)}")


def check_integers(settings: object, names: Iterable[str], least: int, most: int = MOST) -> None:
    """Check that some settings are integers in a range.

    Args:
        settings: What has them as attributes.
        names: Which.
        least: The smallest value allowed.
        most: The largest.

    Raises:
        InvalidTrainingError: If one is something else (a truth value is no number) or out of range.

    Example:
        >>> from types import SimpleNamespace
        >>> check_integers(SimpleNamespace(epochs=0), ["epochs"], 1)
        Traceback (most recent call last):
            ...
        training.ppo.errors.InvalidTrainingError: epochs=0 must be an integer of at least 1
    """
    for name in names:
        value = getattr(settings, name)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise InvalidTrainingError(f"{name}={value!r} must be an integer of at least {least}")
        if value > most:
            raise InvalidTrainingError(f"{name}={value!r} must be at most {most}")


def check_numbers(
    settings: object, names: Iterable[str], low: float = 0.0, high: float = math.inf, *, positive: bool = False
) -> None:
    """Check that some settings are finite numbers in a range.

    Args:
        settings: What has them as attributes.
        names: Which.
        low: The smallest value allowed; 0 where there is no largest.
        high: The largest.
        positive: Whether 0 is not allowed.

    Raises:
        InvalidTrainingError: If one is something else (a truth value is no number) or out of range.
    """
    for name in names:
        value = getattr(settings, name)
        number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        if not number or not low <= value <= high or (positive and value == 0):
            span = f"in {low:g}..{high:g}" if high < math.inf else ("above 0" if positive else "at least 0")
            raise InvalidTrainingError(f"{name}={value!r} must be a number {span}")
