"""The pool of worlds that hand inference gives a search."""

from __future__ import annotations

import numpy as np

from agents.inference.errors import InconsistentHistoryError
from agents.inference.sampler import infer
from agents.mcts.worlds import Pool, uniform
from ddz_env import View

MOST_PARTICLES = 100_000
"""More are an error: with so many a decision begins with about half a second of inference."""


def inferred_pool(view: View, rng: np.random.Generator, particles: int) -> Pool:
    """Determinizations weighted by how plausible the hidden seats' past moves are.

    Args:
        view: What the searcher knows.
        rng: The generator.
        particles: How many; 0 for uniform determinizations, drawn afresh each time.
    """
    if not particles:
        return uniform()
    try:
        known = infer(view, rng, particles=particles)
    except InconsistentHistoryError:  # a bare row: there is nothing to infer from
        return uniform()
    return Pool(known.hands, known.cumulative)
