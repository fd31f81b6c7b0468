"""Deep Monte Carlo: an action's value is the mean outcome of the games in which the action was chosen.

D. Zha et al., "DouZero: Mastering DouDizhu with self-play deep reinforcement learning", ICML 2021.  All seats play the
action of the highest value, and with probability ε any legal one; the network learns the outcome by squared errors.
There is no critic, no bootstrapping, and nothing is discounted.  Different from DouZero: the network is that of the
policies here, whose logits are the values, one network plays all roles, moves are chosen in two stages, and Adam takes
the place of RMSprop.  The weights are a policy's: ``policy:path=FILE`` plays the action of the highest value.

The run itself, its games, files and checkpoints are those of :mod:`ddz_training.learn.ppo`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ddz_agents.neural.model import Floats
from ddz_training.learn.input_layers import forward_policy
from ddz_training.learn.ppo.config import GamesConfig
from ddz_training.learn.ppo.ppo import (
    Advantages,
    Choice,
    Learner,
    LossSums,
    Rollout,
    argmax_by_row,
    first_index_of_rows,
)
from ddz_training.learn.ppo.selfplay import SelfPlay
from ddz_training.learn.settings import Count, Positive, Share


@dataclass(frozen=True)
class DmcConfig(GamesConfig):
    """The settings of a deep Monte Carlo run.

    Attributes:
        epsilon: Probability of an action at random.
    """

    epsilon: Share = 0.01
    num_envs: Count = 512
    minibatch: Count = 2048
    learning_rate: Positive = 3e-4
    opponent_share: Share = 0.0
    ema_decay: Share = 0.0


def sample_epsilon_greedy(
    values: Tensor, rows: Tensor, count: int, generator: torch.Generator, epsilon: float
) -> Choice:
    """Choose the highest-valued action of each decision or, with probability ε, any legal action.

    Args:
        values: Values of the legal actions, shape ``[pairs]``, float32.
        rows: The decision that each belongs to, shape ``[pairs]``, int64, ascending.
        count: How many decisions there are.
        generator: Draws.
        epsilon: Probability of an action at random.
    """
    noise = torch.rand(len(values), device=values.device, generator=generator)
    explores = torch.rand(count, device=values.device, generator=generator) < epsilon
    chosen = torch.where(explores, argmax_by_row(noise, rows, count), argmax_by_row(values, rows, count))
    ones = torch.ones(count, device=values.device)
    return Choice(chosen - first_index_of_rows(rows, count), torch.zeros_like(ones), ones)


def monte_carlo_returns(
    rewards: npt.NDArray[np.float32], seats: npt.NDArray[np.int8], done: npt.NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """Return each step's game result for the acting seat, and weights that make up for unfinished games.

    A step whose game ends after the rollout is left out, which is likelier the further away the end is: of steps
    ``d`` before the end, a share ``d / steps``.  The others are weighted up for them; otherwise short games would count
    too much.

    Args:
        rewards: By seat, shape ``[steps, games, 3]``.
        seats: Who acted, shape ``[steps, games]``.
        done: Whether the step ended the game, shape ``[steps, games]``.

    Returns:
        Outcomes and weights, shape ``[steps, games]``, float32; both 0 where the end is not known.

    Example:
        >>> rewards, done = np.zeros((4, 1, 3), np.float32), np.array([[False], [False], [True], [False]])
        >>> rewards[2, 0] = 1, -1, -1
        >>> returns, weights = monte_carlo_returns(rewards, np.array([[0], [1], [0], [1]], np.int8), done)
        >>> returns[:, 0].tolist(), weights[:, 0].tolist()
        ([1.0, -1.0, 1.0, 0.0], [2.0, 1.3333333730697632, 1.0, 0.0])
    """
    steps, games = seats.shape
    all_games = np.arange(games)
    returns, weights = np.zeros((steps, games), np.float32), np.zeros((steps, games), np.float32)
    end, final = np.full(games, -1), np.zeros((games, rewards.shape[2]), np.float32)
    for step in reversed(range(steps)):
        end[done[step]], final[done[step]] = step, rewards[step, done[step]]
        ended = end >= 0
        returns[step] = np.where(ended, final[all_games, seats[step]], 0.0)
        weights[step] = np.where(ended, steps / (steps - (end - step)), 0.0)
    return returns, weights


class DmcLearner(Learner):
    """A learner that fits action values by squared error, without a critic."""

    _config: DmcConfig

    def sample_actions(self, logits: Tensor, rows: Tensor, count: int, generator: torch.Generator) -> Choice:
        """Sample actions ε-greedily by value, where the network's logits are the values."""
        return sample_epsilon_greedy(logits, rows, count, generator, self._config.epsilon)

    def estimate(self, rollout: Rollout) -> tuple[Floats, Advantages]:
        """Use game outcomes as targets, with weights that make up for steps whose games end after the rollout."""
        played, decides = rollout.played, rollout.played.decides
        targets, weights = monte_carlo_returns(played.rewards, played.seats, played.done)
        counts = np.zeros(len(rollout.seen), np.float32)
        counts[played.rows[decides]] = weights[decides]
        rollout.choice = rollout.choice._replace(loss_weights=torch.from_numpy(counts).to(rollout.seen.device))
        return np.zeros_like(counts), Advantages(np.zeros_like(targets), targets, decides & (weights > 0))

    def loss(self, rollout: Rollout, rows: npt.NDArray[np.intp], spent: float) -> tuple[Tensor, LossSums]:
        """Compute half the sum of the squared errors in the chosen actions' values."""
        index, pairs = rollout.select_policy_rows(rows)
        legal, starts = rollout.gather_legal(index, pairs)
        values, _ = forward_policy(
            self.input_layer, self.policy, rollout.seen[index], rollout.hand_values[index], legal
        )
        errors = 0.5 * (values[starts + rollout.choice.indices[index]] - rollout.targets[index]).square()
        loss = (errors * rollout.choice.loss_weights[index]).sum()
        return loss, {"policy_loss": loss}


class DeepMonteCarlo(SelfPlay):
    """A run of deep Monte Carlo, whose curves show half the squared error as ``policy_loss``."""

    config: DmcConfig
    config_type = DmcConfig
    learner_type = DmcLearner
    has_critic = False
