"""A run with MaskablePPO: the games, the model, how far they are, where the time goes, and their folder.

The folder holds SB3's own zip of the model, what we must know about it as JSON, and the past selves.  The JSON and the
past selves hold nothing that runs; the zip is pickled and is read only on trust.
"""

from __future__ import annotations

import copy
import io
import json
import math
import time
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy

from ddz_agents.neural.agent import ModelAgent
from ddz_agents.neural.errors import TensorFileError
from ddz_agents.neural.model import Bytes, Floats
from ddz_agents.neural.sb3_policy import Purpose, SB3Policy, add_purpose, check_trust, load_maskable_ppo
from ddz_agents.neural.tensor_file import Arrays, plain_values, read_tensor_file, replace_file, write_tensor_file
from ddz_env.core.errors import DouDizhuError
from ddz_env.core.rules import Rules
from ddz_env.playing.agent import BatchPlayer
from ddz_training.learn.checkpoint import SOURCE, check_settings
from ddz_training.learn.errors import CheckpointError, CheckpointMismatchError
from ddz_training.learn.ppo.kernels import drawn
from ddz_training.learn.ppo.opponents import PastSelves
from ddz_training.learn.run import Evaluated
from ddz_training.learn.sb3.config import SELF, Sb3Config
from ddz_training.learn.sb3.vec_env import MaskedVecEnv, make_games
from ddz_training.measure.match.provenance import Provenance

MODEL, ABOUT, POOL = "model.zip", "run.json", "pool.safetensors"
KIND, POOL_KIND, VERSION = "ddz-sb3-run", "ddz-sb3-pool", 1

_LEARNED = {
    "entropy": "entropy_loss",
    "policy_loss": "policy_gradient_loss",
    "value_loss": "value_loss",
    "divergence": "approx_kl",
    "clipped": "clip_fraction",
    "explained": "explained_variance",
}
"""What SB3's logger calls the columns of the curves."""


@dataclass
class TimeSplit:
    """Seconds of training, evaluations and checkpoints not counted.

    Attributes:
        games: Stepping the games, with opponents, masks and the infos that SB3 wants.
        past_self: Forward passes of a past self that plays the opponents.
        rollout: The rest of collecting: SB3's forward passes, distributions and buffers.
        learning: SB3's gradient steps.
    """

    games: float = 0.0
    past_self: float = 0.0
    rollout: float = 0.0
    learning: float = 0.0

    @property
    def total(self) -> float:
        """All of it."""
        return float(sum(vars(self).values()))

    def describe(self) -> str:
        """The shares, in words.

        Example:
            >>> TimeSplit(games=1.0, rollout=4.0, learning=5.0).describe()
            'of 10.0 s: games 10.0 %, past self 0.0 %, SB3 rollouts 40.0 %, SB3 learning 50.0 %'
        """
        total = max(self.total, 1e-9)
        names = {"past_self": "past self", "rollout": "SB3 rollouts", "learning": "SB3 learning"}
        shares = (f"{names.get(part, part)} {100 * seconds / total:.1f} %" for part, seconds in vars(self).items())
        return f"of {self.total:.1f} s: {', '.join(shares)}"


@dataclass
class Sb3Progress:
    """One line of the training curves.

    Attributes:
        update: Updates so far.
        timesteps: The learner's decisions so far.
        games: Games finished so far.
        wins: Share of this update's games that the learner won; NaN if none ended.
        entropy: Mean entropy of the policy, in nats.
        policy_loss: Mean clipped objective, negative.
        value_loss: Mean squared error of the values.
        divergence: Mean estimate of the divergence from the policy that played.
        clipped: Share of the ratios that were clipped.
        explained: Share of the returns' variance that the values had foreseen.
        games_seconds: See :class:`TimeSplit`, so far, as the next three.
        past_self_seconds: Likewise.
        rollout_seconds: Likewise.
        learning_seconds: Likewise.
    """

    update: int
    timesteps: int
    games: int
    wins: float
    entropy: float
    policy_loss: float
    value_loss: float
    divergence: float
    clipped: float
    explained: float
    games_seconds: float
    past_self_seconds: float
    rollout_seconds: float
    learning_seconds: float


class _Uniform:
    """The policy of a past self that is none yet."""

    def evaluate(self, observations: Bytes, masks: Bytes) -> tuple[Floats, Floats]:
        return self.log_probabilities(observations, masks), np.zeros(len(masks), np.float32)

    def log_probabilities(self, observations: Bytes, masks: Bytes) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(masks / np.count_nonzero(masks, axis=1)[:, None]).astype(np.float32)  # type: ignore[no-any-return]


