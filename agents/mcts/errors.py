"""What searches complain of."""

from __future__ import annotations

import numpy as np

from ddz_env.errors import DouDizhuError


class InvalidBudgetError(DouDizhuError):
    """A search budget or constant outside its range."""


class InvalidSearchOptionError(DouDizhuError):
    """An option of a search that does not exist, or that another one contradicts."""


def check_budget(name: str, value: float, least: float) -> None:
    """Check a number.

    Args:
        name: What it is, for the message.
        value: The number.
        least: The smallest value allowed.

    Raises:
        InvalidBudgetError: If it is none, or not finite, or too small.
    """
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float, np.integer, np.floating))
        or not value >= least
        or value == float("inf")
    ):
        raise InvalidBudgetError(f"{name}={value!r} must be a number of at least {least}")


def check_choice(name: str, value: str, choices: tuple[str, ...]) -> int:
    """The index of an option's value.

    Raises:
        InvalidSearchOptionError: If it is none of the choices.
    """
    if value not in choices:
        raise InvalidSearchOptionError(f"{name}={value!r} must be one of {', '.join(choices)}")
    return choices.index(value)
