"""A self-play run: groups of games, past selves and running averages around the learner of :mod:`.ppo`.

Everything random comes from generators made of the seed, and nothing depends on the number of threads, so a run is
determined by its settings.
"""

from __future__ import annotations

import copy
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import nn

from ddz_agents.neural.compiled_policy import CompiledPolicy
from ddz_agents.neural.errors import TensorFileError, TensorFileMismatchError
from ddz_agents.neural.network import Critic, PolicyNetwork, load_module
from ddz_agents.neural.tensor_file import Arrays, read_tensor_file, write_tensor_file
from ddz_agents.neural.weights import Weights, check_architecture, module_arrays, save_weights
from ddz_env.envs.batch import SelfPlayBatch
from ddz_env.support.errors import DouDizhuError
from ddz_training.learn.errors import CheckpointError, CheckpointMismatchError, InvalidTrainingError
from ddz_training.learn.input_layers import make_input_layer
from ddz_training.learn.loop import CHECKPOINT, CURVES, POLICY, Counters, Training
from ddz_training.learn.ppo.config import GamesConfig, SelfPlayConfig
from ddz_training.learn.ppo.games import RecordedSteps, RolloutGames
from ddz_training.learn.ppo.opponents import with_prefix_removed
from ddz_training.learn.ppo.ppo import Learner, PpoLearner, Rollout, RolloutPolicies, collect_rollout
from ddz_training.learn.processes import Processes, threads_of_process
from ddz_training.learn.threads import Threads
from ddz_training.measure.provenance import Provenance

if TYPE_CHECKING:
    from typing_extensions import Self

_GROUP_STREAM, _AGENTS_STREAM, _SHUFFLE_STREAM = 4, 5, 6  # of the seed; 1 is the run's own generator


@dataclass(kw_only=True)
class CurveLine:
    """The result of one update, which is one line of ``curves.csv``.

    A field with the default 0 is the mean of what the learner's loss returns under its name.

    Attributes:
        update: Updates so far.
        steps: Decisions of the environments so far, forced ones included.
        decisions: Decisions that were learned from so far, each counted once.
        games: Games finished so far.
        landlord_wins: Share of this update's games that the landlord won.
        game_length: Decisions per game in this update.
        policy_loss: The negated clipped surrogate; this and the next five are means over the update's decisions, those
            of the policy estimated from the decisions that it learned from (those of small advantage, where these are
            left out, are 0 in the means).
        value_loss: Half the squared error of the policy's own value.
        critic_loss: Half the squared error of the critic.
        entropy: The policy's entropy in nats; 0 for deep Monte Carlo, which has no policy.
        approx_kl: Estimate of the Kullback–Leibler divergence from the policy that chose (J. Schulman's third
            estimator, ratio − 1 − log ratio).
        clip_fraction: Share of the ratios beyond the clip.
        explained_variance: Share of the targets' variance that the critic had foreseen.
        decisions_per_second: Decisions learned from per second of this update.
        workers_busy: Share of the rollout in which the threads that play and describe games were busy.
        rollout_share: Share of this update's seconds that the rollout took.
        memory_gib: GiB in use at most: of the GPU where there is one, otherwise of the process.
        seconds: Seconds of training so far, evaluations not counted.
    """

    update: int
    steps: int
    decisions: int
    games: int
    landlord_wins: float
    game_length: float
    policy_loss: float = 0.0
    value_loss: float = 0.0
    critic_loss: float = 0.0
    entropy: float = 0.0
    approx_kl: float = 0.0
    clip_fraction: float = 0.0
    explained_variance: float
    decisions_per_second: float
    workers_busy: float
    rollout_share: float
    memory_gib: float
    seconds: float

    def __str__(self) -> str:
        learned = f"entropy {self.entropy:.2f} · critic explains {100 * self.explained_variance:.0f} %"
        learned = learned if self.entropy else f"loss {self.policy_loss:.3f}"
        busy = f"workers {100 * self.workers_busy:.0f} %, {self.memory_gib:.1f} GiB"
        return f"update {self.update} · {self.games:,} games · {learned} · {busy}"


