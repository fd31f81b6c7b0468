"""The policies and the belief network that the package ships."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from ddz_env.core.errors import InvalidAgentOptionError


def shipped_policy_path() -> Path:
    """The file of the policy that ``policy`` plays by where no other is named.

    Example:
        >>> shipped_policy_path().name
        'policy.safetensors'
    """
    return _shipped("policy")


def shipped_belief_path() -> Path:
    """The file of the belief network that ``neural-ismcts`` draws worlds from.

    Example:
        >>> shipped_belief_path().name
        'belief.safetensors'
    """
    return _shipped("belief")


def _shipped(name: str) -> Path:
    return Path(str(resources.files(__name__) / f"{name}.safetensors"))


def policy_path(path: str | Path | None = None) -> Path:
    """The file that the option ``path`` of an agent means.

    Args:
        path: A file; ``points`` for the shipped policy that bids, doubles and plays for points, ``yardstick`` for the
            first that shipped, with which the benchmark and later policies are compared; None for the one that plays
            to win.

    Raises:
        InvalidAgentOptionError: For ``douzero``, a shipped policy of 0.2.0.

    Example:
        >>> policy_path("points").name
        'points.safetensors'
    """
    if str(path) == "douzero":
        raise InvalidAgentOptionError(
            "path='douzero': that policy went, for it was hardly stronger under DouZero's rules than the one that "
            "stayed (docs/measurements/policy-results.md)"
        )
    if str(path) in ("points", "yardstick"):
        return _shipped(str(path))
    return shipped_policy_path() if path is None else Path(path)
