"""Proximal policy optimization by self-play, from the rollout to the gradient steps; to be read from top to bottom.

J. Schulman et al., "Proximal policy optimization algorithms", 2017.  One policy plays all seats.  An update is

1. :func:`collect`: play many games on for some steps, and note what the policy saw and did;
2. :meth:`Learner.estimate`: let a critic that sees all hands value the decisions, and turn values and rewards into
   advantages (:func:`seat_advantages`), seat by seat;
3. :meth:`Learner.note_estimates`: note those of the decisions of which enough is known, the advantages normalized;
4. :meth:`Learner.update`: go through the decisions in minibatches, with the clipped loss, the values and the entropy.

The games and their other players are in :mod:`.games`, the settings in :mod:`.config`; the run around it (groups of
games, past selves, averages, checkpoints) is :mod:`.selfplay`.
"""

from __future__ import annotations

from math import log
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ddz_agents.neural.columns import describe_games
from ddz_agents.neural.features import HAND_VALUES
from ddz_agents.neural.model import Floats
from ddz_agents.neural.network import Critic, PolicyNetwork, legal_log_probabilities, policy_input
from ddz_training.learn.errors import InvalidTrainingError
from ddz_training.learn.ppo.config import SelfPlayConfig
from ddz_training.learn.ppo.games import Collector, Evaluate, Flags, Rollout, draw_actions, unpack_masks, value_games
from ddz_training.learn.threads import Threads, add_gradients, shards

STATISTICS = ("policy_loss", "value_loss", "critic_loss", "entropy", "divergence", "clipped")
"""Means over the decisions of an update (:class:`ddz_training.learn.ppo.selfplay.CurveLine` says what they are)."""

_LIKELY = log(0.01)


# --- The rollout ------------------------------------------------------------------------------------------------------


def collect(collector: Collector, rollout: Rollout, learner: Evaluate, past: Evaluate | None) -> None:
    """Play games on and fill a rollout; ``past`` plays where a past self does, if there is one yet."""
    batch, rng = collector.batch, collector.rng
    rollout.appraisals[:] = None
    for step in range(len(rollout)):
        theirs = collector.note(rollout, step, has_past=past is not None)
        actions = batch.mask.argmax(axis=1)  # the only legal one where there is no choice
        draws = rng.random(len(actions))
        mine = np.flatnonzero(rollout.decides[step])
        rollout.log_probabilities[step] = 0.0
        if len(mine):
            logs, appraisals = learner(batch.observation[mine], batch.mask[mine])
            actions[mine], rollout.log_probabilities[step, mine] = draw_actions(logs, draws[mine])
            rollout.counts[step, mine] = policy_counts(logs, collector.config.settled_share, rng)
            ends = np.cumsum(np.count_nonzero(batch.mask[mine], axis=1))
            for game, first, end in zip(mine.tolist(), [0, *ends.tolist()], ends.tolist(), strict=False):
                rollout.appraisals[step, game] = appraisals[first:end]
        collector.play_others(actions, theirs, draws, past)
        collector.settle(rollout, step, actions)


def policy_counts(log_probabilities: Floats, settled_share: float, rng: np.random.Generator) -> Floats:
    """The weight of each decision for the policy.

    Where all but one action have hardly any probability, there is little to learn, at the cost of any decision.  Such
    settled decisions are sampled, and those drawn count for the others, too: each counts once on average.

    Args:
        log_probabilities: Shape ``[n, 400]``, float32.
        settled_share: Share of the settled decisions that count.
        rng: Draws them.

    Returns:
        Shape ``[n]``, float32: 1 where a second action has a probability of 1 %, else 0 or ``1 / settled_share``.
    """
    contested = np.count_nonzero(log_probabilities >= _LIKELY, axis=1) > 1
    drawn = rng.random(len(contested)) < settled_share
    return np.where(contested, 1.0, drawn / settled_share).astype(np.float32)


# --- Advantages -------------------------------------------------------------------------------------------------------


