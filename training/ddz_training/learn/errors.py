"""Named errors of training."""

from __future__ import annotations

from ddz_env.support.errors import DouDizhuError


class InvalidTrainingError(DouDizhuError):
    """A setting of a training run is out of range, or two of them contradict each other."""


class MissingTensorBoardError(DouDizhuError, ImportError):
    """TensorBoard is not installed."""


class CheckpointError(DouDizhuError):
    """A checkpoint cannot be read, or a run would overwrite one."""


class CheckpointMismatchError(CheckpointError):
    """A checkpoint was written under other settings than those of the run that wants to resume it."""


class LostProcessError(DouDizhuError):
    """Another process of a run of several processes is gone."""
