"""The programs that use other libraries, what their texts say, and which results are of them as they are today."""

from __future__ import annotations

import hashlib
import json
import re
import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.rooms import ROOT as ROOT

FOLDER = Path("tests") / "integrations"
RESULTS = Path("docs") / "results" / "integrations.json"
CONSTRAINTS = "constraints.txt"
_STEPS = re.compile(r'environ\.get\("STEPS", ([\d_]+)\)')
_ROLE = re.compile(r'main\(.*role="(\w+)"')
_FORM = re.compile(r'\b(rules|opponents|observation|dtype)"?(?:=|: )"(\w+)"')


def programs(checkout: Path) -> dict[str, Path]:
    """The programs of all libraries by name: ``LIBRARY`` for ``train.py``, ``LIBRARY-WHAT`` for ``train_WHAT.py``."""
    files = sorted(path for path in (checkout / FOLDER).glob("*/train*.py") if (path.parent / CONSTRAINTS).is_file())
    return {f"{path.parent.name}{path.stem.removeprefix('train').replace('_', '-')}": path for path in files}


def fingerprint(program: Path) -> str:
    """The digest by which results name their program: of the program and of what it imports from the others."""
    source = program.read_text(encoding="utf-8")
    modules = re.findall(r"(?m)^from tests\.integrations\.([\w.]+) import", source)
    files = [program.parent.parent / f"{module.replace('.', '/')}.py" for module in modules]
    texts = [source, *(file.read_text(encoding="utf-8") for file in files)]
    return hashlib.sha256("".join(texts).encode()).hexdigest()[:16]


def steps_of(source: str) -> int:
    """Decisions that a program learns from by default; a smoke test shortens it."""
    steps = _STEPS.search(source)
    assert steps, 'a program says STEPS = int(os.environ.get("STEPS", ...))'
    return int(steps[1])


def role_of(source: str) -> str | None:
    """The role that a program is judged in; none: all of them."""
    role = _ROLE.search(source)
    return role[1] if role else None


def form_of(source: str) -> dict[str, str]:
    """The form of the games that a program learns from; those that it is judged by may have another."""
    return dict(_FORM.findall(source.partition("if __name__ ==")[0]))


def current(checkout: Path) -> dict[str, dict[str, Any]]:
    """The rows of the programs as they are today, by name; those of earlier texts are left out."""
    rows: dict[str, dict[str, Any]] = json.loads((checkout / RESULTS).read_text(encoding="utf-8"))
    found = programs(checkout)
    return {
        name: row for name, row in sorted(rows.items()) if name in found and row["program"] == fingerprint(found[name])
    }


def spread(shares: Iterable[float]) -> str:
    """The mean of some shares, and the lowest and the highest, in per cent."""
    every = sorted(100 * share for share in shares)
    mean = f"{statistics.fmean(every):.1f}"
    return f"{mean} ({every[0]:.1f}–{every[-1]:.1f})" if len(every) > 1 else mean
