"""What searches complain of."""

from __future__ import annotations

from numbers import Real

from ddz_env.errors import DouDizhuError


class InvalidBudgetError(DouDizhuError):
    """A search budget or constant outside its range."""


class InvalidSearchOptionError(DouDizhuError):
    """An option of a search that does not exist, or that another one contradicts."""


def check_budget(name: str, value: object, least: float) -> None:
    """Check a number.

    Args:
        name: What it is, for the message.
        value: The number.
        least: The smallest value allowed.

    Raises:
        InvalidBudgetError: If it is none, or not finite, or too small.
    """
    # Compared as it is: as a float, an integer of hundreds of digits would overflow.
    if isinstance(value, bool) or not isinstance(value, Real) or value < least or not value < float("inf"):
        raise InvalidBudgetError(f"{name}={value!r} must be a number of at least {least}")


def check_count(name: str, value: float, least: int, most: int | None = None) -> int:
    """Check a number that counts something and return it as an integer; ``1e4`` is 10,000, 2.5 is an error.

    Args:
        name: What it is, for the message.
        value: The number.
        least: The smallest value allowed.
        most: The largest; None for no limit.

    Raises:
        InvalidBudgetError: If it is none, or not whole, or out of range.
    """
    check_budget(name, value, least)
    if most is not None and value > most:
        raise InvalidBudgetError(f"{name}={value!r} must be at most {most:,}")
    if value != int(value):
        raise InvalidBudgetError(f"{name}={value!r} must be a whole number of at least {least}")
    return int(value)


def check_choice(name: str, value: str, choices: tuple[str, ...]) -> int:
    """The index of an option's value.

    Raises:
        InvalidSearchOptionError: If it is none of the choices.
    """
    if value not in choices:
        raise InvalidSearchOptionError(f"{name}={value!r} must be one of {', '.join(choices)}")
    return choices.index(value)
