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
from typing import Annotated, Any, Literal

import typer

from ddz_training.apps.integrations import CONSTRAINTS, FILE, fingerprint, form_of, programs, role_of, spread
from tests.rooms import ROOT

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
    """Run a command, and return what it printed; its messages go to a log."""
    one_thread = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "NO_COLOR": "1"}
    with log.open("w", encoding="utf-8") as messages:
        try:
            pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": messages, "text": True}
            environ = os.environ | one_thread | variables
            done = subprocess.run(command, cwd=folder, env=environ, timeout=SECONDS, **pipes)
        except subprocess.TimeoutExpired:
            raise FailedError(f"it took more than {SECONDS} s; see {log}") from None
    if done.returncode:
        last = log.read_text(encoding="utf-8", errors="replace").splitlines()[-8:]
        raise FailedError("\n".join([f"exit status {done.returncode}; the end of {log}:", *last]))
    return done.stdout


def environment(library: Path) -> Path:
    """The interpreter of a library's virtual environment, made unless there is one with the same constraints."""
    folder = ROOT / ENVIRONMENTS / library.name
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    wanted, finished = (library / CONSTRAINTS).read_text(encoding="utf-8"), folder / CONSTRAINTS
    if not finished.is_file() or finished.read_text(encoding="utf-8") != wanted:
        _say(library.name, "installing")
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
        # Most of what comes with torch is never imported: what is gets compiled then.
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
        given = ["--requirement", str(library / CONSTRAINTS), "--editable", str(ROOT)]
        _run([*install, *given], folder.with_suffix(".install.log"))
        finished.write_text(wanted, encoding="utf-8")
    return python


def copied(name: str, source: str) -> Path:
    """A program in a folder of its own, where nothing of the checkout is at hand."""
    file = ROOT / ENVIRONMENTS / "copied" / name / "program.py"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(source, encoding="utf-8")
    return file


def train(python: Path, file: Path, seed: int, **variables: str) -> dict[str, float]:
    """The share of games that a program wins with a seed, and the processor time of it and its processes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    log = file.parent.with_suffix(f".{seed}.log")
    printed = _run([str(python), file.name, str(seed)], log, folder=file.parent, **variables)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if not (found := _WINS.search(printed)) or int(found[1]) != seed:
        raise FailedError("it did not say how much it won")
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"wins": round(float(found[2]) / 100, 4), "seconds": round(seconds, 1)}


def asked(python: Path, what: str, name: str, file: Path, **options: Any) -> dict[str, Any]:
    """What ``tests.integrations.speed`` measures of a program in the environment of its library."""
    library = name.partition("-")[0]
    module = [str(python), "-m", "tests.integrations.speed", what, name, str(file), library, json.dumps(options)]
    printed = _run(module, file.parent.with_suffix(f".{what}.log"))
    found = [json.loads(line)["measured"] for line in printed.splitlines() if line.startswith('{"measured"')]
    if not found:
        raise FailedError(f"it printed no {what}")
    measured: dict[str, Any] = found[-1]
    return measured


class Results:
    """The rows of all programs, in a file that is whole at any time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}

    def row(self, name: str, source: str) -> dict[str, Any]:
        """What is known of a program; nothing, if its text has changed."""
        row = self.rows.get(name, {})
        return row if row.get("program") == fingerprint(source) else {"program": fingerprint(source), "seeds": {}}

    def keep(self, name: str, row: dict[str, Any]) -> None:
        """Write a row, in place of the program's old one."""
        self.rows[name] = row
        temporary = self.path.with_name(self.path.name + ".tmp")
        temporary.write_text(json.dumps(dict(sorted(self.rows.items())), indent=1) + "\n", encoding="utf-8")
        os.replace(temporary, self.path)


def _facts(python: Path, name: str, file: Path, library: Path, source: str) -> dict[str, Any]:
    """The versions that a program runs with, and what random play wins in its games."""
    role = role_of(source)
    facts = asked(python, "facts", name, file, **({"role": role} if role else {}))
    distribution = _DISTRIBUTIONS.get(library.name, library.name)
    named = {one.lower().replace("_", "-"): version for one, version in facts["versions"].items()}
    versions = {one: named[one].partition("+")[0] for one in (distribution, "torch", "gymnasium", "pettingzoo")}
    return {"library": distribution, "versions": {"python": facts["python"], **versions}, "random": facts["random"]}


