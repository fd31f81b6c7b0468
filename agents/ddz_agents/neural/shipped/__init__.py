"""The policies and the belief network that are shipped with the package."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from pathlib import Path

POLICIES: Mapping[str, tuple[str, ...]] = {
    "policy-v1": ("cea81e728b42ffcb", "cfd085c33437f77a"),
    "policy-v2": ("8eaea894e4be0d81", "f6273136737c9a5b"),
    "policy-v3": ("cfa0fc6e1d15a27f", "aa652c8f9985cb91"),
}
"""The policies that play to win, by ids that never change, the newest last; each with the digests by which results know
it: of the file that was trained, and of those that shipped.

``policy-v1``, the yardstick, is what the benchmark and later policies are compared with.  Once there is a newer one, a
file is kept without its critic, and in half precision except for the first: it then has another digest.
"""

*_, NEWEST = POLICIES
"""What ``policy`` plays by."""

RAW = "policy-raw"
"""An ONNX file that takes observations and masks as bytes, for programs without this package: a copy of ``policy-v3``'s
choices, made by ``tools/distill.py``."""

BY_ID: Mapping[str, tuple[str, ...]] = {RAW: ("1149463c94ad050b",), **POLICIES}
"""All policies that play to win and have an id, with their digests."""


def shipped_policy_path() -> Path:
    """Return the path of the newest shipped policy, which the agent ``policy`` plays by default.

    Example:
        >>> shipped_policy_path().name
        'policy-v3.safetensors'
    """
    return _shipped_file(NEWEST)


def policy_name(digest: str) -> str:
    """Return a policy's id followed by its digest, or the digest alone if the policy was never shipped.

    Example:
        >>> policy_name("8eaea894e4be0d81")
        'policy-v2 (8eaea894e4be0d81)'
    """
    return next((f"{name} ({digest})" for name, files in BY_ID.items() if digest in files), digest)


def shipped_belief_path() -> Path:
    """Return the path of the belief network from which the agent ``neural-ismcts`` samples hidden hands.

    Example:
        >>> shipped_belief_path().name
        'belief.safetensors'
    """
    return _shipped_file("belief")


def _shipped_file(name: str) -> Path:
    suffix = "onnx" if name == RAW else "safetensors"
    return Path(str(resources.files(__name__) / f"{name}.{suffix}"))


def policy_path(path: str | Path | None = None) -> Path:
    """Return the path of the policy file that the value of an agent's ``path`` option stands for.

    Args:
        path: A file; an id of :data:`BY_ID`; ``points`` for the shipped policy that bids, doubles and plays for
            points; None for the newest of those that play to win.

    Example:
        >>> policy_path("points").name
        'points.safetensors'
    """
    if str(path) in ("points", *BY_ID):
        return _shipped_file(str(path))
    return shipped_policy_path() if path is None else Path(path)
