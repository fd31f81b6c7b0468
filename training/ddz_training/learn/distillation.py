"""A policy taught by another one, so that it can be written as ONNX that needs nothing of this package.

The teacher is asked in games that it plays and in games that the student plays (:class:`~ddz_training.learn.imitation.
Imitation`); the student learns its probabilities.  Everything that a run is lies in one file, replaced atomically, from
which it continues to the bit; :func:`ddz_agents.neural.standalone.load_standalone` reads the policy from the same file.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from ddz_agents.neural.architecture import Architecture
from ddz_agents.neural.errors import TensorFileMismatchError
from ddz_agents.neural.loading import load_policy
from ddz_agents.neural.shipped import shipped_policy_path
from ddz_agents.neural.standalone import KIND, VERSION, StandalonePolicy, load_standalone
from ddz_agents.neural.stored_policy import POLICY
from ddz_agents.neural.tensor_file import read_tensor_file, write_tensor_file
from ddz_agents.neural.weights import load_module, module_arrays
from ddz_env.core.errors import DouDizhuError, shown
from ddz_training.learn.errors import CheckpointMismatchError
from ddz_training.learn.imitation import Imitation, ImitationConfig, ImitationProgress, policy_teacher, random_policy
from ddz_training.learn.ppo.checkpoint import behind, optimizer_arrays, restore_optimizer
from ddz_training.learn.ppo.selfplay import SOURCE
from ddz_training.learn.saving import Saving
from ddz_training.measure.match.provenance import Provenance

ARCHITECTURE = Architecture(rest_width=128)
"""The student's: what it makes of a hand that an action leaves has to stand for its prospects."""


class Distillation:
    """A standalone policy that learns from a policy.

    Args:
        config: The settings.
        policy: The teacher's file; None for the shipped policy.
        threads: Threads; None for one a core.  Results do not depend on it.

    Attributes:
        imitation: The games and the student.
        provenance: The code, and the teacher's file.
    """

    def __init__(self, config: ImitationConfig, policy: Path | None = None, threads: int | None = None) -> None:
        self.config = config
        teacher = load_policy(policy)
        self._objective = str(getattr(teacher, "objective", "win"))
        self._draws = np.random.default_rng([config.seed, 4])
        student = random_policy(StandalonePolicy, config)
        self.imitation: Imitation[StandalonePolicy] = Imitation(
            config, student, policy_teacher(teacher, self._draws), threads
        )
        self.provenance = Provenance.of((), *SOURCE).reading("policy", policy or shipped_policy_path())

    @property
    def decisions(self) -> int:
        """Decisions learned from so far."""
        return self.imitation.student.decisions

    def run(
        self,
        path: Path,
        on_step: Callable[[ImitationProgress], None] | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        """Learn until the decisions of the settings are reached, or until ``stop`` says so, and save as it goes.

        Raises:
            TensorFileError: If the file cannot be written.
        """
        saving = Saving()

        def on_every_step(progress: ImitationProgress) -> None:
            if saving.is_due():
                self.save(path)
            if on_step:
                on_step(progress)

        self.imitation.run(on_every_step, stop)
        self.save(path)

    def save(self, path: Path) -> None:
        """Write everything that the run is.

        Raises:
            TensorFileError: If the file cannot be written.
        """
        student, games = self.imitation.student, self.imitation.batch.state_dict()
        arrays = module_arrays(student.policy, POLICY) | optimizer_arrays(student.optimizer)
        arrays |= {f"games.{name}": part for name, part in games.items() if isinstance(part, np.ndarray)}
        about = {
            "config": self.config.as_dict(),
            "architecture": self.config.architecture.as_dict(),
            "rules": self.config.rules,
            "objective": self._objective,
            "games": {name: part for name, part in games.items() if not isinstance(part, np.ndarray)},
            "generators": [rng.bit_generator.state for rng in (self.imitation.rng, self._draws)],
            "notes": {"decisions": self.decisions, "seed": self.config.seed, **self.provenance.settings()},
        }
        write_tensor_file(path, KIND, VERSION, arrays, about)

    @classmethod
    def resume(
        cls, path: Path, config: ImitationConfig, policy: Path | None = None, threads: int | None = None
    ) -> Distillation:
        """Continue from :meth:`save`.

        Args:
            path: The file.
            config: The settings, which must be those of the file; only ``decisions`` may be others.
            policy: The teacher's file, which must be the one that taught so far.
            threads: Threads; None for one a core.

        Raises:
            TensorFileError: If the file is missing, truncated, corrupt or of another format.
            CheckpointMismatchError: If it was written under other settings.
            AgentChangedError: If the teacher's file is another one.
            OtherCodeError: If it was written by other code and that is not allowed.
        """
        load_standalone(path)  # says what is wrong with it
        arrays, about = read_tensor_file(path, KIND, VERSION)
        saved = about.get("config")
        if not isinstance(saved, dict) or {**saved, "decisions": config.decisions} != config.as_dict():
            raise CheckpointMismatchError(f"{path} was written under other settings: {shown(saved)}")
        run = cls(config, policy, threads)
        try:
            run.provenance = run.provenance.resuming(Provenance.take(about["notes"]), path)
            student, batch = run.imitation.student, run.imitation.batch
            load_module(student.policy, arrays, POLICY, str(path))
            restore_optimizer(student.optimizer, arrays)
            batch.load_state_dict(behind("games.", arrays) | about["games"])
            for rng, state in zip((run.imitation.rng, run._draws), about["generators"], strict=True):
                rng.bit_generator.state = state
            student.decisions = int(about["notes"]["decisions"])
        except TensorFileMismatchError:
            raise
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, DouDizhuError):
                raise
            raise CheckpointMismatchError(f"{path} does not fit this package: {error}") from error
        return run
