"""Weighted determinizations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_HALVINGS = 40


@dataclass(frozen=True, eq=False)
class Particles:
    """What a seat believes about the hidden cards.

    Attributes:
        hands: The hand of each of three seats now (the observer's own in every particle) and the cards that nobody
            holds (the face-down landlord cards before there is a landlord), shape ``[n, 4]``, uint64.
        weights: Adding up to one, shape ``[n]``, float64.
        ess: The effective sample size, ``1 / sum(weights ** 2)``.
        exponent: The power to which the likelihoods were tempered to keep enough deals in play; 1 where they were
            not.
    """

    hands: npt.NDArray[np.uint64]
    weights: npt.NDArray[np.float64]
    ess: float
    exponent: float

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def cumulative(self) -> npt.NDArray[np.float64]:
        """Running sums of the weights, the last exactly 1, shape ``[n]``: draw the first that exceeds a uniform."""
        sums = np.cumsum(self.weights)
        sums /= sums[-1]
        return sums


def effective_size(weights: npt.NDArray[np.float64]) -> float:
    """The effective sample size of weights that add up to one (Kong, Liu and Wong 1994)."""
    return float(1.0 / np.square(weights).sum())


def normalised(logs: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Weights that add up to one from log-weights; shape as ``logs``."""
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


def tempered(
    hands: npt.NDArray[np.uint64], logs: npt.NDArray[np.float64], deal: npt.NDArray[np.int64], least: float
) -> Particles:
    """Weigh particles, with the largest exponent up to 1 that leaves enough deals in play.

    Late in a game the particles are a few deals, each drawn many times; weights are then as good as exact, and nothing
    is gained by keeping deals alive that the moves speak against.  So deals are counted, not draws.

    Args:
        hands: The particles, shape ``[n, 4]``.
        logs: Log-likelihood of each deal that was drawn, shape ``[deals]``.
        deal: The deal of each particle, shape ``[n]``.
        least: Share of the deals that must remain, as an effective number (that of the plain draws where even they
            have fewer).
    """
    drawn = np.log(np.bincount(deal, minlength=len(logs)))
    floor = min(least * len(logs), effective_size(normalised(drawn)))

    def enough(exponent: float) -> bool:
        return effective_size(normalised(drawn + exponent * logs)) >= floor

    exponent = 1.0
    if not enough(exponent):
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS):
            exponent = (low + high) / 2
            if enough(exponent):
                low = exponent
            else:
                high = exponent
        exponent = low
    weights = normalised(exponent * logs[deal])
    return Particles(hands, weights, effective_size(weights), exponent)