class Advantages(NamedTuple):
    """Advantages of a rollout, each array of shape ``[steps, envs]``; zero where not known.

    Attributes:
        advantages: float32.
        targets: Advantages plus values, what the critic should have said, float32.
        known: The decisions whose seat decided again, or whose game ended, before the rollout did, bool.
    """

    advantages: Floats
    targets: Floats
    known: Flags


def seat_advantages(
    values: Floats,
    rewards: npt.NDArray[Any],
    seats: npt.NDArray[np.int8],
    decides: Flags,
    begins: Flags,
    done: Flags,
    gamma: float = 1.0,
    lam: float = 0.95,
) -> Advantages:
    """Generalized advantage estimation for games of several seats, once a move.

    J. Schulman et al., "High-dimensional continuous control using generalized advantage estimation", ICLR 2016,
    equation 16, with two changes.  What follows a decision of a seat is that seat's *own* next decision; what others do
    in between belongs to the transition.  The unit of time is a move, not a decision: between the stages of a move (the
    main group, its kickers) neither discount nor λ applies, and forced steps count nothing.

    Args:
        values: The acting seat's value before the step, shape ``[steps, envs]``; read where ``decides``.
        rewards: What the step brought each seat, shape ``[steps, envs, seats]``.
        seats: The seat that acted, shape ``[steps, envs]``, integers.
        decides: Whether the step was a decision to learn from, shape ``[steps, envs]``, bool.
        begins: Whether the step began a move (it was not a kicker stage), shape ``[steps, envs]``, bool.
        done: Whether the step ended the game, shape ``[steps, envs]``, bool.
        gamma: Discount a move.
        lam: λ a move.

    Raises:
        InvalidTrainingError: If ``gamma`` or ``lam`` is not in 0..1 or the shapes do not fit.

    Example:
        A seat decides twice, with another seat's step in between, and then wins:

        >>> yes, no = np.ones((3, 1), bool), np.zeros((3, 1), bool)
        >>> rewards, done = np.zeros((3, 1, 2)), no.copy()
        >>> rewards[2, 0], done[2] = (1, -1), True
        >>> values, seats = np.array([[0.2], [0.0], [0.6]]), np.array([[0], [1], [0]])
        >>> found = seat_advantages(values, rewards, seats, yes, yes, done, gamma=1.0, lam=0.5)
        >>> [round(float(advantage), 3) for advantage in found.advantages[:, 0]]
        [0.6, -1.0, 0.4]
    """
    for name, share in (("gamma", gamma), ("lam", lam)):
        if not 0.0 <= share <= 1.0:
            raise InvalidTrainingError(f"{name}={share!r} must be in 0..1")
    _check_shapes(values, rewards, seats, decides, begins, done)
    steps, envs = values.shape
    every = np.arange(envs)
    advantages, targets = np.zeros((steps, envs), np.float32), np.zeros((steps, envs), np.float32)
    known = np.zeros((steps, envs), np.bool_)
    # What lies ahead of each seat: the value and advantage of its next decision, what it earns until then, whether
    # it begins another move on the way, and whether anything is known of it at all.
    shape = (envs, rewards.shape[2])
    next_value, next_advantage, earned = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    moved, ahead = np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)
    for step in reversed(range(steps)):
        ended, acting = done[step], seats[step].astype(np.int64)
        next_value[ended], next_advantage[ended], earned[ended], ahead[ended] = 0.0, 0.0, 0.0, True
        earned += rewards[step]
        here = every[decides[step]]
        at = here, acting[here]
        value = values[step, here].astype(np.float64)
        delta = earned[at] + np.where(moved[at], gamma, 1.0) * next_value[at] - value
        trace = np.where(moved[at], gamma * lam, 1.0)
        advantage = np.where(ahead[at], delta + trace * next_advantage[at], 0.0)
        advantages[step, here] = advantage
        targets[step, here] = np.where(ahead[at], advantage + value, 0.0)
        known[step, here] = ahead[at]
        # Without a successor the decision is a successor itself: its value takes the place of all that follows.
        next_value[at], next_advantage[at], earned[at], moved[at], ahead[at] = value, advantage, 0.0, False, True
        moved[every, acting] |= begins[step]
    return Advantages(advantages, targets, known)


