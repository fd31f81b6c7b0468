"""Gradient steps: the two networks, their optimizer, and one pass of PPO over a rollout."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ddz_agents.neural.model import Bytes, Floats
from ddz_agents.neural.network import (
    Critic,
    PolicyInput,
    PolicyNetwork,
    alike,
    as_tensor,
    masked_log_probabilities,
    policy_input,
)
from ddz_training.learn.ppo.config import Annealed, SelfPlayConfig
from ddz_training.learn.ppo.device import HOST, Device, Draws
from ddz_training.learn.ppo.graphs import Captured, Pass, padded, padded_pairs, padded_size
from ddz_training.learn.ppo.guessing import Guess, guess_slopes
from ddz_training.learn.ppo.rollout import unpack_masks
from ddz_training.learn.ppo.sampling import Candidates
from ddz_training.learn.ppo.surrogate import SURROGATE_SUMS, Terms
from ddz_training.learn.threads import Threads, shards

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
        games: Descriptions of the games for the critic (:func:`ddz_agents.neural.columns.describe_games`), shape
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

    def __getitem__(self, rows: Any) -> Decisions:
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


Forward = Callable[[PolicyInput], Tensor]
"""Logits, shape ``[n, 400]``, of observations."""


def evaluate(network: PolicyNetwork, observations: Any, masks: Any, forward: Forward | None = None) -> tuple[Any, Any]:
    """Logarithms of the probabilities of a batch, shape ``[n, 400]``, and the appraisals of what the actions leave.

    Args:
        network: The policy.
        observations: Shape ``[n, OBSERVATION_SIZE]``, int8: an array, or a tensor on the network's device.
        masks: Shape ``[n, 400]``, int8, likewise.
        forward: Evaluates the network in another way.
    """
    with torch.inference_mode():
        seen, appraisals = policy_input(observations, masks, network.architecture.history)
        logits = forward(seen) if forward is not None else network(*seen)[0]
        return alike(masked_log_probabilities(logits, as_tensor(masks)), observations), appraisals


def replayed(network: PolicyNetwork) -> Forward:
    """A policy's logits by captured graphs."""
    graphs = Captured(lambda *seen: network(*seen)[:1])

    def forward(seen: PolicyInput) -> Tensor:
        return graphs(*pad_input(seen))[0][: len(seen.columns)]

    return forward


def pad_input(seen: PolicyInput) -> PolicyInput:
    """Observations and pairs padded to few sizes, with at least one row that nobody reads."""
    size, pairs = padded_size(len(seen.columns) + 1), padded_size(len(seen.rows))
    rows = padded_pairs(seen.rows, pairs, size - 1)
    return PolicyInput(padded(seen.columns, size), rows, padded(seen.actions, pairs), padded(seen.rests, pairs))


def value_games(critic: Critic, games: Any) -> Any:
    """A critic's values of games for the seats to act, shape ``[n]``, float32.

    Args:
        critic: The critic.
        games: Their descriptions (:func:`ddz_agents.neural.columns.describe_games`), shape ``[n, GAME_COLUMNS]``,
        float32:
            an array, or a tensor on the critic's device.
    """
    with torch.inference_mode():
        return alike(critic(as_tensor(games)), games)


def captures(config: SelfPlayConfig, device: Device) -> bool:
    """Whether a run's passes are captured: on a real GPU, unless its settings say no."""
    return config.graphs and device.place.type == "cuda"


