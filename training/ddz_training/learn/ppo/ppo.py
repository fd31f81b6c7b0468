"""Proximal policy optimization by self-play, from the rollout to the gradient steps; to be read from top to bottom.

J. Schulman et al., "Proximal policy optimization algorithms", 2017.  One policy plays all seats.  An update is

1. :func:`collect`: play many games on for some steps, and note what the policy saw, did and considered;
2. :meth:`Learner.estimate`: let a critic that sees all hands value the decisions, and turn values and rewards into
   advantages (:func:`seat_advantages`), seat by seat;
3. :meth:`Learner.decisions`: normalize them, and value what else was considered by looking one action ahead;
4. :meth:`Learner.update`: go through the decisions in minibatches, with the clipped loss, the values and the entropy.

The games and their other players are in :mod:`.games`, the compiled draws and the loss in :mod:`.kernels`, the look
ahead in :mod:`.lookahead`, the settings in :mod:`.config`.  The run around it (groups of games, past selves, averages,
checkpoints) is :mod:`.selfplay`; :mod:`.device` and :mod:`.graphs` let the same code run on a GPU.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np
import torch
from array_api_compat import array_namespace, device
from torch import Tensor

from ddz_agents.neural.columns import GAME_COLUMNS
from ddz_agents.neural.model import Floats
from ddz_agents.neural.network import Critic, PolicyInput, PolicyNetwork, describe_games, policy_input
from ddz_env.core.rules import Rules
from ddz_training.learn.errors import InvalidTrainingError
from ddz_training.learn.ppo.config import Annealed, SelfPlayConfig
from ddz_training.learn.ppo.device import HOST, Device, Draws
from ddz_training.learn.ppo.games import Collector, Evaluate, Flags, Rollout, unpack_masks, value_games
from ddz_training.learn.ppo.graphs import Pass
from ddz_training.learn.ppo.guessing import Guess, guess_slopes
from ddz_training.learn.ppo.kernels import NONE, SURROGATE_SUMS, Candidates, LossWeights, policy_counts
from ddz_training.learn.ppo.lookahead import Positions, look_ahead
from ddz_training.learn.run import step_size
from ddz_training.learn.threads import Threads, shards

Gradient = tuple[Tensor, ...]  # one tensor a weight
STATISTICS = ("policy_loss", "value_loss", "critic_loss", "entropy", "divergence", "clipped")
"""Means over the decisions of an update (:class:`ddz_training.learn.curves.CurveLine` says what they are)."""


# --- The rollout ------------------------------------------------------------------------------------------------------


def collect(collector: Collector, rollout: Rollout, learner: Evaluate, past: Evaluate | None) -> None:
    """Play games on and fill a rollout; ``past`` plays where a past self does, if there is one yet."""
    batch, place, xp = collector.batch, collector.device, collector.device.xp
    if place.on_host:
        rollout.appraisals[:] = None
    for step in range(len(rollout.actions)):
        theirs = collector.note(rollout, step, has_past=past is not None)
        actions = xp.astype(xp.argmax(batch.mask, axis=1), xp.int64)  # the only legal one, if nobody decides
        draws = collector.rng.random(len(actions))
        mine = xp.nonzero(rollout.decides[step])[0]
        rollout.log_probabilities[step] = 0.0
        if len(mine):
            logs, appraisals = learner(batch.observation[mine], batch.mask[mine])
            drawn = place.kernels.drawn(logs, draws[mine])
            actions[mine], rollout.log_probabilities[step, mine] = drawn
            rollout.rows[step, mine] = batch.rows[mine]
            _consider(collector, rollout, step, mine, logs)
            if place.on_host:
                ends = np.cumsum(np.count_nonzero(batch.mask[mine], axis=1))
                for game, first, end in zip(mine.tolist(), [0, *ends.tolist()], ends.tolist(), strict=False):
                    rollout.appraisals[step, game] = appraisals[first:end]
        collector.play_others(actions, theirs, draws, past)
        collector.settle(rollout, step, actions)


def _consider(collector: Collector, rollout: Rollout, step: int, mine: Any, logs: Any) -> None:
    """Note the likeliest actions of the learner's decisions and a probe, and how much each decision counts."""
    config, rng, kernels = collector.config, collector.rng, collector.device.kernels
    found = Candidates.allocate(len(mine), rollout.candidates.actions.shape[-1], zeros=collector.device.zeros)
    actions, chances = found.actions, found.probabilities
    kernels.pick_candidates(logs, config.least, actions[:, :-1], chances[:, :-1])  # the last place is the probe's
    counts = policy_counts(actions[:, 0] != NONE, config.settled_share, rng)
    if config.probes:
        kernels.add_probes(logs, rng.random(len(counts)), counts > 0, actions, chances)
    rollout.counts[step, mine] = counts
    rollout.candidates.actions[step, mine], rollout.candidates.probabilities[step, mine] = actions, chances


