"""Checks of input values at the package's boundaries: whole numbers, seeds, names, flags and arrays.

For any value that a caller passes (None, a float, an array, a dict ...), these functions return a plain value or raise
the named error that they were given; the message says what would be right.  Sets of options are checked by their
annotations (:mod:`ddz_env.support.options`).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Any, SupportsIndex, cast

import numpy as np
import numpy.typing as npt

from ddz_env.support.errors import DouDizhuError, InvalidDealError, InvalidOptionError, short_repr, unknown_name_message

LARGEST_WORD = 2**64 - 1
"""Seeds and numbers of games are 64-bit words."""


def as_integer(value: object) -> int | None:
    """Return a Python or NumPy whole number (also in a 0-d array) as an int, or None for any other value.

    Bools are not numbers here: ``True`` as an action or a seed is a mistake.

    Example:
        >>> as_integer(np.int8(5)), as_integer(np.array(5)), as_integer(True), as_integer(5.0), as_integer(None)
        (5, 5, None, None, None)
    """
    if type(value) is int:
        return value
    if isinstance(value, (bool, np.bool_)):
        return None
    try:
        if getattr(value, "ndim", 0):  # an array of one number is not a number
            return None
        return operator.index(cast(SupportsIndex, value))
    except Exception:  # a foreign __index__ raises what it likes
        return None


def check_integer(
    name: str, value: object, least: int, most: int, error: type[DouDizhuError] = InvalidOptionError
) -> int:
    """Check that a value is a whole number within bounds, and return it.

    Args:
        name: What the message calls it.
        value: Anything.
        least: The smallest allowed.
        most: The largest.
        error: What to raise.

    Raises:
        DouDizhuError: ``error``, if it is none.
    """
    number = as_integer(value)
    if number is None or not least <= number <= most:
        largest = "2**64-1" if most == LARGEST_WORD else most
        text = f"{name}={{number}} must be an integer in {{least}}..{{most}}"
        raise error(text, number=short_repr(value), least=least, most=largest)
    return number


def check_seed(value: object, name: str = "seed") -> int:
    """Check that a seed or game number is an integer in 0..2**64-1, and return it.

    Raises:
        InvalidDealError: If it is not an integer in 0..2**64-1.
    """
    return check_integer(name, value, 0, LARGEST_WORD, InvalidDealError)


def check_number(name: str, value: object, error: type[DouDizhuError] = InvalidOptionError) -> float:
    """Check that a value is a finite number, and return it as a float.

    Raises:
        DouDizhuError: ``error``, if it is none.
    """
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
    raise error(f"{name}={short_repr(value)} must be a finite number")


def check_flag(name: str, value: object, error: type[DouDizhuError] = InvalidOptionError) -> bool:
    """Check that a value is True or False, not merely truthy or falsy, and return it.

    Raises:
        DouDizhuError: ``error``, if it is neither.
    """
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise error(f"{name}={short_repr(value)} must be True or False")


def check_choice(
    what: str, value: object, choices: Iterable[str], error: type[DouDizhuError] = InvalidOptionError
) -> str:
    """Check that a value is one of several allowed strings, and return it.

    Args:
        what: What the message calls it.
        value: Anything.
        choices: The texts.
        error: What to raise.

    Raises:
        DouDizhuError: ``error``, if it is none of them; the message has the nearest.
    """
    names = list(choices)
    if not isinstance(value, str) or value not in names:
        raise error(unknown_name_message(what, value, names))
    return str(value)


def as_array(value: object) -> npt.NDArray[Any] | None:
    """Convert a value to an array, or return None if NumPy cannot, as for lists of different lengths."""
    try:
        return np.asarray(value)
    except Exception:  # a foreign __array__ raises what it likes
        return None


def describe_array(value: object) -> str:
    """Describe a value that should be an array by its dtype and shape, for error messages."""
    array = as_array(value)
    return short_repr(value) if array is None else f"{array.dtype} of shape {list(array.shape)}"
