"""The policies and the belief network that the package ships."""

from __future__ import annotations

from importlib import resources
from pathlib import Path


def shipped_policy_path() -> Path:
    """The file of the policy that ``policy`` plays by where no other is named.

    Example:
        >>> shipped_policy_path().name
        'policy.safetensors'
    """
    return Path(str(resources.files(__name__) / "policy.safetensors"))


def shipped_points_path() -> Path:
    """The file of the policy that bids, doubles and plays for points.

    Example:
        >>> shipped_points_path().name
        'points.safetensors'
    """
    return Path(str(resources.files(__name__) / "points.safetensors"))


def shipped_douzero_path() -> Path:
    """The file of the policy that was trained under DouZero's rules.

    Example:
        >>> shipped_douzero_path().name
        'douzero.safetensors'
    """
    return Path(str(resources.files(__name__) / "douzero.safetensors"))


_NAMED = {"points": shipped_points_path, "douzero": shipped_douzero_path}
"""Shipped policies by the names that stand for their files."""


def policy_path(path: str | Path | None = None) -> Path:
    """The file that the option ``path`` of an agent means.

    Args:
        path: A file; ``points`` for the shipped policy that plays for points, ``douzero`` for the one that learned
            DouZero's rules; None for the one that plays to win by the standard rules.

    Example:
        >>> policy_path("points").name
        'points.safetensors'
    """
    if path is None:
        return shipped_policy_path()
    named = _NAMED.get(str(path))
    return Path(path) if named is None else named()


def shipped_standalone_path() -> Path:
    """The ONNX file of the policy that was distilled from the shipped one and needs nothing of this package.

    Example:
        >>> shipped_standalone_path().name
        'standalone.onnx'
    """
    return Path(str(resources.files(__name__) / "standalone.onnx"))


def shipped_belief_path() -> Path:
    """The file of the belief network that ``inference=belief`` draws worlds from where no other is named.

    Example:
        >>> shipped_belief_path().name
        'belief.safetensors'
    """
    return Path(str(resources.files(__name__) / "belief.safetensors"))
