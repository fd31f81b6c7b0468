"""Plants faults one after the other and says whether the tests catch them: ``python -m tests.power [NN ...]``.

Everything happens in a temporary clone of HEAD, with a copy of the compiled kernels: planting in the engine compiles
again by itself, and nothing of it stays.  Each selection of tests first runs without a fault, as number 00: where that
fails, nothing can be said of a fault.  Results are added line by line, and what is there already is not run again.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.rooms import pythonpath

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
NO_FAULT = "00"


class Result(NamedTuple):
    """A run of the tests: a line of the file."""

    fault: str
    commit: str
    tests: str
    verdict: str
    by: str
    seconds: int


class Bench:
    """A clone of HEAD and its compiled kernels, in a folder, where faults are planted and tests are run."""

    def __init__(self, folder: Path, planted: Path, minutes: float, workers: int) -> None:
        self._clone, self._planted, self._minutes, self._workers = folder / "clone", planted, minutes, workers
        self.commit = _git(ROOT, "rev-parse", "HEAD").strip()
        _git(folder, "clone", "--quiet", "--shared", "--no-checkout", str(ROOT), str(self._clone))
        _git(self._clone, "checkout", "--quiet", "--detach", self.commit)
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ddz-env"
        self._kernels, kernels = folder / "cache" / "ddz-env", Path(os.environ.get("DDZ_CACHE_DIR") or home)
        self._kernels.mkdir(parents=True, mode=0o700)
        if kernels.is_dir():
            shutil.copytree(kernels, self._kernels, dirs_exist_ok=True)
        self._environment = {name: value for name, value in os.environ.items() if name != "DDZ_CACHE_DIR"}
        self._environment |= {"PYTHONPATH": pythonpath(self._clone), "XDG_CACHE_HOME": str(folder / "cache")}

    def run(self, fault: str, tests: list[str]) -> Result:
        """Plant a fault, run tests until one fails, and take the fault out again."""
        began = time.monotonic()
        with self._with_fault(fault) as applies:
            verdict, by = self._pytest(tests) if applies else ("does not apply", "")
        return Result(fault, self.commit, " ".join(tests), verdict, by, round(time.monotonic() - began))

    @contextmanager
    def _with_fault(self, fault: str) -> Iterator[bool]:
        """The clone with a fault; False if its patch does not fit the code any more."""
        kernels = set(self._kernels.iterdir())
        patch = ["git", "apply", str(self._planted / f"{fault}.patch")]
        try:
            yield fault == NO_FAULT or subprocess.run(patch, cwd=self._clone, check=False).returncode == 0
        finally:
            _git(self._clone, "checkout", "--quiet", "--", ".")
            _git(self._clone, "clean", "-fdxq")
            for folder in set(self._kernels.iterdir()) - kernels if fault != NO_FAULT else ():
                shutil.rmtree(folder, ignore_errors=True)  # kernels with the fault

    def _pytest(self, tests: list[str]) -> tuple[str, str]:
        """The verdict, and the first test that fails."""
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
        command += ["-n", str(self._workers), "--dist", "loadgroup"] if self._workers else []
        with subprocess.Popen(
            command, cwd=self._clone, env=self._environment, stdout=subprocess.PIPE, text=True, start_new_session=True
        ) as run:
            try:
                said = run.communicate(timeout=60 * self._minutes)[0]
            except BaseException as ended:
                os.killpg(run.pid, signal.SIGKILL)
                if isinstance(ended, subprocess.TimeoutExpired):
                    return "hangs", ""
                raise
        if run.returncode == 0:
            return "not caught", ""
        failed = [line.split()[1] for line in said.splitlines() if line.startswith(("FAILED ", "ERROR "))]
        return "caught", (failed or [f"pytest ended with {run.returncode}"])[0]


def _git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout


def _read(path: Path) -> dict[tuple[str, str, str], str]:
    """The verdicts so far by fault, commit and tests."""
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        return {(row["fault"], row["commit"], row["tests"]): row["verdict"] for row in csv.DictReader(file)}


def _add(path: Path, result: Result) -> None:
    with path.open("a", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([result] if file.tell() else [Result._fields, result])


def main() -> None:
    """Run the chosen faults."""
    parser = argparse.ArgumentParser(prog="python -m tests.power", description=__doc__.partition("\n")[0])
    parser.add_argument("faults", nargs="*", metavar="NN", help="numbers of faults (default: all)")
    parser.add_argument("--tests", nargs="+", metavar="PATH", help="tests to run (default: tests.json, else all)")
    parser.add_argument("--planted", type=Path, default=HERE / "planted", help="the folder of the patches")
    parser.add_argument("--out", type=Path, default=HERE / "results.csv", help="the file of results")
    parser.add_argument("--minutes", type=float, default=90, help="a longer run hangs")
    parser.add_argument("--workers", type=int, default=0, help="processes of pytest-xdist")
    given = parser.parse_args()
    known = sorted(patch.stem for patch in given.planted.resolve().glob("[0-9][0-9].patch"))
    faults = [f"{int(fault):02d}" for fault in given.faults] or known
    if unknown := sorted(set(faults) - set(known)):
        parser.error(f"there is no patch of {', '.join(unknown)} in {given.planted}")
    file, done = HERE / "tests.json", _read(given.out)
    chosen = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    with tempfile.TemporaryDirectory(prefix="ddz-power-") as folder:
        bench = Bench(Path(folder), given.planted.resolve(), given.minutes, given.workers)
        for fault in faults:
            tests = given.tests or chosen.get(fault, [])
            for number in (NO_FAULT, fault):
                key = (number, bench.commit, " ".join(tests))
                if key not in done:
                    result = bench.run(number, tests)
                    _add(given.out, result)
                    done[key] = result.verdict
                if number == NO_FAULT and done[key] != "not caught":
                    print(fault, "cannot be judged: without it the tests do not pass", flush=True)
                    break
            else:
                print(fault, done[key], flush=True)


if __name__ == "__main__":
    main()
