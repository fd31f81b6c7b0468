"""What a zip of Stable-Baselines3 was trained for, as a member of JSON that is read without unpickling anything.

Stable-Baselines3 itself reads the members that it wrote and leaves this one alone.
"""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from agents.neural.errors import TensorFileError, TensorFileMismatchError

MEMBER = "ddz-policy.json"
KIND = "ddz-sb3-policy"
VERSION = 1

_MODEL = "data"
"""A member that every model has.  Its weights are zips in the zip, so that a part of a model may pass for a zip."""
_MOST_BYTES = 1 << 16


@dataclass(frozen=True)
class Purpose:
    """What a policy was trained for.

    Attributes:
        rules: The preset; None where the file does not say.
        objective: What its values mean: ``win`` or ``stake``.
    """

    rules: str | None = None
    objective: str = "win"


def add_purpose(file: str | Path | IO[bytes], purpose: Purpose) -> None:
    """Say in a zip that ``model.save`` has written what it is for.  Once: members of a zip are not replaced.

    Args:
        file: The zip, or its path.
        purpose: What to say.

    Raises:
        TensorFileError: If the file is missing, no such zip, or says so already.
    """
    about = {"kind": KIND, "version": VERSION, "rules": purpose.rules, "objective": purpose.objective}
    if MEMBER in _members(file):
        raise TensorFileError(f"{file} says already what it is for, in its member {MEMBER}")
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr(MEMBER, json.dumps(about, indent=2) + "\n")


def read_purpose(path: str | Path) -> Purpose:
    """Read what a zip of Stable-Baselines3 is for; nothing is unpickled, so that no trust is needed.

    Args:
        path: The file.  One that does not say, as plain ``model.save`` writes it, is taken to play for wins.

    Raises:
        TensorFileError: If the file is missing, no such zip, or corrupt.
        TensorFileMismatchError: If what it says is not to be understood here.
    """
    if MEMBER not in _members(path):
        return Purpose()
    try:
        with zipfile.ZipFile(path) as archive, archive.open(MEMBER) as member:
            text = member.read(_MOST_BYTES)
    except (OSError, zipfile.BadZipFile) as error:
        raise TensorFileError(f"{path} is corrupt: {error}") from error
    try:
        about = json.loads(text)
        heading, purpose = (about["kind"], about["version"]), Purpose(about["rules"], about["objective"])
    except (ValueError, KeyError, TypeError) as error:
        raise TensorFileMismatchError(f"{path}: its member {MEMBER} does not say what it is for: {error!r}") from error
    known = isinstance(purpose.objective, str) and (purpose.rules is None or isinstance(purpose.rules, str))
    if heading != (KIND, VERSION) or not known:
        raise TensorFileMismatchError(f"{path}: its member {MEMBER} is no {KIND} of version {VERSION}: {about}")
    return purpose


def _members(file: str | Path | IO[bytes]) -> list[str]:
    try:
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
    except (OSError, zipfile.BadZipFile) as error:
        raise TensorFileError(f"{file} is missing, no zip file, or was truncated: {error}") from error
    if _MODEL not in names:
        raise TensorFileError(f"{file} holds no model of Stable-Baselines3, or was truncated")
    return names
