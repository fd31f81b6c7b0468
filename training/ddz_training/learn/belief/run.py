"""A belief network's training on disk: gradient steps, a checkpoint from which it continues to the bit, the weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ddz_agents.belief.model import StoredBelief, write_belief
from ddz_agents.belief.network import BeliefNetwork
from ddz_agents.neural.errors import TensorFileError, TensorFileMismatchError
from ddz_agents.neural.tensor_file import read_tensor_file, write_tensor_file
from ddz_agents.neural.weights import load_module, module_arrays
from ddz_env.core.errors import DouDizhuError
from ddz_training.learn.belief.config import BeliefConfig
from ddz_training.learn.belief.games import MixedGames
from ddz_training.learn.errors import CheckpointError, CheckpointMismatchError
from ddz_training.learn.ppo.checkpoint import behind, optimizer_arrays, restore_optimizer
from ddz_training.learn.ppo.run import CHECKPOINT
from ddz_training.learn.saving import Saving
from ddz_training.measure.match.errors import SettingsMismatchError
from ddz_training.measure.match.provenance import Provenance

KIND = "ddz-belief-checkpoint"
VERSION = 1
BELIEF = "belief.safetensors"
SOURCE = ("ddz_training.learn.belief",)

_LAST_RATE = 0.02
_BITS = 1 / math.log(2)


@dataclass
class BeliefProgress:
    """How far a belief network is.

    Attributes:
        positions: Positions learned from so far.
        bits: What the hidden hands of the last step cost under the network, in bits a position.
        plain: What they cost under plain dealing.
    """

    positions: int
    bits: float
    plain: float


class BeliefTraining:
    """A belief network that learns from games of mixed players, by maximum likelihood.

    Args:
        config: The settings.
        threads: Threads; None for one a core.

    Attributes:
        config: The settings.
        network: Who learns.
        positions: Positions learned from so far.
        provenance: The code, and the files of the players.
    """

    def __init__(self, config: BeliefConfig, threads: int | None = 1) -> None:
        self.config = config
        if threads is not None:
            torch.set_num_threads(threads)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            self.network = BeliefNetwork(config.architecture)
        self._optimizer = torch.optim.Adam(self.network.parameters(), lr=config.learning_rate, fused=True)
        self._games = MixedGames(config, threads)
        self.positions = 0
        self.provenance = Provenance.of(config.players, *SOURCE)

    def step(self) -> BeliefProgress:
        """Learn from one position of every game that has one, and play on."""
        lesson = self._games.lesson()
        bits = plain = 0.0
        if count := len(lesson.hands):
            columns, hands, logs = map(torch.from_numpy, lesson)
            chances = self.network(columns, hands, logs)
            self._optimizer.zero_grad()
            (-chances.mean()).backward()
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.config.max_gradient)
            left = max(_LAST_RATE, 1.0 - self.positions / self.config.positions)
            for group in self._optimizer.param_groups:
                group["lr"] = self.config.learning_rate * left
            self._optimizer.step()
            bits = -_BITS * float(chances.detach().mean())
            dealt = np.take_along_axis(lesson.logs, lesson.hands[:, :, None], axis=2)
            plain = -_BITS * float(dealt.sum()) / count
            self.positions += count
        self._games.step()
        return BeliefProgress(self.positions, bits, plain)

    def run(
        self,
        folder: Path,
        on_step: Callable[[BeliefProgress], None] | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        """Learn until the positions of the settings are reached, or until ``stop`` says so, and save as it goes.

        Raises:
            TensorFileError: If a file cannot be written.
        """
        saving = Saving()
        while self.positions < self.config.positions and not stop():
            progress = self.step()
            if saving.is_due():
                self.save(folder)
            if on_step:
                on_step(progress)
        self.save(folder)
        self._games.close()

    def stored(self) -> StoredBelief:
        """The network as a file holds it."""
        notes = {"positions": self.positions, "seed": self.config.seed, "players": list(self.config.players)}
        notes |= self.provenance.settings()
        return StoredBelief(self.config.architecture, module_arrays(self.network, ""), self.config.rules, notes)

    def save(self, folder: Path) -> None:
        """Write the weights, and everything that the run is.

        Raises:
            TensorFileError: If a file cannot be written.
        """
        arrays, plain = self._games.state_dict()
        arrays = {f"games.{name}": part for name, part in arrays.items()}
        arrays |= module_arrays(self.network, "network.") | optimizer_arrays(self._optimizer)
        about = {"config": self.config.as_dict(), "positions": self.positions, "games": plain}
        write_tensor_file(folder / CHECKPOINT, KIND, VERSION, arrays, {**about, **self.provenance.settings()})
        write_belief(folder / BELIEF, self.stored())

    @classmethod
    def resume(cls, folder: Path, wanted: dict[str, Any], threads: int | None = 1) -> BeliefTraining:
        """Continue from :meth:`save`.

        Args:
            folder: The folder of the run.
            wanted: Settings that the run must have; only ``positions`` may be another.
            threads: Threads; None for one a core.

        Raises:
            CheckpointError: If the file is missing, truncated, corrupt or of another format.
            CheckpointMismatchError: If it was written under other settings, or does not fit this package.
            AgentChangedError: If a player's file has been replaced.
            OtherCodeError: If it was written by other code and that is not allowed.
        """
        path = folder / CHECKPOINT
        try:
            arrays, about = read_tensor_file(path, KIND, VERSION)
        except TensorFileError as error:
            fault = CheckpointMismatchError if isinstance(error, TensorFileMismatchError) else CheckpointError
            raise fault(str(error)) from error
        try:
            saved = BeliefConfig.from_dict(about["config"])
            config = saved.changed(wanted)
            if config != saved.changed({"positions": config.positions}):
                raise CheckpointMismatchError(f"{path} was written under other settings: {saved}")
            run = cls(config, threads)
            run.provenance = run.provenance.resuming(Provenance.take(about), path)
            load_module(run.network, arrays, "network.", str(path))
            restore_optimizer(run._optimizer, arrays)
            run._games.load_state_dict(behind("games.", arrays), about["games"])
            run.positions = int(about["positions"])
        except (CheckpointError, SettingsMismatchError):
            raise
        except (DouDizhuError, KeyError, TypeError, ValueError) as error:
            raise CheckpointMismatchError(f"{path} does not fit this package: {error}") from error
        return run