def _wins(name: str, program: Path, results: Results, *, again: bool) -> str:
    """Train with the seeds that are not yet known of a program, and say what it wins."""
    python, source = environment(program.parent), program.read_text(encoding="utf-8")
    file, row = copied(name, source), results.row(name, source)
    if again or "random" not in row:
        row |= _facts(python, name, file, program.parent, source) | {"seeds": {}}
    for seed in SEEDS:
        if str(seed) not in row["seeds"]:
            _say(name, f"training with seed {seed}")
            row["seeds"][str(seed)] = train(python, file, seed)
            results.keep(name, row)
    shares, chance = [seed["wins"] for seed in row["seeds"].values()], row["random"]
    if min(shares) <= chance + 0.02:
        raise FailedError(f"it wins {spread(shares)} %, random play {100 * chance:.1f} %")
    return f"wins {spread(shares)} % of its games against random play, which itself wins {100 * chance:.1f} %"


def _speeds(name: str, program: Path, results: Results, *, again: bool) -> str:
    """Measure how fast a program's games are, unless that is known, and say it."""
    python, source = environment(program.parent), program.read_text(encoding="utf-8")
    row = results.row(name, source)
    if not row["seeds"]:
        raise FailedError("its wins come first")
    if again or "speed" not in row:
        row["speed"] = asked(python, "speeds", name, copied(name, source), **form_of(source))
        results.keep(name, row)
    return f"{row['speed']['through']:,} decisions a second, {row['speed']['of_ours']:.0%} of ours"


def _smoke(name: str, program: Path, results: Results, *, again: bool) -> str:
    """Run a program for a moment, and keep nothing."""
    python, source = environment(program.parent), program.read_text(encoding="utf-8")
    found = train(python, copied(name, source), SEEDS[0], STEPS=str(SMOKE_STEPS))
    return f"runs: after {SMOKE_STEPS:,} decisions it wins {found['wins']:.1%} in {found['seconds']:.0f} s"


def _say(name: str, what: str) -> None:
    print(f"{name}: {what}", file=sys.stderr, flush=True)


def main(
    names: Annotated[list[str] | None, typer.Argument(help="Libraries or programs; all by default.")] = None,
    smoke: Annotated[bool, typer.Option("--smoke", help="Run each for a moment, and keep nothing.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Measure what has been measured already, too.")] = False,
    only: Annotated[
        Literal["wins", "speeds"] | None, typer.Option(help="Measure one of the two; both by default.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Make the virtual environments anew.")] = False,
) -> None:
    """Train with other libraries, each in a virtual environment of its own under .integrations.

    An environment is made again only when its constraints have changed.  Every program runs with three seeds.  Results
    are kept seed by seed, so a run that was ended goes on where it was; a program that has changed begins anew.
    Speeds come last, in one go of a few minutes: they are true on a quiet machine only.
    """
    every = programs(Path(__file__).parent)
    chosen = {name: path for name, path in every.items() if not names or {name, path.parent.name} & set(names)}
    if unknown := set(names or ()) - {one for name, path in every.items() for one in (name, path.parent.name)}:
        raise typer.BadParameter(f"no integration is called {', '.join(sorted(unknown))}; there are {', '.join(every)}")
    for library in {path.parent for path in chosen.values()} if fresh else ():
        (ROOT / ENVIRONMENTS / library.name / CONSTRAINTS).unlink(missing_ok=True)
    both = {"wins": _wins, "speeds": _speeds}
    results, failed = Results(ROOT / RESULTS), set[str]()
    for measure in [_smoke] if smoke else [both[which] for which in both if only in (None, which)]:
        for name in sorted(chosen.keys() - failed):
            try:
                _say(name, measure(name, chosen[name], results, again=again))
            except FailedError as error:
                failed.add(name)
                _say(name, f"FAILED: {error}")
    if failed:
        _say(", ".join(sorted(failed)), "failed")
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
