"""``python -m tests.anywhere``: the tests that can depend on their surroundings, in one surrounding after another.

Each gets a clean copy of the repository, an empty home and an empty temporary folder.  What failed is named in the end.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from ddz_env.core.engine.cache import cache_root
from ddz_env.core.errors import unknown
from tests.anywhere.place import NotHereError, make_place
from tests.anywhere.surroundings import CHEAP, TOGETHER, Surrounding, surroundings, together

MARKED, WHOLE = "surroundings and not long", "not long"


@dataclass(frozen=True)
class Result:
    """How the tests ended: pytest's summary, or why there was nothing to run, and the tests that failed."""

    said: str
    seconds: float
    failed: tuple[str, ...] = ()
    held: bool | None = None
    """Whether all passed; None where this machine cannot make the surrounding."""


def run_tests(one: Surrounding, folder: Path, kernels: Path, log: Path, workers: int, arguments: list[str]) -> Result:
    """Run pytest in a surrounding, made in a new folder."""
    start = time.monotonic()
    try:
        place = make_place(one, folder, kernels)
    except NotHereError as error:
        return Result(f"not run: {error}", time.monotonic() - start)
    number = str(workers if one.workers is None else one.workers)
    code = place.run("-m", "pytest", "-q", "-n", number, "--dist", "loadgroup", *one.options, *arguments, log=log)
    told = log.read_text(encoding="utf-8", errors="replace").splitlines()
    failed = tuple(line for line in told if re.match(r"(FAILED|ERROR) ", line))
    return Result(told[-1].strip("= ") if told else "nothing", time.monotonic() - start, failed, code == 0)


def main(
    only: Annotated[list[str] | None, typer.Argument(help="Surroundings by name; all by default.")] = None,
    cheap: Annotated[bool, typer.Option("--cheap", help=f"Those of CI: {' and '.join(CHEAP)}.")] = False,
    whole: Annotated[
        bool, typer.Option("--whole", help="The whole default suite, by default in several surroundings at once.")
    ] = False,
    listed: Annotated[bool, typer.Option("--list", help="Say which there are, and end.")] = False,
    workers: Annotated[int, typer.Option(min=0, help="Worker processes.")] = 2,
    tests: Annotated[list[str] | None, typer.Option("--test", help="A file of tests, instead of all.")] = None,
    logs: Annotated[Path, typer.Option(help="Where pytest's output is kept.")] = Path(".anywhere"),
) -> None:
    """Run the tests in many surroundings; the exit code is 1 if a test failed in one of them."""
    known = surroundings() | {name: together(names) for name, names in TOGETHER.items()}
    for name in only or ():
        if name not in known:
            raise typer.BadParameter(unknown("surrounding", name, known))
    default = CHEAP if cheap else TOGETHER if whole else surroundings()
    chosen = {name: known[name] for name in only or default}
    if listed:
        for name, one in chosen.items():
            print(f"{name:16} {one.what}")
        return
    logs.mkdir(parents=True, exist_ok=True)
    arguments = ["-m", WHOLE if whole else MARKED, *(tests or ([] if whole else ["tests"]))]
    results: dict[str, Result] = {}
    try:
        _run_all(chosen, results, arguments, workers, logs)
    finally:  # after Ctrl-C, too
        _summarize(chosen, results)
    if any(result.held is False for result in results.values()):
        raise typer.Exit(1)


def _run_all(
    chosen: dict[str, Surrounding], results: dict[str, Result], arguments: list[str], workers: int, logs: Path
) -> None:
    """Fill the results, one surrounding after another."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as base:
        Path(base).chmod(0o755)  # one of the surroundings belongs to another user
        kernels = Path(base) / "kernels"
        known_already = cache_root()
        if known_already is None:
            kernels.mkdir(mode=0o700)
        else:
            shutil.copytree(known_already, kernels)
        for number, (name, one) in enumerate(chosen.items()):
            print(f"{number + 1} of {len(chosen)}  {name}: {one.what} ...", flush=True)
            folder = Path(base) / str(number)
            folder.mkdir()
            result = results[name] = run_tests(one, folder, kernels, logs / f"{name}.log", workers, arguments)
            print(f"    {result.said}", *(f"    {line}" for line in result.failed), sep="\n", flush=True)
            shutil.rmtree(folder, ignore_errors=True)


def _summarize(chosen: dict[str, Surrounding], results: dict[str, Result]) -> None:
    table = Table("surrounding", "what it is", "", "pytest says", "seconds")
    for name, result in results.items():
        held = {True: "passed", False: "FAILED", None: "not run"}[result.held]
        table.add_row(name, chosen[name].what, held, result.said, f"{result.seconds:.0f}")
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)
