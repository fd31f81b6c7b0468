"""Checkpoints of self-play runs: one file, replaced at one stroke, from which a run continues to the bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agents.neural.errors import TensorFileError, TensorFileMismatchError
from agents.neural.tensor_file import read_tensor_file, write_tensor_file
from ddz_env.errors import DouDizhuError
from training.ppo.config import SelfPlayConfig
from training.ppo.errors import CheckpointError, CheckpointMismatchError
from training.ppo.selfplay import SelfPlay
from training.ppo.settings import as_saved

KIND = "ddz-selfplay-checkpoint"
VERSION = 3


def save_checkpoint(path: str | Path, run: SelfPlay) -> None:
    """Write everything that a run is.

    Raises:
        CheckpointError: If the file cannot be written.
    """
    arrays, about = run.state()
    try:
        write_tensor_file(path, KIND, VERSION, arrays, about)
    except TensorFileError as error:
        raise CheckpointError(str(error)) from error


def load_checkpoint(path: str | Path, threads: int | None = None, wanted: dict[str, Any] | None = None) -> SelfPlay:
    """Read a run and continue it.

    Args:
        path: The file.
        threads: Threads; None for one a core.  Results do not depend on it.
        wanted: Settings that the run must have (:func:`~training.ppo.settings.parse_settings`).

    Raises:
        CheckpointError: If the file is missing, truncated, corrupt or of another format.
        CheckpointMismatchError: If it was written for other observations or actions or by another version, or if its
            settings are not those wanted.
    """
    try:
        arrays, about = read_tensor_file(path, KIND, VERSION)
    except TensorFileMismatchError as error:
        raise CheckpointMismatchError(str(error)) from error
    except TensorFileError as error:
        raise CheckpointError(str(error)) from error
    try:
        config = SelfPlayConfig.from_dict(about["config"])
        _check_settings(config, wanted or {}, str(path))
        run = SelfPlay(config, threads)
        run.restore(arrays, about, str(path))
    except CheckpointError:
        raise
    except (DouDizhuError, KeyError, TypeError, ValueError) as error:
        raise CheckpointMismatchError(f"{path} does not fit this package: {error}") from error
    return run


def _check_settings(config: SelfPlayConfig, wanted: dict[str, Any], where: str) -> None:
    saved = config.as_dict()
    different = [
        f"{name}: the checkpoint has {saved[name]!r}, this run {value!r}"
        for name, value in as_saved(wanted, config).items()
        if saved[name] != value
    ]
    if different:
        raise CheckpointMismatchError(f"{where} was written under other settings ({'; '.join(different)})")
