"""A run with MaskablePPO: the games, the model, how far they are, and where the time goes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.logger import Logger

from ddz_training.learn.ppo.selfplay import SOURCE
from ddz_training.learn.sb3.config import SELF, Sb3Config
from ddz_training.learn.sb3.past_self import PastSelf
from ddz_training.learn.sb3.vec_env import MaskedVecEnv, make_games
from ddz_training.measure.match.provenance import Provenance


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
class Sb3Run:
    """A run.

    Attributes:
        config: Its settings.
        model: The MaskablePPO.
        env: Its games.
        past: The past self that plays the opponents, with ``opponents=self``.
        games: Games finished so far.
        split: Where the time has gone so far.
        provenance: The code of the run, and the files of its opponents and baselines.
    """

    config: Sb3Config
    model: MaskablePPO
    env: MaskedVecEnv
    past: PastSelf | None = None
    games: int = 0
    split: TimeSplit = field(default_factory=TimeSplit)
    provenance: Provenance = field(default_factory=Provenance)

    @property
    def timesteps(self) -> int:
        """The learner's decisions so far."""
        return int(self.model.num_timesteps)

    @property
    def update(self) -> int:
        """Updates so far."""
        return self.timesteps // (self.config.num_envs * self.config.n_steps)

    def reseed(self) -> None:
        """Begin other games and draws than those before the run was resumed, by the seed and how far it is."""
        words = np.random.SeedSequence([self.config.seed, self.timesteps]).generate_state(1)
        self.model.set_random_seed(int(words[0]))


def provenance_of(config: Sb3Config) -> Provenance:
    """The code of a run that begins here, and the files of its opponents and baselines."""
    agents = [agent for agent in (config.opponents, *config.baselines) if agent != SELF]
    return Provenance.of(agents, *SOURCE)


def make_env(config: Sb3Config, threads: int | None = None) -> tuple[MaskedVecEnv, PastSelf | None]:
    """The games of a run, and the past self that plays in them if one does.

    Args:
        config: The settings.
        threads: Threads that step; None for one a core.  Results do not depend on it.

    Raises:
        InvalidRulesError: If the role does not exist under the rules.
        InvalidOptionError: If the role or the number of threads is out of range.
        UnknownAgentError: If the opponents do not exist.
    """
    past = PastSelf(config.pool_size, config.seed) if config.opponents == SELF else None
    games = make_games(
        config.num_envs,
        past or config.opponents,
        rules=config.learning_rules,
        role=config.role,
        scoring=config.objective,
        threads=threads,
    )
    return MaskedVecEnv(games), past


def new_run(config: Sb3Config, threads: int | None = None) -> Sb3Run:
    """Begin a run.

    Args:
        config: The settings.
        threads: Threads that step the games, and PyTorch's; None for one a core and PyTorch's own choice.

    Raises:
        InvalidRulesError: As :func:`make_env`.
        InvalidOptionError: Likewise.
        UnknownAgentError: Likewise.
    """
    env, past = make_env(config, threads)
    if threads is not None:
        torch.set_num_threads(threads)
    hidden = [config.width] * config.layers
    model = MaskablePPO(
        "MlpPolicy",
        env,
        learning_rate=config.learning_rate,
        n_steps=config.n_steps,
        batch_size=min(config.batch_size, config.num_envs * config.n_steps),
        n_epochs=config.n_epochs,
        gamma=config.gamma,
        gae_lambda=config.gae_lambda,
        clip_range=config.clip_range,
        ent_coef=config.ent_coef,
        vf_coef=config.vf_coef,
        max_grad_norm=config.max_grad_norm,
        stats_window_size=max(100, 4 * config.num_envs),
        policy_kwargs={"net_arch": {"pi": hidden, "vf": hidden}},
        seed=config.seed,
        device=config.device,
    )
    return Sb3Run(config, model, env, past, provenance=provenance_of(config))


def silent_logger() -> Logger:
    """SB3's logger without an output: its tables would tear the progress bar; what they hold stands in the curves."""
    return Logger(folder=None, output_formats=[])
