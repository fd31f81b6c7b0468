"""Exceptions raised by training."""

from __future__ import annotations

from ddz_env.support.errors import DouDizhuError


class InvalidTrainingError(DouDizhuError):
    """Raised when a training setting is out of range or two settings contradict each other."""


class MissingTensorBoardError(DouDizhuError, ImportError):
    """Raised when TensorBoard is not installed."""


class CheckpointError(DouDizhuError):
    """Raised when a checkpoint cannot be read, or when a run would overwrite one."""


class CheckpointMismatchError(CheckpointError):
    """Raised when a checkpoint's settings differ from those of the run that is to resume it."""


class LostProcessError(DouDizhuError):
    """Raised when another process of a multi-process run is gone."""
