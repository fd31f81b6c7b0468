"""A policy taught by another one, so that it can be written as ONNX that needs nothing of this package.

The teacher is asked in games that it plays and in games that the student plays (:class:`~ddz_training.learn.imitation.
Imitation`); the student learns its probabilities.  Everything that a run is lies in one file, replaced atomically, from
which it continues to the bit; :func:`ddz_agents.neural.standalone.load_standalone` reads the policy from the same file.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import nn

from ddz_agents.neural.architecture import Architecture
from ddz_agents.neural.loading import load_policy
from ddz_agents.neural.shipped import shipped_policy_path
from ddz_agents.neural.standalone import KIND, VERSION, StandalonePolicy, load_standalone
from ddz_agents.neural.stored_policy import POLICY
from ddz_agents.neural.tensor_file import Arrays
from ddz_training.learn import checkpoint, run
from ddz_training.learn.imitation import Imitation, ImitationConfig, policy_teacher, random_policy
from ddz_training.measure.match.provenance import Provenance

if TYPE_CHECKING:
    from typing_extensions import Self

ARCHITECTURE = Architecture(rest_width=128)
"""The student's: what it makes of a hand that an action leaves has to stand for its prospects."""


class Distillation(Imitation[StandalonePolicy], checkpoint.Resumable):
    """A standalone policy that learns from a policy.

    Args:
        config: The settings.
        policy: The teacher's file; None for the shipped policy.
        threads: Threads; None for one a core.  Results do not depend on it.
    """

    kind = KIND, VERSION
    config_type = ImitationConfig
    grows = "decisions"
    run = run.Training.run  # type: ignore[assignment]  # into a file

    def __init__(self, config: ImitationConfig, policy: Path | None = None, threads: int | None = None) -> None:
        teacher = load_policy(policy)
        self._objective = str(getattr(teacher, "objective", "win"))
        self._draws = np.random.default_rng([config.seed, 4])
        student = random_policy(StandalonePolicy, config)
        super().__init__(config, student, policy_teacher(teacher, self._draws), threads)
        self.provenance = Provenance.of((), *checkpoint.SOURCE).reading("policy", policy or shipped_policy_path())

    def save(self, place: Path) -> None:
        """Write everything that the run is into one file."""
        checkpoint.save_checkpoint(place, self)

    def networks(self) -> dict[str, nn.Module]:
        """See :meth:`~ddz_training.learn.checkpoint.Resumable.networks`."""
        return {POLICY: self.policy}

    def others(self) -> tuple[Arrays, dict[str, Any]]:
        """See :meth:`~ddz_training.learn.checkpoint.Resumable.others`; the file is a standalone policy's, too."""
        arrays, games = checkpoint.parted("games.", self.batch.state_dict())
        about = {
            "architecture": self.config.architecture.as_dict(),
            "rules": self.config.rules,
            "objective": self._objective,
            "games": games,
            "generators": [rng.bit_generator.state for rng in (self.rng, self._draws)],
            "notes": {"decisions": self.decisions, "seed": self.config.seed, **self.provenance.settings()},
        }
        return arrays, about

    def restore_others(self, arrays: Arrays, about: dict[str, Any], where: str) -> None:
        """See :meth:`~ddz_training.learn.checkpoint.Resumable.restore_others`."""
        self.batch.load_state_dict(checkpoint.behind("games.", arrays) | about["games"])
        for rng, state in zip((self.rng, self._draws), about["generators"], strict=True):
            rng.bit_generator.state = state
        self.decisions = int(about["notes"]["decisions"])

    @classmethod
    def resume(  # type: ignore[override]
        cls, path: Path, config: ImitationConfig, policy: Path | None = None, threads: int | None = None
    ) -> Self:
        """Continue from a file.

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
        return cls._resumed(path, vars(config), policy, threads)
