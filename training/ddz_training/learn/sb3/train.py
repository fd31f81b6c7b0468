"""Training with sb3-contrib's ``MaskablePPO``, which learns one seat in compiled games."""

from __future__ import annotations

import io
import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.logger import Logger, make_output_format

from ddz_agents.neural.errors import MissingOnnxError, OnnxExportError
from ddz_agents.neural.onnx_files import save_policy
from ddz_agents.neural.sb3_policy import Sb3Module, load_maskable_ppo
from ddz_agents.neural.tensor_file import replace_file
from ddz_agents.neural.torch_model import TorchModel
from ddz_env.core.rules import Rules
from ddz_env.support.atomic_files import read_text
from ddz_env.support.options import Range
from ddz_training.learn.errors import CheckpointError, InvalidTrainingError
from ddz_training.learn.loop import Training
from ddz_training.learn.sb3.vec_env import MaskedVecEnv, make_games
from ddz_training.learn.settings import Count, Natural, NotNegative, Objective, Positive, Share, TrainingSettings

_log = logging.getLogger(__name__)
MODEL, POLICY, SETTINGS = "model.zip", "policy.onnx", "run.json"


@dataclass(frozen=True)
class Sb3Config(TrainingSettings):
    """The settings of a MaskablePPO run.

    Attributes:
        role: The learner's: ``landlord``, ``peasant_down``, ``peasant_up``, or ``random``: drawn for every game.
        objective: ``win``: every seat gets ±1; ``stake``: the scoring of that name.
        opponents: ``random``, ``rules``, or any agent's specification.
        partner: A peasant learner's partner, if it is not to be one of the opponents.
        seed: Seed of deals, actions and weights, at most 2**32 - 1 (SB3 seeds NumPy's old generator with it).
        num_envs: Games that are played side by side.
        n_steps: The learner's decisions in each game between two updates.
        batch_size: Decisions per gradient step.
        n_epochs: How often an update goes through the decisions.
        learning_rate: Adam's step size.
        gamma: Discount per *decision*; below 1, a move with kickers is worth less than one without.
        gae_lambda: λ per decision.
        ent_coef: Weight of the entropy bonus.
        width: Units of each of the two hidden layers of the policy, and of the value.
        device: PyTorch's name of the device.
        eval_freq: Steps between two evaluations, besides those of the start and the end; 0 for none at all.
        eval_deals: Duplicate deals per opponent of the evaluations.
        eval_opponents: Whom the policy is evaluated against.

    Raises:
        InvalidTrainingError: If a setting is out of range.
        InvalidRulesError: If the preset is unknown.
    """

    bookkeeping = TrainingSettings.bookkeeping | {"eval_opponents"}
    role: str = "random"
    objective: Objective = "win"
    opponents: str = "random"
    partner: str | None = None
    seed: Annotated[int, Range(0, 2**32 - 1)] = 0
    num_envs: Count = 64
    n_steps: Count = 128
    batch_size: Count = 1024
    n_epochs: Count = 4
    learning_rate: Positive = 5e-4
    gamma: Share = 1.0
    gae_lambda: Share = 0.95
    ent_coef: NotNegative = 0.01
    width: Count = 256
    device: str = "cpu"
    eval_freq: Natural = 200_000
    eval_deals: Natural = 100
    eval_opponents: tuple[str, ...] = ("random", "rules")


def new_games(config: Sb3Config, threads: int | None = None) -> MaskedVecEnv:
    """Create the games of a run, in which a peasant's win counts as much as the landlord's.

    Args:
        config: The settings.
        threads: Threads that step the games; None for one per core.
    """
    about = {"rules": Rules.preset(config.rules, peasant_reward=1.0), "role": config.role, "threads": threads}
    about |= {"scoring": config.objective, "partner": config.partner}
    return MaskedVecEnv(make_games(config.num_envs, config.opponents, **about))


