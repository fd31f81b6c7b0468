"""A run of self-play: groups of games, past selves and running averages around the learner of :mod:`.ppo`.

Everything random comes from generators made of the seed, and nothing depends on the number of threads, so a run is
determined by its settings.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch

from ddz_agents.neural.compiled_policy import CompiledPolicy
from ddz_agents.neural.errors import TensorFileError, TensorFileMismatchError
from ddz_agents.neural.network import Critic, PolicyNetwork, load_module
from ddz_agents.neural.tensor_file import Arrays, read_tensor_file, write_tensor_file
from ddz_agents.neural.weights import Weights, check_architecture, module_arrays, save_weights
from ddz_env.core.errors import DouDizhuError
from ddz_env.envs.batch import SelfPlayBatch
from ddz_training.learn.errors import CheckpointError, CheckpointMismatchError, InvalidTrainingError
from ddz_training.learn.loop import CHECKPOINT, CURVES, POLICY, Counters, Training
from ddz_training.learn.ppo.config import SelfPlayConfig
from ddz_training.learn.ppo.games import Collector, Evaluate, Rollout, evaluate
from ddz_training.learn.ppo.opponents import PastSelves, behind
from ddz_training.learn.ppo.ppo import Learner, collect
from ddz_training.learn.ppo.sparse import SparseLinear
from ddz_training.learn.threads import Threads, shards
from ddz_training.measure.errors import SettingsMismatchError
from ddz_training.measure.provenance import Provenance

if TYPE_CHECKING:
    from typing_extensions import Self

_GROUP_STREAM, _AGENTS_STREAM = 4, 5  # of the seed; 1 is the run's own generator


@dataclass
class CurveLine:
    """The result of one update, a line of ``curves.csv``.

    Attributes:
        update: Updates so far.
        steps: Decisions of the environments so far, forced ones included.
        decisions: Decisions that were learned from so far, each counted once.
        games: Games finished so far.
        landlord_wins: Share of this update's games that the landlord won.
        game_length: Decisions a game in this update.
        policy_loss: The clipped surrogates, negated, in their shares: a mean over the update's decisions, as the next
            five; of the policy, an estimate from those that it learned from.
        value_loss: Half the squared error of the policy's own value.
        critic_loss: The same of the critic.
        entropy: Of the policy, in nats; 0 of deep Monte Carlo, which has no policy.
        divergence: Estimate of the Kullback–Leibler divergence from the policy that chose (J. Schulman's third
            estimator, ratio − 1 − log ratio).
        clipped: Share of the ratios beyond the clip.
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

    def __str__(self) -> str:
        found = f"entropy {self.entropy:.2f} · critic explains {100 * self.explained:.0f} %"
        found = found if self.entropy else f"loss {self.policy_loss:.3f}"
        return f"update {self.update} · {self.games:,} games · {found}"


