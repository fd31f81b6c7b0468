"""Priors of a search: how promising each action of a position looks before any search.

A prior is any function from :class:`~ddz_agents.neural_search.leaf_games.LeafBatch` to logarithms of probabilities.
"""

from __future__ import annotations

import numpy as np

from ddz_agents.neural.model import Floats, PolicyModel
from ddz_agents.neural_search.leaf_games import LeafBatch


class PolicyPrior:
    """A policy's action probabilities as the prior of a search.

    Args:
        model: The policy.
    """

    def __init__(self, model: PolicyModel) -> None:
        self.model = model

    def __call__(self, leaves: LeafBatch) -> Floats:
        """Return the policy's log-probabilities, shape ``[n, 400]``, float32, minus infinity where illegal."""
        return self.model.evaluate(leaves.observations, leaves.action_masks)[0]


def uniform_prior(leaves: LeafBatch) -> Floats:
    """Return the log-probabilities of a uniform choice among legal actions, shape ``[n, 400]``, float32."""
    masks = leaves.action_masks
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(masks / masks.sum(axis=1, keepdims=True, dtype=np.float32)), np.float32)
