"""Loading of learned policies from files; a file's suffix selects the runtime that evaluates its policy.

Each reader imports what it needs when it is called.  Our own weights need this package alone; an ONNX policy needs
ONNX Runtime, and a model of Stable-Baselines3 needs it and PyTorch.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ddz_agents.neural.errors import MissingSb3Error, TensorFileError
from ddz_agents.neural.model import PolicyModel
from ddz_agents.neural.shipped import policy_path
from ddz_env import State
from ddz_env.core.observation import action_mask, observe
from ddz_env.support.errors import install_hint
from ddz_env.support.threads import check_threads


def load_policy(path: str | Path | None = None, *, threads: int | None = 1, trust_file: bool = False) -> PolicyModel:
    """Load a shipped policy, or one from a weights file, an ONNX file or a Stable-Baselines3 zip file.

    Args:
        path: ``.onnx`` is read by ONNX Runtime, ``.zip`` by Stable-Baselines3 (:mod:`ddz_agents.neural.sb3_policy`);
            everything else must be weights of ours (:mod:`ddz_agents.neural.weights`).  ``points``, ids and None
            read shipped ones (:func:`~ddz_agents.neural.shipped.policy_path`).
        threads: Threads of every evaluation; None for one per core.
        trust_file: Whether a ``.zip`` may be read, which runs the code in it.

    Raises:
        InvalidOptionError: If the number of threads is out of range.
        UntrustedFileError: If the file is a ``.zip`` and ``trust_file`` is not set.
        MissingSb3Error: If it is, and sb3-contrib or PyTorch is not installed.
        MissingOnnxError: If an ONNX file is and ONNX Runtime is not installed.
        TensorFileError: If the file is missing, truncated, corrupt or of another format, or answers the first position
            with numbers that are not finite.
        TensorFileMismatchError: If it was written for other observations, actions or another architecture.
    """
    chosen, cores = policy_path(path), check_threads(threads)
    suffix = chosen.suffix.lower()
    if suffix == ".onnx":
        from ddz_agents.neural.onnx_policy import OnnxPolicy

        return OnnxPolicy(chosen, cores)
    if suffix == ".zip":
        try:
            from ddz_agents.neural.sb3_policy import load_sb3_policy
        except ImportError as error:
            raise MissingSb3Error(f"a .zip policy needs sb3-contrib ({error}): {install_hint('train')}") from error
        return _check_overflow(load_sb3_policy(chosen, trust_file=trust_file, threads=cores), chosen)
    from ddz_agents.neural.compiled_policy import CompiledPolicy
    from ddz_agents.neural.weights import load_weights

    return _check_overflow(CompiledPolicy(load_weights(chosen), cores), chosen)


def _check_overflow(policy: PolicyModel, path: Path) -> PolicyModel:
    """Return the policy after checking that its outputs for one example position are finite."""
    first = State.new(0)
    logs, values = policy.evaluate(observe(first)[None], action_mask(first)[None])
    if np.isnan(logs).any() or not np.isfinite(values).all():
        raise TensorFileError(f"{path} computes numbers that are not finite: its weights are damaged")
    return policy
