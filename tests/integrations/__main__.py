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

from tests.integrations.programs import CONSTRAINTS, RESULTS, fingerprint, form_of, programs, role_of, spread
from tests.rooms import ROOT

ENVIRONMENTS = Path(".integrations")
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


def _run(command: list[str], log: Path, **variables: str) -> str:
    """Run a command, and return what it printed; its messages go to a log."""
    environ = os.environ | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "NO_COLOR": "1"} | variables
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as messages:
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": messages, "text": True}
        try:
            done = subprocess.run(command, cwd=ROOT, env=environ, timeout=SECONDS, **pipes)
        except subprocess.TimeoutExpired:
            raise FailedError(f"it took more than {SECONDS} s; see {log}") from None
    if done.returncode:
        last = log.read_text(encoding="utf-8", errors="replace").splitlines()[-8:]
        raise FailedError("\n".join([f"exit status {done.returncode}; the end of {log}:", *last]))
    return done.stdout


class Program:
    """A program of a library, and its row of results, which is empty once its text has changed."""

    def __init__(self, name: str, path: Path, rows: dict[str, dict[str, Any]]) -> None:
        self.name, self.rows = name, rows
        self.library = path.parent
        self.source = path.read_text(encoding="utf-8")
        self.module = ".".join(("tests", "integrations", self.library.name, path.stem))
        row, digest = rows.get(name, {}), fingerprint(path)
        self.row = row if row.get("program") == digest else {"program": digest, "seeds": {}}

    def log(self, what: object) -> Path:
        return ROOT / ENVIRONMENTS / "logs" / f"{self.name}.{what}.log"

    def python(self) -> str:
        """The interpreter of the library's virtual environment, made unless there is one with the same constraints."""
        folder = ROOT / ENVIRONMENTS / self.library.name
        python = str(folder / ("Scripts" if os.name == "nt" else "bin") / "python")
        wanted, finished = (self.library / CONSTRAINTS).read_text(encoding="utf-8"), folder / CONSTRAINTS
        if not finished.is_file() or finished.read_text(encoding="utf-8") != wanted:
            self.say("installing")
            shutil.rmtree(folder, ignore_errors=True)
            venv.create(folder, with_pip=True)
            # Most of what comes with torch is never imported: what is gets compiled then.
            install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
            given = ["--requirement", str(self.library / CONSTRAINTS), "--editable", str(ROOT)]
            _run([*install, *given], self.log("install"))
            finished.write_text(wanted, encoding="utf-8")
        return python

    def train(self, seed: int, **variables: str) -> dict[str, float]:
        """The share of games that it wins with a seed, and the processor time of it and its processes."""
        python, before = self.python(), resource.getrusage(resource.RUSAGE_CHILDREN)
        printed = _run([python, "-m", self.module, str(seed)], self.log(seed), **variables)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if not (found := _WINS.search(printed)) or int(found[1]) != seed:
            raise FailedError("it did not say how much it won")
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return {"wins": round(float(found[2]) / 100, 4), "seconds": round(seconds, 1)}

    def measured(self, what: str, **options: Any) -> dict[str, Any]:
        """What ``tests.integrations.speed`` measures of it in the environment of its library."""
        module = ["-m", "tests.integrations.speed", what, self.name, self.module, json.dumps(options)]
        printed = _run([self.python(), *module], self.log(what))
        found = [json.loads(line)["measured"] for line in printed.splitlines() if line.startswith('{"measured"')]
        if not found:
            raise FailedError(f"it printed no {what}")
        measured: dict[str, Any] = found[-1]
        return measured

    def keep(self, **figures: Any) -> None:
        """Write new figures into its row, in a file that is whole at any time."""
        self.row |= figures
        self.rows[self.name] = self.row
        path, temporary = ROOT / RESULTS, ROOT / RESULTS.with_suffix(".tmp")
        temporary.write_text(json.dumps(dict(sorted(self.rows.items())), indent=1) + "\n", encoding="utf-8")
        os.replace(temporary, path)

    def say(self, what: object) -> None:
        print(f"{self.name}: {what}", file=sys.stderr, flush=True)