class SelfPlay(Training):
    """A self-play run: the learner with its games, past selves, running averages and checkpoints.

    A training of another kind that plays and is saved in the same way is a subclass, with settings and a learner of its
    own (:mod:`ddz_training.learn.dmc`).

    Args:
        config: The settings.
        threads: Threads; None for one per core.  Results do not depend on it.
        start: Weights to start from instead of random ones.
        processes: The processes that train together (:mod:`ddz_training.learn.processes`); each plays as many games as
            the settings say.

    Attributes:
        config: The settings.
        counters: How far the run is.
        rng: The run's own generator.
        learner: The networks that learn, and their optimizer.
        averages: The running averages of policy and critic.
        snapshots: A sample of the policies so far.
        groups: The games of this process, group by group.
        provenance: The code of the run, and the files of the agents that it plays and is measured against.

    Raises:
        InvalidTrainingError: If the weights to start from have another architecture, or there is no such device.
        UnknownAgentError: If an opponent of the evaluations does not exist.
    """

    kind = "ddz-selfplay-checkpoint", 5
    line_type = CurveLine
    tables: ClassVar[Mapping[type, str]] = {CurveLine: CURVES, **Training.tables}
    config: GamesConfig
    config_type: ClassVar[type[GamesConfig]] = SelfPlayConfig
    learner_type: ClassVar[type[Learner]] = PpoLearner
    has_critic: ClassVar[bool] = True
    """Whether the critic is trained, and so saved with the weights."""

    def __init__(
        self,
        config: GamesConfig,
        threads: int | None = None,
        start: Weights | None = None,
        processes: Processes | None = None,
    ) -> None:
        if config.device == "cuda" and not torch.cuda.is_available():
            raise InvalidTrainingError("device=cuda: PyTorch finds no GPU here: train with --device cpu, the default")
        super().__init__(config)
        self.provenance = Provenance.of((*config.eval_opponents, *config.frozen))
        self.rng = np.random.default_rng([config.seed, 1])
        self.processes = processes or Processes()
        device = torch.device(config.device)
        if device.type == "cuda":
            torch.set_float32_matmul_precision("high")  # TensorFloat-32: 10 bits of mantissa are enough for gradients
        self._threads = Threads(threads_of_process(threads), share_groups=device.type != "cpu")
        policy, critic = new_networks(config, start)
        input_layer = make_input_layer(device, policy, critic)
        self.averages = copy.deepcopy(policy), copy.deepcopy(critic)
        trusted = self.averages[1] if config.critic_ema_decay else critic
        self.learner = self.learner_type(policy, critic, config, self._threads, input_layer, trusted, self.processes)
        self._past_policy = copy.deepcopy(policy)
        self.snapshots = SnapshotPool(config.pool_size)
        own_groups = range(self.processes.rank * config.groups, (self.processes.rank + 1) * config.groups)
        self.groups = [new_games(config, group) for group in own_groups]
        self.generators = [new_generator(config, group) for group in own_groups]

    def learn(self) -> dict[str, float]:
        """Do one PPO update: play a rollout, estimate advantages, and take gradient steps."""
        meter, update = UpdateMeter(self._threads), self.counters.update
        rollout = self._collect()
        meter.end_rollout()
        values, advantages = self.learner.estimate(rollout)
        usable, explained = self.learner.store_estimates(rollout, values, advantages)
        shuffler = np.random.default_rng([self.config.seed, _SHUFFLE_STREAM, update, self.processes.rank])
        statistics = self.learner.update(rollout, usable, shuffler, update, self.spent)
        self._update_averages()
        if self.config.opponent_share and (update + 1) % self.config.snapshot_every == 0:
            self.snapshots.add(self.learner.policy, self.rng)
        return statistics | self._count_played(rollout.played, len(usable), meter) | {"explained_variance": explained}

    def _count_played(self, played: RecordedSteps, usable: int, meter: UpdateMeter) -> dict[str, float]:
        """Add what all processes have played to the counters, and return the statistics of this update."""
        won = np.count_nonzero(played.done & (played.roles == 0))  # the last to act went out
        counts = [float(count) for count in (played.done.size, usable, np.count_nonzero(played.done), won)]
        steps, decisions, games, won, workers = self.processes.sum_numbers([*counts, meter.workers]).tolist()
        self.counters.steps += int(steps)
        self.counters.decisions += int(decisions)
        self.counters.games += int(games)
        return meter.measurements(decisions, self.config.device) | {
            "workers_busy": workers / self.processes.size,
            "landlord_wins": won / max(games, 1),
            "game_length": steps / games if games else 0.0,
        }

    def _collect(self) -> Rollout:
        """Collect a rollout by playing all games on for the steps of one update."""
        past = self._past_policy if self.snapshots.load_random(self._past_policy, self.rng) else None
        players = RolloutPolicies(self.learner.input_layer, self.learner.policy, self.learner.sample_actions, past)
        return collect_rollout(self.groups, self.generators, self.config.num_steps, players, self._threads)

    def _update_averages(self) -> None:
        """Move the running averages towards the current networks."""
        shares, networks = (
            (self.config.ema_decay, self.config.critic_ema_decay),
            (self.learner.policy, self.learner.critic),
        )
        for average, network, past in zip(self.averages, networks, shares, strict=True):
            # At first the average is over few steps, or it would remember the random weights for long.
            weight = max(1.0 - past, 1.0 / (self.counters.update + 1))
            with torch.no_grad():
                for mean, current in zip(average.parameters(), network.parameters(), strict=True):
                    mean.lerp_(current, weight)

    @property
    def policy(self) -> PolicyNetwork:
        """The policy to save and evaluate: the running average if there is one."""
        return self.averages[0] if self.config.ema_decay else self.learner.policy

    @property
    def critic(self) -> Critic:
        """The critic that is saved and that values positions in training: the averaged one, if there is one."""
        return self.learner.trusted_critic

    def make_evaluation_policy(self) -> CompiledPolicy:
        """Return the policy as it would be saved, compiled for evaluation games."""
        return CompiledPolicy(self.to_weights())

    def to_weights(self) -> Weights:
        """Return the weights of the policy, and of a trained critic, as saved to a file, with notes for its readers."""
        config, counters = self.config, self.counters
        notes = {
            "seed": config.seed,
            "updates": counters.update,
            "hours": round(counters.seconds / 3600, 3),
            "steps": counters.steps,
            "decisions": counters.decisions,
            "games": counters.games,
            **self.provenance.to_settings(),
        }
        return Weights.of(
            self.policy,
            self.critic if self.has_critic else None,
            rules=config.rules,
            objective=config.objective,
            notes=notes,
            values_trained=config.vf_coef > 0,
        )

    @property
    def is_leader(self) -> bool:
        """Whether this process writes files and measures strength."""
        return self.processes.is_leader

    def broadcast(self, number: float) -> float:
        """Return in every process the number that the first process gives."""
        return self.processes.broadcast(number)

    def save(self, folder: Path) -> None:
        """Write the policy's weights and the checkpoint to the run's folder."""
        if self.is_leader:
            save_weights(folder / POLICY, self.to_weights())
        self.save_checkpoint(folder / CHECKPOINT)

    def close(self) -> None:
        """Stop the run's threads and close its opponents."""
        self._threads.close()
        for group in self.groups:
            group.close()

    def _networks(self) -> dict[str, PolicyNetwork | Critic]:
        """Return the networks that a checkpoint holds, keyed by the prefix of their array names."""
        names = ("policy.", "critic.", "average.", "average_critic.")
        return dict(zip(names, (self.learner.policy, self.learner.critic, *self.averages), strict=True))

    def state(self) -> tuple[Arrays, dict[str, Any]]:
        """Return everything that :meth:`resume` needs to continue the run exactly: arrays and plain values."""
        arrays, games = self.snapshots.to_arrays() | optimizer_to_arrays(self.learner.optimizer), []
        for prefix, network in self._networks().items():
            arrays |= module_arrays(network, prefix)
        states = [
            group.state_dict() | {"actions_generator": generator.get_state().numpy()}
            for group, generator in zip(self.groups, self.generators, strict=True)
        ]
        for number, saved in enumerate(chain.from_iterable(self.processes.gather(states))):
            plain = {name: part for name, part in saved.items() if not isinstance(part, np.ndarray)}
            arrays |= {f"games.{number}.{name}": part for name, part in saved.items() if name not in plain}
            games.append(plain)
        about = {
            "config": self.config.as_dict(),
            "counters": vars(self.counters).copy(),
            "generator": self.rng.bit_generator.state,
            "games": games,
            "pool": {"members": len(self.snapshots.members), "offered": self.snapshots.offered},
        }
        return arrays, about | self.provenance.to_settings()

    def save_checkpoint(self, path: Path) -> None:
        """Write the whole state of the run; all processes take part, and the leader writes the file.

        Raises:
            CheckpointError: If the file cannot be written.
        """
        state = self.state()
        try:
            if self.is_leader:
                write_tensor_file(path, *self.kind, *state)
        except TensorFileError as error:
            raise CheckpointError(str(error)) from error

    def _restore(self, arrays: Arrays, about: dict[str, Any], where: str) -> None:
        """Restore the run from the result of :meth:`state`.

        Raises:
            DouDizhuError: If something does not fit; KeyError, TypeError or ValueError: if something is missing.
        """
        for prefix, network in self._networks().items():
            load_module(network, arrays, prefix, where)
        restore_optimizer(self.learner.optimizer, arrays)
        self.snapshots.restore(arrays, about["pool"], self._past_policy, where)
        if len(about["games"]) != len(self.groups) * self.processes.size:
            raise CheckpointMismatchError(
                f"{where} has {len(about['games'])} groups of games, and {self.processes.size} processes with "
                f"{len(self.groups)} each would play them: resume with as many processes as before"
            )
        first = self.processes.rank * len(self.groups)
        for number, (group, generator) in enumerate(zip(self.groups, self.generators, strict=True), first):
            saved = with_prefix_removed(f"games.{number}.", arrays) | about["games"][number]
            generator.set_state(torch.from_numpy(saved.pop("actions_generator")))
            group.load_state_dict(saved)
        self.rng.bit_generator.state = about["generator"]
        self.counters = Counters(**about["counters"])

    @classmethod
    def resume(
        cls,
        path: str | Path,
        threads: int | None = None,
        wanted: Mapping[str, Any] | None = None,
        processes: Processes | None = None,
    ) -> Self:
        """Create a run that continues an earlier one from its checkpoint.

        Args:
            path: The file.
            threads: Threads; None for one per core.  Results do not depend on it.
            wanted: Settings that it must have (:meth:`~ddz_training.learn.settings.TrainingSettings.read`).
            processes: The processes that train together, as many as the run had.

        Raises:
            CheckpointError: If the file is missing, truncated, corrupt or of another format.
            CheckpointMismatchError: If it was written for other observations or actions or by another version, or if
                its settings are not those wanted.
        """
        try:
            arrays, about = read_tensor_file(path, *cls.kind)
        except TensorFileError as error:
            fault = CheckpointMismatchError if isinstance(error, TensorFileMismatchError) else CheckpointError
            raise fault(str(error)) from error
        try:
            config = cls.config_type.from_dict(about["config"]).for_resuming(wanted or {}, path)
            check_architecture(config.architecture, arrays, True, str(path))
            run = cls(config, threads, processes=processes)
            run.provenance = run.provenance.continue_from(Provenance.pop_from(about), path)
            run._restore(arrays, about, str(path))
        except CheckpointError:
            raise
        except KeyError as error:
            raise CheckpointMismatchError(f"{path} does not fit this package: it lacks {error}") from error
        except (DouDizhuError, TypeError, ValueError, RuntimeError) as error:  # the last: a torch.Generator
            raise CheckpointMismatchError(f"{path} does not fit this package: {error}") from error
        return run