class Learner:
    """The networks that learn.

    Args:
        policy: The policy.
        critic: The critic.
        config: The settings.
        threads: The threads.
        magnet: The policy that draws the other, by the settings' ``magnet``; itself if None.
        device: Where the networks and the decisions are.

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
        device: Device = HOST,
    ) -> None:
        self.policy = policy
        self.critic = critic
        self._config = config
        self._threads = threads
        self._magnet = magnet or policy
        self._device = device
        self._graphs = captures(config, device)
        self._policy_pass: Pass = Captured(self._pass_policy) if self._graphs else self._pass_policy
        self._critic_pass: Pass = Captured(self._pass_critic) if self._graphs else self._pass_critic
        self.guess = Guess(config.architecture, config.seed).to(device.place) if config.auxiliary else None
        self._policy_weights = [*policy.parameters(), *(self.guess.parameters() if self.guess else ())]
        self._critic_weights = list(critic.parameters())
        self.optimizer = torch.optim.Adam(
            [*self._policy_weights, *self._critic_weights], lr=config.learning_rate, eps=config.adam_epsilon, fused=True
        )

    @property
    def networks(self) -> tuple[PolicyNetwork, Critic]:
        """The policy and the critic."""
        return self.policy, self.critic

    def update(self, decisions: Decisions, order: Draws, update: int) -> UpdateStatistics:
        """Go through the decisions of a rollout.

        Args:
            decisions: The decisions.
            order: Shuffles them.
            update: The number of the update, for what is annealed.
        """
        config = self._config
        annealed = config.annealed(update)
        for group in self.optimizer.param_groups:
            group["lr"] = annealed.learning_rate
        learns_policy = update >= config.critic_updates
        fields, count = len(UpdateStatistics.__dataclass_fields__), 0
        total = torch.zeros(fields, dtype=torch.float64, device=self._device.place)
        for _ in range(config.epochs):
            shuffled = order.permutation(len(decisions))
            for rows in shards(len(shuffled), config.minibatch):
                total += self._step(decisions, shuffled[rows], annealed, learns_policy)
                count += rows.stop - rows.start
        return UpdateStatistics(*(total / max(count, 1)).tolist())

    def _step(self, decisions: Decisions, rows: Any, annealed: Annealed, learns_policy: bool) -> Tensor:
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
        return functools.reduce(torch.add, (statistics for _, statistics in results))

    def _gradient(self, shard: Decisions, annealed: Annealed, total: int) -> tuple[Gradient, Tensor]:
        """The gradient of a shard's share of the loss, and the sums of its statistics."""
        policy, sums = self._policy_gradient(shard[shard.counts > 0], annealed, total)
        critic, loss = self._critic_gradient(shard, total)
        policy_loss, entropy, divergence, clipped, value_loss = sums.unbind()
        return (*policy, *critic), torch.stack([policy_loss, value_loss, loss, entropy, divergence, clipped])

    def _critic_gradient(self, shard: Decisions, total: int) -> tuple[Gradient, Tensor]:
        """The gradient of half the critic's squared errors, over ``total``; and their sum, float64."""
        games, targets = as_tensor(shard.games), as_tensor(shard.targets)
        counts = torch.ones_like(targets)
        if self._graphs:
            size = padded_size(len(games))
            games, targets, counts = padded(games, size), padded(targets, size), _zero_padded(counts, size)
        *gradient, loss = self._critic_pass(games, targets, counts, self._number(total))
        return tuple(gradient), loss

    def _pass_critic(self, games: Tensor, targets: Tensor, counts: Tensor, total: Any) -> tuple[Tensor, ...]:
        """The critic's gradient, and the sum of half its squared errors."""
        values = self.critic(games)
        errors = (values.detach() - targets) * counts
        gradient = torch.autograd.grad(values, self._critic_weights, errors / total)
        return *gradient, 0.5 * errors.square().sum().double()

    def _policy_gradient(self, shard: Decisions, annealed: Annealed, total: int) -> tuple[Gradient, Tensor]:
        """The gradient of the policy's loss and of its own value's, over ``total``; and the sums of its statistics."""
        if not len(shard):
            return tuple(torch.zeros_like(weight) for weight in self._policy_weights), self._no_sums()
        seen, masks = self._described(shard)
        chosen = shard.counts, shard.actions, shard.log_probabilities, shard.advantages
        considered = shard.candidates.actions, shard.candidates.probabilities, shard.candidates.advantages
        taught = [as_tensor(each) for each in (masks, *chosen, *considered, shard.targets, shard.games)]
        if self._graphs:
            seen = pad_input(seen)
            size = len(seen.columns)
            counts = _zero_padded(taught[1], size)
            taught = [padded(each, size) for each in taught]
            taught[1] = counts
        terms = Terms(self._config.lookahead, annealed.floor, self._config.clip, annealed.entropy, annealed.magnet)
        numbers = tuple(terms) if self._device.on_host else self._device.array(np.array(terms))
        *gradient, sums = self._policy_pass(*seen, *taught, numbers, self._number(total))
        return tuple(gradient), sums

    def _described(self, shard: Decisions) -> tuple[PolicyInput, Any]:
        """What the policy reads of decisions, and their masks."""
        masks = unpack_masks(shard.masks)
        appraisals = np.concatenate(shard.appraisals.tolist()) if self._device.on_host else None
        return policy_input(shard.observations, masks, self._config.architecture.history, appraisals)[0], masks

    def _pass_policy(
        self, columns: Tensor, rows: Tensor, actions: Tensor, rests: Tensor, masks: Tensor, counts: Tensor, *others: Any
    ) -> tuple[Tensor, ...]:
        """The policy's gradient, and the sums of its statistics; ``others`` as :meth:`_policy_gradient` orders them."""
        *chosen, targets, games, terms, total = others
        state = self.policy.describe(columns)
        logits, values = self.policy.judge(state, rows, actions, rests)
        inputs = logits.detach(), masks, counts, *chosen, self._drawn_to(PolicyInput(columns, rows, actions, rests))
        slopes, sums = self._device.kernels.surrogates(inputs, terms)
        errors = values.detach() - targets
        outputs = [logits, values]
        pulls = [slopes / total, errors * counts * (self._config.value_weight / total)]
        if self.guess is not None:
            outputs.append(self.guess(state))
            pulls.append(guess_slopes(outputs[-1], games) * counts[:, None] * (self._config.auxiliary / total))
        gradient = torch.autograd.grad(outputs, self._policy_weights, pulls)
        value_loss = 0.5 * (errors.square() * counts).sum().double()
        return *gradient, torch.cat([sums, value_loss[None]])

    def _drawn_to(self, seen: PolicyInput) -> Tensor:
        """The magnet's logits, shape ``[n, 400]``; no columns where it does not draw."""
        if not self._config.magnet:
            return torch.empty((0, 0), device=self._device.place)
        with torch.no_grad():
            logits: Tensor = self._magnet(*seen)[0]
        return logits

    def _number(self, value: float) -> Any:
        """A number that a pass reads; a graph reads it anew each time."""
        return torch.tensor(float(value), dtype=torch.float64, device=self._device.place) if self._graphs else value

    def _no_sums(self) -> Tensor:
        return torch.zeros(SURROGATE_SUMS + 1, dtype=torch.float64, device=self._device.place)


def _zero_padded(counts: Tensor, size: int) -> Tensor:
    """How much rows count, those that fill up not at all."""
    return torch.nn.functional.pad(counts, (0, size - len(counts)))
