"""How the root's moves share the descents: sequential halving over those that the policy likes best.

PUCT at the root gives most descents to the policy's favourite and few to its rivals, whose values stay noise.  Here all
candidates get equally many, in the same determinizations, and after each round the worse half is dropped (Karnin, Koren
and Somekh 2013; Danihelka et al. 2022 use it at the root of searches with learned policies).  What the policy thinks
counts as evidence beside the values, the less the more descents there are.
"""

from __future__ import annotations

import math
import time

import numpy as np

from ddz_agents.neural.model import Floats
from ddz_agents.neural_search.forest import Forest
from ddz_agents.tree_search.choice import totals
from ddz_agents.tree_search.tree import ROOT
from ddz_agents.worlds.determinize import WorldPool


class Clock:
    """A budget of descents, or of time.

    Args:
        descents: How many.
        milliseconds: Time instead of descents.
        began: When it began to run, in seconds of :func:`time.perf_counter`.
    """

    def __init__(self, descents: int, milliseconds: float | None, began: float) -> None:
        self.descents = descents
        self._spent = 0
        self._seconds = None if milliseconds is None else milliseconds / 1000
        self._began = began

    def over(self, share: float) -> bool:
        """Whether a share of the budget is spent."""
        if self._seconds is None:
            return self._spent >= share * self.descents
        return time.perf_counter() - self._began >= share * self._seconds

    def share(self, batch: int, trees: int) -> int:
        """Descents of each tree in the next wave."""
        if self._seconds is not None:
            return batch
        return max(1, min(batch, -(-(self.descents - self._spent) // trees)))

    def turns(self, share: float, batch: int, candidates: int, trees: int) -> int:
        """Descents of each candidate in every tree's next waves, on the way to a share of the budget; at least one."""
        most = max(1, batch // candidates)
        if self._seconds is not None:
            return most
        left = math.ceil((share * self.descents - self._spent) / (candidates * trees))
        return max(1, min(most, left))

    def spend(self, descents: int) -> None:
        """Note what was done."""
        self._spent += descents


def halve(
    forest: Forest, pool: WorldPool, log_priors: Floats, clock: Clock, candidates: int, prior_weight: float
) -> int:
    """Find the root's best action.

    Args:
        forest: Planted trees.
        pool: Determinizations; empty for uniform ones.
        log_priors: Logarithms of the policy's probabilities, shape ``[400]``, minus infinity where illegal.
        clock: The budget; every round gets the same share of it, and at least one descent a candidate and tree.
        candidates: How many actions are compared.
        prior_weight: Added to an action's value: so many times the logarithm of its prior, divided by the square root
            of its descents.

    Returns:
        The action.
    """
    order = np.argsort(-log_priors, kind="stable")
    alive = [int(action) for action in order[:candidates] if log_priors[action] > -np.inf]
    rounds = max(1, (len(alive) - 1).bit_length())
    for number in range(1, rounds + 1):
        while not clock.over(number / rounds):
            turns = clock.turns(number / rounds, forest.batch, len(alive), len(forest.trees))
            firsts = np.tile(np.array(alive, np.int16), turns)
            for part in np.array_split(firsts, -(-len(firsts) // forest.batch)):
                forest.wave(pool, part)
            clock.spend(len(firsts) * len(forest.trees))
        scores = _scores(forest, log_priors, prior_weight)
        alive.sort(key=lambda action: -scores.get(action, -math.inf))
        alive = alive[: (len(alive) + 1) // 2]
    return alive[0]


def _scores(forest: Forest, log_priors: Floats, prior_weight: float) -> dict[int, float]:
    """Mean reward of every visited action, and what the policy thinks of it."""
    found = totals(forest.trees, [ROOT] * len(forest.trees))
    return {
        action: found.rewards[action] / count + prior_weight * float(log_priors[action]) / math.sqrt(count)
        for action, count in found.visits.items()
        if count
    }
