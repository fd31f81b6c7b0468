"""Priors: how likely each action of a position is to be worth a look, before anything was searched.

A prior is any function from :class:`~ddz_agents.neural_search.leaf_games.Leaves` to logarithms of probabilities.
"""

from __future__ import annotations

import numpy as np

from ddz_agents.neural.model import Floats, PolicyModel
from ddz_agents.neural_search.leaf_games import Leaves


class PolicyPrior:
    """The probabilities of a policy.

    Args:
        model: The policy.
    """

    def __init__(self, model: PolicyModel) -> None:
        self.model = model

    def __call__(self, leaves: Leaves) -> Floats:
        """Logarithms of the policy's probabilities, shape ``[n, 400]``, float32; minus infinity where illegal."""
        return self.model.evaluate(leaves.observations, leaves.action_masks)[0]


def uniform_prior(leaves: Leaves) -> Floats:
    """Logarithms of a uniform choice among the legal actions, shape ``[n, 400]``, float32; else minus infinity."""
    masks = leaves.action_masks
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(masks / masks.sum(axis=1, keepdims=True, dtype=np.float32)), np.float32)