class PastSelf(ModelAgent):
    """One of the snapshots of the policy that is being trained, drawn anew for every rollout.

    Args:
        size: How many snapshots are kept, a uniform sample of all so far.
        seed: Seed of its actions and of the choice of snapshots.

    Attributes:
        pool: The snapshots.
        seconds: What its forward passes have taken so far.
    """

    model: SB3Policy | _Uniform

    def __init__(self, size: int, seed: int) -> None:
        super().__init__(_Uniform(), temperature=1.0, name="self")
        self.pool = PastSelves(size)
        self.seconds = 0.0
        self._rng = np.random.default_rng([seed, 2])

    def offer(self, policy: MaskableActorCriticPolicy) -> None:
        """Take a snapshot of the policy."""
        self.pool.offer(policy, self._rng)

    def renew(self, policy: MaskableActorCriticPolicy) -> None:
        """Become one of the snapshots.

        Args:
            policy: The policy that learns; it is the first snapshot if there is none yet.
        """
        if not self.pool.members:
            self.offer(policy)
        self.pool.draw(self._copied(policy).policy, self._rng)

    def restore(self, arrays: Arrays, about: dict[str, Any], policy: MaskableActorCriticPolicy, where: str) -> None:
        """Continue with saved snapshots.

        Args:
            arrays: As from ``pool.arrays()``.
            about: ``{"members": ..., "offered": ...}``.
            policy: The policy that learns.
            where: Names the file in messages.

        Raises:
            TensorFileMismatchError: If a snapshot is missing or does not fit.
        """
        self.pool.restore(arrays, about, self._copied(policy).policy, where)

    def _copied(self, policy: MaskableActorCriticPolicy) -> SB3Policy:
        if not isinstance(self.model, SB3Policy):
            self.model = SB3Policy(copy.deepcopy(policy).to("cpu"))
        return self.model

    def batched(self, num_games: int, rules: Rules) -> BatchPlayer:
        """Itself: all its games draw from one generator."""
        return self

    def actions(
        self, games: npt.NDArray[np.intp], rows: npt.NDArray[np.uint64], observations: Bytes, masks: Bytes, rngs: Any
    ) -> npt.NDArray[np.int64]:
        """See :class:`ddz_env.playing.agent.BatchPlayer`.  The network is not asked where there is one legal action."""
        began = time.perf_counter()
        draws = self._rng.random(len(games))
        found: npt.NDArray[np.int64] = masks.argmax(axis=1)
        choice = np.flatnonzero(np.count_nonzero(masks, axis=1) > 1)
        if len(choice):
            table = self.model.log_probabilities(observations[choice], masks[choice])
            found[choice], _ = drawn(table, draws[choice])
        self.seconds += time.perf_counter() - began
        return found


class Sb3Run(Evaluated):
    """A run.

    Args:
        config: Its settings.
        threads: Threads that step the games, and PyTorch's; None for one a core and PyTorch's own choice.
        saved: The file of a model to continue with; it has been trusted.

    Attributes:
        model: The MaskablePPO.
        env: Its games.
        past: The past self that plays the opponents, with ``opponents=self``.
        games: Games finished so far.
        split: Where the time has gone so far.

    Raises:
        InvalidRulesError: If the role does not exist under the rules.
        InvalidOptionError: If the role or the number of threads is out of range.
        UnknownAgentError: If the opponents do not exist.
    """

    line = Sb3Progress
    config: Sb3Config

    def __init__(self, config: Sb3Config, threads: int | None = None, saved: Path | None = None) -> None:
        self.config, self.rivals = config, config.baselines
        self.provenance = _provenance(config)
        self.past = PastSelf(config.pool_size, config.seed) if config.opponents == SELF else None
        about: dict[str, Any] = {"role": config.role, "scoring": config.objective, "threads": threads}
        opponents = self.past or config.opponents
        self.env = MaskedVecEnv(make_games(config.num_envs, opponents, rules=config.learning_rules, **about))
        if threads is not None:
            torch.set_num_threads(threads)
        self.model = self._new_model() if saved is None else load_maskable_ppo(saved, self.env, config.device)
        self.games, self.split = 0, TimeSplit()
        self._counted = self.env.ended, self.env.won
        self._evaluated = self.timesteps

    def _new_model(self) -> MaskablePPO:
        config, hidden = self.config, [self.config.width] * self.config.layers
        same = ("learning_rate", "n_steps", "n_epochs", "gamma", "gae_lambda", "clip_range", "ent_coef", "vf_coef")
        settings = {name: getattr(config, name) for name in (*same, "max_grad_norm", "seed", "device")}
        return MaskablePPO(
            "MlpPolicy",
            self.env,
            batch_size=min(config.batch_size, config.num_envs * config.n_steps),
            stats_window_size=max(100, 4 * config.num_envs),
            policy_kwargs={"net_arch": {"pi": hidden, "vf": hidden}},
            **settings,
        )

    @property
    def timesteps(self) -> int:
        """The learner's decisions so far."""
        return int(self.model.num_timesteps)

    @property
    def update(self) -> int:
        """Updates so far."""
        return self.timesteps // (self.config.num_envs * self.config.n_steps)

    def player(self) -> SB3Policy:
        """The policy to measure."""
        return SB3Policy(self.model.policy)

    def is_due(self, line: Sb3Progress) -> tuple[bool, bool]:
        """By the numbers of steps and updates that the settings name."""
        every, saves = self.config.evaluate_every, self.config.checkpoint_every
        evaluates = bool(every) and self.timesteps // every > self._evaluated // every
        if evaluates:
            self._evaluated = self.timesteps
        return evaluates, bool(saves) and self.update % saves == 0

    def progress(self) -> Sb3Progress:
        """What the update that has just ended brought."""
        ended, won = self.env.ended - self._counted[0], self.env.won - self._counted[1]
        self._counted = self.env.ended, self.env.won
        self.games += ended
        learned = {name: float(self.model.logger.name_to_value[f"train/{key}"]) for name, key in _LEARNED.items()}
        learned["entropy"] = -learned["entropy"]
        seconds = {f"{part}_seconds": spent for part, spent in vars(self.split).items()}
        wins = won / ended if ended else math.nan
        return Sb3Progress(self.update, self.timesteps, self.games, wins, **learned, **seconds)

    def save(self, place: Path) -> None:
        """Write the folder, each file atomically; the model, which knows how far the run is, last.

        Raises:
            CheckpointError: If a file cannot be written.
        """
        about = {
            "kind": KIND,
            "version": VERSION,
            "config": self.config.as_dict(),
            "games": self.games,
            "seconds": vars(self.split),
            "installed": {name: metadata.version(name) for name in ("stable-baselines3", "sb3-contrib", "torch")},
            **self.provenance.settings(),
        }
        try:
            if self.past is not None:
                pool = self.past.pool
                counts = {"members": len(pool.members), "offered": pool.offered}
                write_tensor_file(place / POOL, POOL_KIND, VERSION, pool.arrays(), counts)
            replace_file(place / ABOUT, (json.dumps(about, indent=2) + "\n").encode())
            save_model(place / MODEL, self.model, Purpose(self.config.rules, self.config.objective))
        except TensorFileError as error:
            raise CheckpointError(f"cannot write into {place}: {error}") from error


