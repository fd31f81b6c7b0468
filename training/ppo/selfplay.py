"""Proximal policy optimization by self-play: one network plays all three roles.

An update plays every game on for some steps, estimates each seat's advantages with a critic that sees all hands, and
goes through the decisions in minibatches.  Everything random comes from generators made of the seed, and nothing
depends on the number of threads, so a run is determined by its settings, and :meth:`SelfPlay.state` holds all that a
run is.
"""

from __future__ import annotations

import copy
import functools
import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from agents.neural.columns import GAME_COLUMNS, describe_games
from agents.neural.model import Bytes, Floats
from agents.neural.network import Critic, PolicyNetwork
from agents.neural.tensor_file import Arrays
from agents.neural.weights import Weights, load_module, module_arrays
from ddz_env.batch import SelfPlayBatch
from training.ppo.config import SelfPlayConfig
from training.ppo.errors import CheckpointMismatchError, InvalidTrainingError
from training.ppo.learner import Decisions, Learner, UpdateStatistics, evaluate, value_games
from training.ppo.lookahead import Candidates, look_ahead
from training.ppo.pool import Pool
from training.ppo.returns import Advantages, seat_advantages
from training.ppo.rollout import Collector, Rollout
from training.ppo.workers import Workers, shards

_GROUP_STREAM = 4  # of the seed; 1 is the run's own generator


@dataclass
class Progress:
    """One line of the training curves.

    Attributes:
        update: Updates so far.
        steps: Decisions of the environments so far, forced ones included.
        decisions: Decisions that were learned from so far, each counted once.
        games: Games finished so far.
        landlord_wins: Share of this update's games that the landlord won.
        game_length: Decisions a game in this update.
        policy_loss: See :class:`~training.ppo.learner.UpdateStatistics`, as the next five.
        value_loss: Likewise.
        critic_loss: Likewise.
        entropy: Likewise.
        divergence: Likewise.
        clipped: Likewise.
        explained: Share of the targets' variance that the critic had foreseen.
        seconds: Seconds of training so far, evaluations not counted.
    """

    update: int
    steps: int
    decisions: int
    games: int
    landlord_wins: float
    game_length: float
    policy_loss: float
    value_loss: float
    critic_loss: float
    entropy: float
    divergence: float
    clipped: float
    explained: float
    seconds: float


@dataclass
class _Counters:
    """How far a run is."""

    update: int = 0
    steps: int = 0
    decisions: int = 0
    games: int = 0
    seconds: float = 0.0


class _Estimates(NamedTuple):
    """What the critic says of a rollout.

    Attributes:
        values: Of the decisions, shape ``[steps, games]``, float32; 0 elsewhere.
        games: The decisions' games as it reads them, in the order of the rollout, shape ``[n, GAME_COLUMNS]``, float32.
        advantages: What follows from the values and the rewards.
    """

    values: Floats
    games: Floats
    advantages: Advantages