def _facts(program: Program) -> dict[str, Any]:
    """The versions that a program runs with, and what random play wins in its games."""
    role = role_of(program.source)
    facts = program.measured("facts", **({"role": role} if role else {}))
    distribution = _DISTRIBUTIONS.get(program.library.name, program.library.name)
    named = {one.lower().replace("_", "-"): version for one, version in facts["versions"].items()}
    versions = {one: named[one].partition("+")[0] for one in (distribution, "torch", "gymnasium", "pettingzoo")}
    return {"library": distribution, "versions": {"python": facts["python"], **versions}, "random": facts["random"]}


def _wins(program: Program, *, again: bool) -> str:
    """Train with the seeds that are not yet known of a program, and say what it wins."""
    if again or "random" not in program.row:
        program.row |= _facts(program) | {"seeds": {}}
    seeds = program.row["seeds"]
    for seed in SEEDS:
        if str(seed) not in seeds:
            program.say(f"training with seed {seed}")
            program.keep(seeds=seeds | {str(seed): program.train(seed)})
            seeds = program.row["seeds"]
    shares, chance = [seed["wins"] for seed in seeds.values()], program.row["random"]
    if min(shares) <= chance + 0.02:
        raise FailedError(f"it wins {spread(shares)} %, random play {100 * chance:.1f} %")
    return f"wins {spread(shares)} % of its games against random play, which itself wins {100 * chance:.1f} %"


def _speeds(program: Program, *, again: bool) -> str:
    """Measure how fast a program's games are, unless that is known, and say it."""
    if not program.row["seeds"]:
        raise FailedError("its wins come first")
    if again or "speed" not in program.row:
        program.keep(speed=program.measured("speeds", **form_of(program.source)))
    speed = program.row["speed"]
    return f"{speed['through']:,} decisions a second, {speed['of_ours']:.0%} of ours"


def _smoke(program: Program, *, again: bool) -> str:
    """Run a program for a moment, and keep nothing."""
    found = program.train(SEEDS[0], STEPS=str(SMOKE_STEPS))
    return f"runs: after {SMOKE_STEPS:,} decisions it wins {found['wins']:.1%} in {found['seconds']:.0f} s"


def main(
    names: Annotated[list[str] | None, typer.Argument(help="Libraries or programs; all by default.")] = None,
    smoke: Annotated[bool, typer.Option("--smoke", help="Run each for a moment, and keep nothing.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Measure what has been measured already, too.")] = False,
    only: Annotated[
        Literal["wins", "speeds"] | None, typer.Option(help="Measure one of the two; both by default.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Make the virtual environments again.")] = False,
) -> None:
    """Train with other libraries, each in a virtual environment of its own under .integrations.

    An environment is made again only when its constraints have changed.  Every program runs with three seeds.  Results
    are kept seed by seed, so a run that was ended continues where it was; a program that has changed starts over.
    Speeds come last, in one go of a few minutes: they are true on a quiet machine only.
    """
    every = programs(ROOT)
    chosen = {name: path for name, path in every.items() if not names or {name, path.parent.name} & set(names)}
    if unknown := set(names or ()) - {one for name, path in every.items() for one in (name, path.parent.name)}:
        raise typer.BadParameter(f"no integration is called {', '.join(sorted(unknown))}; there are {', '.join(every)}")
    for library in {path.parent for path in chosen.values()} if fresh else ():
        (ROOT / ENVIRONMENTS / library.name / CONSTRAINTS).unlink(missing_ok=True)
    results = ROOT / RESULTS
    rows = json.loads(results.read_text(encoding="utf-8")) if results.is_file() else {}
    working = [Program(name, path, rows) for name, path in sorted(chosen.items())]
    failed = []
    both = {"wins": _wins, "speeds": _speeds}
    for measure in [_smoke] if smoke else [both[which] for which in both if only in (None, which)]:
        for program in list(working):
            try:
                program.say(measure(program, again=again))
            except FailedError as error:
                working.remove(program)
                failed.append(program.name)
                program.say(f"FAILED: {error}")
    if failed:
        print(f"{', '.join(sorted(failed))}: failed", file=sys.stderr)
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
