"""Proximal policy optimization by self-play: one network plays all three roles.

An update plays every game on for some steps, estimates each seat's advantages with a critic that sees all hands, and
goes through the decisions in minibatches.  Everything random comes from generators made of the seed, and nothing
depends on the number of threads, so a run is determined by its settings.  :mod:`ddz_training.learn.ppo.checkpoint`
saves and resumes one, :mod:`ddz_training.learn.ppo.run` drives it.
"""

from __future__ import annotations

import copy
import functools
import math
import time
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from ddz_agents.neural.columns import GAME_COLUMNS
from ddz_agents.neural.model import Bytes, Floats
from ddz_agents.neural.network import Critic, PolicyNetwork, describe_games
from ddz_agents.neural.weights import Weights
from ddz_training.learn.curves import CurveLine
from ddz_training.learn.ppo.config import SelfPlayConfig
from ddz_training.learn.ppo.device import HOST, Device
from ddz_training.learn.ppo.learner import (
    Decisions,
    Learner,
    UpdateStatistics,
    captures,
    evaluate,
    replayed,
    value_games,
)
from ddz_training.learn.ppo.lookahead import Positions, look_ahead, told
from ddz_training.learn.ppo.past_selves import PastSelves
from ddz_training.learn.ppo.returns import Advantages, seat_advantages
from ddz_training.learn.ppo.rollout import Collector, Evaluate, Rollout
from ddz_training.learn.ppo.sampling import Candidates
from ddz_training.learn.threads import Threads, shards
from ddz_training.learn.widening import grow
from ddz_training.measure.match.provenance import Provenance

SOURCE = ("ddz_training.learn",)
"""Whose source decides a run, besides that of the packages below."""

_GROUP_STREAM, _AGENTS_STREAM, _GROWTH_STREAM = 4, 5, 6  # of the seed; 1 is the run's own generator


@dataclass
class Counters:
    """How far a run is."""

    update: int = 0
    steps: int = 0
    decisions: int = 0
    games: int = 0
    seconds: float = 0.0


class Estimates(NamedTuple):
    """What the critic says of a rollout.

    Attributes:
        values: Of the decisions, and of those that are watched, shape ``[steps, games]``, float32; 0 elsewhere.
        games: The decisions' games as it reads them, in the order of the rollout, shape ``[n, GAME_COLUMNS]``, float32.
        advantages: What follows from the values and the rewards.
    """

    values: Floats
    games: Floats
    advantages: Advantages


