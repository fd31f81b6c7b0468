"""The pool of worlds that hand inference gives a search."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from agents.worlds.errors import InconsistentHistoryError
from agents.worlds.player_model import PolicyModel
from agents.worlds.pool import Pool, uniform
from agents.worlds.sampler import DEFAULT_ROUNDS, infer
from ddz_env import View

MOST_PARTICLES = 100_000
"""More are an error: with so many a decision begins with about half a second of inference, with minutes of it where a
learned policy is asked."""


def inferred_pool(
    view: View,
    rng: np.random.Generator,
    particles: int,
    models: Sequence[PolicyModel] | None = None,
    rounds: int = DEFAULT_ROUNDS,
) -> Pool:
    """Determinizations weighted by how plausible the hidden seats' past moves are.

    Args:
        view: What the searcher knows.
        rng: The generator.
        particles: How many; 0 for uniform determinizations, drawn afresh each time.
        models: The kinds of players that a hidden seat may be; None for the fitted rule models.
        rounds: Of annealing (:func:`agents.worlds.sampler.infer`).
    """
    if not particles:
        return uniform()
    try:
        known = infer(view, rng, particles=particles, models=models, rounds=rounds)
    except InconsistentHistoryError:  # a bare row: there is nothing to infer from
        return uniform()
    return Pool(known.hands, known.cumulative)
