"""Intervals that may be looked at after every deal, and a match that ends as soon as it is decided.

An interval for a fixed number of deals misses more often than it says once somebody stops at the first one that looks
good.  A *confidence sequence* holds at all times together: with probability 95 % not one of its intervals misses.
This is the predictable plug-in empirical Bernstein sequence (I. Waudby-Smith and A. Ramdas, "Estimating means of
bounded random variables by betting", JRSS B 86, 2024, theorem 2 with equations 14 and 15).  It needs independent values
between 0 and 1, as the share of games won on each deal, and no normal distribution: it holds from the first deal on.
The price: after the same deals it is about twice as wide as an interval for a number fixed beforehand.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ddz_training.measure.match.errors import InvalidArenaError
from ddz_training.measure.match.statistics import Interval

_LARGEST_BET = 0.5


def confidence_sequence(values: Sequence[float], error: float = 0.05) -> Interval:
    """The mean of independent values with an interval that holds at every number of values.

    Args:
        values: In the order in which they came, each within 0..1.
        error: The probability that the interval ever misses, were one to look after each value.

    Returns:
        The values' mean, and what all intervals so far have in common.

    Raises:
        InvalidArenaError: If a value is not within 0..1, or ``error`` is not between 0 and 1.

    Example:
        >>> confidence_sequence([1.0, 0.5, 1.0, 1.0] * 25).both()
        '87.5 (78.1 to 96.8)'
    """
    found = np.asarray(values, dtype=np.float64)
    if not np.all((found >= 0) & (found <= 1)):
        raise InvalidArenaError("a confidence sequence takes values within 0..1")
    if not 0 < error < 1:
        raise InvalidArenaError(f"error={error} must be between 0 and 1")
    if not len(found):
        return Interval(math.nan, 0.0, 1.0, 0)
    times = np.arange(1, len(found) + 1)
    means = (0.5 + np.cumsum(found)) / (times + 1)
    variances = (0.25 + np.cumsum((found - means) ** 2)) / (times + 1)
    guess, spread = np.append(0.5, means[:-1]), np.append(0.25, variances[:-1])  # from the values before
    price = math.log(2 / error)
    bets = np.minimum(np.sqrt(2 * price / (spread * times * np.log1p(times))), _LARGEST_BET)
    staked = np.cumsum(bets)
    costs = np.cumsum((found - guess) ** 2 * (-np.log1p(-bets) - bets))
    centres, margins = np.cumsum(bets * found) / staked, (price + costs) / staked
    low, high = max(0.0, np.max(centres - margins)), min(1.0, np.min(centres + margins))
    return Interval(float(found.mean()), float(low), float(high), len(found))


def decided(values: Sequence[float], error: float = 0.05, even: float = 0.5) -> bool:
    """Whether values tell their mean from ``even``; asked after each value, that is wrong with ``error`` at most."""
    interval = confidence_sequence(values, error)
    return not interval.low <= even <= interval.high
