"""Checkpoints of self-play runs: one file, replaced atomically, from which a run continues to the bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from ddz_agents.neural.errors import TensorFileError, TensorFileMismatchError
from ddz_agents.neural.stored_policy import check_architecture
from ddz_agents.neural.tensor_file import Arrays, read_tensor_file, write_tensor_file
from ddz_agents.neural.weights import load_module, module_arrays
from ddz_env.core.errors import DouDizhuError
from ddz_training.learn.errors import CheckpointError, CheckpointMismatchError
from ddz_training.learn.ppo.config import SelfPlayConfig
from ddz_training.learn.ppo.selfplay import Counters, SelfPlay
from ddz_training.measure.match.errors import SettingsMismatchError
from ddz_training.measure.match.provenance import Provenance

KIND = "ddz-selfplay-checkpoint"
VERSION = 4


def save_checkpoint(path: str | Path, run: SelfPlay) -> None:
    """Write everything that a run is.

    Raises:
        CheckpointError: If the file cannot be written.
    """
    try:
        write_tensor_file(path, KIND, VERSION, *state(run))
    except TensorFileError as error:
        raise CheckpointError(str(error)) from error


def load_checkpoint(
    path: str | Path,
    threads: int | None = None,
    wanted: dict[str, Any] | None = None,
    kind: type[SelfPlay] = SelfPlay,
) -> SelfPlay:
    """Read a run and continue it.

    Args:
        path: The file.
        threads: Threads; None for one a core.  Results do not depend on it.
        wanted: Settings that the run must have (:meth:`~ddz_training.learn.settings.TrainingSettings.read`).
        kind: What kind of training it is.

    Raises:
        CheckpointError: If the file is missing, truncated, corrupt or of another format.
        CheckpointMismatchError: If it was written for other observations or actions or by another version, or if its
            settings are not those wanted.
        AgentChangedError: If a file of an agent that the run is measured against has been replaced.
        OtherCodeError: If it was written by other code and that is not allowed
            (:func:`ddz_training.measure.match.provenance.other_code`).
    """
    try:
        arrays, about = read_tensor_file(path, KIND, VERSION)
    except TensorFileError as error:
        fault = CheckpointMismatchError if isinstance(error, TensorFileMismatchError) else CheckpointError
        raise fault(str(error)) from error
    try:
        config = kind.config_type.from_dict(about["config"])
        _check_settings(config, wanted or {}, str(path))
        check_architecture(config.architecture, arrays, True, str(path))
        run = kind(config, threads)
        run.provenance = run.provenance.resuming(Provenance.take(about), path)
        restore(run, arrays, about, str(path))
    except (CheckpointError, SettingsMismatchError):
        raise
    except (DouDizhuError, KeyError, TypeError, ValueError) as error:
        raise CheckpointMismatchError(f"{path} does not fit this package: {error}") from error
    return run


def _check_settings(config: SelfPlayConfig, wanted: dict[str, Any], where: str) -> None:
    different = []
    for name, value in wanted.items():
        whole, _, part = name.partition(".")
        saved = getattr(getattr(config, whole), part) if part else getattr(config, whole)
        if saved != value:
            different.append(f"{name}: the checkpoint has {saved!r}, this run {value!r}")
    if different:
        raise CheckpointMismatchError(f"{where} was written under other settings ({'; '.join(different)})")


def state(run: SelfPlay) -> tuple[Arrays, dict[str, Any]]:
    """Everything that :func:`restore` needs to continue to the bit: arrays, and plain values."""
    arrays = run.past_selves.arrays() | optimizer_arrays(run.learner.optimizer)
    for prefix, network in _networks(run).items():
        arrays |= module_arrays(network, prefix)
    games: list[dict[str, Any]] = [{} for _ in run.groups]
    for number, group in enumerate(run.groups):
        for name, part in group.state_dict().items():
            if isinstance(part, np.ndarray):
                arrays[f"games.{number}.{name}"] = part
            else:
                games[number][name] = part
    about = {
        "config": run.config.as_dict(),
        "counters": vars(run.counters).copy(),
        "generator": run.rng.bit_generator.state,
        "games": games,
        "pool": {"members": len(run.past_selves.members), "offered": run.past_selves.offered},
        **run.provenance.settings(),
    }
    if not run.device.on_host:
        about["order"] = run.order.bit_generator.state
    return arrays, about


def restore(run: SelfPlay, arrays: Arrays, about: dict[str, Any], where: str) -> None:
    """Continue from :func:`state`.

    Args:
        run: A run of the same settings; it becomes the saved one.
        arrays: The arrays.
        about: The plain values.
        where: Names the file in messages.

    Raises:
        CheckpointMismatchError: If they are those of a run with other settings.
        TensorFileMismatchError: If an array is missing or does not fit.
        InvalidOptionError: If the saved games do not fit.
    """
    if about["config"] != run.config.as_dict():
        raise CheckpointMismatchError(f"{where} was written under other settings")
    run.past_selves.restore(arrays, about["pool"], run.learner.policy, where)
    for prefix, network in _networks(run).items():
        load_module(network, arrays, prefix, where)
    restore_optimizer(run.learner.optimizer, arrays)
    for number, (group, rest) in enumerate(zip(run.groups, about["games"], strict=True)):
        group.load_state_dict(behind(f"games.{number}.", arrays) | rest)
    run.rng.bit_generator.state = about["generator"]
    if "order" in about:
        run.order.bit_generator.state = about["order"]
    run.counters = Counters(**about["counters"])


def _networks(run: SelfPlay) -> dict[str, nn.Module]:
    names = ("policy.", "critic.", "average.", "average_critic.")
    found: dict[str, nn.Module] = dict(zip(names, (*run.learner.networks, *run.averages), strict=True))
    return found if run.learner.guess is None else {**found, "guess.": run.learner.guess}


def behind(prefix: str, arrays: Arrays) -> Arrays:
    """The arrays whose names begin with a prefix, by what is behind it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


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