class SelfPlay(Training):
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
        learner: The networks that learn, and their optimizer.
        averages: The running averages of the two.
        past_selves: A sample of the policies so far.
        groups: The games, group by group.
        provenance: The code of the run, and the files of the agents that it plays and is measured against.

    Raises:
        InvalidTrainingError: If the weights to start from have another architecture, or there is no such device.
        UnknownAgentError: If an opponent of the evaluations does not exist.
    """

    kind = "ddz-selfplay-checkpoint", 4
    line_type = CurveLine
    tables: ClassVar[Mapping[type, str]] = {CurveLine: CURVES, **Training.tables}
    config: SelfPlayConfig
    config_type: ClassVar[type[SelfPlayConfig]] = SelfPlayConfig
    learner_type: ClassVar[type[Learner]] = Learner

    def __init__(self, config: SelfPlayConfig, threads: int | None = None, start: Weights | None = None) -> None:
        if config.device == "cuda" and not torch.cuda.is_available():
            raise InvalidTrainingError("device=cuda: PyTorch finds no GPU here: train with --device cpu, the default")
        super().__init__(config)
        self.provenance = Provenance.of((*config.opponents, *config.frozen))
        self.rng = np.random.default_rng([config.seed, 1])
        self._threads = Threads(threads)
        policy, critic = new_networks(config, start)
        self.averages = copy.deepcopy(policy), copy.deepcopy(critic)
        trusted = self.averages[1] if config.critic_average else critic
        self.learner = self.learner_type(policy, critic, config, self._threads, trusted)
        self._past = copy.deepcopy(policy)
        self.past_selves = PastSelves(config.pool_size)
        self.groups = [new_collector(config, group) for group in range(config.groups)]
        self._rollout = Rollout.allocate(config.steps, config.num_games)

    def learn(self) -> dict[str, float]:
        """One update: play, estimate, learn."""
        counters, rollout = self.counters, self._rollout
        self._collect()
        known, explained = self.learner.note_estimates(rollout, *self.learner.estimate(rollout))
        statistics = self.learner.update(rollout.flat(), known, self.rng, counters.update, self.spent)
        self._follow()
        if self.config.opponent_share and (counters.update + 1) % self.config.snapshot_every == 0:
            self.past_selves.offer(self.learner.policy, self.rng)
        steps, ended = self.config.steps * self.config.num_games, int(rollout.done.sum())
        won = int((rollout.done & (rollout.roles == 0)).sum())  # the last to act went out
        counters.steps += steps
        counters.decisions += len(known)
        counters.games += ended
        lengths = {"landlord_wins": won / max(ended, 1), "game_length": steps / ended if ended else 0.0}
        return statistics | lengths | {"explained": explained}

    def _collect(self) -> None:
        """Play all games on, each group on one thread from beginning to end: no step waits for the slowest group."""
        has_past = self.past_selves.draw(self._past, self.rng)
        learner = self._chooser()
        past = functools.partial(evaluate, self._past) if has_past else None
        size = self.config.num_games // self.config.groups
        parts = [self._rollout[:, games] for games in shards(self.config.num_games, size)]
        self._threads.map(lambda group: collect(self.groups[group], parts[group], learner, past), range(len(parts)))

    def _chooser(self) -> Evaluate:
        """The function that chooses the learner's actions."""
        return functools.partial(evaluate, self.learner.policy)

    def _follow(self) -> None:
        """Move the running averages towards the networks."""
        shares, networks = (self.config.average, self.config.critic_average), (self.learner.policy, self.learner.critic)
        for average, network, past in zip(self.averages, networks, shares, strict=True):
            # At first the average is over few steps, or it would remember the random weights for long.
            weight = max(1.0 - past, 1.0 / (self.counters.update + 1))
            with torch.no_grad():
                for mean, now in zip(average.parameters(), network.parameters(), strict=True):
                    mean.lerp_(now, weight)

    @property
    def policy(self) -> PolicyNetwork:
        """The policy to save and to evaluate: the running average if there is one."""
        return self.averages[0] if self.config.average else self.learner.policy

    @property
    def critic(self) -> Critic:
        """The critic to save, whose values training uses: the running average if there is one."""
        return self.learner.trusted_critic

    def player(self) -> CompiledPolicy:
        """The policy as it is."""
        return CompiledPolicy(self.weights())

    def weights(self) -> Weights:
        """The networks as they are, with what a reader of the file should know."""
        config, counters = self.config, self.counters
        notes = {
            "seed": config.seed,
            "updates": counters.update,
            "hours": round(counters.seconds / 3600, 3),
            "steps": counters.steps,
            "decisions": counters.decisions,
            "games": counters.games,
            **self.provenance.settings(),
        }
        return Weights.of(
            self.policy,
            self.critic,
            rules=config.rules,
            objective=config.objective,
            notes=notes,
            values_trained=config.value_weight > 0,
        )

    def keep(self, folder: Path) -> None:
        """Write the weights and the checkpoint."""
        save_weights(folder / POLICY, self.weights())
        self.save(folder / CHECKPOINT)

    def close(self) -> None:
        """End the threads, and release what the agents hold."""
        self._threads.close()
        for group in self.groups:
            group.close()

    def _networks(self) -> dict[str, PolicyNetwork | Critic]:
        """The networks that a checkpoint holds, each behind a prefix."""
        names = ("policy.", "critic.", "average.", "average_critic.")
        return dict(zip(names, (self.learner.policy, self.learner.critic, *self.averages), strict=True))

    def state(self) -> tuple[Arrays, dict[str, Any]]:
        """Everything that :meth:`resume` needs to continue to the bit: arrays, and plain values."""
        arrays, games = self.past_selves.arrays() | optimizer_arrays(self.learner.optimizer), []
        for prefix, network in self._networks().items():
            arrays |= module_arrays(network, prefix)
        for number, group in enumerate(self.groups):
            saved = group.state_dict()
            plain = {name: part for name, part in saved.items() if not isinstance(part, np.ndarray)}
            arrays |= {f"games.{number}.{name}": part for name, part in saved.items() if name not in plain}
            games.append(plain)
        about = {
            "config": self.config.as_dict(),
            "counters": vars(self.counters).copy(),
            "generator": self.rng.bit_generator.state,
            "games": games,
            "pool": {"members": len(self.past_selves.members), "offered": self.past_selves.offered},
        }
        return arrays, about | self.provenance.settings()

    def save(self, path: Path) -> None:
        """Write the whole state of the run.

        Raises:
            CheckpointError: If the file cannot be written.
        """
        try:
            write_tensor_file(path, *self.kind, *self.state())
        except TensorFileError as error:
            raise CheckpointError(str(error)) from error

    def _restore(self, arrays: Arrays, about: dict[str, Any], where: str) -> None:
        """Continue from :meth:`state` of a run with the same settings, bookkeeping aside.

        Raises:
            DouDizhuError: If something does not fit; KeyError, TypeError or ValueError: if something is missing.
        """
        for prefix, network in self._networks().items():
            load_module(network, arrays, prefix, where)
        restore_optimizer(self.learner.optimizer, arrays)
        self.past_selves.restore(arrays, about["pool"], self._past, where)
        for number, (group, rest) in enumerate(zip(self.groups, about["games"], strict=True)):
            group.load_state_dict(behind(f"games.{number}.", arrays) | rest)
        self.rng.bit_generator.state = about["generator"]
        self.counters = Counters(**about["counters"])

    @classmethod
    def resume(cls, path: str | Path, threads: int | None = None, wanted: Mapping[str, Any] | None = None) -> Self:
        """Read a run and continue it.

        Args:
            path: The file.
            threads: Threads; None for one a core.  Results do not depend on it.
            wanted: Settings that it must have (:meth:`~ddz_training.learn.settings.TrainingSettings.read`).

        Raises:
            CheckpointError: If the file is missing, truncated, corrupt or of another format.
            CheckpointMismatchError: If it was written for other observations or actions or by another version, or if
                its settings are not those wanted.
            SettingsMismatchError: If a file of an agent that it plays or is measured against has been replaced.
        """
        try:
            arrays, about = read_tensor_file(path, *cls.kind)
        except TensorFileError as error:
            fault = CheckpointMismatchError if isinstance(error, TensorFileMismatchError) else CheckpointError
            raise fault(str(error)) from error
        try:
            newer = {"checkpoint_minutes": cls.config_type.checkpoint_minutes}
            config = cls.config_type.from_dict(newer | about["config"]).resumed(wanted or {}, path)
            check_architecture(config.architecture, arrays, True, str(path))
            run = cls(config, threads)
            run.provenance = run.provenance.resuming(Provenance.take(about), path)
            run._restore(arrays, about, str(path))
        except (CheckpointError, SettingsMismatchError):
            raise
        except (DouDizhuError, KeyError, TypeError, ValueError) as error:
            raise CheckpointMismatchError(f"{path} does not fit this package: {error}") from error
        return run


