"""DouZero's networks as ONNX files, evaluated with ONNX Runtime.

A file takes a row for each legal move, ``z`` (the history) and ``x`` (the state and the move behind it), and gives
``values``.  It holds no checksum: a flipped bit in a weight is a weaker player, so compare its digest with a published
one.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ddz_agents.external.douzero.features import CARDS, POSITIONS, ROUND_COLUMNS, ROUNDS, Floats, RoleColumns
from ddz_agents.neural.errors import TensorFileMismatchError
from ddz_agents.neural.onnx_policy import open_session
from ddz_agents.neural.tensor_file import read_bytes

SUFFIX = ".onnx"
_OUTPUT = "values"


class OnnxPositionNetwork:
    """The network of one role, read from an ONNX file.

    Args:
        path: Its file.
        position: The role.
        threads: Threads of every evaluation.

    Raises:
        MissingOnnxError: If ONNX Runtime is not installed.
        TensorFileError: If the file is missing, or not an ONNX file.
        TensorFileMismatchError: If its inputs and outputs are others, as those of another role are.
    """

    def __init__(self, path: Path, position: RoleColumns, threads: int) -> None:
        self._session = open_session(path, read_bytes(path), threads)
        needed = {"z": (ROUNDS, ROUND_COLUMNS), "x": (position.columns + CARDS,)}
        found = {node.name: tuple(node.shape[1:]) for node in self._session.get_inputs()}
        if found != needed:
            raise TensorFileMismatchError(
                f"{path} has the inputs {found}; DouZero's network for {position.name} has {needed}"
            )
        outputs = [node.name for node in self._session.get_outputs()]
        if _OUTPUT not in outputs:
            raise TensorFileMismatchError(f"{path} has the outputs {outputs}; DouZero's networks have {_OUTPUT!r}")

    def values(self, history: Floats, state: Floats, moves: Floats, owners: npt.NDArray[np.intp]) -> Floats:
        """Compute the values of candidate moves, as ``PositionNetwork.values`` does in PyTorch."""
        inputs: dict[str, Any] = {"z": history[owners], "x": np.hstack([state[owners], moves])}
        values: Floats = self._session.run([_OUTPUT], inputs)[0]
        return values[:, 0]


def load_onnx_networks(files: Mapping[str, Path], threads: int) -> dict[str, OnnxPositionNetwork]:
    """Load the networks of all roles from ONNX files, keyed by DouZero's role names.

    Args:
        files: The file of each role, by DouZero's names.
        threads: Threads of every evaluation.

    Raises:
        MissingOnnxError: If ONNX Runtime is not installed.
        TensorFileError: If a file is missing, or not an ONNX file.
        TensorFileMismatchError: If its inputs and outputs are others, as those of another role are.
    """
    return {position.name: OnnxPositionNetwork(files[position.name], position, threads) for position in POSITIONS}
