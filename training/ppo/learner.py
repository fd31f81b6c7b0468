"""Gradient steps: the two networks, their optimizer, and one pass of PPO over a rollout."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from agents.neural.columns import describe_concealed, describe_observations
from agents.neural.network import Critic, PolicyNetwork, policy_input
from agents.neural.policy import Bytes, Floats
from training.ppo.config import SelfPlayConfig
from training.ppo.losses import (
    chosen_log_probabilities,
    clipped_policy_losses,
    masked_entropy,
    masked_log_probabilities,
    value_losses,
)
from training.ppo.rollout import unpack_masks
from training.ppo.workers import Workers, shards


@dataclass
class Decisions:
    """Decisions to learn from, in no particular order.

    Attributes:
        observations: Shape ``[n, OBSERVATION_SIZE]``, int8.
        masks: As bits, shape ``[n, 7]``, uint64.
        concealed: Shape ``[n, CONCEALED.size]``, int8.
        actions: Shape ``[n]``, int64.
        log_probabilities: Under the policy that chose, shape ``[n]``, float32.
        advantages: Normalized, shape ``[n]``, float32.
        targets: What the critic should say, shape ``[n]``, float32.
    """

    observations: Bytes
    masks: npt.NDArray[np.uint64]
    concealed: Bytes
    actions: npt.NDArray[np.int64]
    log_probabilities: Floats
    advantages: Floats
    targets: Floats


@dataclass
class UpdateStatistics:
    """Means over the decisions of an update.

    Attributes:
        policy_loss: The clipped surrogate, negated.
        value_loss: Half the squared error of the policy's own value.
        critic_loss: The same of the critic.
        entropy: Of the policy, in nats.
        divergence: Estimate of the Kullback–Leibler divergence from the policy that chose (J. Schulman's third
            estimator, ratio − 1 − log ratio).
        clipped: Share of the ratios beyond the clip.
    """

    policy_loss: float = 0.0
    value_loss: float = 0.0
    critic_loss: float = 0.0
    entropy: float = 0.0
    divergence: float = 0.0
    clipped: float = 0.0


def evaluate_in_shards(
    network: PolicyNetwork, workers: Workers, size: int, observations: Bytes, masks: Bytes
) -> Floats:
    """Logarithms of the probabilities of a batch, shape ``[n, 400]``, computed shard by shard."""

    def evaluate(rows: slice) -> Floats:
        with torch.inference_mode():
            logits, _ = network(*policy_input(observations[rows], masks[rows], network.architecture.history))
            result: Floats = masked_log_probabilities(logits, torch.from_numpy(masks[rows])).numpy()
            return result

    return np.concatenate(workers.map(evaluate, shards(len(observations), size)))


class Learner:
    """The networks that learn.

    Args:
        policy: The policy.
        critic: The critic.
        config: The settings.
        workers: The threads.
    """

    def __init__(self, policy: PolicyNetwork, critic: Critic, config: SelfPlayConfig, workers: Workers) -> None:
        self.policy = policy
        self.critic = critic
        self._config = config
        self._workers = workers
        self._policy_weights = list(policy.parameters())
        self._critic_weights = list(critic.parameters())
        self.optimizer = torch.optim.Adam(
            [*self._policy_weights, *self._critic_weights],
            lr=config.learning_rate,
            eps=config.adam_epsilon,
            fused=True,
        )

    def values(self, observations: Bytes, masks: npt.NDArray[np.uint64], concealed: Bytes) -> Floats:
        """The critic's values, shape ``[n]``, float32."""

        def evaluate(rows: slice) -> Floats:
            with torch.inference_mode():
                history = self.critic.architecture.history
                columns = describe_observations(observations[rows], unpack_masks(masks[rows]), history)
                hidden = describe_concealed(observations[rows], concealed[rows])
                result: Floats = self.critic(torch.from_numpy(columns), torch.from_numpy(hidden)).numpy()
                return result

        if not len(observations):
            return np.zeros(0, np.float32)
        return np.concatenate(self._workers.map(evaluate, shards(len(observations), self._config.shard)))

    def update(self, decisions: Decisions, rng: np.random.Generator, update: int) -> UpdateStatistics:
        """Go through the decisions of a rollout.

        Args:
            decisions: The decisions.
            rng: Shuffles them.
            update: The number of the update, for what is annealed.
        """
        config = self._config
        progress = config.progress(update)
        rate = config.learning_rate * (1.0 - progress * (1.0 - config.final_learning_rate))
        entropy = config.entropy + progress * (config.final_entropy - config.entropy)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        learns_policy = update >= config.critic_updates
        sums, count = np.zeros(len(UpdateStatistics.__dataclass_fields__)), 0
        for _ in range(config.epochs):
            order = rng.permutation(len(decisions.actions))
            for rows in shards(len(order), config.minibatch):
                sums += self._step(decisions, order[rows], entropy, learns_policy)
                count += rows.stop - rows.start
        return UpdateStatistics(*(sums / max(count, 1)).tolist())

    def _step(
        self, decisions: Decisions, rows: npt.NDArray[np.int64], entropy: float, learns_policy: bool
    ) -> npt.NDArray[np.float64]:
        """One gradient step on a minibatch; the sums of its statistics."""
        pieces = [rows[shard] for shard in shards(len(rows), self._config.shard)]
        results = self._workers.map(lambda piece: self._gradient(decisions, piece, entropy, len(rows)), pieces)
        gradients = [torch.stack(parts).sum(0) for parts in zip(*(gradient for gradient, _ in results), strict=True)]
        weights = [*self._policy_weights, *self._critic_weights]
        for weight, gradient in zip(weights, gradients, strict=True):
            weight.grad = gradient
        if not learns_policy:
            for weight in self._policy_weights:
                weight.grad = None  # Adam leaves it alone: neither the weight nor its moments move
        for part in (self._policy_weights, self._critic_weights):
            torch.nn.utils.clip_grad_norm_(part, self._config.max_gradient)
        self.optimizer.step()
        total: npt.NDArray[np.float64] = np.sum([statistics for _, statistics in results], axis=0)
        return total

    def _gradient(
        self, decisions: Decisions, rows: npt.NDArray[np.int64], entropy_weight: float, total: int
    ) -> tuple[tuple[Tensor, ...], npt.NDArray[np.float64]]:
        """The gradient of a shard's share of the loss, and the sums of its statistics."""
        config = self._config
        masks = unpack_masks(decisions.masks[rows])
        seen = policy_input(decisions.observations[rows], masks, config.architecture.history)
        hidden = torch.from_numpy(describe_concealed(decisions.observations[rows], decisions.concealed[rows]))
        old, targets, advantages = (
            torch.from_numpy(array[rows])
            for array in (decisions.log_probabilities, decisions.targets, decisions.advantages)
        )
        logits, values = self.policy(*seen)
        log_probabilities = masked_log_probabilities(logits, torch.from_numpy(masks))
        new = chosen_log_probabilities(log_probabilities, torch.from_numpy(decisions.actions[rows]))
        policy_loss = clipped_policy_losses(new, old, advantages, config.clip).sum()
        entropy = masked_entropy(log_probabilities).sum()
        value_loss = value_losses(values, targets).sum()
        critic_loss = value_losses(self.critic(seen.columns, hidden), targets).sum()
        loss = (policy_loss - entropy_weight * entropy + config.value_weight * value_loss + critic_loss) / total
        gradient = torch.autograd.grad(loss, [*self._policy_weights, *self._critic_weights])
        change = (new - old).detach()
        divergence = (change.exp() - 1.0 - change).sum()
        clipped = ((change.exp() - 1.0).abs() > config.clip).sum()
        sums = (policy_loss, value_loss, critic_loss, entropy, divergence, clipped)
        return gradient, np.array([part.item() for part in sums])