def new_networks(config: GamesConfig, start: Weights | None) -> tuple[PolicyNetwork, Critic]:
    """Make a run's initial networks: random ones drawn from the seed, or copies of the given weights.

    Raises:
        InvalidTrainingError: If the weights to start from have another architecture.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        policy, critic = PolicyNetwork(config.architecture), Critic(config.architecture)
    if start is not None:
        if start.architecture != config.architecture:
            raise InvalidTrainingError(
                f"the weights have the architecture {start.architecture}, and the run has {config.architecture}: give "
                "the run the settings architecture.* of the weights, or leave out the weights"
            )
        load_module(policy, start.policy)
        if start.critic is not None:
            load_module(critic, start.critic)
    return policy.to(config.device), critic.to(config.device)


def new_games(config: GamesConfig, group: int) -> RolloutGames:
    """Make one group of a run's games, with its own deals and random generator."""
    sequence = _group_seed(config, group)
    deals = int(sequence.generate_state(1, np.uint64)[0])
    size, named = config.num_envs // config.groups, bool(config.named_opponents)
    batch = SelfPlayBatch(
        size, config.rules, deals, 1, scoring=config.objective, mask=named, concealed=True, deals=config.deals
    )
    key, pinned = (config.seed, _AGENTS_STREAM, group), config.device == "cuda"
    return RolloutGames(batch, config, np.random.default_rng(sequence), key, pinned=pinned)


