"""The page of integrations: the programs that use other libraries, and the results of running them.

The programs lie in ``tests/integrations``, where they are checked like all other code.  The pages in
``docs/guides/integrations`` show them.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import statistics
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ddz_env.core.errors import DouDizhuError
from ddz_training.measure.markdown import markdown_table

FILE = "integrations.json"
CONSTRAINTS = "constraints.txt"
_STEPS = re.compile(r'environ\.get\("STEPS", ([\d_]+)\)')
_ROLE = re.compile(r'main\(.*role="(\w+)"')
_FORM = re.compile(r'\b(rules|opponents|observation|dtype)"?(?:=|: )"(\w+)"')


class IntegrationError(DouDizhuError):
    """A program of an integration lacks a statement that it must have."""


def programs(folder: Path) -> dict[str, Path]:
    """The programs of all libraries by name: ``LIBRARY`` for ``train.py``, ``LIBRARY-WHAT`` for ``train_WHAT.py``.

    Args:
        folder: ``tests/integrations`` of a checkout.
    """
    files = sorted(path for path in folder.glob("*/train*.py") if (path.parent / CONSTRAINTS).is_file())
    return {f"{path.parent.name}{path.stem.removeprefix('train').replace('_', '-')}": path for path in files}


def fingerprint(program: Path) -> str:
    """The digest by which results name their program: of the program and of what it imports from the others."""
    source = program.read_text(encoding="utf-8")
    modules = re.findall(r"(?m)^from tests\.integrations\.([\w.]+) import", source)
    files = [program.parent.parent / f"{module.replace('.', '/')}.py" for module in modules]
    texts = [source, *(file.read_text(encoding="utf-8") for file in files)]
    return hashlib.sha256("".join(texts).encode()).hexdigest()[:16]


def steps_of(source: str) -> int:
    """Decisions that a program learns from by default.

    Raises:
        IntegrationError: If it does not say.
    """
    if not (found := _STEPS.search(source)):
        raise IntegrationError('a program says STEPS = int(os.environ.get("STEPS", ...)): a smoke test shortens it')
    return int(found[1])


def role_of(source: str) -> str | None:
    """The role that a program is judged in; none: all of them."""
    found = _ROLE.search(source)
    return found[1] if found else None


def form_of(source: str) -> dict[str, str]:
    """The form of the games that a program learns from; those that it is judged by may have another."""
    return dict(_FORM.findall(source.partition("if __name__ ==")[0]))


def counted_lines(source: str) -> int:
    """Lines that are neither blank nor a comment."""
    lines = (line.strip() for line in source.splitlines())
    return sum(bool(line) and not line.startswith("#") for line in lines)


def _folder(results: Path) -> Path:
    """The integrations of the checkout that has these results in ``docs/results``."""
    return results.absolute().parent.parent / "tests" / "integrations"


def _code(program: Path) -> Callable[[Path], str]:
    return lambda _: f"```py\n{program.read_text(encoding='utf-8')}```"


def _install(constraints: Path) -> Callable[[Path], str]:
    """The command that installs a library in the versions that its programs were run with."""
    lines = constraints.read_text(encoding="utf-8").splitlines()
    command = shlex.join(["pip", "install", "-e", ".", *(line for line in lines if not line.startswith("#"))])
    return lambda _: f"In a clone, with the versions that were tested:\n\n```sh\n{command}\n```"


def pages(results: Path) -> dict[str, Callable[[Path], str]]:
    """The generated blocks: the table, ``install-LIBRARY``, and ``code-NAME`` for all programs and their evaluation."""
    folder = _folder(results)
    found = programs(folder)
    shared = {"evaluation": folder / "evaluation.py", "learn-offline": folder / "tianshou" / "learn_offline.py"}
    install = {f"install-{file.parent.name}": _install(file.parent / CONSTRAINTS) for file in found.values()}
    code = {f"code-{name}": _code(file) for name, file in (found | shared).items()}
    return {"integrations": _table, **install, **code}


def current(results: Path) -> dict[str, dict[str, Any]]:
    """The rows of the programs as they are today, by name; those of earlier texts are left out."""
    rows: dict[str, dict[str, Any]] = json.loads((results / FILE).read_text(encoding="utf-8"))
    found = programs(_folder(results))
    return {
        name: row for name, row in sorted(rows.items()) if name in found and row["program"] == fingerprint(found[name])
    }


def _table(results: Path) -> str:
    """A line a program, in the order of their names, and those that still have to be measured."""
    found, rows = programs(_folder(results)), current(results)
    lines = [_line(name, row, found[name].read_text(encoding="utf-8")) for name, row in rows.items()]
    missing = [f"`{name}`" for name in found if name not in rows]
    rest = f"\n\nNot yet measured in their present form: {', '.join(missing)}." if missing else ""
    return (markdown_table(lines[0], (line.values() for line in lines)) if lines else "") + rest


def spread(shares: Iterable[float]) -> str:
    """The mean of some shares, and the lowest and the highest, in per cent."""
    every = sorted(100 * share for share in shares)
    mean = f"{statistics.fmean(every):.1f}"
    return f"{mean} ({every[0]:.1f}–{every[-1]:.1f})" if len(every) > 1 else mean


def _line(name: str, row: dict[str, Any], source: str) -> dict[str, object]:
    """The cells of a program by the headings of their columns."""
    speed: dict[str, Any] = row.get("speed", {})
    versions: dict[str, str] = row["versions"]
    seconds = statistics.fmean(seed["seconds"] for seed in row["seeds"].values())
    return {
        "program": f"`{name}`",
        "library": f"{row['library']} {versions[row['library']]}",
        "Python, torch, gymnasium, PettingZoo": ", ".join(
            versions[which] for which in ("python", "torch", "gymnasium", "pettingzoo")
        ),
        "lines": counted_lines(source),
        "role": role_of(source) or "all",
        "steps": f"{steps_of(source):,}",
        "seeds": len(row["seeds"]),
        "wins % v random": spread(seed["wins"] for seed in row["seeds"].values()),
        "random's own": f"{100 * row['random']:.1f}",
        "processor time": f"{seconds:,.0f} s",
        "steps/s": f"{speed['through']:,}" if speed else "–",
        "of ours": f"{speed['of_ours']:.0%}" if speed else "–",
    }
