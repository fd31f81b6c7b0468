"""What a pool of worlds says of the hidden cards."""

from __future__ import annotations

import numpy as np

from ddz_agents.worlds.determinize import WorldPool
from ddz_env import View
from ddz_env.playing.thoughts import Belief


def belief_of(view: View, pool: WorldPool) -> Belief:
    """Where a pool has the hidden cards; an empty one has them anywhere.

    Args:
        view: What the searcher knows.
        pool: Weighted determinizations of the view.
    """
    if not len(pool.cumulative):
        return Belief.uniform(view)
    return Belief.of_worlds(pool.hands, np.diff(pool.cumulative, prepend=0.0))
