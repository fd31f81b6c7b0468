"""Weighted determinizations, and annealing, which moves them to likelier deals by resampling and card swaps.

Where the hidden seats' moves say much, hardly any deal drawn blindly is plausible, and weights alone leave a handful of
particles alive.  The likelihood is therefore brought in step by step (a sequential Monte Carlo sampler with adaptive
tempering: Del Moral, Doucet and Jasra 2006, "Sequential Monte Carlo samplers", JRSS B 68).  At each step the exponent
grows until half of the effective sample is left, particles are drawn again by weight, and each may swap cards between
two holders, accepted by Metropolis' rule.  A swap takes a card from either holder uniformly, so that its reverse is as
likely, and uniformity over deals of *cards* is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ddz_agents.worlds.determinize import Reals, Words, WorldPool
from ddz_env import View
from ddz_env.core.engine.layout import HANDS, KNOWN
from ddz_env.core.engine.random import advance, mix, scale_below
from ddz_env.core.engine.words import U0, U1, U3, add_hand, popcount, remove_hand, select_bit
from ddz_env.support.compiling import inline_kernel, kernel

Evaluate = Callable[[Words], Reals]
"""Particles, shape ``[n, 4]``, to their log-likelihoods, shape ``[n]``."""

_KEPT = 0.5
"""Share of the effective sample that one step leaves."""
_U15 = np.uint64(15)
_HALVINGS = 40


@dataclass(frozen=True, eq=False)
class Particles:
    """A seat's belief about the hidden cards, represented by weighted deals.

    Attributes:
        hands: The hand of each of three seats now (the observer's own in every particle) and the cards that no seat
            holds (the face-down landlord cards before there is a landlord), shape ``[n, 4]``, uint64.
        weights: Adding up to one, shape ``[n]``, float64.
        ess: The effective sample size, ``1 / sum(weights ** 2)``.
        exponent: The power to which the likelihoods were tempered to keep enough deals in play; 1 where they were
            not.
    """

    hands: Words
    weights: Reals
    ess: float
    exponent: float

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def pool(self) -> WorldPool:
        """The particles as a pool of determinizations for a search to draw from."""
        sums = np.cumsum(self.weights)
        sums /= sums[-1]
        return WorldPool(self.hands, sums)


def effective_size(weights: Reals) -> float:
    """Return the effective sample size of weights that add up to one (Kong, Liu and Wong 1994)."""
    return float(1.0 / np.square(weights).sum())


def normalise_weights(logs: Reals) -> Reals:
    """Convert log-weights to weights of the same shape that add up to one."""
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


def distinct_deals(hands: Words) -> tuple[Words, npt.NDArray[np.int64]]:
    """Return the distinct deals, shape ``[deals, 4]``, and the index of each particle's deal, shape ``[n]``."""
    deals, deal = np.unique(hands, axis=0, return_inverse=True)
    return deals, deal.ravel()


def temper(hands: Words, logs: Reals, least: float, exponent: float = 0.0) -> Particles:
    """Weight particles by likelihoods raised to the largest power up to 1 that keeps enough deals effective.

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
    floor = min(least * len(first), effective_size(normalise_weights(drawn)))
    step = largest_step(logs[first], 1.0 - exponent, floor, drawn)
    weights = normalise_weights(step * logs)
    return Particles(hands, weights, effective_size(weights), exponent + step)


def largest_step(logs: Reals, most: float, floor: float, drawn: Reals | float = 0.0) -> float:
    """Find the largest power of the likelihoods, up to ``most``, that keeps the effective size above a floor.

    Args:
        logs: Log-likelihoods, shape ``[n]``.
        most: The largest power wanted.
        floor: The effective size.
        drawn: Log-weights before, shape ``[n]``.
    """

    def enough(step: float) -> bool:
        return effective_size(normalise_weights(drawn + step * logs)) >= floor

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


@inline_kernel
def _draw_card(cards: np.uint64, state: np.uint64) -> np.uint64:
    """Draw a card uniformly from a hand, and return it as a hand of one card."""
    return U1 << (select_bit(cards, scale_below(mix(state), popcount(cards))) & _U15)


@kernel
def _swap_in_place(hands: np.ndarray, fixed: np.ndarray, state: np.uint64) -> np.uint64:
    """Swap one to three cards between two hands in every particle, and return the generator's new state.

    Args:
        hands: The particles, shape ``[n, 4]``.
        fixed: Cards of each holder that stay where they are, shape ``[4]``.
        state: The generator's state.
    """
    holders = np.empty(4, np.int64)
    for index in range(hands.shape[0]):
        count = 0
        for holder in range(4):
            if hands[index, holder] != fixed[holder]:
                holders[count] = holder
                count += 1
        if count < 2:
            return state
        state = advance(state)
        skipped = np.int64(scale_below(mix(state), U3)) if count == 3 else 2
        first, second = holders[0 if skipped != 0 else 1], holders[1 if skipped == 2 else 2]
        state = advance(state)
        swaps = U1 + scale_below(mix(state), U3)
        while swaps > U0:
            swaps -= U1
            state = advance(state)
            from_first = _draw_card(remove_hand(hands[index, first], fixed[first]), state)
            state = advance(state)
            from_second = _draw_card(remove_hand(hands[index, second], fixed[second]), state)
            hands[index, first] = add_hand(remove_hand(hands[index, first], from_first), from_second)
            hands[index, second] = add_hand(remove_hand(hands[index, second], from_second), from_first)
    return state


def fixed_cards(view: View) -> Words:
    """Return the cards that a view places in each hand and among the undealt cards, shape ``[4]``, uint64."""
    fixed = np.zeros(4, np.uint64)
    if view.landlord is not None:
        fixed[view.landlord] = view.row[KNOWN]
    fixed[view.seat] = view.row[HANDS + view.seat]
    return fixed


def swap_cards(hands: Words, fixed: Words, rng: np.random.Generator) -> Words:
    """Return the particles after swapping one to three cards between two hands in each, shape ``[n, 4]``.

    Args:
        hands: The particles.
        fixed: What stays where it is (:func:`fixed_cards`).
        rng: The only source of randomness.
    """
    moved = hands.copy()
    _swap_in_place(moved, fixed, np.uint64(rng.integers(0, 2**64, dtype=np.uint64)))
    return moved


def anneal(
    hands: Words, logs: Reals, fixed: Words, evaluate: Evaluate, rounds: int, rng: np.random.Generator
) -> tuple[Words, Reals, float]:
    """Move particles towards likelier deals in at most ``rounds`` rounds of resampling and card swaps.

    Args:
        hands: Particles drawn uniformly, shape ``[n, 4]``.
        logs: Their log-likelihoods, shape ``[n]``.
        fixed: What each holder is known to hold (:func:`fixed_cards`).
        evaluate: The log-likelihood of other particles.
        rounds: At most how many; each evaluates ``n`` particles.
        rng: The only source of randomness.

    Returns:
        The particles, their log-likelihoods, and the exponent that is already in their distribution: the rest of it
        (to 1) is for their weights.
    """
    exponent = 0.0
    for _ in range(rounds):
        step = largest_step(logs, 1.0 - exponent, _KEPT * len(logs))
        if exponent + step >= 1.0:
            break
        exponent += step
        drawn = _resample(normalise_weights(step * logs), rng)
        hands, logs = hands[drawn], logs[drawn]
        moved = swap_cards(hands, fixed, rng)
        answers = evaluate(moved)
        accepted = np.log(rng.random(len(hands))) < exponent * (answers - logs)
        hands = np.where(accepted[:, None], moved, hands)
        logs = np.where(accepted, answers, logs)
    return hands, logs, exponent


def _resample(weights: Reals, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Resample particles by weight (systematic resampling), and return their indexes, shape ``[n]``."""
    points = (rng.random() + np.arange(len(weights))) / len(weights)
    return np.minimum(np.searchsorted(np.cumsum(weights), points), len(weights) - 1)
