"""Policies from files: the suffix says what computes them.

Each reader imports what it needs when it is asked, so that the names of agents are known without any of it, and an
ONNX policy is played where there is no PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from agents.neural.errors import MissingTorchError
from agents.neural.model import PolicyModel
from agents.neural.shipped import shipped_policy_path


def load_policy(path: str | Path | None = None, *, threads: int = 1) -> PolicyModel:
    """Read a policy.

    Args:
        path: ``.onnx`` is read by ONNX Runtime; everything else must be weights of ours
            (:mod:`agents.neural.weights`).  None reads the shipped policy.
        threads: Threads of every evaluation.

    Raises:
        MissingTorchError: If weights are to be read and PyTorch or safetensors is not installed.
        MissingOnnxError: If an ONNX file is and ONNX Runtime is not installed.
        TensorFileError: If the file is missing, truncated, corrupt or of another format.
        TensorFileMismatchError: If it was written for other observations, actions or another architecture.
    """
    chosen = shipped_policy_path() if path is None else Path(path)
    return _READERS.get(chosen.suffix.lower(), _read_weights)(chosen, threads)


def _read_weights(path: Path, threads: int) -> PolicyModel:
    try:
        from agents.neural.policy import NetworkPolicy
        from agents.neural.weights import load_weights
    except ImportError as error:
        raise MissingTorchError(
            f'these policies need PyTorch and safetensors ({error}): pip install "ddz-env[train]"'
        ) from error
    weights = load_weights(path)
    return NetworkPolicy(weights.policy, weights.critic, threads)


def _read_onnx(path: Path, threads: int) -> PolicyModel:
    from agents.neural.onnx_policy import OnnxPolicy

    return OnnxPolicy(path, threads)


_READERS: dict[str, Callable[[Path, int], PolicyModel]] = {".onnx": _read_onnx}
"""Reader of each suffix that is not the weights' own."""