# --- Advantages -------------------------------------------------------------------------------------------------------


class Advantages(NamedTuple):
    """What :func:`seat_advantages` finds, each of shape ``[steps, envs]``; zero where not known.

    Attributes:
        advantages: float32.
        targets: Advantages plus values, what the critic should have said, float32.
        known: The decisions whose seat decided again, or whose game ended, before the rollout did, bool.
    """

    advantages: Any
    targets: Any
    known: Any


def seat_advantages(
    values: Any, rewards: Any, seats: Any, decides: Any, begins: Any, done: Any, gamma: float = 1.0, lam: float = 0.95
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
        begins: Whether the step began a move (it was no kicker stage), shape ``[steps, envs]``, bool.
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
    others = seats, decides, begins, done
    if values.ndim != 2 or rewards.shape[:2] != values.shape or any(each.shape != values.shape for each in others):
        shapes = ", ".join(str(list(each.shape)) for each in (values, rewards, *others))
        raise InvalidTrainingError(f"a rollout is [steps, envs], its rewards [steps, envs, seats]; got {shapes}")
    xp = array_namespace(values)
    (steps, envs), here_too = values.shape, {"device": device(values)}
    every = xp.arange(envs, **here_too)
    advantages, targets = (xp.zeros((steps, envs), dtype=xp.float32, **here_too) for _ in range(2))
    known = xp.zeros((steps, envs), dtype=xp.bool, **here_too)
    # What lies ahead of each seat: the value and advantage of its next decision, what it earns until then, whether
    # it begins another move on the way, and whether anything is known of it at all.
    shape = (envs, rewards.shape[2])
    next_value, next_advantage, earned = (xp.zeros(shape, dtype=xp.float64, **here_too) for _ in range(3))
    moved, ahead = (xp.zeros(shape, dtype=xp.bool, **here_too) for _ in range(2))
    once, discount, trace = (xp.asarray(x, dtype=xp.float64, **here_too) for x in (1.0, gamma, gamma * lam))
    for step in reversed(range(steps)):
        ended, acting = done[step], xp.astype(seats[step], xp.int64)
        next_value[ended], next_advantage[ended], earned[ended], ahead[ended] = 0.0, 0.0, 0.0, True
        earned += rewards[step]
        here = every[decides[step]]
        at = here, acting[here]
        value = xp.astype(values[step, here], xp.float64)
        delta = earned[at] + xp.where(moved[at], discount, once) * next_value[at] - value
        advantage = xp.where(ahead[at], delta + xp.where(moved[at], trace, once) * next_advantage[at], 0.0)
        advantages[step, here] = xp.astype(advantage, xp.float32)
        targets[step, here] = xp.astype(xp.where(ahead[at], advantage + value, 0.0), xp.float32)
        known[step, here] = ahead[at]
        # Without a successor the decision is a successor itself: its value stands for all that follows.
        next_value[at], next_advantage[at], earned[at], moved[at], ahead[at] = value, advantage, 0.0, False, True
        moved[every, acting] |= begins[step]
    return Advantages(advantages, targets, known)


class Estimates(NamedTuple):
    """What the critic says of a rollout: values ``[steps, games]``, the games as it read them, and what follows."""

    values: Floats
    games: Floats
    advantages: Advantages


# --- The update -------------------------------------------------------------------------------------------------------


class Learner:
    """The networks that learn, and their running averages, of which the policy's is the magnet.

    Args:
        policy: The policy.
        critic: The critic.
        config: The settings.
        threads: The threads.
        averages: The running averages of the two; the networks themselves if None.
        where: Where the networks and the decisions are.
    """

    def __init__(
        self,
        policy: PolicyNetwork,
        critic: Critic,
        config: SelfPlayConfig,
        threads: Threads,
        averages: tuple[PolicyNetwork, Critic] | None = None,
        where: Device = HOST,
    ) -> None:
        self.policy, self.critic, self._averages = policy, critic, averages or (policy, critic)
        self._config, self._threads, self._device = config, threads, where
        graphs = where.captures(config.graphs)
        self._run_policy, self._run_critic = Pass(self._policy_pass, graphs), Pass(self._critic_pass, graphs)
        self.guess = Guess(config.architecture, config.seed).to(where.place) if config.auxiliary else None
        self._policy_weights = [*policy.parameters(), *(self.guess.parameters() if self.guess else ())]
        self._critic_weights = list(critic.parameters())
        self._weights = [*self._policy_weights, *self._critic_weights]
        self.optimizer = torch.optim.Adam(self._weights, lr=config.learning_rate, eps=config.adam_epsilon, fused=True)

    @property
    def trusted_critic(self) -> Critic:
        """The critic whose word counts: the running average if there is one."""
        return self._averages[1] if self._config.critic_average else self.critic

    def _value(self, seen: Any, concealed: Any, flags: Flags) -> tuple[Any, Any]:
        games = describe_games(seen, concealed, flags)
        return games, value_games(self.trusted_critic, games)

    def estimate(self, rollout: Rollout) -> Estimates:
        """What the critic says of every decision, and the advantages that follow."""
        config, zeros, valued = self._config, self._device.zeros, rollout.valued
        # The critic is told by one flag who plays: a position has one value for each who may act in it.
        flags = (rollout.by_rules | rollout.watched)[valued]
        seen, concealed = rollout.observations[valued], rollout.concealed[valued]
        games, found = zeros((len(seen), GAME_COLUMNS), np.float32), zeros((len(seen),), np.float32)

        def value(rows: slice) -> None:
            games[rows], found[rows] = self._value(seen[rows], concealed[rows], flags[rows])

        self._threads.map(value, shards(len(seen), config.shard))
        values = zeros(tuple(valued.shape), np.float32)
        values[valued] = found
        played = rollout.rewards, rollout.seats, valued, rollout.begins, rollout.done
        return Estimates(values, games, seat_advantages(values, *played, config.gamma, config.lam))

    def decisions(self, rollout: Rollout, found: Estimates) -> tuple[Rollout, float]:
        """The decisions of which enough is known, and the share of the targets' variance that the critic explains.

        Those that are watched are among them: they count 0 for the policy.
        """
        known, xp, config = found.advantages.known, self._device.xp, self._config
        advantages, targets = found.advantages.advantages[known], found.advantages.targets[known]
        variance = float(xp.var(targets)) if len(targets) else 0.0
        explained = 1.0 - float(xp.var(targets - found.values[known])) / variance if variance > 0 else 0.0
        own = advantages[rollout.decides[known]]
        if len(own):
            least = xp.sort(own)[math.ceil((1.0 - config.upper) * (len(own) - 1))]
            advantages = xp.where(advantages < least, 0.0, (advantages - xp.mean(own)) / (xp.std(own) + 1e-8))
        decisions = rollout[known]
        if config.lookahead:
            positions = Positions(decisions.rows, decisions.observations, decisions.by_rules)
            about = Rules.preset(config.rules), config.objective, lambda *games: self._value(*games)[1], self._threads
            look_ahead(positions, decisions.candidates, *about, decisions.frozen, self._device.led, config.shard)
        decisions.games = found.games[known[rollout.valued]]
        decisions.advantages, decisions.targets = advantages, targets
        return decisions, explained

    def update(self, decisions: Rollout, order: Draws, update: int) -> dict[str, Any]:
        """Go through the decisions of a rollout, shuffled by ``order``; the :data:`STATISTICS` of this update."""
        config, annealed, count = self._config, self._config.annealed(update), 0
        step_size(self.optimizer, annealed.learning_rate)
        total = torch.zeros(len(STATISTICS), dtype=torch.float64, device=self._device.place)
        for _ in range(config.epochs):
            shuffled = order.permutation(len(decisions))
            for rows in shards(len(shuffled), config.minibatch):
                total += self._step(decisions, shuffled[rows], annealed, update >= config.critic_updates)
                count += rows.stop - rows.start
        return dict(zip(STATISTICS, (total / max(count, 1)).tolist(), strict=True))

    def _step(self, decisions: Rollout, rows: Any, annealed: Annealed, learns_policy: bool) -> Tensor:
        """One gradient step on a minibatch; the sums of its statistics."""
        pieces = [rows[shard] for shard in shards(len(rows), self._config.shard)]
        results = self._threads.map(lambda piece: self._gradient(decisions[piece], annealed, len(rows)), pieces)
        gradients, *others = (gradient for gradient, _ in results)
        for other in others:
            for whole, share in zip(gradients, other, strict=True):
                whole.add_(share)
        for weight, gradient in zip(self._weights, gradients, strict=True):
            weight.grad = gradient
        if not learns_policy:
            for weight in self._policy_weights:
                weight.grad = None  # Adam leaves it alone: neither the weight nor its moments move
        for part in (self._policy_weights, self._critic_weights):
            torch.nn.utils.clip_grad_norm_(part, self._config.max_gradient)
        self.optimizer.step()
        return functools.reduce(torch.add, (statistics for _, statistics in results))

    def _gradient(self, shard: Rollout, annealed: Annealed, total: int) -> tuple[Gradient, Tensor]:
        """The gradient of a shard's share of the loss, and the sums of its statistics."""
        policy, sums = self._policy_gradient(shard[shard.counts > 0], annealed, total)
        critic, loss = self._critic_gradient(shard, total)
        policy_loss, entropy, divergence, clipped, value_loss = sums.unbind()
        return (*policy, *critic), torch.stack([policy_loss, value_loss, loss, entropy, divergence, clipped])

    def _critic_gradient(self, shard: Rollout, total: int) -> tuple[Gradient, Tensor]:
        """The gradient of half the critic's squared errors, over ``total``; and their sum, float64."""
        *gradient, loss = self._run_critic((), shard.critic_lesson(), total)
        return tuple(gradient), loss

    def _critic_pass(self, seen: tuple[()], lesson: Any, total: Any) -> tuple[Tensor, ...]:
        values = self.critic(lesson.games)
        errors = (values.detach() - lesson.targets) * lesson.counts
        gradient = torch.autograd.grad(values, self._critic_weights, errors / total)
        return *gradient, 0.5 * errors.square().sum().double()

    def _policy_gradient(self, shard: Rollout, annealed: Annealed, total: int) -> tuple[Gradient, Tensor]:
        """The gradient of the policy's loss and of its own value's, over ``total``; and the sums of its statistics."""
        if not len(shard):
            nothing = torch.zeros(SURROGATE_SUMS + 1, dtype=torch.float64, device=self._device.place)
            return tuple(map(torch.zeros_like, self._policy_weights)), nothing
        seen, masks = self._described(shard)
        lesson, config = shard.policy_lesson(masks), self._config
        terms = LossWeights(config.lookahead, annealed.floor, config.clip, annealed.entropy, annealed.magnet)
        numbers = tuple(terms) if self._device.on_host else self._device.array(np.array(terms))
        *gradient, sums = self._run_policy(seen, lesson, total, numbers)
        return tuple(gradient), sums

    def _described(self, shard: Rollout) -> tuple[PolicyInput, Any]:
        """What the policy reads of decisions, and their masks."""
        masks = unpack_masks(shard.masks)
        appraisals = np.concatenate(shard.appraisals.tolist()) if self._device.on_host else None
        return policy_input(shard.observations, masks, self._config.architecture.history, appraisals)[0], masks

    def _policy_pass(self, seen: PolicyInput, lesson: Any, total: Any, terms: Any) -> tuple[Tensor, ...]:
        """The clipped loss of the policy, the squared error of its own value, and what it guesses of a hidden hand."""
        config, counts = self._config, lesson.counts
        state = self.policy.describe(seen.columns)
        logits, values = self.policy.score(state, seen.rows, seen.actions, seen.rests)
        with torch.no_grad():  # no columns where nothing draws the policy
            nowhere = torch.empty((0, 0), device=self._device.place)
            magnet = self._averages[0](*seen)[0] if config.magnet else nowhere
        slopes, sums = self._device.kernels.surrogates((logits.detach(), *lesson[:-2], magnet), terms)
        errors = values.detach() - lesson.targets
        outputs, pulls = [logits, values], [slopes / total, errors * counts * (config.value_weight / total)]
        if self.guess is not None:
            outputs.append(self.guess(state))
            pulls.append(guess_slopes(outputs[-1], lesson.games) * counts[:, None] * (config.auxiliary / total))
        gradient = torch.autograd.grad(outputs, self._policy_weights, pulls)
        value_loss = 0.5 * (errors.square() * counts).sum().double()
        return *gradient, torch.cat([sums, value_loss[None]])
