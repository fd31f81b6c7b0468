"""The page of integrations: the programs that use other libraries, and what came of running them.

The programs lie in ``tests/integrations``, beside the runner, and are shown from there; the results are those that the
runner wrote.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ddz_env.errors import DouDizhuError
from training.arena.statistics import Interval
from training.markdown import markdown_table

FILE = "integrations.json"
CONSTRAINTS = "constraints.txt"
_SHOWN = re.compile(r"^[ \t]*# \[shown\n(.*?)^[ \t]*# shown\]$", re.DOTALL | re.MULTILINE)


class IntegrationError(DouDizhuError):
    """A program of an integration shows nothing."""


def programs(folder: Path) -> dict[str, Path]:
    """The programs of all libraries by name: ``LIBRARY`` for ``train.py``, ``LIBRARY-WHAT`` for ``train_WHAT.py``.

    Args:
        folder: ``tests/integrations`` of a checkout.
    """
    files = sorted(path for path in folder.glob("*/train*.py") if (path.parent / CONSTRAINTS).is_file())
    return {f"{path.parent.name}{path.stem.removeprefix('train').replace('_', '-')}": path for path in files}


def shown(program: Path) -> str:
    """What a page shows of a program: the parts between ``# [shown`` and ``# shown]``.

    Raises:
        IntegrationError: If nothing is marked.
    """
    parts = _SHOWN.findall(program.read_text(encoding="utf-8"))
    if not parts:
        raise IntegrationError(f"{program} marks nothing to be shown: put it between '# [shown' and '# shown]'")
    return "\n\n".join(textwrap.dedent(part).strip("\n") for part in parts)


def counted_lines(source: str) -> int:
    """Lines that are neither blank nor a comment."""
    lines = (line.strip() for line in source.splitlines())
    return sum(bool(line) and not line.startswith("#") for line in lines)


def _folder(results: Path) -> Path:
    """The integrations of the checkout that has these results in ``docs/results``."""
    return results.absolute().parent.parent / "tests" / "integrations"


def _code(program: Path) -> Callable[[Path], str]:
    return lambda _: f"```py\n{shown(program)}\n```"


def pages(results: Path) -> dict[str, Callable[[Path], str]]:
    """The generated blocks: the table, and ``code-NAME`` for every program."""
    found = programs(_folder(results))
    return {"integrations": _table, **{f"code-{name}": _code(program) for name, program in found.items()}}


def _table(results: Path) -> str:
    """A line a program, in the order of their names."""
    rows: dict[str, dict[str, Any]] = json.loads((results / FILE).read_text(encoding="utf-8"))
    found = programs(_folder(results))
    header = (
        "program",
        "library",
        "Python, torch, gymnasium, PettingZoo",
        "lines",
        "trained for",
        "steps",
        "wins % v random",
        "random's own",
        "steps/s",
        "of ours",
    )
    return markdown_table(
        header, (_line(name, row, found[name]) for name, row in sorted(rows.items()) if name in found)
    )


def _line(name: str, row: dict[str, Any], program: Path) -> tuple[object, ...]:
    wins, chance = (Interval(**row[key]) for key in ("wins", "random"))
    versions = {package: version.partition("+")[0] for package, version in row["versions"].items()}
    clock = " (wall clock)" if row.get("clock") == "perf_counter" else ""
    return (
        f"`{name}`",
        f"{row['library']} {versions[row['library']]}",
        ", ".join(versions[which] for which in ("python", "torch", "gymnasium", "pettingzoo")),
        counted_lines(shown(program)),
        f"{row['rules']}, {row['role']}",
        f"{row['steps']:,}",
        wins.both(to="–"),
        chance.both(to="–"),
        f"{row['through']:,}{clock}",
        f"{row['through'] / row['ours']:.0%}",
    )
