"""``python -m tests.sabotage``: try everything, print the counts, and fail if anything did not hold."""

from __future__ import annotations

import json
import os
import platform
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from tests.sabotage import Outcome
from tests.sabotage.files import spoil_files
from tests.sabotage.fuzz import fuzz
from tests.sabotage.hostile import play_hostile_agents
from tests.sabotage.kills import kill_jobs
from tests.sabotage.places import fill_disks, install_read_only, share_machine

VALUES = 300_000
KINDS: dict[str, Callable[[Path, int], Outcome]] = {
    "values": lambda folder, seed: fuzz(VALUES, seed),
    "files": lambda folder, seed: spoil_files(folder),
    "agents": lambda folder, seed: play_hostile_agents(),
    "disk": lambda folder, seed: fill_disks(folder),
    "installation": lambda folder, seed: install_read_only(folder),
    "users": lambda folder, seed: share_machine(folder),
    "kills": kill_jobs,
}
"""Every kind of sabotage by its short name, from a folder to write in and a seed."""


def sabotage(seed: int, only: str = "") -> list[Outcome]:
    """Try every kind, or those whose short names are given, separated by commas."""
    outcomes = []
    for name in only.split(",") if only else KINDS:
        with tempfile.TemporaryDirectory() as folder:
            outcomes.append(KINDS[name](Path(folder), seed))
    return outcomes


def main(
    seed: Annotated[int, typer.Option(help="Seed of the values and of the moments of kills.")] = 0,
    only: Annotated[str, typer.Option(help=f"Some of {', '.join(KINDS)}; all by default.")] = "",
    out: Annotated[Path | None, typer.Option(help="Write the counts here (JSON).")] = None,
) -> None:
    """Try to break everything, and print the counts."""
    outcomes = sabotage(seed, only)
    table = Table("what was tried", "attempts", "did not hold", "what must hold")
    for outcome in outcomes:
        tried = f"left out: {outcome.left_out}" if outcome.left_out else f"{outcome.tried:,}"
        table.add_row(outcome.kind, tried, f"{outcome.failed:,}", outcome.promise)
    Console().print(table)
    for outcome in outcomes:
        for fault in outcome.faults:
            print(f"{outcome.kind}: {fault}")
    if out is not None:
        machine = {"python": platform.python_version(), "system": platform.system(), "cores": os.cpu_count()}
        document = {"seed": seed, "machine": machine, "outcomes": [asdict(outcome) for outcome in outcomes]}
        out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    if not all(outcome.is_kept for outcome in outcomes):
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