class SelfPlay:
    """A training run.

    A training of another kind that plays and is saved in the same way is a subclass, with settings and a learner of its
    own (:mod:`ddz_training.learn.dmc`).

    Args:
        config: The settings.
        threads: Threads; None for one a core.  Results do not depend on it.
        start: Weights to start from instead of random ones.

    Attributes:
        config: The settings.
        counters: How far the run is.
        rng: The run's own generator.
        device: Where it computes.
        order: Shuffles decisions: the run's own generator, or one on the device.
        learner: The networks that learn, and their optimizer.
        averages: The running averages of the two.
        past_selves: A sample of the policies so far.
        groups: The games, group by group.
        provenance: The code of the run, and the files of the agents that it is measured against.

    Raises:
        InvalidTrainingError: If the weights to start from cannot grow to the architecture.
        UnknownAgentError: If an opponent of the evaluations does not exist.
        NoDeviceError: If the settings name a device and there is none.
    """

    config_type: ClassVar[type[SelfPlayConfig]] = SelfPlayConfig
    learner_type: ClassVar[type[Learner]] = Learner

    def __init__(self, config: SelfPlayConfig, threads: int | None = None, start: Weights | None = None) -> None:
        self.config = config
        self.provenance = Provenance.of((*config.opponents, *config.frozen), *SOURCE)
        self.counters = Counters()
        self.rng = np.random.default_rng([config.seed, 1])
        self.device = Device(config.device)
        self.order = self.device.draws(self.rng)
        self._threads = Threads(threads, here=not self.device.on_host)
        policy, critic = new_networks(config, start)
        policy, critic = policy.to(self.device.place), critic.to(self.device.place)
        self.averages = copy.deepcopy(policy), copy.deepcopy(critic)
        self.learner = self.learner_type(policy, critic, config, self._threads, self.averages[0], self.device)
        self._past = copy.deepcopy(policy)
        self.past_selves = PastSelves(config.pool_size)
        self.groups = [new_collector(config, group, self.device) for group in range(config.groups)]
        self._rollout = Rollout.allocate(config.steps, config.num_games, config.candidates, self.device)
        self._forwards = [
            replayed(network) if captures(config, self.device) else None for network in (policy, self._past)
        ]

    def step(self) -> CurveLine:
        """One update: play, estimate, learn."""
        began = time.perf_counter()
        self._collect()
        found = self._estimate()
        decisions, explained = self._decisions(found)
        statistics = self.learner.update(decisions, self.order, self.counters.update)
        self._follow()
        self.counters.update += 1
        if self.config.opponent_share and self.counters.update % self.config.snapshot_every == 0:
            self.past_selves.offer(self.learner.policy, self.rng)
        learned = int((found.advantages.known & self._rollout.decides).sum())
        return self._line(learned, began, statistics, explained)

    def _collect(self) -> None:
        """Play all games on, each group on one thread from beginning to end: no step waits for the slowest group."""
        has_past = self.past_selves.draw(self._past, self.rng)
        learner = self._chooser()
        past = functools.partial(evaluate, self._past, forward=self._forwards[1]) if has_past else None
        size = self.config.num_games // self.config.groups
        parts = [self._rollout.part(games) for games in shards(self.config.num_games, size)]

        def play(group: int) -> None:
            self.groups[group].collect(parts[group], learner, past)

        self._threads.map(play, range(len(parts)))

    def _chooser(self) -> Evaluate:
        """What chooses the learner's actions."""
        return functools.partial(evaluate, self.learner.policy, forward=self._forwards[0])

    def _estimate(self) -> Estimates:
        """What the critic says of every decision, and the advantages that follow."""
        rollout, judged = self._rollout, self._judged
        seen, concealed = rollout.observations[judged], rollout.concealed[judged]
        flags = told(rollout.by_rules, rollout.watched)[judged]
        zeros = self.device.zeros
        games, found = zeros((len(seen), GAME_COLUMNS), np.float32), zeros((len(seen),), np.float32)

        def value(rows: slice) -> None:
            games[rows] = describe_games(seen[rows], concealed[rows], flags[rows])
            found[rows] = value_games(self.critic, games[rows])

        self._threads.map(value, shards(len(seen), self.config.shard))
        values = zeros(tuple(judged.shape), np.float32)
        values[judged] = found
        played = rollout.rewards, rollout.seats, judged, rollout.begins, rollout.done
        advantages = seat_advantages(values, *played, gamma=self.config.gamma, lam=self.config.lam)
        return Estimates(values, games, advantages)

    def _decisions(self, found: Estimates) -> tuple[Decisions, float]:
        """The decisions of which enough is known, and the share of the targets' variance that the critic foresaw.

        Those that are watched are among them: they count 0 for the policy.
        """
        rollout, known, xp = self._rollout, found.advantages.known, self.device.xp
        advantages, targets = found.advantages.advantages[known], found.advantages.targets[known]
        variance = float(xp.var(targets)) if len(targets) else 0.0
        explained = 1.0 - float(xp.var(targets - found.values[known])) / variance if variance > 0 else 0.0
        own = advantages[rollout.decides[known]]
        if len(own):
            least = xp.sort(own)[math.ceil((1.0 - self.config.upper) * (len(own) - 1))]
            advantages = xp.where(advantages < least, 0.0, (advantages - xp.mean(own)) / (xp.std(own) + 1e-8))
        decisions = Decisions(
            observations=rollout.observations[known],
            masks=rollout.masks[known],
            counts=rollout.counts[known],
            actions=rollout.actions[known],
            log_probabilities=rollout.log_probabilities[known],
            advantages=advantages,
            targets=targets,
            candidates=self._foresee(known),
            appraisals=rollout.appraisals[known],
            games=found.games[known[self._judged]],
        )
        return decisions, explained

    @property
    def _judged(self) -> npt.NDArray[np.bool_]:
        """The decisions of the rollout that the critic values and learns from."""
        return self._rollout.decides | self._rollout.watched

    def _foresee(self, known: npt.NDArray[np.bool_]) -> Candidates:
        """The actions that were considered at some of the decisions, and what is foreseen after them."""
        config, rollout = self.config, self._rollout
        candidates = rollout.candidates[known]
        if config.lookahead:
            games = Positions(rollout.rows[known], rollout.observations[known], rollout.by_rules[known])
            rules, frozen = self.groups[0].batch.rules, rollout.frozen[known]
            lead = self.device.kernels.led
            given = candidates, rules, config.objective, self._value, self._threads, frozen, lead
            look_ahead(games, *given, config.shard)
        return candidates

    def _value(self, seen: Bytes, concealed: Bytes, by_rules: npt.NDArray[np.bool_]) -> Floats:
        found: Floats = value_games(self.critic, describe_games(seen, concealed, by_rules))
        return found

    def _follow(self) -> None:
        """Move the running averages towards the networks."""
        shares = self.config.average, self.config.critic_average
        for average, network, past in zip(self.averages, self.learner.networks, shares, strict=True):
            # At first the average is over what there is, or it would remember the random weights for long.
            weight = max(1.0 - past, 1.0 / (self.counters.update + 1))
            with torch.no_grad():
                for mean, now in zip(average.parameters(), network.parameters(), strict=True):
                    mean.lerp_(now, weight)

    def _line(self, learned: int, began: float, statistics: UpdateStatistics, explained: float) -> CurveLine:
        """Count the update, and say what it brought."""
        counters, rollout = self.counters, self._rollout
        steps, ended = self.config.steps * self.config.num_games, int(rollout.done.sum())
        won = int((rollout.done & (rollout.roles == 0)).sum())  # the last to act went out
        counters.steps += steps
        counters.decisions += learned
        counters.games += ended
        counters.seconds += time.perf_counter() - began
        return CurveLine(
            **vars(counters),
            **vars(statistics),
            landlord_wins=won / ended if ended else 0.0,
            game_length=steps / ended if ended else 0.0,
            explained=explained,
        )

    @property
    def policy(self) -> PolicyNetwork:
        """The policy to save and to evaluate: the running average if there is one."""
        return self.averages[0] if self.config.average else self.learner.policy

    @property
    def critic(self) -> Critic:
        """The critic to save, and whose word counts in training: the running average if there is one."""
        return self.averages[1] if self.config.critic_average else self.learner.critic

    @property
    def moves(self) -> int:
        """Whole moves of the last update's games, forced ones included, whoever played them."""
        return int(self._rollout.begins.sum())

    def weights(self) -> Weights:
        """The networks as they are, with what a reader of the file should know."""
        config, counters = self.config, self.counters
        notes = {"seed": config.seed, "updates": counters.update, "hours": round(counters.seconds / 3600, 3)}
        notes |= {name: vars(counters)[name] for name in ("steps", "decisions", "games")}
        taught = config.value_weight > 0
        said = notes | self.provenance.settings()
        return Weights(self.policy, self.critic, config.rules, config.objective, said, values_trained=taught)

    def close(self) -> None:
        """End the threads, and release what the agents hold."""
        self._threads.close()
        for group in self.groups:
            group.close()


def new_networks(config: SelfPlayConfig, start: Weights | None) -> tuple[PolicyNetwork, Critic]:
    """Networks to begin a run with: random ones by the seed, or those to start from, grown to the run's architecture.

    Raises:
        InvalidTrainingError: If the weights to start from cannot grow to it.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        policy, critic = PolicyNetwork(config.architecture), Critic(config.architecture)
    policy.reduced = critic.reduced = config.precision == "bfloat16"
    if start is not None:
        rng = np.random.default_rng([config.seed, _GROWTH_STREAM])
        for network, smaller in ((policy, start.policy), (critic, start.critic)):
            if smaller is not None:
                grow(network, smaller, rng)
    return policy, critic


def new_collector(config: SelfPlayConfig, group: int, device: Device = HOST) -> Collector:
    """One group of a run's games, with deals and a generator of its own."""
    sequence = np.random.SeedSequence([config.seed, _GROUP_STREAM, group])
    deals = int(sequence.generate_state(1, np.uint64)[0])
    size = config.num_games // config.groups
    batch = device.batch(size, config.rules, deals, config.objective)
    draws = device.draws(np.random.default_rng(sequence))
    return Collector(batch, config, draws, (config.seed, _AGENTS_STREAM, group), device)