def _provenance(config: Sb3Config) -> Provenance:
    """The code of a run that begins here, and the files of its opponents and baselines."""
    return Provenance.of((agent for agent in (config.opponents, *config.baselines) if agent != SELF), *SOURCE)


def save_model(path: Path, model: MaskablePPO, purpose: Purpose) -> Path:
    """Write a model, replacing the file atomically.

    Args:
        path: The file; a name without an ending gets ``.zip``, as Stable-Baselines3 does it.
        model: The model.
        purpose: What it was trained for.

    Returns:
        The file.

    Raises:
        TensorFileError: If the file cannot be written.
    """
    buffer = io.BytesIO()
    model.save(buffer)
    add_purpose(buffer, purpose)
    chosen = path if path.suffix else path.with_suffix(".zip")
    replace_file(chosen, buffer.getvalue())
    return chosen


def load_run(
    folder: Path, *, trust: bool = False, wanted: dict[str, Any] | None = None, threads: int | None = None
) -> Sb3Run:
    """Read a run and continue it: the weights, the optimizer and the past selves, with new games.

    Args:
        folder: Where :meth:`Sb3Run.save` wrote it.
        trust: Whether the model's zip may run its code.
        wanted: Settings that the run must have.
        threads: Threads; None for one a core.

    Raises:
        CheckpointError: If a file is missing or broken.
        UntrustedFileError: If ``trust`` is not True.  The zip has not been read.
        CheckpointMismatchError: If the settings are not those wanted, or the files do not fit.
        AgentChangedError: If a file of an opponent or baseline has been replaced.
        OtherCodeError: If the run was written by other code and that is not allowed
            (:func:`ddz_training.measure.match.provenance.other_code`).
    """
    path = folder / ABOUT
    try:
        about = plain_values(path, path.read_bytes())
        if (about["kind"], about["version"]) != (KIND, VERSION):
            raise CheckpointMismatchError(f"{path} is no {KIND} of version {VERSION}")
        config = Sb3Config.from_dict(about["config"])
    except FileNotFoundError as error:
        raise CheckpointError(f"{path}: there is no such file") from error
    except CheckpointError:
        raise
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{path} is broken: {error}") from error
    check_settings(config, wanted or {}, path, "{name}: the run has {saved!r}, not {wanted!r}")
    provenance = _provenance(config).resuming(Provenance.take(about), path)
    if not (folder / MODEL).is_file():
        raise CheckpointError(f"{folder / MODEL}: there is no such file")
    check_trust(folder / MODEL, trust, "--trust")
    try:
        run = Sb3Run(config, threads, folder / MODEL)
        run.provenance = provenance
        run.games, run.split = int(about["games"]), TimeSplit(**about["seconds"])
        if run.past is not None:
            arrays, counts = read_tensor_file(folder / POOL, POOL_KIND, VERSION)
            run.past.restore(arrays, counts, run.model.policy, str(folder / POOL))
    except (DouDizhuError, KeyError, TypeError) as error:
        raise CheckpointMismatchError(f"{folder} does not fit this package: {error}") from error
    # Other games and draws than those before the run was resumed, by the seed and how far it is.
    words = np.random.SeedSequence([config.seed, run.timesteps]).generate_state(1)
    run.model.set_random_seed(int(words[0]))
    return run
