"""A learned policy, whatever computes it: what agents and searches ask of it, and how it comes from a file.

The suffix of the file says what computes it.  Each reader imports what it needs when it is asked, so that the names of
agents are known without any of it, and an ONNX policy is played where there is no PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from agents.neural.errors import InvalidPolicyInputError, MissingTorchError
from agents.neural.shipped import shipped_policy_path
from ddz_env.actions import NUM_ACTIONS
from ddz_env.observation import OBSERVATION_SIZE
from ddz_env.threads import usable_threads

Floats = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.int8]


@runtime_checkable
class PolicyModel(Protocol):
    """A policy with a value, over batches; arrays in, arrays out."""

    def evaluate(self, observations: Bytes, masks: Bytes) -> tuple[Floats, Floats]:
        """Evaluate the decisions of ``n`` seats that are to act, at any stage of a move.

        Args:
            observations: Shape ``[n, OBSERVATION_SIZE]``, int8, by the table ``OBSERVATION``.
            masks: Shape ``[n, 400]``, int8, non-zero where legal; at least one action a row.

        Returns:
            Logarithms of the probabilities, shape ``[n, 400]``, minus infinity where illegal; the values for the
            observers, shape ``[n]``: -1 (lost) to 1 (won), or stakes where the model has an ``objective`` that is not
            ``win``, or nothing that means anything where it has ``values_trained`` and that is False.
        """
        ...


def check_batch(observations: Bytes, masks: Bytes) -> None:
    """Check what :meth:`PolicyModel.evaluate` is given.

    Raises:
        InvalidPolicyInputError: If a shape or type is wrong or a row has no legal action.
    """
    for name, array, size in (("observations", observations, OBSERVATION_SIZE), ("masks", masks, NUM_ACTIONS)):
        check_bytes(name, array, len(observations), size)
    empty = np.flatnonzero(~masks.any(axis=1))
    if len(empty):
        raise InvalidPolicyInputError(f"row {empty[0]} has no legal action: is the game over?")


def check_bytes(name: str, array: Bytes, count: int, size: int) -> None:
    """Check an array of vectors.

    Raises:
        InvalidPolicyInputError: If it is not int8 of shape ``[count, size]``.
    """
    if array.dtype != np.int8 or array.shape != (count, size):
        raise InvalidPolicyInputError(
            f"{name} must be int8 of shape [{count}, {size}]; got {array.dtype} of shape {list(array.shape)}"
        )


def load_policy(path: str | Path | None = None, *, threads: int | None = 1, trust_file: bool = False) -> PolicyModel:
    """Read a policy.

    Args:
        path: ``.onnx`` is read by ONNX Runtime, ``.zip`` by Stable-Baselines3 (:mod:`agents.neural.sb3_policy`);
            everything else must be weights of ours (:mod:`agents.neural.weights`).  None reads the shipped policy.
        threads: Threads of every evaluation; None for one a core.
        trust_file: Whether a ``.zip`` may be read, which runs whatever code is in it.

    Raises:
        InvalidOptionError: If the number of threads is out of range.
        UntrustedFileError: If the file is a ``.zip`` and ``trust_file`` is not set.
        MissingSb3Error: If it is, and sb3-contrib is not installed.
        MissingTorchError: If weights are to be read and PyTorch or safetensors is not installed.
        MissingOnnxError: If an ONNX file is and ONNX Runtime is not installed.
        TensorFileError: If the file is missing, truncated, corrupt or of another format.
        TensorFileMismatchError: If it was written for other observations, actions or another architecture.
    """
    chosen = shipped_policy_path() if path is None else Path(path)
    return _READERS.get(chosen.suffix.lower(), _read_weights)(chosen, usable_threads(threads), trust_file)


def _read_weights(path: Path, threads: int, trust_file: bool) -> PolicyModel:
    try:
        from agents.neural.network import NetworkPolicy
        from agents.neural.weights import load_weights
    except ImportError as error:
        raise MissingTorchError(
            f'these policies need PyTorch and safetensors ({error}): pip install "ddz-env[train]"'
        ) from error
    weights = load_weights(path)
    return NetworkPolicy(weights.policy, weights.critic, threads, weights.objective, weights.values_trained)


def _read_onnx(path: Path, threads: int, trust_file: bool) -> PolicyModel:
    from agents.neural.onnx_policy import OnnxPolicy

    return OnnxPolicy(path, threads)


def _read_zip(path: Path, threads: int, trust_file: bool) -> PolicyModel:
    try:
        from agents.neural.sb3_policy import load_sb3_policy
    except ImportError as error:
        raise MissingTorchError(f'these policies need PyTorch ({error}): pip install "ddz-env[train]"') from error
    return load_sb3_policy(path, trust_file=trust_file, threads=threads)


_READERS: dict[str, Callable[[Path, int, bool], PolicyModel]] = {".onnx": _read_onnx, ".zip": _read_zip}
"""Reader of each suffix that is not the weights' own."""
