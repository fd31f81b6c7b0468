"""Gradient steps: the two networks, their optimizer, and one pass of PPO over a rollout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from agents.neural.leavings import Appraisals
from agents.neural.model import Bytes, Floats
from agents.neural.network import Critic, PolicyInput, PolicyNetwork, masked_log_probabilities, policy_input
from training.ppo.config import Annealed, SelfPlayConfig
from training.ppo.guessing import Guess, guess_slopes
from training.ppo.rollout import unpack_masks
from training.ppo.sampling import Candidates
from training.ppo.surrogate import SURROGATE_SUMS, SurrogateInputs, Terms, surrogate_gradient
from training.ppo.threads import Threads, shards

Gradient = tuple[Tensor, ...]
"""One tensor a weight."""


@dataclass
class Decisions:
    """Decisions to learn from, in no particular order.

    Attributes:
        observations: Shape ``[n, OBSERVATION_SIZE]``, int8.
        masks: As bits, shape ``[n, 7]``, uint64.
        counts: How much each counts for the policy, shape ``[n]``, float32.
        actions: Shape ``[n]``, int64.
        log_probabilities: Under the policy that chose, shape ``[n]``, float32.
        advantages: Normalized, shape ``[n]``, float32.
        targets: What the critic should say, shape ``[n]``, float32.
        candidates: The actions that the policy considered.
        appraisals: What the legal actions of each leave, shape ``[n]``, an array each.
        games: Descriptions of the games for the critic (:func:`agents.neural.columns.describe_games`), shape
            ``[n, GAME_COLUMNS]``, float32.
    """

    observations: Bytes
    masks: npt.NDArray[np.uint64]
    counts: Floats
    actions: npt.NDArray[np.int64]
    log_probabilities: Floats
    advantages: Floats
    targets: Floats
    candidates: Candidates
    appraisals: npt.NDArray[np.object_]
    games: Floats

    def __getitem__(self, rows: npt.NDArray[Any]) -> Decisions:
        """Some of them, by numbers or flags."""
        return Decisions(**{name: part[rows] for name, part in vars(self).items()})

    def __len__(self) -> int:
        return len(self.actions)


@dataclass
class UpdateStatistics:
    """Means over the decisions of an update; of the policy, estimates from those that it learned from.

    Attributes:
        policy_loss: The clipped surrogates, negated, in their shares.
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


def evaluate(network: PolicyNetwork, observations: Bytes, masks: Bytes) -> tuple[Floats, Appraisals]:
    """Logarithms of the probabilities of a batch, shape ``[n, 400]``, and the appraisals of what the actions leave."""
    with torch.inference_mode():
        seen, appraisals = policy_input(observations, masks, network.architecture.history)
        logits, _ = network(*seen)
        return masked_log_probabilities(logits, torch.from_numpy(masks)).numpy(), appraisals


def value_games(critic: Critic, games: Floats) -> Floats:
    """A critic's values of games for the seats to act, shape ``[n]``, float32.

    Args:
        critic: The critic.
        games: Their descriptions (:func:`agents.neural.columns.describe_games`), shape ``[n, GAME_COLUMNS]``, float32.
    """
    with torch.inference_mode():
        result: Floats = critic(torch.from_numpy(games)).numpy()
        return result


