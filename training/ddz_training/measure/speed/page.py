"""The speeds as tables of the docs, from the file that ``ddz speed --json`` writes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from operator import attrgetter
from pathlib import Path
from typing import Any

from ddz_training.measure.markdown import markdown_table
from ddz_training.measure.speed.benchmark import Measurement, machine_lines, short_number, target_text
from ddz_training.measure.speed.parts import PARTS

FILE = "speeds.json"


def _read(results: Path, file: str) -> tuple[dict[str, Any], list[Measurement]]:
    document = json.loads((results / file).read_text(encoding="utf-8"))
    return document["machine"], [Measurement(**line) for line in document["measurements"]]


_Cell = Callable[[Measurement], str]


def _measured(file: str, columns: Mapping[str, _Cell], *, all_rows: bool = True) -> Callable[[Path], str]:
    """What makes a table with a line a contender, the machine and the versions below it.

    Args:
        file: The file of the measurements.
        columns: What makes the cells, by heading.
        all_rows: Whether contenders that could not be measured have a line.
    """

    def page(results: Path) -> str:
        machine, measured = _read(results, file)
        rows = [row for row in measured if row.median is not None or all_rows]
        table = markdown_table(columns, ([cell(row) for cell in columns.values()] for row in rows))
        return "\n\n".join([table, *machine_lines(machine), f"Load at the start: {machine['load']}."])

    return page


def _name(row: Measurement) -> str:
    return f"{row.name} (peer)" if row.is_peer else row.name


def _median(row: Measurement) -> str:
    return f"{short_number(row.median)} {row.unit}" if row.median is not None else row.note


def _range(row: Measurement) -> str:
    return f"{short_number(min(row.values))}–{short_number(max(row.values))}" if row.values else ""


def _milliseconds(row: Measurement) -> str:
    return f"{1000 / row.median:.2f}" if row.median else ""


def _ratio(row: Measurement) -> str:
    return f"{row.ratio:,.1f} ×" if row.ratio is not None else ""


def _target(row: Measurement) -> str:
    return f"{target_text(row.target, row.unit, is_peer=False)} {row.unit}"


_WHOLE: Mapping[str, _Cell] = {
    "what": attrgetter("title"),
    "contender": _name,
    "median": _median,
    "range": _range,
    "ours ÷ peer": _ratio,
}
_DOUZERO = {"contender": _name, "ms a decision": _milliseconds, "ours ÷ peer": _ratio}
_WAITING: Mapping[str, _Cell] = {"what": attrgetter("name"), "median": _median, "range": _range, "target": _target}


def _beside_peers(results: Path) -> str:
    """A line a peer: ours, the peer, and the ratio."""
    _, measured = _read(results, FILE)
    ours, lines = measured[0], []
    for row in measured:
        if not row.is_peer:
            ours = row if row.part != ours.part else ours
        elif row.median is not None:
            lines.append((row.title, _median(ours), _median(row), row.name, _ratio(row)))
    return markdown_table(("what", "ddz-env", "peer", "which", "ratio"), lines)


def _targets(_: Path) -> str:
    """What ``ddz speed`` calls reached: the targets of all contenders that have one."""
    lines = [
        (part.title, one.name, f"{target_text(one.target, part.unit, is_peer=one.is_peer)} {unit}")
        for part in PARTS.values()
        for one in part.contenders
        for unit in ["this speed" if one.is_peer else part.unit]
        if one.target
    ]
    return markdown_table(("what", "contender", "target"), lines)


PAGES: dict[str, Callable[[Path], str]] = {
    "speeds": _measured(FILE, _WHOLE),
    "speed-ratios": _beside_peers,
    "speed-targets": _targets,
    "douzero-speed": _measured("douzero_speed.json", _DOUZERO, all_rows=False),
    "web-speed": _measured("web_speed.json", _WAITING),
}
"""Generated blocks by name."""