def new_generator(config: GamesConfig, group: int) -> torch.Generator:
    """Create the random generator, on the device, from which the actions of one group of games are drawn."""
    seed = _group_seed(config, group).generate_state(2, np.uint64)[1]
    return torch.Generator(config.device).manual_seed(int(seed >> np.uint64(1)))


def _group_seed(config: GamesConfig, group: int) -> np.random.SeedSequence:
    return np.random.SeedSequence([config.seed, _GROUP_STREAM, group])


class UpdateMeter:
    """A meter of an update's time and memory, which starts when the meter is created.

    Args:
        threads: The threads that play.

    Attributes:
        workers: Share of the rollout in which the threads were busy; set by :meth:`end_rollout`.
    """

    def __init__(self, threads: Threads) -> None:
        self._threads, self._busy, self._began = threads, threads.busy, time.perf_counter()
        self._rollout = self.workers = 0.0

    def end_rollout(self) -> None:
        """Record the rollout's duration, and how busy the threads were in it."""
        self._rollout = time.perf_counter() - self._began
        self.workers = (self._threads.busy - self._busy) / (self._threads.threads * self._rollout)

    def measurements(self, decisions: float, device: str) -> dict[str, float]:
        """Measure speed, the rollout's share of the time, and memory: columns of a :class:`CurveLine`."""
        seconds = time.perf_counter() - self._began
        shares = {"decisions_per_second": decisions / seconds, "rollout_share": self._rollout / seconds}
        return shares | {"memory_gib": peak_memory_gib(device)}


