"""The locations of files: the user's own (games, compiled kernels) and the source of this project's packages."""

from __future__ import annotations

import functools
import os
import tempfile
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("ddz_env", "ddz_agents", "ddz_training", "ddz_play", "ddz_papers")
"""What an installation puts beside other packages; in a checkout each lies in a folder of its own."""


@functools.cache
def package_folder(name: str) -> Path:
    """Return the folder of one of this project's packages, without importing it.

    Args:
        name: Its dotted name, as ``ddz_training.learn``.

    Raises:
        ModuleNotFoundError: If the package at the top is not installed.
    """
    top, *below = name.split(".")
    spec = find_spec(top)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"{top!r} is not installed", name=top)
    return Path(spec.origin).resolve().parent.joinpath(*below)


def user_folder(variable: str, *below: str) -> Path:
    """Return this package's folder in a user directory, such as the one for caches or data.

    Args:
        variable: The environment variable that names the place of such files, as ``XDG_CACHE_HOME``.
        *below: That place below the home folder, where the variable is not set.

    Returns:
        The folder; a temporary one of the user's where no home is known, as for a user number without an account: a
        folder called ``~`` would be made in the current directory.
    """
    named, home = os.environ.get(variable), os.path.expanduser("~")
    if not named and not os.path.isabs(home):
        return temporary_folder()
    return Path(named or os.path.join(home, *below)) / "ddz-env"


def temporary_folder() -> Path:
    """Return this user's folder for the package in the system's temporary folder."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    return Path(tempfile.gettempdir()) / f"ddz-env-{user}"
