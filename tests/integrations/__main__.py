"""``python -m tests.integrations``: train with every library, keep the figures, and fail if one does not work."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import venv
from pathlib import Path
from typing import Annotated, Any

import typer

from training.integrations import CONSTRAINTS, FILE, programs

ROOT = Path(__file__).resolve().parent.parent.parent
ENVIRONMENTS = Path(".integrations")
RESULTS = Path("docs") / "results" / FILE
SECONDS = 1800
"""After which a program is ended."""


class FailedError(Exception):
    """An integration does not work."""


def _run(command: list[str], log: Path) -> str:
    """Run a command in the checkout, and return what it printed; its messages go to a log.

    Raises:
        FailedError: If it fails or takes too long.
    """
    one_thread = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "NO_COLOR": "1"}
    with log.open("w", encoding="utf-8") as messages:
        try:
            done = subprocess.run(
                command,
                cwd=ROOT,
                env=os.environ | one_thread,
                stdout=subprocess.PIPE,
                stderr=messages,
                text=True,
                timeout=SECONDS,
            )
        except subprocess.TimeoutExpired:
            raise FailedError(f"it took more than {SECONDS} s; see {log}") from None
    if done.returncode:
        last = log.read_text(encoding="utf-8", errors="replace").splitlines()[-8:]
        raise FailedError("\n".join([f"exit status {done.returncode}; the end of {log}:", *last]))
    return done.stdout


def environment(library: Path, *, fresh: bool = False) -> Path:
    """The virtual environment of a library, made unless there is one with the same constraints.

    Args:
        library: The library's folder.
        fresh: Make it anew.

    Returns:
        Its interpreter.

    Raises:
        FailedError: If something cannot be installed.
    """
    folder = ROOT / ENVIRONMENTS / library.name
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    wanted, finished = (library / CONSTRAINTS).read_text(encoding="utf-8"), folder / CONSTRAINTS
    if fresh or not finished.is_file() or finished.read_text(encoding="utf-8") != wanted:
        _say(library.name, "installing")
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        given = ["--requirement", str(library / CONSTRAINTS), "--editable", str(ROOT)]
        _run([*install, *given], folder.with_suffix(".install.log"))
        finished.write_text(wanted, encoding="utf-8")
    return python


def train(name: str, program: Path, *, fresh: bool = False) -> dict[str, Any]:
    """Run a program, and return its row.

    Raises:
        FailedError: If it fails, prints no row, plays an illegal action, or does not beat random.
    """
    python = environment(program.parent, fresh=fresh)
    module = ".".join(program.relative_to(ROOT).with_suffix("").parts)
    _say(name, "training")
    start = time.perf_counter()
    printed = _run([str(python), "-m", module], ROOT / ENVIRONMENTS / f"{name}.log").splitlines()
    rows = [json.loads(line) for line in printed if line.startswith('{"library"')]
    if not rows:
        raise FailedError("it printed no row")
    row: dict[str, Any] = {**rows[-1], "seconds": round(time.perf_counter() - start)}
    if row["illegal"]:
        raise FailedError(f"{row['illegal']} illegal actions")
    if not row["beats"]:
        raise FailedError(f"it wins {row['wins']}, random {row['random']}")
    return row


def _keep(name: str, row: dict[str, Any], path: Path) -> None:
    """Add a row to the results, in place of the name's old one."""
    rows = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    rows[name] = row
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text(json.dumps(dict(sorted(rows.items())), indent=1) + "\n", encoding="utf-8")
    os.replace(temporary, path)


def _say(name: str, what: str) -> None:
    print(f"{name}: {what}", file=sys.stderr, flush=True)


def main(
    names: Annotated[list[str] | None, typer.Argument(help="Libraries or programs; all by default.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Make the virtual environments anew.")] = False,
) -> None:
    """Train with other libraries, each in a virtual environment of its own under .integrations.

    An environment is made again only when its constraints have changed.  Results are kept program by program.
    """
    every = programs(Path(__file__).parent)
    chosen = {name: path for name, path in every.items() if not names or {name, path.parent.name} & set(names)}
    if unknown := set(names or ()) - {one for name, path in every.items() for one in (name, path.parent.name)}:
        raise typer.BadParameter(f"no integration is called {', '.join(sorted(unknown))}; there are {', '.join(every)}")
    failed, renewed = [], set()
    for name, program in chosen.items():
        try:
            row = train(name, program, fresh=fresh and program.parent not in renewed)
        except FailedError as error:
            failed.append(name)
            _say(name, f"FAILED: {error}")
        else:
            _keep(name, row, ROOT / RESULTS)
            _say(name, f"wins {row['wins']['mean']:.1%} v random, random itself {row['random']['mean']:.1%}")
        renewed.add(program.parent)
    if failed:
        _say(", ".join(failed), "failed")
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
