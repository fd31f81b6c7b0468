"""What every file of a policy says about itself: its kind and version, and the tables that its numbers go by."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from ddz_agents.neural.columns import GAME_COLUMNS, REST_COLUMNS, observation_columns
from ddz_agents.neural.errors import TensorFileMismatchError
from ddz_agents.neural.features import MEANING
from ddz_env.core.actions import NUM_ACTIONS, action_name
from ddz_env.core.errors import shown
from ddz_env.core.observation import CONCEALED, OBSERVATION


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


def plain_values(where: object, text: str | bytes) -> dict[str, Any]:
    """The plain values that a file says about itself, from their JSON.

    Args:
        where: Names the file in messages.
        text: JSON.

    Raises:
        TensorFileMismatchError: If it is no JSON, or no object with names and values.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TensorFileMismatchError(f"{where} does not say in JSON what it is for: {shown(error)}") from error
    if not isinstance(found, dict):
        raise TensorFileMismatchError(f"{where} does not say what it is for: {shown(found)} are no names with values")
    return found


def check_purpose(where: object, rules: object, objective: object, notes: object, values_trained: object) -> None:
    """Check what a policy says that it is for.

    Args:
        where: Names the file in messages.
        rules: Must be text, the name of a preset.
        objective: Must be ``win`` or ``stake``.
        notes: Must be names with values.
        values_trained: Must be true or false.

    Raises:
        TensorFileMismatchError: If one is something else.
    """
    for name, value, allowed in (
        ("rules", rules, isinstance(rules, str)),
        ("objective", objective, objective in ("win", "stake")),
        ("notes", notes, isinstance(notes, dict)),
        ("values_trained", values_trained, isinstance(values_trained, bool)),
    ):
        if not allowed:
            raise TensorFileMismatchError(f"{where} does not say what its weights are for: {name}={shown(value)}")


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
