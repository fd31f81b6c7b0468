"""What every file of a policy says about itself: its kind and version, and the tables that its numbers go by."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping

from agents.neural.columns import GAME_COLUMNS, REST_COLUMNS, observation_columns
from agents.neural.errors import TensorFileMismatchError
from agents.neural.features import MEANING
from ddz_env.actions import NUM_ACTIONS, action_name
from ddz_env.observation import CONCEALED, OBSERVATION


@functools.cache
def layout_fingerprint() -> str:
    """A hash of what gives a network's inputs and outputs their meaning, sixteen hexadecimal digits."""
    lines = [*map(str, OBSERVATION.rows()), *map(str, CONCEALED.rows()), *map(action_name, range(NUM_ACTIONS))]
    lines += [MEANING, f"columns {observation_columns(0)}, {REST_COLUMNS}, {GAME_COLUMNS}"]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def heading(kind: str, version: int) -> dict[str, str]:
    """The metadata that a file begins with.

    Args:
        kind: What the file is.
        version: The version of that kind of file.
    """
    return {"kind": kind, "version": str(version), "layout": layout_fingerprint()}


def check_heading(where: object, metadata: Mapping[str, str], kind: str, version: int) -> None:
    """Check the metadata of a file.

    Args:
        where: Names the file in messages.
        metadata: Its metadata.
        kind: What it must be.
        version: The version that it must have.

    Raises:
        TensorFileMismatchError: If it is of another kind or version, or was written for other observations or actions.
    """
    if metadata.get("kind") != kind:
        raise TensorFileMismatchError(f"{where} is no {kind} file but {metadata.get('kind', 'something else')!r}")
    if metadata.get("version") != str(version):
        raise TensorFileMismatchError(
            f"{where} has version {metadata.get('version')!r} of the {kind} format; this package reads {version}"
        )
    if metadata.get("layout") != layout_fingerprint():
        raise TensorFileMismatchError(
            f"{where} was written for observations or actions with the fingerprint {metadata.get('layout')!r}; "
            f"those of this package have {layout_fingerprint()!r}"
        )
