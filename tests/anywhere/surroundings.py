"""The surroundings in which the tests are to pass: what differs from an ordinary run, one line each."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, Literal

from tests.release import pythons

Environ = Mapping[str, "str | None"]
"""Variables that are set, or with None taken away."""
NOTHING: Environ = MappingProxyType({})
LONG = "/".join(["a folder with a name that goes on and on"] * 6)


@dataclass(frozen=True)
class Surrounding:
    """What differs from an ordinary run, which has a clone, an empty home and an empty temporary folder of its own."""

    what: str
    """Said in the summary."""
    environ: Environ = field(default_factory=lambda: NOTHING)
    folder: str = "x"
    """Where clone, home and temporary folder lie, below a folder of the run."""
    options: tuple[str, ...] = ()
    """More options for pytest."""
    workers: int | None = None
    """Worker processes; by default those of the runner."""
    git: Literal["whole", "no folder", "no command"] = "whole"
    other_user: bool = False
    """Whether somebody else than root runs the tests."""
    home: Literal["writable", "read-only"] = "writable"
    kernels: Literal["shared", "temporary", "none"] = "shared"
    """Compiled ones: among the surroundings, where they are looked for when nothing can be written, or nowhere yet."""
    python: str = ""
    """An interpreter that gets an environment of its own; by default the one that runs this."""


SURROUNDINGS: dict[str, Surrounding] = {
    "short-path": Surrounding("a short path for everything"),
    "long-path": Surrounding("a path of 250 characters, with spaces", folder=LONG),
    "foreign-path": Surrounding("a path in Chinese, with an accent and a space", folder="斗地主 tête"),
    "first-run": Surrounding("the first run ever: nothing compiled, nothing cached", kernels="none"),
    "columns-40": Surrounding("a terminal of 40 columns", {"COLUMNS": "40"}),
    "columns-80": Surrounding("a terminal of 80 columns", {"COLUMNS": "80"}),
    "columns-200": Surrounding("a terminal of 200 columns", {"COLUMNS": "200"}),
    "own-settings": Surrounding("settings of one's own", {"FORCE_COLOR": "1", "DDZ_LANG": "zh", "DDZ_DEBUG": "1"}),
    "lang-c": Surrounding("LANG=C, and no other locale", {"LANG": "C", "LC_ALL": "C"}),
    "lang-zh": Surrounding("LC_ALL=zh_CN.UTF-8", {"LC_ALL": "zh_CN.UTF-8"}),
    "no-home": Surrounding("no HOME", {"HOME": None}),
    "read-only-home": Surrounding("a read-only home", other_user=True, home="read-only", kernels="temporary"),
    "not-root": Surrounding("a user who is not root", other_user=True),
    "no-git": Surrounding("a copy without .git, and no git on the path", git="no command"),
    "no-git-folder": Surrounding("a copy without .git, as from an archive", git="no folder"),
    "shuffled-1": Surrounding("tests in random order, seed 1", options=("--shuffle", "1")),
    "shuffled-2": Surrounding("tests in random order, seed 2", options=("--shuffle", "2")),
    "one-worker": Surrounding("one process", workers=0),
    "four-workers": Surrounding("four workers", workers=4),
    "optimized": Surrounding("PYTHONOPTIMIZE=1: plain asserts are not executed", {"PYTHONOPTIMIZE": "1"}),
}
"""Every surrounding by its short name; COLUMNS, LANG and the like are unset where it does not set them."""

CHEAP = ("foreign-path", "columns-40")
"""What CI runs: these two found most."""

TOGETHER = {
    "together-1": ("short-path", "columns-40", "lang-c", "no-home", "shuffled-1", "one-worker", "no-git-folder"),
    "together-2": ("long-path", "columns-200", "lang-zh", "read-only-home", "four-workers", "no-git"),
    "together-3": ("foreign-path", "columns-80", "own-settings", "not-root", "shuffled-2", "optimized"),
    "together-4": ("first-run",),
}
"""For the whole suite, which is too long to be run twenty times: what passes in several at once passes in each."""


def _changes(one: Surrounding) -> dict[str, Any]:
    """What differs from an ordinary run, beside the environment."""
    own = {part.name: getattr(one, part.name) for part in fields(one) if part.name not in ("what", "environ")}
    return {name: value for name, value in own.items() if value != getattr(Surrounding(""), name)}


def together(names: tuple[str, ...]) -> Surrounding:
    """One surrounding that differs in all that several differ in; no two of them differ in the same thing."""
    joined = SURROUNDINGS[names[0]]
    for name in names[1:]:
        one = SURROUNDINGS[name]
        if twice := (_changes(joined).keys() & _changes(one).keys()) | (joined.environ.keys() & one.environ.keys()):
            raise ValueError(f"{name} does not go with {joined.what}: {', '.join(sorted(twice))}")
        environ, what = {**joined.environ, **one.environ}, f"{joined.what}; {one.what}"
        joined = replace(joined, what=what, environ=environ, **_changes(one))
    return joined


def surroundings() -> dict[str, Surrounding]:
    """All of them, with one for each other Python at hand."""
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    others = {name: python for name, python in pythons().items() if name != here}
    told = {f"python-{name}": Surrounding(f"Python {name}", python=python) for name, python in others.items()}
    return SURROUNDINGS | told
