"""How a win rate settles as more worlds are counted: table 1 of the expected-payoff paper."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

STEP, VALUES = 10, 10
"""A line of the table has the win rates after 10, 20 ... 100 worlds more than the line before."""


class Settling(NamedTuple):
    """A line of the table.

    Attributes:
        first: The fewest worlds of the line.
        last: The most.
        highest: The highest of its ten win rates.
        lowest: The lowest.
        mean: Their mean.
    """

    first: int
    last: int
    highest: float
    lowest: float
    mean: float

    @property
    def spread(self) -> float:
        """The highest less the lowest: the smaller, the steadier."""
        return self.highest - self.lowest


def settling(won: npt.NDArray[np.float64]) -> list[Settling]:
    """The lines that these worlds fill.

    Args:
        won: 1 or 0 for each world in the order in which they were dealt, shape ``[worlds]``.

    Example:
        >>> [(line.first, line.last, line.mean) for line in settling(np.ones(250))]
        [(10, 100, 1.0), (110, 200, 1.0)]
    """
    rates = won.cumsum()[STEP - 1 :: STEP] / np.arange(STEP, len(won) + 1, STEP)
    lines = []
    for first in range(0, len(rates) - VALUES + 1, VALUES):
        ten = rates[first : first + VALUES]
        worlds = STEP * (first + 1), STEP * (first + VALUES)
        lines.append(Settling(*worlds, float(ten.max()), float(ten.min()), float(ten.mean())))
    return lines
