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


def distinct(hands: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
    """The deals among particles, shape ``[deals, 4]``, and the deal of each particle, shape ``[n]``."""
    deals, deal = np.unique(hands, axis=0, return_inverse=True)
    return deals, deal.ravel()


def tempered(
    hands: npt.NDArray[np.uint64], logs: npt.NDArray[np.float64], least: float, exponent: float = 0.0
) -> Particles:
    """Weigh particles, with the largest exponent up to 1 that leaves enough deals in play.

    Late in a game the particles are a few deals, each drawn many times; weights are then as good as exact, and nothing
    is gained by keeping deals alive that the moves speak against.  So deals are counted, not draws.

    Args:
        hands: The particles, shape ``[n, 4]``.
        logs: Their log-likelihoods, shape ``[n]``; the same for the same deal.
        least: Share of the deals that must remain, as an effective number (that of the plain draws where even they
            have fewer).
        exponent: The exponent that is already in the particles' distribution.
    """
    _, first, deal = np.unique(hands, axis=0, return_index=True, return_inverse=True)
    drawn = np.log(np.bincount(deal.ravel()))
    floor = min(least * len(first), effective_size(normalised(drawn)))
    step = largest_step(logs[first], 1.0 - exponent, floor, drawn)
    weights = normalised(step * logs)
    return Particles(hands, weights, effective_size(weights), exponent + step)


def largest_step(
    logs: npt.NDArray[np.float64], most: float, floor: float, drawn: npt.NDArray[np.float64] | float = 0.0
) -> float:
    """The largest power of the likelihoods, up to ``most``, that leaves an effective size of at least a floor.

    Args:
        logs: Log-likelihoods, shape ``[n]``.
        most: The largest power wanted.
        floor: The effective size.
        drawn: Log-weights before, shape ``[n]``.
    """

    def enough(step: float) -> bool:
        return effective_size(normalised(drawn + step * logs)) >= floor

    if enough(most):
        return most
    low, high = 0.0, most
    for _ in range(_HALVINGS):
        step = (low + high) / 2
        if enough(step):
            low = step
        else:
            high = step
    return low