class SelfPlay:
    """A training run.

    Args:
        config: The settings.
        threads: Threads; None for one a core.  Results do not depend on it.
        start: Weights to start from instead of random ones.

    Attributes:
        config: The settings.
        counters: How far the run is.

    Raises:
        InvalidTrainingError: If the weights to start from have another architecture.
    """

    def __init__(self, config: SelfPlayConfig, threads: int | None = None, start: Weights | None = None) -> None:
        self.config = config
        self.counters = _Counters()
        self._workers = Workers(threads)
        self._rng = np.random.default_rng([config.seed, 1])
        policy, critic = new_networks(config, start)
        self._learner = Learner(policy, critic, config, self._workers)
        self._average, self._average_critic = copy.deepcopy(policy), copy.deepcopy(critic)
        self._past = copy.deepcopy(policy)
        self._pool = Pool(config.pool_size)
        self._groups = [new_collector(config, group) for group in range(config.groups)]
        self._rollout = Rollout.allocate(config.steps, config.num_games, config.candidates)

    @property
    def policy(self) -> PolicyNetwork:
        """The policy to save and to evaluate: the running average if there is one."""
        return self._average if self.config.average else self._learner.policy

    @property
    def critic(self) -> Critic:
        """The critic to save, and whose word counts in training: the running average if there is one."""
        return self._average_critic if self.config.critic_average else self._learner.critic

    @property
    def moves(self) -> int:
        """Whole moves of the last update's games, forced ones included, whoever played them."""
        return int(self._rollout.begins.sum())

    def weights(self) -> Weights:
        """The networks as they are, with what a reader of the file should know."""
        config, counters = self.config, self.counters
        notes = {
            "seed": config.seed,
            "updates": counters.update,
            "steps": counters.steps,
            "decisions": counters.decisions,
            "games": counters.games,
            "hours": round(counters.seconds / 3600, 3),
        }
        taught = config.value_weight > 0
        return Weights(self.policy, self.critic, config.rules, config.objective, notes, values_trained=taught)

    def step(self) -> Progress:
        """Play, estimate, learn: one update."""
        began = time.perf_counter()
        self._collect()
        decisions, explained = self._decisions(self._estimate())
        statistics = self._learner.update(decisions, self._rng, self.counters.update)
        self._follow()
        self.counters.update += 1
        if self.config.opponent_share and self.counters.update % self.config.snapshot_every == 0:
            self._pool.offer(self._learner.policy, self._rng)
        self._count(len(decisions.actions), time.perf_counter() - began)
        return self._progress(statistics, explained)

    def close(self) -> None:
        """End the threads."""
        self._workers.close()

    def state(self) -> tuple[Arrays, dict[str, Any]]:
        """Everything that :meth:`restore` needs to continue to the bit: arrays, and plain values."""
        arrays = module_arrays(self._learner.policy, "policy.") | module_arrays(self._learner.critic, "critic.")
        arrays |= module_arrays(self._average, "average.") | module_arrays(self._average_critic, "average_critic.")
        arrays |= self._pool.arrays() | self._optimizer_arrays()
        games = [group.state_dict() for group in self._groups]
        for number, group in enumerate(games):
            arrays |= {f"games.{number}.{name}": part for name, part in group.items() if isinstance(part, np.ndarray)}
        about = {
            "config": self.config.as_dict(),
            "counters": vars(self.counters).copy(),
            "generator": self._rng.bit_generator.state,
            "games": [
                {name: part for name, part in group.items() if not isinstance(part, np.ndarray)} for group in games
            ],
            "pool": {"members": len(self._pool.members), "offered": self._pool.offered},
        }
        return arrays, about

    def restore(self, arrays: Arrays, about: dict[str, Any], where: str) -> None:
        """Continue from :meth:`state`.

        Args:
            arrays: The arrays.
            about: The plain values.
            where: Names the file in messages.

        Raises:
            CheckpointMismatchError: If they are those of a run with other settings.
            TensorFileMismatchError: If an array is missing or does not fit.
            InvalidOptionError: If the saved games do not fit.
        """
        if about["config"] != self.config.as_dict():
            raise CheckpointMismatchError(f"{where} was written under other settings")
        self._pool.restore(arrays, about["pool"], self._past, where)
        load_module(self._learner.policy, arrays, "policy.", where)
        load_module(self._learner.critic, arrays, "critic.", where)
        load_module(self._average, arrays, "average.", where)
        load_module(self._average_critic, arrays, "average_critic.", where)
        self._restore_optimizer(arrays)
        for number, (group, rest) in enumerate(zip(self._groups, about["games"], strict=True)):
            prefix = f"games.{number}."
            saved = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
            group.load_state_dict(saved | rest)
        self._rng.bit_generator.state = about["generator"]
        self.counters = _Counters(**about["counters"])

    def _collect(self) -> None:
        """Play all games on, each group on one thread from beginning to end: no step waits for the slowest group."""
        has_past = self._pool.draw(self._past, self._rng)
        learner = functools.partial(evaluate, self._learner.policy)
        past = functools.partial(evaluate, self._past) if has_past else None
        size = self.config.num_games // self.config.groups
        parts = [self._rollout.part(games) for games in shards(self.config.num_games, size)]

        def play(group: int) -> None:
            self._groups[group].collect(parts[group], learner, past)

        self._workers.map(play, range(len(parts)))
        self._rollout.gather(parts)

    def _estimate(self) -> _Estimates:
        """What the critic says of every decision, and the advantages that follow."""
        rollout, decides = self._rollout, self._rollout.decides
        games, found = self._value_decisions()
        values = np.zeros(decides.shape, np.float32)
        values[decides] = found
        advantages = seat_advantages(
            values,
            rollout.rewards,
            rollout.seats,
            decides,
            rollout.begins,
            rollout.done,
            gamma=self.config.gamma,
            lam=self.config.lam,
        )
        return _Estimates(values, games, advantages)

    def _value_decisions(self) -> tuple[Floats, Floats]:
        """The games at the decisions as the critic reads them, ``[n, GAME_COLUMNS]``, and its values, ``[n]``."""
        rollout, decides = self._rollout, self._rollout.decides
        seen, concealed, by_rules = rollout.observations[decides], rollout.concealed[decides], rollout.by_rules[decides]
        games, values = np.empty((len(seen), GAME_COLUMNS), np.float32), np.empty(len(seen), np.float32)

        def value(rows: slice) -> None:
            games[rows] = describe_games(seen[rows], concealed[rows], by_rules[rows])
            values[rows] = value_games(self.critic, games[rows])

        self._workers.map(value, shards(len(seen), self.config.shard))
        return games, values

    def _decisions(self, found: _Estimates) -> tuple[Decisions, float]:
        """The decisions of which enough is known, and the share of the targets' variance that the critic foresaw."""
        rollout, known = self._rollout, found.advantages.known
        advantages, targets = found.advantages.advantages[known], found.advantages.targets[known]
        variance = float(targets.var()) if len(targets) else 0.0
        explained = 1.0 - float((targets - found.values[known]).var()) / variance if variance > 0 else 0.0
        if len(advantages):
            advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        observations = rollout.observations[known]
        candidates = self._foresee(known, observations)
        decisions = Decisions(
            observations,
            rollout.masks[known],
            rollout.counts[known],
            rollout.actions[known],
            rollout.log_probabilities[known],
            advantages,
            targets,
            candidates,
            rollout.firsts[known],
            rollout.appraisals,
            np.flatnonzero(known[rollout.decides]),
            found.games,
        )
        return decisions, explained

    def _foresee(self, known: npt.NDArray[np.bool_], seen: Bytes) -> Candidates:
        """The actions that were considered at some of the decisions, and what is foreseen after them."""
        config, rollout = self.config, self._rollout
        candidates = rollout.candidates[known]
        if config.lookahead:
            rules, against = self._groups[0].batch.rules, rollout.by_rules[known]
            games = rollout.rows[known], seen, candidates, against
            look_ahead(*games, rules, config.objective, self._value, self._workers)
        return candidates

    def _value(self, seen: Bytes, concealed: Bytes, by_rules: npt.NDArray[np.bool_]) -> Floats:
        return value_games(self.critic, describe_games(seen, concealed, by_rules))

    def _follow(self) -> None:
        """Move the running averages towards the networks."""
        self._approach(self._average, self._learner.policy, self.config.average)
        self._approach(self._average_critic, self._learner.critic, self.config.critic_average)

    def _approach(self, average: nn.Module, network: nn.Module, past: float) -> None:
        # At first the average is over what there is, or it would remember the random weights for long.
        weight = max(1.0 - past, 1.0 / (self.counters.update + 1))
        with torch.no_grad():
            for mean, now in zip(average.parameters(), network.parameters(), strict=True):
                mean.lerp_(now, weight)

    def _count(self, learned: int, seconds: float) -> None:
        counters = self.counters
        counters.steps += self._rollout.actions.size
        counters.decisions += learned
        counters.games += int(self._rollout.done.sum())
        counters.seconds += seconds

    def _progress(self, statistics: UpdateStatistics, explained: float) -> Progress:
        counters, rollout = self.counters, self._rollout
        ended = int(rollout.done.sum())
        won = landlord_wins(rollout)
        return Progress(
            update=counters.update,
            steps=counters.steps,
            decisions=counters.decisions,
            games=counters.games,
            landlord_wins=won / ended if ended else 0.0,
            game_length=rollout.actions.size / ended if ended else 0.0,
            **vars(statistics),
            explained=explained,
            seconds=counters.seconds,
        )

    def _optimizer_arrays(self) -> Arrays:
        state = self._learner.optimizer.state_dict()["state"]
        return {
            f"adam.{place}.{name}": value.numpy() for place, values in state.items() for name, value in values.items()
        }

    def _restore_optimizer(self, arrays: Arrays) -> None:
        state: dict[int, dict[str, torch.Tensor]] = {}
        for key, array in arrays.items():
            if key.startswith("adam."):
                _, place, name = key.split(".")
                state.setdefault(int(place), {})[name] = torch.from_numpy(np.array(array))
        optimizer = self._learner.optimizer
        optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})


