"""When a mean has been sampled enough: by the thesis's rule and by its standard error."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Samples = npt.NDArray[np.float64]

LEAST = 100
"""Samples before a rule is asked: the first few may be all alike, and two games with one end would stop both rules."""


def adjacent_means_stop(samples: Samples, difference: float) -> npt.NDArray[np.bool_]:
    """Where the mean has just changed by less than a difference: the thesis's test (section 4.4.1), after each sample.

    The next sample moves the mean by its distance from the mean, divided by their number, so this says little of the
    mean's error: rewards of +1 and -1 fulfil it after about 10,000 games, whatever they are.

    Args:
        samples: In the order in which they came, ``[samples]``.
        difference: The thesis's 0.0001.

    Returns:
        ``[samples]``; from the 100th sample on.
    """
    count = np.arange(1, len(samples) + 1)
    means = np.cumsum(samples) / count
    return (np.abs(np.diff(means, prepend=np.inf)) < difference) & (count >= LEAST)


def standard_error_stop(samples: Samples, error: float) -> npt.NDArray[np.bool_]:
    """Where the mean's standard error is at most some value.

    Args:
        samples: In the order in which they came, ``[samples]``.
        error: The largest standard error.

    Returns:
        ``[samples]``; from the 100th sample on.
    """
    count = np.arange(1, len(samples) + 1)
    shifted = samples - samples[0]
    means = np.cumsum(shifted) / count
    variances = np.maximum(np.cumsum(shifted**2) / count - means**2, 0) * count / np.maximum(count - 1, 1)
    return (variances <= error**2 * count) & (count >= LEAST)


def first_stop(*tests: npt.NDArray[np.bool_]) -> int | None:
    """The number of samples at which all tests hold for the first time; None if they do not yet.

    Example:
        >>> first_stop(np.array([False, True, True]), np.array([True, False, True]))
        3
    """
    both = np.logical_and.reduce(tests)
    place = int(np.argmax(both))
    return place + 1 if both[place] else None
