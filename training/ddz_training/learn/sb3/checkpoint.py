"""A run's folder: SB3's own zip of the model, what we must know about it as JSON, and the past selves.

The JSON and the past selves hold nothing that runs; the zip is pickled and is read only on trust.
"""

from __future__ import annotations

import io
import json
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from ddz_agents.neural.errors import TensorFileError
from ddz_agents.neural.sb3_policy import Purpose, add_purpose, check_trust, load_maskable_ppo
from ddz_agents.neural.tensor_file import plain_values, read_tensor_file, replace_file, write_tensor_file
from ddz_env.core.errors import DouDizhuError
from ddz_training.learn.errors import CheckpointError, CheckpointMismatchError
from ddz_training.learn.sb3.config import Sb3Config
from ddz_training.learn.sb3.run import Sb3Run, TimeSplit, make_env, provenance_of
from ddz_training.measure.match.provenance import Provenance

if TYPE_CHECKING:
    from sb3_contrib import MaskablePPO

MODEL = "model.zip"
ABOUT = "run.json"
POOL = "pool.safetensors"

KIND = "ddz-sb3-run"
POOL_KIND = "ddz-sb3-pool"
VERSION = 1


def save_model(path: Path, model: MaskablePPO, purpose: Purpose) -> Path:
    """Write a model, replacing the file atomically.

    Args:
        path: The file; a name without an ending gets ``.zip``, as Stable-Baselines3 does it.
        model: The model.
        purpose: What it was trained for.

    Returns:
        The file.

    Raises:
        TensorFileError: If the file cannot be written.
    """
    buffer = io.BytesIO()
    model.save(buffer)
    add_purpose(buffer, purpose)
    chosen = path if path.suffix else path.with_suffix(".zip")
    replace_file(chosen, buffer.getvalue())
    return chosen


def refuse_to_overwrite(folder: Path) -> None:
    """A new run must not begin where another has left a model.

    Raises:
        CheckpointError: If there is one.
    """
    if (folder / MODEL).exists():
        raise CheckpointError(f"{folder / MODEL} exists: add --resume to continue it, or name another folder")


def save_run(folder: Path, run: Sb3Run) -> None:
    """Write a run, each file atomically; the model, which knows how far the run is, last.

    Raises:
        CheckpointError: If a file cannot be written.
    """
    about = {
        "kind": KIND,
        "version": VERSION,
        "config": run.config.as_dict(),
        "games": run.games,
        "seconds": vars(run.split),
        "installed": {name: metadata.version(name) for name in ("stable-baselines3", "sb3-contrib", "torch")},
        **run.provenance.settings(),
    }
    try:
        if run.past is not None:
            pool = run.past.pool
            counts = {"members": len(pool.members), "offered": pool.offered}
            write_tensor_file(folder / POOL, POOL_KIND, VERSION, pool.arrays(), counts)
        replace_file(folder / ABOUT, (json.dumps(about, indent=2) + "\n").encode())
        save_model(folder / MODEL, run.model, Purpose(run.config.rules, run.config.objective))
    except TensorFileError as error:
        raise CheckpointError(f"cannot write into {folder}: {error}") from error


def load_run(
    folder: Path, *, trust: bool = False, wanted: dict[str, Any] | None = None, threads: int | None = None
) -> Sb3Run:
    """Read a run and continue it: the weights, the optimizer and the past selves, with new games.

    Args:
        folder: Where :func:`save_run` wrote it.
        trust: Whether the model's zip may run its code.
        wanted: Settings that the run must have.
        threads: Threads; None for one a core.

    Raises:
        CheckpointError: If a file is missing or broken.
        UntrustedFileError: If ``trust`` is not True.  The zip has not been read.
        CheckpointMismatchError: If the settings are not those wanted, or the files do not fit.
        AgentChangedError: If a file of an opponent or baseline has been replaced.
        OtherCodeError: If the run was written by other code and that is not allowed
            (:func:`ddz_training.measure.match.provenance.other_code`).
    """
    config, about = _about(folder / ABOUT, wanted or {})
    provenance = provenance_of(config).resuming(Provenance.take(about), folder / ABOUT)
    path = folder / MODEL
    if not path.is_file():
        raise CheckpointError(f"{path}: there is no such file")
    check_trust(path, trust, "--trust")
    env, past = make_env(config, threads)
    if threads is not None:
        torch.set_num_threads(threads)
    try:
        model = load_maskable_ppo(path, env, config.device)
        run = Sb3Run(config, model, env, past, int(about["games"]), TimeSplit(**about["seconds"]), provenance)
        if past is not None:
            arrays, counts = read_tensor_file(folder / POOL, POOL_KIND, VERSION)
            past.restore(arrays, counts, model.policy, str(folder / POOL))
    except (DouDizhuError, KeyError, TypeError) as error:
        raise CheckpointMismatchError(f"{folder} does not fit this package: {error}") from error
    run.reseed()
    return run


def _about(path: Path, wanted: dict[str, Any]) -> tuple[Sb3Config, dict[str, Any]]:
    try:
        about = plain_values(path, path.read_bytes())
        if (about["kind"], about["version"]) != (KIND, VERSION):
            raise CheckpointMismatchError(f"{path} is no {KIND} of version {VERSION}")
        config = Sb3Config.from_dict(about["config"])
    except FileNotFoundError as error:
        raise CheckpointError(f"{path}: there is no such file") from error
    except CheckpointError:
        raise
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{path} is broken: {error}") from error
    saved = vars(config)
    different = [
        f"{name}: the run has {saved[name]!r}, not {value!r}" for name, value in wanted.items() if saved[name] != value
    ]
    if different:
        raise CheckpointMismatchError(f"{path} was written under other settings ({'; '.join(different)})")
    return config, about
