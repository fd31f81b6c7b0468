"""The programs that pages show, and what the pages of integrations show of running theirs."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ddz_training.measure.markdown import format_markdown_table
from tests.integrations import programs


def table() -> str:
    """One line per program, in the order of their names."""
    lines = [(f"`{name}`", *_cells(row)) for name, row in programs.results().items()]
    return format_markdown_table(("program", "wins % v random", "steps/s", "of ours"), lines)


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    wins, speed = programs.spread(seed["wins"] for seed in row["seeds"].values()), row.get("speed")
    return (wins, f"{speed['through']:,}", f"{speed['of_ours']:.0%}") if speed else (wins, "–", "–")


def code(program: Path, language: str = "py") -> str:
    """A program."""
    return f"```{language}\n{program.read_text(encoding='utf-8')}```"


def install(library: Path) -> str:
    """The command that installs a library in the versions that its programs were run with."""
    lines = (library / programs.CONSTRAINTS).read_text(encoding="utf-8").splitlines()
    command = shlex.join(["pip", "install", "-e", ".", *(line for line in lines if not line.startswith("#"))])
    return f"In a clone, with the versions that were tested:\n\n```sh\n{command}\n```"


_OTHERS = {
    "evaluation": programs.FOLDER / "evaluation.py",
    "learn-offline": programs.FOLDER / "tianshou" / "learn_offline.py",
}

_PROGRAMS = Path(__file__).with_name("programs")

TABLES: dict[str, Callable[[], str]] = {
    "integrations": table,
    "json-program": functools.partial(code, _PROGRAMS / "table.mjs", "js"),
    "python-program": functools.partial(code, _PROGRAMS / "against.py"),
    **{f"install-{file.parent.name}": functools.partial(install, file.parent) for file in programs.PROGRAMS.values()},
    **{f"code-{name}": functools.partial(code, file) for name, file in (programs.PROGRAMS | _OTHERS).items()},
}
"""The table, ``install-LIBRARY``, and ``code-NAME`` for all programs and what they share."""
