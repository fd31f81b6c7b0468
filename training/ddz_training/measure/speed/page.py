"""The speeds as tables of the docs, from the file that ``ddz speed --json`` writes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ddz_training.measure.markdown import markdown_table
from ddz_training.measure.speed.benchmark import Contender, Measurement, Part, machine_lines, short_number, target_text
from ddz_training.measure.speed.parts import PARTS

FILE = "speeds.json"
DOUZERO_FILE = "douzero_speed.json"
WEB_FILE = "web_speed.json"


def _read(results: Path, file: str = FILE) -> tuple[dict[str, Any], list[Measurement]]:
    document = json.loads((results / file).read_text(encoding="utf-8"))
    return document["machine"], [Measurement(**line) for line in document["measurements"]]


def _whole(results: Path) -> str:
    """Every contender with the range of its repeats, the machine and the versions."""
    machine, measured = _read(results)
    lines = [
        (
            row.title,
            f"{row.name} (peer)" if row.is_peer else row.name,
            f"{short_number(row.median)} {row.unit}" if row.median is not None else row.note,
            f"{short_number(min(row.values))}–{short_number(max(row.values))}" if row.values else "",
            f"{row.ratio:,.1f} ×" if row.ratio is not None else "",
        )
        for row in measured
    ]
    table = markdown_table(("what", "contender", "median", "range", "ours ÷ peer"), lines)
    return "\n\n".join([table, *machine_lines(machine), f"Load at the start: {machine['load']}."])


def _douzero(results: Path) -> str:
    """Milliseconds a decision of DouZero's networks, ours and the package's."""
    machine, measured = _read(results, DOUZERO_FILE)
    lines = [
        (
            f"{row.name} (peer)" if row.is_peer else row.name,
            f"{1000 / row.median:.2f}",
            f"{row.ratio:.1f} ×" if row.ratio else "",
        )
        for row in measured
        if row.median
    ]
    table = markdown_table(("contender", "ms a decision", "ours ÷ peer"), lines)
    return "\n\n".join([table, *machine_lines(machine), f"Load at the start: {machine['load']}."])


def _web(results: Path) -> str:
    """What a person at the page waits for, beside the targets."""
    machine, measured = _read(results, WEB_FILE)
    lines = [
        (
            row.name,
            f"{short_number(row.median)} {row.unit}" if row.median is not None else row.note,
            f"{short_number(min(row.values))}–{short_number(max(row.values))}" if row.values else "",
            f"{target_text(row.target, row.unit, is_peer=False)} {row.unit}",
        )
        for row in measured
    ]
    table = markdown_table(("what", "median", "range", "target"), lines)
    return "\n\n".join([table, *machine_lines(machine), f"Load at the start: {machine['load']}."])


def _beside_peers(results: Path) -> str:
    """A line a peer: ours, the peer, and the ratio."""
    _, measured = _read(results)

    def lines() -> Iterator[tuple[str, ...]]:
        ours = measured[0]
        for row in measured:
            if not row.is_peer:
                ours = row if row.part != ours.part else ours
            elif row.median is not None and ours.median is not None:
                both = (f"{short_number(value)} {row.unit}" for value in (ours.median, row.median))
                yield row.title, *both, row.name, f"{row.ratio:,.1f} ×"

    return markdown_table(("what", "ddz-env", "peer", "which", "ratio"), lines())


def _targets(_: Path) -> str:
    """What ``ddz speed`` calls reached: the targets of all contenders that have one."""
    return markdown_table(
        ("what", "contender", "target"),
        (
            (part.title, one.name, f"{target_text(one.target, part.unit, is_peer=one.is_peer)} {_behind(one, part)}")
            for part in PARTS.values()
            for one in part.contenders
            if one.target
        ),
    )


def _behind(one: Contender, part: Part) -> str:
    return "this speed" if one.is_peer else part.unit


PAGES: dict[str, Callable[[Path], str]] = {
    "speeds": _whole,
    "speed-ratios": _beside_peers,
    "speed-targets": _targets,
    "douzero-speed": _douzero,
    "web-speed": _web,
}
"""Generated blocks by name."""