class Learner:
    """The networks that learn.

    Args:
        policy: The policy.
        critic: The critic.
        config: The settings.
        threads: The threads.
        magnet: The policy that draws the other, by the settings' ``magnet``; itself if None.

    Attributes:
        guess: Guesses a hidden hand, by the settings' ``auxiliary``; None without.
    """

    def __init__(
        self,
        policy: PolicyNetwork,
        critic: Critic,
        config: SelfPlayConfig,
        threads: Threads,
        magnet: PolicyNetwork | None = None,
    ) -> None:
        self.policy = policy
        self.critic = critic
        self._config = config
        self._threads = threads
        self._magnet = magnet or policy
        self.guess = Guess(config.architecture, config.seed) if config.auxiliary else None
        self._policy_weights = [*policy.parameters(), *(self.guess.parameters() if self.guess else ())]
        self._critic_weights = list(critic.parameters())
        self.optimizer = torch.optim.Adam(
            [*self._policy_weights, *self._critic_weights], lr=config.learning_rate, eps=config.adam_epsilon, fused=True
        )

    @property
    def networks(self) -> tuple[PolicyNetwork, Critic]:
        """The policy and the critic."""
        return self.policy, self.critic

    def update(self, decisions: Decisions, rng: np.random.Generator, update: int) -> UpdateStatistics:
        """Go through the decisions of a rollout.

        Args:
            decisions: The decisions.
            rng: Shuffles them.
            update: The number of the update, for what is annealed.
        """
        config = self._config
        annealed = config.annealed(update)
        for group in self.optimizer.param_groups:
            group["lr"] = annealed.learning_rate
        learns_policy = update >= config.critic_updates
        sums, count = np.zeros(len(UpdateStatistics.__dataclass_fields__)), 0
        for _ in range(config.epochs):
            order = rng.permutation(len(decisions))
            for rows in shards(len(order), config.minibatch):
                sums += self._step(decisions, order[rows], annealed, learns_policy)
                count += rows.stop - rows.start
        return UpdateStatistics(*(sums / max(count, 1)).tolist())

    def _step(
        self, decisions: Decisions, rows: npt.NDArray[np.int64], annealed: Annealed, learns_policy: bool
    ) -> npt.NDArray[np.float64]:
        """One gradient step on a minibatch; the sums of its statistics."""
        pieces = [rows[shard] for shard in shards(len(rows), self._config.shard)]
        results = self._threads.map(lambda piece: self._gradient(decisions[piece], annealed, len(rows)), pieces)
        gradients, *others = (gradient for gradient, _ in results)
        for other in others:
            for whole, share in zip(gradients, other, strict=True):
                whole.add_(share)
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

    def _gradient(self, shard: Decisions, annealed: Annealed, total: int) -> tuple[Gradient, npt.NDArray[np.float64]]:
        """The gradient of a shard's share of the loss, and the sums of its statistics."""
        policy, sums = self._policy_gradient(shard[shard.counts > 0], annealed, total)
        critic, loss = self._critic_gradient(shard, total)
        policy_loss, entropy, divergence, clipped, value_loss = sums
        return (*policy, *critic), np.array([policy_loss, value_loss, loss, entropy, divergence, clipped])

    def _critic_gradient(self, shard: Decisions, total: int) -> tuple[Gradient, float]:
        """The gradient of half the critic's squared errors, over ``total``; and their sum."""
        values = self.critic(torch.from_numpy(shard.games))
        errors = values.detach() - torch.from_numpy(shard.targets)
        gradient = torch.autograd.grad(values, self._critic_weights, errors / total)
        return gradient, 0.5 * float(errors.square().sum())

    def _policy_gradient(
        self, shard: Decisions, annealed: Annealed, total: int
    ) -> tuple[Gradient, npt.NDArray[np.float64]]:
        """The gradient of the policy's loss and of its own value's, over ``total``; and the sums of its statistics."""
        if not len(shard):
            return tuple(torch.zeros_like(weight) for weight in self._policy_weights), np.zeros(SURROGATE_SUMS + 1)
        masks, appraisals = unpack_masks(shard.masks), np.concatenate(shard.appraisals.tolist())
        seen, _ = policy_input(shard.observations, masks, self._config.architecture.history, appraisals)
        state = self.policy.describe(seen.columns)
        logits, values = self.policy.judge(state, seen.rows, seen.actions, seen.rests)
        slopes, sums = self._surrogate(shard, logits.detach().numpy(), masks, annealed, self._drawn_to(seen))
        weights, errors = torch.from_numpy(shard.counts), values.detach() - torch.from_numpy(shard.targets)
        outputs = [logits, values]
        pulls = [torch.from_numpy(slopes) / total, errors * weights * (self._config.value_weight / total)]
        if self.guess is not None:
            outputs.append(self.guess(state))
            pulls.append(guess_slopes(outputs[-1], shard.games) * weights[:, None] * (self._config.auxiliary / total))
        gradient = torch.autograd.grad(outputs, self._policy_weights, pulls)
        return gradient, np.append(sums, 0.5 * float((errors.square() * weights).sum()))

    def _drawn_to(self, seen: PolicyInput) -> Floats:
        """The magnet's logits, shape ``[n, 400]``; no columns where it does not draw."""
        if not self._config.magnet:
            return np.empty((0, 0), np.float32)
        with torch.inference_mode():
            logits: Floats = self._magnet(*seen)[0].numpy()
        return logits

    def _surrogate(
        self, shard: Decisions, logits: Floats, masks: Bytes, annealed: Annealed, magnet: Floats
    ) -> tuple[Floats, npt.NDArray[np.float64]]:
        """The gradient of the policy's loss with respect to the logits, and the sums of its statistics."""
        chosen = shard.counts, shard.actions, shard.log_probabilities, shard.advantages
        considered = shard.candidates.actions, shard.candidates.probabilities, shard.candidates.advantages
        terms = Terms(self._config.lookahead, annealed.floor, self._config.clip, annealed.entropy, annealed.magnet)
        gradient, sums = np.zeros_like(logits), np.zeros(SURROGATE_SUMS)
        surrogate_gradient(SurrogateInputs(logits, masks, *chosen, *considered, magnet), terms, gradient, sums)
        return gradient, sums
