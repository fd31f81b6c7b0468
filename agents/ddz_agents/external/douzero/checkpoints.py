"""Reading DouZero's checkpoints without running anything that they say.

A checkpoint is a pickle.  PyTorch's restricted reader builds tensors and plain values from it and refuses all else.  It
does not look at checksums; those of a zip, which PyTorch has written since 1.6, are looked at here.
"""

from __future__ import annotations

import pickle
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from ddz_agents.external.douzero.network import PositionNetwork, new_networks
from ddz_agents.neural.errors import TensorFileError, TensorFileMismatchError
from ddz_agents.neural.tensor_file import Arrays
from ddz_agents.neural.weights import load_module

_WHOLE = "model_state_dict"
"""What a checkpoint of a whole training calls the weights of all roles."""


def load_networks(files: Mapping[str, Path]) -> dict[str, PositionNetwork]:
    """Read the networks of all roles; they are in evaluation mode, on the CPU wherever they were trained.

    A file holds the weights of a role by name, or is the checkpoint of a whole training (``model.tar``).  What it holds
    besides the weights is ignored, as DouZero ignores it.

    Args:
        files: The file of each role, by DouZero's names.

    Raises:
        TensorFileError: If a file is missing, damaged or no checkpoint, or holds numbers that are not finite.
        TensorFileMismatchError: If weights are missing, or of another shape or type.
    """
    networks, read = new_networks(), {path: _read(path) for path in dict.fromkeys(files.values())}
    for name, network in networks.items():
        path = files[name]
        arrays = _arrays(_weights(read[path], name), list(network.state_dict()))
        load_module(network, arrays, "", f"{path} ({name})")
        for weight, tensor in network.state_dict().items():
            if not torch.isfinite(tensor).all():
                raise TensorFileError(f"{path} ({name}): {weight} holds numbers that are not finite")
    return networks


def _read(path: Path) -> Any:
    if not path.is_file():
        raise TensorFileError(f"{path}: there is no such file")
    try:
        if zipfile.is_zipfile(path):
            _check_sums(path)
        return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise TensorFileError(f"{path} is no checkpoint, or holds more than tensors and plain values") from error
    except Exception as error:  # what a damaged file makes of the readers
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise TensorFileError(f"{path} is no checkpoint of PyTorch, or is damaged: {reason}") from error


def _check_sums(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        damaged = archive.testzip()
    if damaged is not None:
        raise zipfile.BadZipFile(f"the checksum of {damaged} is another one")


def _weights(found: Any, name: str) -> Any:
    """The weights of a role in what a file holds."""
    if isinstance(found, Mapping) and _WHOLE in found:
        found = found[_WHOLE]
        return found[name] if isinstance(found, Mapping) and name in found else found
    return found


def _arrays(weights: Any, names: list[str]) -> Arrays:
    """The tensors of these names that are arrays; what is left out is then missed by name."""
    found: Arrays = {}
    for name in names if isinstance(weights, Mapping) else ():
        tensor = weights.get(name)
        if isinstance(tensor, torch.Tensor):
            try:
                found[name] = tensor.detach().numpy()
            except (RuntimeError, TypeError) as error:
                raise TensorFileMismatchError(f"{name} is no plain tensor: {error}") from error
    return found
