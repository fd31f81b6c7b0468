"""Selection of the next action to try: by sequential halving at the root, and by PUCT below it.

At the root, PUCT would give most descents to the policy's favourite and few to its rivals, whose values would stay
noise.  With sequential halving all candidates get equally many, in the same determinizations, and after each round the
worse half is dropped (Karnin, Koren and Somekh 2013; Danihelka et al. 2022 use it at the root of searches with learned
policies).  What the policy thinks counts as evidence beside the values, the less the more descents there are.

Below the root, PUCT (Silver et al. 2017) maximises ``R(M) / V(M) + k P(M) sqrt(V(N)) / (1 + V(M))``, ``V(N)`` being the
visits of the children that are legal in the determinization and ``P`` adding up to 1 over them; children without visits
share the mean reward of their siblings, so that they need not all be tried first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ddz_agents.neural.model import Floats
from ddz_agents.tree_search.choice import ChildStatistics
from ddz_agents.tree_search.tree import Tree
from ddz_env.core.engine.random import advance, mix, scale_below
from ddz_env.core.engine.words import U0, U1
from ddz_env.support.compiling import part_kernel


def keep_better_half(
    candidates: Sequence[int], statistics: ChildStatistics, log_priors: Floats, prior_weight: float
) -> list[int]:
    """Return the better half of the root's actions, rounded up and ordered from the best down.

    An action is worth its mean reward, and ``prior_weight`` times the logarithm of its prior, divided by the square
    root of its descents.

    Args:
        candidates: The actions, of equals the preferred one first.
        statistics: Of the root's children.
        log_priors: Logarithms of the policy's probabilities, shape ``[400]``.
        prior_weight: How much the policy's opinion counts.
    """

    def worth(action: int) -> float:
        count = statistics.visits[action]
        if not count:
            return -math.inf
        return statistics.rewards[action] / count + prior_weight * float(log_priors[action]) / math.sqrt(count)

    return sorted(candidates, key=worth, reverse=True)[: (len(candidates) + 1) // 2]


@part_kernel
def select_child(
    tree: Tree,
    prior: np.ndarray,
    legal_children: np.ndarray,
    count: int,
    exploration: np.float32,
    state: np.uint64,
) -> tuple[int, np.uint64]:
    """Select a child by PUCT, drawing at random among unvisited children that share the largest prior.

    Args:
        tree: The tree.
        prior: The prior of every record, shape ``[capacity]``, float32.
        legal_children: Records of the children to choose from, int32.
        count: How many these are.
        exploration: The constant ``k``.
        state: The generator's state.

    Returns:
        The record, and the generator's new state.
    """
    visits, reward, priors = np.int64(0), np.float32(0.0), np.float32(0.0)
    best_prior, ties = np.float32(-1.0), U0  # of children without visits
    for index in range(count):
        record = np.int64(legal_children[index])
        visits += tree.visits[record]
        reward += tree.reward[record]
        priors += prior[record]
        if tree.visits[record] == 0:
            if prior[record] > best_prior:
                best_prior, ties = prior[record], U0
            ties += np.uint64(prior[record] == best_prior)
    best, best_value = np.int64(-1), np.float32(-1.0)
    if visits > 0:
        scale = exploration * math.sqrt(np.float32(visits)) / max(priors, np.float32(1e-9))
        if ties > U0:  # what the best child without visits has to offer
            best_value = reward / np.float32(visits) + scale * best_prior
        for index in range(count):
            record = np.int64(legal_children[index])
            child_visits = np.float32(tree.visits[record])
            if child_visits > np.float32(0.0):
                mean = tree.reward[record] / child_visits
                value = mean + scale * prior[record] / (np.float32(1.0) + child_visits)
                if value > best_value:
                    best, best_value = record, value
    if best >= 0:
        return best, state
    state = advance(state)
    return _unvisited_child(tree, prior, legal_children, count, best_prior, scale_below(mix(state), ties)), state


@part_kernel
def _unvisited_child(
    tree: Tree, prior: np.ndarray, legal_children: np.ndarray, count: int, best_prior: np.float32, number: np.uint64
) -> int:
    """Return the n-th, counted from 0, of a node's unvisited children that share the largest prior."""
    for index in range(count):
        record = np.int64(legal_children[index])
        if tree.visits[record] == 0 and prior[record] == best_prior:
            if number == U0:
                return record
            number -= U1
    return np.int64(legal_children[0])
