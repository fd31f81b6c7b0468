"""``python -m tests.release_notes vX.Y.Z``: the changelog's section of a release, if the checkout is ready to be one.

The workflow of releases runs it before anything is published.  A fault ends it with a sentence and exit code 1.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tests.packages import ROOT
from tests.release import pyproject

VERSIONED = {
    "pyproject.toml": '\nversion = "{}"\n',
    "ddz_env/__init__.py": '\n__version__ = "{}"\n',
    "CITATION.cff": "\nversion: {}\n",
    "CHANGELOG.md": "\n## [{}] – 20",
}
"""The files that have the version, and how each writes it; in the changelog a date follows."""
UNFILLED = "-OWNER-"
"""Where the repository's address is not filled in: no account's name may begin with a hyphen."""


class NotReadyError(Exception):
    """The checkout must not be published as it is."""


def notes(tag: str, root: Path = ROOT) -> str:
    """Return the section of the changelog that describes a tag.

    Raises:
        NotReadyError: If a file has another version, the changelog no such section with a date, or the repository no
            address.
    """
    if not tag.startswith("v"):
        raise NotReadyError(f"a tag begins with v: v{tag} instead of {tag}")
    version = tag[1:]
    texts = {name: (root / name).read_text(encoding="utf-8") for name in VERSIONED}
    others = [name for name, line in VERSIONED.items() if line.format(version) not in texts[name]]
    if others:
        raise NotReadyError(f"{tag} is not the version of {', '.join(others)}")
    if UNFILLED in pyproject(root)["project"]["urls"]["Repository"]:
        raise NotReadyError(f"the repository's address in pyproject.toml still has {UNFILLED}: fill it in")
    [section] = re.findall(rf"(?ms)^## \[{re.escape(version)}\][^\n]*\n(.*?)(?=^## |\Z)", texts["CHANGELOG.md"])
    return str(section).strip()


if __name__ == "__main__":
    try:
        print(notes(*sys.argv[1:]))
    except NotReadyError as error:
        sys.exit(str(error))
