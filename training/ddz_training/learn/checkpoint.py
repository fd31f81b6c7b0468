"""What a training is saved as: one file, replaced atomically, from which it continues to the bit."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ddz_agents.neural.tensor_file import Arrays
from ddz_training.learn.errors import CheckpointError, CheckpointMismatchError
from ddz_training.learn.settings import TrainingSettings

CHECKPOINT = "checkpoint.safetensors"

SOURCE = ("ddz_training.learn",)
"""Whose source decides a run, besides that of the packages below."""


def check_settings(config: TrainingSettings, wanted: Mapping[str, Any], where: object) -> None:
    """Refuse a file of other settings than those that are wanted.

    Args:
        config: The settings of the file.
        wanted: As from :meth:`~ddz_training.learn.settings.TrainingSettings.read`.
        where: Names the file.

    Raises:
        CheckpointMismatchError: If one is another.
    """
    different = []
    for name, value in wanted.items():
        whole, _, part = name.partition(".")
        has = getattr(getattr(config, whole), part) if part else getattr(config, whole)
        if has != value:
            different.append(f"{name}: the checkpoint has {has!r}, this run {value!r}")
    if different:
        raise CheckpointMismatchError(f"{where} was written under other settings ({'; '.join(different)})")


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
