"""DouZero's networks in PyTorch, in which an LSTM reads the move history and the output is a move's value.

Every candidate of a decision shares its history and its state.  These are evaluated once: the first layer is a sum of
what they give to it and of what the move gives.  Values differ from DouZero's own by rounding alone.

A checkpoint is a pickle.  PyTorch's restricted reader builds tensors and plain values from it and refuses all else.  It
does not look at checksums; those of a zip, which PyTorch has written since 1.6, are looked at here.
"""

from __future__ import annotations

import pickle
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from ddz_agents.external.douzero.features import CARDS, POSITIONS, ROUND_COLUMNS, Floats, RoleColumns
from ddz_agents.neural.errors import TensorFileError, TensorFileMismatchError
from ddz_agents.neural.network import load_module
from ddz_agents.neural.tensor_file import Arrays, check_archive, check_size

_MEMORY, _WIDTH = 128, 512
_WHOLE = "model_state_dict"
"""What a checkpoint of a whole training calls the weights of all roles."""


class PositionNetwork(nn.Module):
    """The network of one role, whose weights have the names used in DouZero's checkpoints.

    Args:
        position: The role.
    """

    def __init__(self, position: RoleColumns) -> None:
        super().__init__()
        self.lstm = nn.LSTM(ROUND_COLUMNS, _MEMORY, batch_first=True)
        self.dense1 = nn.Linear(_MEMORY + position.columns + CARDS, _WIDTH)
        self.dense2 = nn.Linear(_WIDTH, _WIDTH)
        self.dense3 = nn.Linear(_WIDTH, _WIDTH)
        self.dense4 = nn.Linear(_WIDTH, _WIDTH)
        self.dense5 = nn.Linear(_WIDTH, _WIDTH)
        self.dense6 = nn.Linear(_WIDTH, 1)

    def forward(self, history: Tensor, state: Tensor, moves: Tensor, owners: Tensor) -> Tensor:
        """Compute the values of the candidate moves of several decisions.

        Args:
            history: Shape ``[n, 5, 162]``, float32 (:func:`~ddz_agents.external.douzero.features.history_columns`).
            state: Shape ``[n, position.columns]``, float32.
            moves: The candidates of all decisions, shape ``[m, 54]``, float32.
            owners: The decision of each, shape ``[m]``, int64.

        Returns:
            Values, shape ``[m]``, float32.
        """
        _, (memory, _) = self.lstm(history)
        shared = torch.cat([memory[0], state], dim=1)
        of_state, of_move = self.dense1.weight[:, :-CARDS], self.dense1.weight[:, -CARDS:]
        layer = functional.linear(shared, of_state, self.dense1.bias)[owners] + functional.linear(moves, of_move)
        for dense in (self.dense2, self.dense3, self.dense4, self.dense5):
            layer = dense(torch.relu(layer))
        values: Tensor = self.dense6(torch.relu(layer))
        return values.squeeze(1)

    def values(self, history: Floats, state: Floats, moves: Floats, owners: npt.NDArray[np.intp]) -> Floats:
        """Compute the values of candidate moves from arrays, as :meth:`forward` does but without gradients."""
        with torch.inference_mode():
            values: Floats = self(*map(torch.from_numpy, (history, state, moves, owners))).numpy()
        return values


def new_networks() -> dict[str, PositionNetwork]:
    """Create untrained networks for all roles, keyed by DouZero's role names."""
    return {position.name: PositionNetwork(position).eval() for position in POSITIONS}


def load_networks(files: Mapping[str, Path]) -> dict[str, PositionNetwork]:
    """Load the networks of all roles from checkpoints, on the CPU and set to evaluation mode.

    A file holds the weights of a role by name, or is the checkpoint of a whole training (``model.tar``).  What it holds
    besides the weights is ignored, as DouZero ignores it.

    Args:
        files: The file of each role, by DouZero's names.

    Raises:
        TensorFileError: If a file is missing, damaged or not a checkpoint, or holds numbers that are not finite.
        TensorFileMismatchError: If weights are missing, or of another shape or type; also if one file is given for all
            roles and holds those of one.
    """
    networks, read = new_networks(), {path: _read_checkpoint(path) for path in dict.fromkeys(files.values())}
    if len(read) == 1:
        [(path, content)] = read.items()
        if _weights_of_role(content, POSITIONS[0].name) is _weights_of_role(content, POSITIONS[1].name):
            raise TensorFileMismatchError(f"{path} holds one role: name a folder with three files, or a model.tar")
    for name, network in networks.items():
        path = files[name]
        arrays = _select_arrays(_weights_of_role(read[path], name), list(network.state_dict()))
        load_module(network, arrays, "", f"{path} ({name})")
        for weight, tensor in network.state_dict().items():
            if not torch.isfinite(tensor).all():
                raise TensorFileError(f"{path} ({name}): {weight} holds numbers that are not finite")
    return networks


def _read_checkpoint(path: Path) -> Any:
    if not path.is_file():
        raise TensorFileError(f"{path}: there is no such file")
    check_size(path, path.stat().st_size)
    try:
        if zipfile.is_zipfile(path):
            check_archive(path)
            _check_finite(path)
        return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise TensorFileError(f"{path} is not a checkpoint, or holds more than tensors and plain values") from error
    except Exception as error:  # what a damaged file makes of the readers
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise TensorFileError(f"{path} is not a checkpoint of PyTorch, or is damaged: {reason}") from error


def _check_finite(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        damaged = archive.testzip()
    if damaged is not None:
        raise zipfile.BadZipFile(f"the checksum of {damaged} does not match its contents")


def _weights_of_role(content: Any, name: str) -> Any:
    """Return one role's weights from the content of a checkpoint, which may hold one role or all."""
    if isinstance(content, Mapping) and _WHOLE in content:
        content = content[_WHOLE]
        return content[name] if isinstance(content, Mapping) and name in content else content
    return content


def _select_arrays(weights: Any, names: list[str]) -> Arrays:
    """Return the weights with the given names as arrays, leaving out all others."""
    arrays: Arrays = {}
    for name in names if isinstance(weights, Mapping) else ():
        tensor = weights.get(name)
        if isinstance(tensor, torch.Tensor):
            try:
                arrays[name] = tensor.detach().numpy()
            except (RuntimeError, TypeError) as error:
                raise TensorFileMismatchError(f"{name} is not a plain tensor: {error}") from error
    return arrays
