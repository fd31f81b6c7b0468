"""``python -m tests.integrations``: train with every library, keep the figures, and fail if one does not work."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import Annotated, Any

import typer

from training.integrations import CONSTRAINTS, FILE, fingerprint, on_page, programs, role_of, spread

ROOT = Path(__file__).resolve().parent.parent.parent
ENVIRONMENTS = Path(".integrations")
RESULTS = Path("docs") / "results" / FILE
SEEDS = (1, 2, 3)
SECONDS = 3600
"""After which a program is ended."""
SMOKE_STEPS = 3000
"""Decisions of ``--smoke``."""
_WINS = re.compile(r"^seed (\d+): ([\d.]+)% of 4,000 games won against random play$", re.MULTILINE)
_DISTRIBUTIONS = {"sb3": "stable-baselines3", "pufferlib": "pufferlib-core", "rllib": "ray", "cleanrl": "torch"}
"""Where a folder is not called as what it installs."""


class FailedError(Exception):
    """An integration does not work."""


def _run(command: list[str], log: Path, *, folder: Path = ROOT, **variables: str) -> str:
    """Run a command, and return what it printed; its messages go to a log.

    Raises:
        FailedError: If it fails or takes too long.
    """
    one_thread = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "NO_COLOR": "1"}
    with log.open("w", encoding="utf-8") as messages:
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                env=os.environ | one_thread | variables,
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


def copied(name: str, source: str) -> Path:
    """A program as a reader saves it: a file in a folder of its own, where nothing of the checkout is at hand."""
    file = ROOT / ENVIRONMENTS / "copied" / name / "program.py"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(source, encoding="utf-8")
    return file


def train(python: Path, file: Path, seed: int, **variables: str) -> dict[str, float]:
    """Run a program with a seed.

    Returns:
        The share of games that it won, and the seconds of processor time that it and its processes took.

    Raises:
        FailedError: If it fails, also at an illegal action, or does not say how much it won.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    log = file.parent.with_suffix(f".{seed}.log")
    printed = _run([str(python), file.name, str(seed)], log, folder=file.parent, **variables)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if not (found := _WINS.search(printed)) or int(found[1]) != seed:
        raise FailedError("it did not say how much it won")
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"wins": round(float(found[2]) / 100, 4), "seconds": round(seconds, 1)}


def speed(python: Path, name: str, file: Path, library: str, source: str) -> dict[str, Any]:
    """What random play wins and how fast it is, with the versions at hand.

    Raises:
        FailedError: If it fails.
    """
    role = role_of(source)
    options = json.dumps({"role": role} if role else {})
    module = [str(python), "-m", "tests.integrations.speed", name, str(file), library, options]
    printed = _run(module, file.parent.with_suffix(".speed.log"))
    found = [json.loads(line)["speed"] for line in printed.splitlines() if line.startswith('{"speed"')]
    if not found:
        raise FailedError("it printed no speeds")
    measured: dict[str, Any] = found[-1]
    return measured


class Results:
    """The rows of all programs, in a file that is whole at any time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}

    def row(self, name: str, source: str, *, fresh: bool) -> dict[str, Any]:
        """What is known of a program; nothing, if its text has changed."""
        row = self.rows.get(name, {})
        if fresh or row.get("program") != fingerprint(source):
            row = {"program": fingerprint(source), "seeds": {}}
        return row

    def keep(self, name: str, row: dict[str, Any]) -> None:
        """Write a row, in place of the program's old one."""
        self.rows[name] = row
        temporary = self.path.with_name(self.path.name + ".tmp")
        temporary.write_text(json.dumps(dict(sorted(self.rows.items())), indent=1) + "\n", encoding="utf-8")
        os.replace(temporary, self.path)


def _measure(name: str, library: Path, results: Results, *, fresh: bool) -> str:
    """Measure what is not yet known of a program, and say what it wins."""
    python, source = environment(library), on_page(name, ROOT)
    file, row = copied(name, source), results.row(name, source, fresh=fresh)
    if "speed" not in row:
        _say(name, "measuring speeds")
        measured = speed(python, name, file, library.name, source)
        distribution = _DISTRIBUTIONS.get(library.name, library.name)
        named = {one.lower().replace("_", "-"): version for one, version in measured.pop("versions").items()}
        versions = {one: named[one].partition("+")[0] for one in (distribution, "torch", "gymnasium", "pettingzoo")}
        row |= {"library": distribution, "versions": {"python": measured.pop("python"), **versions}, "speed": measured}
    for seed in SEEDS:
        if str(seed) not in row["seeds"]:
            _say(name, f"training with seed {seed}")
            row["seeds"][str(seed)] = train(python, file, seed)
            results.keep(name, row)
    shares, chance = [seed["wins"] for seed in row["seeds"].values()], row["speed"]["random"]
    if min(shares) <= chance + 0.02:
        raise FailedError(f"it wins {spread(shares)} %, random play {100 * chance:.1f} %")
    return f"wins {spread(shares)} % of its games against random play, which itself wins {100 * chance:.1f} %"


def _smoke(name: str, library: Path) -> str:
    python, source = environment(library), on_page(name, ROOT)
    found = train(python, copied(name, source), SEEDS[0], STEPS=str(SMOKE_STEPS))
    return f"runs: after {SMOKE_STEPS:,} decisions it wins {found['wins']:.1%} in {found['seconds']:.0f} s"


def _say(name: str, what: str) -> None:
    print(f"{name}: {what}", file=sys.stderr, flush=True)


def main(
    names: Annotated[list[str] | None, typer.Argument(help="Libraries or programs; all by default.")] = None,
    smoke: Annotated[bool, typer.Option("--smoke", help="Run each for a moment, and keep nothing.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Measure what has been measured already, too.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Make the virtual environments anew.")] = False,
) -> None:
    """Train with other libraries, each in a virtual environment of its own under .integrations.

    An environment is made again only when its constraints have changed.  Every program runs with three seeds.  Results
    are kept seed by seed, so a run that was ended goes on where it was; a program whose page has changed begins anew.
    """
    every = programs(Path(__file__).parent)
    chosen = {name: path for name, path in every.items() if not names or {name, path.parent.name} & set(names)}
    if unknown := set(names or ()) - {one for name, path in every.items() for one in (name, path.parent.name)}:
        raise typer.BadParameter(f"no integration is called {', '.join(sorted(unknown))}; there are {', '.join(every)}")
    failed, renewed = [], set()
    results = Results(ROOT / RESULTS)
    for name, program in chosen.items():
        library = program.parent
        try:
            if fresh and library not in renewed:
                renewed.add(library)
                environment(library, fresh=True)
            said = _smoke(name, library) if smoke else _measure(name, library, results, fresh=again)
        except FailedError as error:
            failed.append(name)
            said = f"FAILED: {error}"
        _say(name, said)
    if failed:
        _say(", ".join(failed), "failed")
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
