"""Measure in alternation: ``python -m benchmarks [PART ...] [--repeats N] [--json FILE]``.

Machines are noisier than the differences that matter.  Contenders of one part take turns, each repeat gives a ratio of
its own (ours over the peer's, in the same second), and medians are reported with the range.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.contenders import PARTS, Contender, Part, Work

_PACKAGES = ("ddz-env", "numpy", "numba", "pettingzoo", "gymnasium", "open_spiel", "rlcard", "douzero")


def repeater(work: Work, seconds: float) -> Callable[[], float]:
    """Warm up; what comes back measures the units per second, once for each call."""
    next(work)

    def repeat() -> float:
        units, spent = 0, 0.0
        while spent < seconds:
            start = time.perf_counter()
            done = next(work)
            count, counted = done if isinstance(done, tuple) else (done, time.perf_counter() - start)
            units, spent = units + count, spent + counted
        return units / spent

    return repeat


def measure(part: Part, repeats: int, seconds: float = 0.5) -> list[dict[str, Any]]:
    """Measure the contenders of a part in turns; peers that are not installed are left out.

    Args:
        part: The part.
        repeats: How many turns.
        seconds: How long one repeat takes.
    """
    ready: dict[Contender, Callable[[], float]] = {}
    for one in part.contenders:
        try:
            ready[one] = repeater(one.work(), seconds)
        except ImportError as error:
            if not one.beside:
                raise
            print(f"{one.name} is not installed ({error.name or error})", file=sys.stderr)
    values: dict[str, list[float]] = {one.name: [] for one in ready}
    for _ in range(repeats):
        for one, repeat in ready.items():
            values[one.name].append(repeat())
    return [
        {
            "title": part.title,
            "name": one.name,
            "unit": part.unit,
            "beside": one.beside,
            "values": values[one.name],
            "ratio": median(a / b for a, b in zip(values[one.beside], values[one.name], strict=True))
            if one.beside
            else None,
        }
        for one in ready
    ]


def machine() -> dict[str, Any]:
    """Cores, processor, load and versions, to report beside the figures; read before measuring, which is a load."""
    versions = {}
    for name in _PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = "not installed"
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    load = round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None
    about = {"cores": cores, "cpu": _cpu_model(), "load": load, "system": platform.platform(terse=True)}
    return {**about, "python": platform.python_version(), "versions": versions}


def _cpu_model() -> str:
    """The processor's name, as Linux knows it."""
    about = Path("/proc/cpuinfo")
    lines = about.read_text(encoding="utf-8").splitlines() if about.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def main(arguments: list[str] | None = None) -> None:
    """Print the medians part by part, and write every repeat to a file if one is named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Speeds beside the installed peers.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; all by default")
    parser.add_argument("--repeats", type=int, default=7, help="repeats of each measurement (default: 7)")
    parser.add_argument("--json", type=Path, help="write every repeat to this file, as docs/results/speeds.json")
    given = parser.parse_args(arguments)
    if unknown := set(given.parts) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}; choose from {', '.join(PARTS)}")
    facts, measured = machine(), []
    print(f"{facts['cores']} cores, {facts['cpu']}, load {facts['load']}")
    for key in given.parts or PARTS:
        print(f"\n{PARTS[key].title}, {PARTS[key].unit}", flush=True)
        for row in measure(PARTS[key], given.repeats):
            ratio = f"ours ÷ peer {row['ratio']:,.1f}" if row["ratio"] else ""
            low, middle, high = min(row["values"]), median(row["values"]), max(row["values"])
            print(f"  {row['name']:<36}{middle:>14,.0f}   {low:,.0f}–{high:,.0f}   {ratio}".rstrip(), flush=True)
            measured.append(row)
    if given.json is not None:
        given.json.write_text(json.dumps({"machine": facts, "measurements": measured}, indent=2) + "\n")


if __name__ == "__main__":
    main()
