"""How a learned policy comes from a file: the suffix says what computes it.

Each reader imports what it needs when it is asked, so that the names of agents are known without any of it, and an ONNX
policy is played where there is no PyTorch.
"""

from __future__ import annotations

from pathlib import Path

from agents.neural.errors import MissingTorchError
from agents.neural.model import PolicyModel
from agents.neural.shipped import shipped_policy_path
from ddz_env.errors import install_hint
from ddz_env.threads import usable_threads


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
    chosen, cores = shipped_policy_path() if path is None else Path(path), usable_threads(threads)
    suffix = chosen.suffix.lower()
    if suffix == ".onnx":
        from agents.neural.onnx_policy import OnnxPolicy

        return OnnxPolicy(chosen, cores)
    try:
        if suffix == ".zip":
            from agents.neural.sb3_policy import load_sb3_policy
        else:
            from agents.neural.network import NetworkPolicy
            from agents.neural.weights import load_weights
    except ImportError as error:
        needed = "PyTorch" if suffix == ".zip" else "PyTorch and safetensors"
        raise MissingTorchError(f"these policies need {needed} ({error}): {install_hint('train')}") from error
    if suffix == ".zip":
        return load_sb3_policy(chosen, trust_file=trust_file, threads=cores)
    found = load_weights(chosen)
    return NetworkPolicy(found.policy, found.critic, cores, found.objective, found.values_trained)