def peak_memory_gib(device: str) -> float:
    """Measure the peak memory so far in GiB, of the GPU or the process; 0 on Windows, where Python cannot tell."""
    if device == "cuda":
        return torch.cuda.max_memory_allocated() / 2**30
    if sys.platform == "win32":
        return 0.0
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**30 if sys.platform == "darwin" else 2**20)


class SnapshotPool:
    """A pool of past policies that holds a uniform sample of all snapshots so far.

    It is a reservoir sample (J. S. Vitter, 1985, algorithm R).

    Args:
        size: How many are kept.

    Attributes:
        members: The snapshots, each weight's name to its array.
        offered: How many snapshots there have been.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self.members: list[Arrays] = []
        self.offered = 0

    def add(self, policy: nn.Module, rng: np.random.Generator) -> None:
        """Offer a snapshot of a policy to the pool; a full pool replaces an old snapshot or drops the new one."""
        self.offered += 1
        room = len(self.members) < self._size
        index = len(self.members) if room else int(rng.integers(self.offered))
        snapshot: Arrays = {name: weight.detach().cpu().numpy().copy() for name, weight in policy.state_dict().items()}
        if room:
            self.members.append(snapshot)
        elif index < self._size:
            self.members[index] = snapshot

    def load_random(self, network: nn.Module, rng: np.random.Generator) -> bool:
        """Load a random snapshot into a network; return False if the pool is empty."""
        if not self.members:
            return False
        member = self.members[int(rng.integers(len(self.members)))]
        network.load_state_dict({name: torch.from_numpy(array) for name, array in member.items()})
        return True

    def to_arrays(self) -> Arrays:
        """Return all snapshots as named arrays for a checkpoint."""
        return {
            f"pool.{index}.{name}": array for index, member in enumerate(self.members) for name, array in member.items()
        }

    def restore(self, arrays: Arrays, about: dict[str, Any], network: nn.Module, where: str) -> None:
        """Restore the pool from the arrays of a checkpoint.

        Args:
            arrays: The checkpoint's arrays.
            about: ``{"members": ..., "offered": ...}``.
            network: Any network of the right architecture; it is overwritten.
            where: Names the file in messages.

        Raises:
            TensorFileMismatchError: If a snapshot is missing or does not fit.
        """
        self.offered = int(about["offered"])
        self.members = []
        for index in range(int(about["members"])):
            load_module(network, arrays, f"pool.{index}.", where)
            self.members.append({name: weight.cpu().numpy().copy() for name, weight in network.state_dict().items()})


def optimizer_to_arrays(optimizer: torch.optim.Optimizer) -> Arrays:
    """Return Adam's moments as named arrays for a checkpoint."""
    moments = optimizer.state_dict()["state"]
    return {
        f"adam.{index}.{name}": value.cpu().numpy() for index, part in moments.items() for name, value in part.items()
    }


def restore_optimizer(optimizer: torch.optim.Optimizer, arrays: Arrays) -> None:
    """Restore an optimizer's moments, as saved by :func:`optimizer_to_arrays`."""
    moments: dict[int, dict[str, torch.Tensor]] = {}
    for key, array in with_prefix_removed("adam.", arrays).items():
        index, name = key.split(".")
        moments.setdefault(int(index), {})[name] = torch.from_numpy(np.array(array))
    optimizer.load_state_dict({"state": moments, "param_groups": optimizer.state_dict()["param_groups"]})
    for weight, state in optimizer.state.items():
        for name in ("exp_avg", "exp_avg_sq"):  # in the order of the weight in memory, by which Adam walks
            state[name] = torch.empty_like(weight).copy_(state[name])
