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
from ddz_env.threads import usable_threads


def load_policy(path: str | Path | None = None, *, threads: int | None = 1, trust: bool = False) -> PolicyModel:
    """Read a policy.

    Args:
        path: ``.onnx`` is read by ONNX Runtime, ``.zip`` by Stable-Baselines3 (:mod:`agents.neural.sb3_policy`);
            everything else must be weights of ours (:mod:`agents.neural.weights`).  None reads the shipped policy.
        threads: Threads of every evaluation; None for one a core.
        trust: Whether a ``.zip`` may be read, which runs whatever code is in it.

    Raises:
        InvalidOptionError: If the number of threads is out of range.
        UntrustedFileError: If the file is a ``.zip`` and ``trust`` is not set.
        MissingSb3Error: If it is, and sb3-contrib is not installed.
        MissingTorchError: If weights are to be read and PyTorch or safetensors is not installed.
        MissingOnnxError: If an ONNX file is and ONNX Runtime is not installed.
        TensorFileError: If the file is missing, truncated, corrupt or of another format.
        TensorFileMismatchError: If it was written for other observations, actions or another architecture.
    """
    chosen = shipped_policy_path() if path is None else Path(str(path))  # an agent's option may look like a number
    return _READERS.get(chosen.suffix.lower(), _read_weights)(chosen, usable_threads(threads), trust)


def _read_weights(path: Path, threads: int, trust: bool) -> PolicyModel:
    try:
        from agents.neural.policy import NetworkPolicy
        from agents.neural.weights import load_weights
    except ImportError as error:
        raise MissingTorchError(
            f'these policies need PyTorch and safetensors ({error}): pip install "ddz-env[train]"'
        ) from error
    weights = load_weights(path)
    return NetworkPolicy(weights.policy, weights.critic, threads, weights.objective, weights.values_trained)


def _read_onnx(path: Path, threads: int, trust: bool) -> PolicyModel:
    from agents.neural.onnx_policy import OnnxPolicy

    return OnnxPolicy(path, threads)


def _read_zip(path: Path, threads: int, trust: bool) -> PolicyModel:
    try:
        from agents.neural.sb3_policy import load_sb3_policy
    except ImportError as error:
        raise MissingTorchError(f'these policies need PyTorch ({error}): pip install "ddz-env[train]"') from error
    return load_sb3_policy(path, trust=trust, threads=threads)


_READERS: dict[str, Callable[[Path, int, bool], PolicyModel]] = {".onnx": _read_onnx, ".zip": _read_zip}
"""Reader of each suffix that is not the weights' own."""
