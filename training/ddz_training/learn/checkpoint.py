"""What a training is saved as: one file, replaced atomically, from which it continues to the bit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import nn

from ddz_agents.neural.errors import TensorFileError, TensorFileMismatchError
from ddz_agents.neural.tensor_file import Arrays, read_tensor_file, write_tensor_file
from ddz_agents.neural.weights import load_module, module_arrays
from ddz_env.core.errors import DouDizhuError
from ddz_training.learn.errors import CheckpointError, CheckpointMismatchError
from ddz_training.learn.settings import TrainingSettings
from ddz_training.measure.match.errors import SettingsMismatchError
from ddz_training.measure.match.provenance import Provenance

if TYPE_CHECKING:
    from typing_extensions import Self

CHECKPOINT = "checkpoint.safetensors"

SOURCE = ("ddz_training.learn",)
"""Whose source decides a run, besides that of the packages below."""


class Resumable(ABC):
    """A training that is saved and continues to the bit.

    Attributes:
        config: The settings.
        optimizer: Adam.
        provenance: The code of the run, and the files that it reads.
        kind: Of the file, with its version.
        config_type: The class of the settings.
    """

    kind: ClassVar[tuple[str, int]]
    config_type: ClassVar[type[Any]]
    config: Any
    optimizer: torch.optim.Optimizer
    provenance: Provenance

    @abstractmethod
    def networks(self) -> dict[str, nn.Module]:
        """The networks that a file holds, each behind a prefix."""

    @abstractmethod
    def others(self) -> tuple[Arrays, dict[str, Any]]:
        """What a file holds besides settings, networks, optimizer and provenance: arrays, and plain values."""

    @abstractmethod
    def restore_others(self, arrays: Arrays, about: dict[str, Any], where: str) -> None:
        """Continue from :meth:`others`; otherwise as :meth:`restore`."""

    def state(self) -> tuple[Arrays, dict[str, Any]]:
        """Everything that :meth:`restore` needs to continue to the bit: arrays, and plain values."""
        arrays, about = self.others()
        for prefix, network in self.networks().items():
            arrays |= module_arrays(network, prefix)
        about = {"config": self.config.as_dict(), **about, **self.provenance.settings()}
        return arrays | optimizer_arrays(self.optimizer), about

    def restore(self, arrays: Arrays, about: dict[str, Any], where: str) -> None:
        """Continue from :meth:`state`; the training must have the settings of the saved one.

        Args:
            arrays: The arrays.
            about: The plain values.
            where: Names the file in messages.

        Raises:
            DouDizhuError: If something does not fit; KeyError, TypeError or ValueError: if something is missing.
        """
        for prefix, network in self.networks().items():
            load_module(network, arrays, prefix, where)
        restore_optimizer(self.optimizer, arrays)
        self.restore_others(arrays, about, where)

    @classmethod  # noqa: B027 (the other files give no sizes)
    def check_arrays(cls, config: Any, arrays: Arrays, where: str) -> None:
        """Refuse arrays of other sizes than the settings say, before anything is made of that size."""

    @classmethod
    def resume(cls, path: str | Path, threads: int | None = None, wanted: Mapping[str, Any] | None = None) -> Self:
        """Read a training and continue it.

        Args:
            path: The file.
            threads: Threads; None for one a core.  Results do not depend on it.
            wanted: Settings that it must have (:meth:`~ddz_training.learn.settings.TrainingSettings.read`).

        Raises:
            CheckpointError: If the file is missing, truncated, corrupt or of another format.
            CheckpointMismatchError: If it was written for other observations or actions or by another version, or if
                its settings are not those wanted.
            AgentChangedError: If a file of an agent that it plays or is measured against has been replaced.
            OtherCodeError: If it was written by other code and that is not allowed
                (:func:`ddz_training.measure.match.provenance.other_code`).
        """
        try:
            arrays, about = read_tensor_file(path, *cls.kind)
        except TensorFileError as error:
            fault = CheckpointMismatchError if isinstance(error, TensorFileMismatchError) else CheckpointError
            raise fault(str(error)) from error
        try:
            config = cls.config_type.from_dict(about["config"])
            check_settings(config, wanted or {}, path)
            cls.check_arrays(config, arrays, str(path))
            make: Callable[..., Self] = cls
            job = make(config, threads)
            job.provenance = job.provenance.resuming(Provenance.take(about), path)
            job.restore(arrays, about, str(path))
        except (CheckpointError, SettingsMismatchError):
            raise
        except (DouDizhuError, KeyError, TypeError, ValueError) as error:
            raise CheckpointMismatchError(f"{path} does not fit this package: {error}") from error
        return job


OTHER = "{name}: the checkpoint has {saved!r}, this run {wanted!r}"


def check_settings(config: TrainingSettings, wanted: Mapping[str, Any], where: object, other: str = OTHER) -> None:
    """Refuse a file of other settings than those that are wanted.

    Args:
        config: The settings of the file.
        wanted: As from :meth:`~ddz_training.learn.settings.TrainingSettings.read`.
        where: Names the file.
        other: Says that a setting is another.

    Raises:
        CheckpointMismatchError: If one is another.
    """
    different = []
    for name, value in wanted.items():
        whole, _, part = name.partition(".")
        has = getattr(getattr(config, whole), part) if part else getattr(config, whole)
        if has != value:
            different.append(other.format(name=name, saved=has, wanted=value))
    if different:
        raise CheckpointMismatchError(f"{where} was written under other settings ({'; '.join(different)})")


def save_checkpoint(path: str | Path, job: Resumable) -> None:
    """Write everything that a training is.

    Raises:
        CheckpointError: If the file cannot be written.
    """
    try:
        write_tensor_file(path, *job.kind, *job.state())
    except TensorFileError as error:
        raise CheckpointError(str(error)) from error


def refuse_to_overwrite(folder: Path, name: str = CHECKPOINT) -> None:
    """A new run must not begin where another has left its file.

    Raises:
        CheckpointError: If there is one.
    """
    if (folder / name).exists():
        raise CheckpointError(f"{folder / name} exists: add --resume to continue it, or name another folder")


# --- What a file is made of -------------------------------------------------------------------------------------------


def behind(prefix: str, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """The arrays whose names begin with a prefix, by what is behind it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def parted(prefix: str, values: Mapping[str, Any]) -> tuple[Arrays, dict[str, Any]]:
    """The arrays among some values, by a prefix and their names, and the plain values, by their names."""
    plain = {name: part for name, part in values.items() if not isinstance(part, np.ndarray)}
    return {prefix + name: part for name, part in values.items() if name not in plain}, plain


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
