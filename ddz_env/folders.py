"""Where files of the user's own lie: games, compiled kernels."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def user_folder(variable: str, *below: str) -> Path:
    """This package's folder among the user's own.

    Args:
        variable: The environment variable that names the place of such files, as ``XDG_CACHE_HOME``.
        *below: That place below the home folder, where the variable is not set.

    Returns:
        The folder; a temporary one of the user's where nobody knows a home: a number without an account has none, and
        a folder called ``~`` would lie wherever the process happens to stand.
    """
    named, home = os.environ.get(variable), os.path.expanduser("~")
    if not named and not os.path.isabs(home):
        return temporary_folder()
    return Path(named or os.path.join(home, *below)) / "ddz-env"


def temporary_folder() -> Path:
    """A folder of this user among temporary files."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    return Path(tempfile.gettempdir()) / f"ddz-env-{user}"