def _check_shapes(values: Floats, rewards: npt.NDArray[Any], *others: npt.NDArray[Any]) -> None:
    if values.ndim != 2 or rewards.shape[:2] != values.shape or any(each.shape != values.shape for each in others):
        shapes = ", ".join(str(list(each.shape)) for each in (values, rewards, *others))
        raise InvalidTrainingError(f"a rollout is [steps, envs], its rewards [steps, envs, seats]; got {shapes}")


# --- The update -------------------------------------------------------------------------------------------------------


class Learner:
    """The networks that learn.

    Args:
        policy: The policy.
        critic: The critic.
        config: The settings.
        threads: The threads.
        trusted_critic: The critic whose values are used, a running average; the critic itself if None.
    """

    def __init__(
        self,
        policy: PolicyNetwork,
        critic: Critic,
        config: SelfPlayConfig,
        threads: Threads,
        trusted_critic: Critic | None = None,
    ) -> None:
        self.policy, self.critic, self.trusted_critic = policy, critic, trusted_critic or critic
        self._config, self._threads = config, threads
        self._policy_weights, self._critic_weights = list(policy.parameters()), list(critic.parameters())
        self._weights = [*self._policy_weights, *self._critic_weights]
        self.optimizer = torch.optim.Adam(self._weights, lr=config.learning_rate, eps=config.adam_epsilon, fused=True)

    def estimate(self, rollout: Rollout) -> tuple[Floats, Advantages]:
        """The critic's value of every decision, shape ``[steps, games]``, and the advantages that follow."""
        config, flat, values = self._config, rollout.flat(), np.zeros(rollout.decides.shape, np.float32)
        places = np.flatnonzero(flat.decides)

        def value(shard: slice) -> None:
            rows = places[shard]
            games = describe_games(flat.observations[rows], flat.concealed[rows], flat.by_rules[rows])
            flat.games[rows], values.ravel()[rows] = games, value_games(self.trusted_critic, games)

        self._threads.map(value, shards(len(places), config.shard))
        played = rollout.rewards, rollout.seats, rollout.decides, rollout.begins, rollout.done
        return values, seat_advantages(values, *played, config.gamma, config.lam)

    def note_estimates(self, rollout: Rollout, values: Floats, found: Advantages) -> tuple[npt.NDArray[np.intp], float]:
        """Note the targets and the normalized advantages of the decisions of which enough is known.

        Returns:
            Their rows in :meth:`Rollout.flat`, and the share of the targets' variance that the critic explains.
        """
        known = found.known
        advantages, targets = found.advantages[known], found.targets[known]
        variance = float(np.var(targets)) if len(targets) else 0.0
        explained = 1.0 - float(np.var(targets - values[known])) / variance if variance > 0 else 0.0
        if len(advantages):
            rollout.advantages[known] = (advantages - np.mean(advantages)) / (np.std(advantages) + 1e-8)
        rollout.targets[known] = targets
        return np.flatnonzero(known), explained

    def update(
        self, flat: Rollout, known: npt.NDArray[np.intp], rng: np.random.Generator, update: int, spent: float
    ) -> dict[str, Any]:
        """Go through decisions, shuffled, where a share of the budget is spent.

        A rollout is hundreds of megabytes, and copies of it cost more than the advantages: minibatches alone are
        copied.

        Args:
            flat: A rollout with a row a step and game (:meth:`Rollout.flat`).
            known: The rows of the decisions.
            rng: Shuffles them.
            update: How many updates there have been.
            spent: The share.

        Returns:
            The :data:`STATISTICS` of this update.
        """
        config, annealed, count = self._config, self._config.annealed(spent), 0
        for group in self.optimizer.param_groups:
            group["lr"] = annealed.learning_rate
        total = torch.zeros(len(STATISTICS), dtype=torch.float64)
        for _ in range(config.epochs):
            shuffled = known[rng.permutation(len(known))]
            for rows in shards(len(shuffled), config.minibatch):
                total += self._step(flat, shuffled[rows], annealed.entropy, update >= config.critic_updates)
                count += rows.stop - rows.start
        return dict(zip(STATISTICS, (total / max(count, 1)).tolist(), strict=True))

    def _step(self, flat: Rollout, rows: npt.NDArray[np.intp], entropy_weight: float, learns_policy: bool) -> Tensor:
        """One gradient step on a minibatch, its shards shared among threads; the sums of its statistics."""

        def loss(shard: slice) -> tuple[Tensor, Tensor]:
            loss, statistics = self._loss(flat[rows[shard]], entropy_weight)
            return loss / len(rows), statistics

        statistics = add_gradients(self._threads, self._weights, loss, shards(len(rows), self._config.shard))
        if not learns_policy:
            for weight in self._policy_weights:
                weight.grad = None  # Adam leaves it alone: neither the weight nor its moments move
        for part in (self._policy_weights, self._critic_weights):
            torch.nn.utils.clip_grad_norm_(part, self._config.max_gradient)
        self.optimizer.step()
        return torch.stack(statistics).sum(0).cpu()

    def _loss(self, shard: Rollout, entropy_weight: float) -> tuple[Tensor, Tensor]:
        """The losses of some decisions, added up, and the sums of their statistics."""
        policy, statistics = self._policy_loss(shard[shard.counts > 0], entropy_weight)
        critic = (0.5 * (self.critic(self._tensor(shard.games)) - self._tensor(shard.targets)).square()).sum()
        policy_loss, value_loss, entropy, divergence, clipped = statistics
        sums = torch.stack([policy_loss, value_loss, critic, entropy, divergence, clipped])
        return policy + critic, sums.detach().double()

    def _policy_loss(self, shard: Rollout, entropy_weight: float) -> tuple[Tensor, list[Tensor]]:
        """The clipped loss, with the policy's own value and the entropy; and the sums of its parts."""
        config, (logits, values, rows, chosen) = self._config, self._evaluated(shard)
        logs = legal_log_probabilities(logits, rows, len(values))
        change = logs[chosen] - self._tensor(shard.log_probabilities)
        ratio, advantages = change.exp(), self._tensor(shard.advantages)
        clipped = ratio.clamp(1.0 - config.clip, 1.0 + config.clip)
        surrogates = -torch.minimum(ratio * advantages, clipped * advantages)
        value_losses = 0.5 * (values - self._tensor(shard.targets)).square()
        entropies = -torch.zeros_like(values).index_add(0, rows, logs.exp() * logs)
        beyond = (ratio - 1.0).abs() > config.clip
        parts = surrogates, value_losses, entropies, ratio - 1.0 - change, beyond.float()
        counts = self._tensor(shard.counts)
        sums = [(counts * part).sum() for part in parts]
        return sums[0] + config.value_weight * sums[1] - entropy_weight * sums[2], sums

    def _evaluated(self, shard: Rollout) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The logits of decisions' legal actions, the values, the decision of each action, and the actions chosen."""
        known = np.concatenate([np.empty((0, HAND_VALUES), np.int16), *shard.appraisals])
        history, masks = self._config.architecture.history, unpack_masks(shard.masks)
        seen, _ = policy_input(shard.observations, masks, history, known)
        chosen = np.flatnonzero(seen.actions.numpy() == shard.actions[seen.rows.numpy()])
        return *self.policy.legal_logits(seen), self._tensor(seen.rows), self._tensor(chosen)

    def _tensor(self, array: npt.NDArray[Any] | Tensor) -> Tensor:
        """An array as a tensor where the networks are."""
        return torch.as_tensor(array).to(self.critic.value.weight.device)