def new_networks(config: SelfPlayConfig, start: Weights | None) -> tuple[PolicyNetwork, Critic]:
    """Networks to begin a run with: random ones by the seed, or those to start from.

    Raises:
        InvalidTrainingError: If the weights to start from have another architecture.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        policy, critic = PolicyNetwork(config.architecture), Critic(config.architecture)
    if start is not None:
        if start.architecture != config.architecture:
            raise InvalidTrainingError(f"the weights to start from have another architecture: {start.architecture}")
        load_module(policy, start.policy)
        if start.critic is not None:
            load_module(critic, start.critic)
    if config.device == "cpu":
        for network in (policy, critic):
            network.trunk[0] = SparseLinear(network.trunk[0])  # type: ignore[arg-type]  # a trunk begins with one
    return policy.to(config.device), critic.to(config.device)


def new_collector(config: SelfPlayConfig, group: int) -> Collector:
    """One group of a run's games, with deals and a generator of its own; it is stepped by one thread."""
    sequence = np.random.SeedSequence([config.seed, _GROUP_STREAM, group])
    deals = int(sequence.generate_state(1, np.uint64)[0])
    size = config.num_games // config.groups
    batch = SelfPlayBatch(size, config.rules, deals, 1, scoring=config.objective, concealed=True)
    return Collector(batch, config, np.random.default_rng(sequence), (config.seed, _AGENTS_STREAM, group))


def optimizer_arrays(optimizer: torch.optim.Optimizer) -> Arrays:
    """Adam's moments, for :func:`restore_optimizer`."""
    moments = optimizer.state_dict()["state"]
    return {
        f"adam.{place}.{name}": value.cpu().numpy() for place, part in moments.items() for name, value in part.items()
    }


def restore_optimizer(optimizer: torch.optim.Optimizer, arrays: Arrays) -> None:
    """Continue with the moments of :func:`optimizer_arrays`."""
    moments: dict[int, dict[str, torch.Tensor]] = {}
    for key, array in behind("adam.", arrays).items():
        place, name = key.split(".")
        moments.setdefault(int(place), {})[name] = torch.from_numpy(np.array(array))
    optimizer.load_state_dict({"state": moments, "param_groups": optimizer.state_dict()["param_groups"]})
    for weight, kept in optimizer.state.items():
        for name in ("exp_avg", "exp_avg_sq"):  # in the order of the weight in memory, by which Adam walks
            kept[name] = torch.empty_like(weight).copy_(kept[name])
