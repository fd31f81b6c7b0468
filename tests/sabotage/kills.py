"""Jobs killed again and again with SIGKILL, resumed, and compared with one that ran in peace."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ddz_agents.neural.weights import load_weights
from ddz_training.measure.errors import ResultsFileError
from ddz_training.measure.store import read_results
from tests.sabotage import Outcome
from tests.training.apps.terminal import start_ddz

_PATIENCE = 600.0
"""Seconds that a job may take to its next line; more is a hang."""
_ENDLESS = 1_000_000
_UPDATES_IN_ALL = 300


@dataclass(frozen=True)
class Job:
    """A long job whose output has a suffix."""

    name: str
    suffix: str
    command: Callable[[Path, int, bool], Sequence[str]]
    """Arguments of ``ddz`` for an output and a size, and whether it is resumed."""
    lines: Callable[[Path], Path]
    """The file, below the output, that is written whenever something is done."""
    done: Callable[[Path], int]
    """How many lines the output has, while nothing writes."""
    kills: int
    per_unit: int
    """Lines for one unit of size."""
    same: Callable[[Path], object]
    """What must be equal, from the output."""


def _arena(*agents: str) -> Callable[[Path, int, bool], list[str]]:
    def command(out: Path, size: int, resume: bool) -> list[str]:
        return ["arena", *agents, "--no-timing", "--seed", "4", "--deals", str(size), "--out", str(out)]

    return command


_TINY = ("num_games=16", "steps=32", "opponents=random", "evaluate_every=0", "checkpoint_minutes=0")
_NARROW = ("architecture.width=8", "architecture.critic_width=8")


def _selfplay(out: Path, size: int, resume: bool) -> list[str]:
    """A training is as long from its first start to its last: its step size falls with the share of its updates."""
    command = ["train", "selfplay", "--threads", "1", "--out", str(out), "--updates", str(_UPDATES_IN_ALL)]
    settings = [part for setting in (*_TINY, *_NARROW) for part in ("--set", setting)]
    return [*command, "--resume"] if resume else [*command, *settings]


def _learned(out: Path) -> object:
    """Curves without the seconds, and the weights without the metadata."""
    curves = [line.rpartition(",")[0] for line in (out / "curves.csv").read_text().splitlines()]
    state = load_weights(out / "policy.safetensors").policy
    return curves, {name: array.tobytes() for name, array in state.items()}


def _log(out: Path) -> Path:
    """SQLite's write-ahead log of a run that writes results."""
    return out.with_suffix(".sqlite-wal")


def _results(out: Path) -> int:
    try:
        return len(read_results(out.with_suffix(".sqlite"))[1])
    except (OSError, ResultsFileError):  # it was killed before its first
        return 0


_RESULTS = (_log, _results)
_UPDATES = (lambda out: out / "checkpoint.safetensors", lambda out: _UPDATES_IN_ALL)

JOBS = (
    Job("arena, CSV", ".csv", _arena("random", "random-staged"), *_RESULTS, 22, 2, Path.read_bytes),
    Job("arena, one process", ".csv", _arena("random", "rules", "--processes=1"), *_RESULTS, 12, 2, Path.read_bytes),
    Job("arena, three", ".csv", _arena("random", "rules", "isuct:iterations=5"), *_RESULTS, 10, 6, Path.read_bytes),
    Job("train selfplay", "", _selfplay, *_UPDATES, 16, 1, _learned),
)


def kill_jobs(folder: Path, seed: int, jobs: Sequence[Job] = JOBS) -> Outcome:
    """Kill every job as often as it says, at moments of a seed, and let it end."""
    outcome = Outcome("kills (SIGKILL)", "resumed, the job ends byte for byte as one left alone", 60)
    rng = np.random.default_rng(seed)
    for number, job in enumerate(jobs):
        _kill_job(outcome, job, folder / f"killed{number}{job.suffix}", folder / f"whole{number}{job.suffix}", rng)
    return outcome


def _kill_job(outcome: Outcome, job: Job, out: Path, whole: Path, rng: np.random.Generator) -> None:
    for kill in range(job.kills):
        process = start_ddz(*job.command(out, _ENDLESS, kill > 0), cwd=out.parent)
        seen = _wait_for_more(process, job.lines(out))
        time.sleep(float(rng.uniform(0, 0.5)))
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        _, errors = process.communicate()
        outcome.check(seen, f"{job.name}, start {kill + 1}: {errors.strip()[-300:]}")
    size = job.done(out) // job.per_unit + 2
    for path, resume in ((out, True), (whole, False)):
        process = start_ddz(*job.command(path, size, resume), cwd=out.parent)
        _, errors = process.communicate(timeout=_PATIENCE)
        if process.returncode:
            outcome.fault(f"{job.name} to its end: {errors.strip()[-300:]}")
            return
    outcome.check(job.same(out) == job.same(whole), f"{job.name}: killed {job.kills} times, it ends differently")


def _wait_for_more(process: subprocess.Popen[str], file: Path) -> bool:
    """Wait until the job has written twice; False if it ended or hangs."""
    deadline, seen = time.monotonic() + _PATIENCE, {_stamp(file)}
    while len(seen) < 3:
        if process.poll() is not None or time.monotonic() > deadline:
            return False
        time.sleep(0.02)
        seen.add(_stamp(file))
    return True


def _stamp(file: Path) -> int:
    return file.stat().st_mtime_ns if file.is_file() else 0