def new_networks(config: SelfPlayConfig, start: Weights | None) -> tuple[PolicyNetwork, Critic]:
    """Networks to begin a run with: random ones by the seed, or those to start from.

    Raises:
        InvalidTrainingError: If the weights to start from have another architecture.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        policy, critic = PolicyNetwork(config.architecture), Critic(config.architecture)
    if start is not None:
        if start.policy.architecture != config.architecture:
            raise InvalidTrainingError(
                f"the weights to start from have the architecture {start.policy.architecture.as_dict()}, "
                f"the run {config.architecture.as_dict()}"
            )
        policy.load_state_dict(start.policy.state_dict())
        if start.critic is not None:
            critic.load_state_dict(start.critic.state_dict())
    return policy, critic


def new_collector(config: SelfPlayConfig, group: int) -> Collector:
    """One group of a run's games, with deals and a generator of its own."""
    sequence = np.random.SeedSequence([config.seed, _GROUP_STREAM, group])
    deals = int(sequence.generate_state(1, np.uint64)[0])
    size = config.num_games // config.groups
    batch = SelfPlayBatch(size, config.rules, deals, 1, scoring=config.objective, concealed=True)
    shares = config.opponent_share, np.random.default_rng(sequence), config.rules_share
    probes = config.floor > 0 and config.lookahead > 0
    return Collector(batch, config.objective, *shares, config.least, config.settled_share, probes=probes)


def landlord_wins(rollout: Rollout) -> int:
    """How many of the games that ended in a rollout the landlord won: the last to act went out."""
    return int((rollout.done & (rollout.roles == 0)).sum())