def new_model(config: Sb3Config, env: MaskedVecEnv) -> MaskablePPO:
    """Create a MaskablePPO model with random weights and the settings of the run."""
    names = ("learning_rate", "n_steps", "n_epochs", "gamma", "gae_lambda", "ent_coef", "seed", "device")
    settings: dict[str, Any] = {name: getattr(config, name) for name in names}
    settings["batch_size"] = min(config.batch_size, config.num_envs * config.n_steps)
    return MaskablePPO("MlpPolicy", env, policy_kwargs={"net_arch": [config.width] * 2}, **settings)


@dataclass
class Sb3Line:
    """The result of one update of a Stable-Baselines3 run, which is one line of its curves.

    Attributes:
        decisions: The learner's decisions so far.
    """

    decisions: int

    def __str__(self) -> str:
        return f"{self.decisions:,} steps"


class Sb3Training(Training):
    """A run of MaskablePPO, in which Stable-Baselines3 writes the curves, with one file per resumption.

    Args:
        config: The settings.
        folder: Where its files are.
        resume: Whether to continue with the folder's model in new games; the caller has decided to trust the file.
        threads: Threads that step the games, and PyTorch's, on which results depend; None for one per core and
            PyTorch's own choice.
        tensorboard: A folder for Stable-Baselines3's curves in TensorBoard.

    Attributes:
        model: The model.
    """

    line_type = Sb3Line
    config: Sb3Config

    def __init__(
        self,
        config: Sb3Config,
        folder: Path,
        *,
        resume: bool = False,
        threads: int | None = None,
        tensorboard: Path | None = None,
    ) -> None:
        super().__init__(config)
        self._games = new_games(config, threads)
        if threads is not None:
            torch.set_num_threads(threads)
        if resume:
            self.model = load_maskable_ppo(folder / MODEL, self._games, config.device)
            self.model.set_random_seed((config.seed + self.model.num_timesteps) % 2**32)  # other games and draws
        else:
            self.model = new_model(config, self._games)
        self._size = config.num_envs * config.n_steps
        self.counters.decisions = self.model.num_timesteps
        self.counters.update = self.counters.decisions // self._size
        formats = [make_output_format("csv", str(folder), f"-{self.counters.decisions}")]
        formats += [make_output_format("tensorboard", str(tensorboard))] if tensorboard else []
        self.model.set_logger(Logger(None, formats))

    def learn(self) -> dict[str, float]:
        """Collect ``num_envs * n_steps`` decisions, and train the model on them."""
        self.model.learn(self._size, reset_num_timesteps=False)
        self.counters.decisions = self.model.num_timesteps
        return {}

    def is_evaluation_due(self) -> bool:
        """Return whether the last update passed a multiple of ``eval_freq``, which counts decisions."""
        decisions, every = self.counters.decisions, self.config.eval_freq
        return bool(every) and decisions // every > (decisions - self._size) // every

    def make_evaluation_policy(self) -> TorchModel:
        """Return the model's current network as a PyTorch policy for evaluation games."""
        module = Sb3Module(self.model.policy)
        return TorchModel(module, module.dtype)

    def save(self, folder: Path) -> None:
        """Write the model, the policy as ONNX for other programs, and the settings to the run's folder."""
        replace_file(folder / SETTINGS, json.dumps(self.config.as_dict(), indent=2).encode())
        save_model(folder / MODEL, self.model)
        module = Sb3Module(self.model.policy)
        try:
            save_policy(module, folder / POLICY, self.config.rules, objective=self.config.objective, dtype=module.dtype)
        except (MissingOnnxError, OnnxExportError) as error:  # no reason to lose a training
            _log.warning("%s is not written: %s", folder / POLICY, error)

    def close(self) -> None:
        """Close the environments."""
        self._games.close()


def save_model(path: Path, model: MaskablePPO) -> None:
    """Write a MaskablePPO model, replacing the file atomically."""
    buffer = io.BytesIO()
    model.save(buffer)
    replace_file(path, buffer.getvalue())


def load_config(folder: Path) -> Sb3Config:
    """Read a run's settings from its folder.

    Raises:
        CheckpointError: If there is no run, or one of another version.
    """
    path = folder / SETTINGS
    try:
        return Sb3Config.from_dict(json.loads(read_text(path)))
    except (OSError, ValueError, InvalidTrainingError) as error:
        raise CheckpointError(f"{path} holds no settings of a run: {error}") from error
