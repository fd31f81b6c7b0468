"""Estimation of the number of search iterations that plays as strongly as an agent, from duplicate deals.

Deals that end evenly say nothing about who is stronger.  The share of *decisive* deals that the agent takes is

    P(agent) = 1 / (1 + exp(b (x - x0)))

against a search with ``2**x`` iterations: ``2**x0`` is the equivalent, and ``b`` is what doubling the iterations adds
to the log-odds.  Both are unknown.  Their posterior is kept on a grid, as psychophysics does for the threshold and
slope of a perceiver (L. L. Kontsevich and C. W. Tyler, "Bayesian adaptive estimation of psychometric slope and
threshold", Vision Research 39, 1999); the equivalent is the median of ``x0``, its interval the middle 95 %.

Strength is not a straight line in the logarithm of the iterations, it levels off.  So only budgets within two octaves
of the equivalent count in the end: there the line is good enough.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ddz_training.measure.errors import InvalidExperimentError


class Tally(NamedTuple):
    """The outcomes of duplicate deals against a search with a given number of iterations.

    Attributes:
        ahead: Deals on which the agent did better than the search.
        behind: Deals on which it did worse.
        even: Deals that say nothing.
    """

    ahead: int = 0
    behind: int = 0
    even: int = 0

    @property
    def deals(self) -> int:
        """The number of deals tallied: ahead, behind and even together."""
        return sum(self)


Tallies = Mapping[int, Tally]
"""Deals played, by the iterations of the search."""


def tallies_to_text(tallies: Tallies) -> tuple[str, ...]:
    """Format tallies as strings for a file, in the order of the iterations.

    Example:
        >>> tallies_to_text({500: Tally(3, 1, 16)})
        ('500:3/1/16',)
    """
    return tuple(f"{iterations}:{'/'.join(map(str, tally))}" for iterations, tally in sorted(tallies.items()))


def tallies_from_text(parts: Iterable[str]) -> dict[int, Tally]:
    """Parse tallies from strings: the inverse of :func:`tallies_to_text`.

    Example:
        >>> tallies_from_text(["7:0/0/9", "64:1/2/3"])
        {7: Tally(ahead=0, behind=0, even=9), 64: Tally(ahead=1, behind=2, even=3)}
    """
    split = (part.partition(":") for part in parts)
    return {int(iterations): Tally(*map(int, counts.split("/"))) for iterations, _, counts in split}


OCTAVE = 16
"""Points of the grid for each doubling of the iterations."""
NEAR = 2.0
"""Only deals within this many octaves of the equivalent count in the end."""

_ENOUGH = 60
"""With this many decisive deals within :data:`NEAR`, those farther away are left out."""
_MARGIN = 3
"""Octaves that the grid reaches beyond the bounds, so that an equivalent there shows."""
_SLOPES = np.geomspace(0.05, 1.6, 10)
_USUAL_SLOPE, _SLOPE_SPREAD = 0.5, 0.6
"""Centre of the prior of the slope, and the standard deviation of its logarithm: half-deck games have 0.3 to 0.7."""
_SLOPE_PRIOR = -0.5 * (np.log(_SLOPES / _USUAL_SLOPE) / _SLOPE_SPREAD) ** 2
"""The logarithm of the prior of each slope."""


class Bounds(NamedTuple):
    """The range in which to look for an agent's equivalent number of search iterations.

    Attributes:
        lower: Iterations; between both bounds all equivalents are equally likely beforehand.
        upper: Iterations.
    """

    lower: int
    upper: int

    @classmethod
    def checked(cls, lower: int, upper: int) -> Bounds:
        """Check the bounds that a user gives, and return them.

        Raises:
            InvalidExperimentError: If they are the wrong way round, or below 1.
        """
        if not 1 <= lower <= upper:
            raise InvalidExperimentError(f"lower={lower} must be at least 1 and not above upper={upper}")
        return cls(lower, upper)


class Posterior(NamedTuple):
    """The posterior distribution of an agent's equivalent number of search iterations, on a log2 scale.

    Attributes:
        places: Logarithms to base 2, shape ``[n]``.
        chance: The probability that the equivalent's is at most that large, shape ``[n]``.
    """

    places: NDArray[np.float64]
    chance: NDArray[np.float64]

    def quantile(self, share: float) -> float:
        """Return the ``share`` quantile of the agent's equivalent number of search iterations, as log2."""
        return float(np.interp(share, self.chance, self.places))

    def probability_above(self, iterations: float) -> float:
        """Return the probability that it takes more than the given number of iterations to equal the agent."""
        return 1 - float(np.interp(math.log2(iterations), self.places, self.chance))


def posterior(tallies: Tallies, bounds: Bounds, near: bool = True) -> Posterior:
    """Compute the posterior of an agent's equivalent number of search iterations from the deals played.

    Args:
        tallies: What has been played.
        bounds: Where it is looked for.  Beyond them the prior falls like a normal tail with a standard deviation of an
            octave.
        near: Whether deals more than ``NEAR`` octaves from the equivalent are left out, once enough are nearer.

    Returns:
        Its distribution.
    """
    lower, upper = math.log2(bounds.lower), math.log2(bounds.upper)
    first = math.floor((lower - _MARGIN) * OCTAVE)
    grid = np.arange(first, math.ceil((upper + _MARGIN) * OCTAVE) + 1) / OCTAVE
    beyond = np.maximum(lower - grid, grid - upper).clip(0)
    prior = _SLOPE_PRIOR[:, None] - beyond**2 / 2
    estimate = _update_posterior(prior, tallies, grid)
    if near:
        centre = estimate.quantile(0.5)
        nearby = {budget: tally for budget, tally in tallies.items() if abs(math.log2(budget) - centre) <= NEAR}
        if sum(tally.ahead + tally.behind for tally in nearby.values()) >= _ENOUGH:
            estimate = _update_posterior(prior, nearby, grid)
    return estimate


def _update_posterior(prior: NDArray[np.float64], tallies: Tallies, grid: NDArray[np.float64]) -> Posterior:
    """Compute the posterior from tallies and the log prior over slopes and iterations, ``[slopes, grid]``."""
    logs, size, first = prior.copy(), len(grid), round(grid[0] * OCTAVE)
    for budget, tally in tallies.items():
        point = round(math.log2(budget) * OCTAVE) - first
        reach = max(size, point + 1, size - point)
        ahead, behind = _log_win_probabilities(reach)
        window = slice(reach - 1 - point, reach - 1 - point + size)
        logs += tally.ahead * ahead[:, window] + tally.behind * behind[:, window]
    weights = np.exp(logs - logs.max()).sum(axis=0)
    chance = np.cumsum(weights)
    return Posterior(grid, (chance - weights / 2) / chance[-1])


@functools.cache
def _log_win_probabilities(reach: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute the log probabilities that the agent, or the search, wins a deal that does not end evenly.

    Returns:
        Shape ``[slopes, 2 * reach - 1]``: the equivalent less the budget, from ``1 - reach`` to ``reach - 1`` points.
    """
    odds = _SLOPES[:, None] * np.arange(1 - reach, reach) / OCTAVE
    return -np.logaddexp(0, -odds), -np.logaddexp(0, odds)
