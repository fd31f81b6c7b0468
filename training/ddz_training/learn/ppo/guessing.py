"""Guessing a hidden hand: an output that only training has, so that the policy's inner layers learn what hands tell.

What the policy needs to know of hidden cards it has to learn from wins and losses, which say little.  The hand of the
next seat is known in training, so it can be taught directly (an auxiliary task: M. Jaderberg et al., "Reinforcement
learning with unsupervised auxiliary tasks", ICLR 2017).  The output is thrown away; the file of weights has none.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ddz_agents.neural.architecture import Architecture
from ddz_agents.neural.columns import CRITIC_INPUTS
from ddz_agents.neural.features import PLANES

_NEXT = slice(CRITIC_INPUTS.at.next, CRITIC_INPUTS.at.next + PLANES)


class Guess(nn.Linear):
    """The thresholds of the next seat's hand, as log odds, from what a policy's trunk says.

    Args:
        architecture: The policy's.
        seed: Of the weights.
    """

    def __init__(self, architecture: Architecture, seed: int) -> None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            super().__init__(architecture.width, PLANES)


def guess_slopes(guesses: Tensor, games: Tensor) -> Tensor:
    """The derivative of the cross entropy by the log odds.

    Args:
        guesses: Shape ``[n, PLANES]``.
        games: The games as the critic reads them, shape ``[n, GAME_COLUMNS]``, float32.

    Returns:
        Shape ``[n, PLANES]``, float32; each decision's mean counts.
    """
    return (guesses.detach().sigmoid() - games[:, _NEXT]) / PLANES
