"""``ddz speed``: the table of speeds, beside the peers that are installed."""

from __future__ import annotations

import dataclasses
import json as json_module
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ddz_env.core.whole_file import replace_file
from ddz_training.apps.cli.console import error_console, remark
from ddz_training.apps.cli.experiment import show
from ddz_training.apps.cli.outputs import table_file
from ddz_training.measure.speed.parts import PARTS

if TYPE_CHECKING:
    from ddz_training.experiments.experiment import Table
    from ddz_training.measure.speed.benchmark import Measurement, Part

_QUICK_REPEATS, _QUICK_SECONDS = 2, 0.1
_IDLE_LOAD = 0.5


def _keys(*, on_request: bool) -> str:
    """What the parts are called that are always measured, or those that are not."""
    return ", ".join(key for key, part in PARTS.items() if part.on_request == on_request)


def speed(
    only: Annotated[
        str | None,
        typer.Option(
            help=f"Parts, with commas: {_keys(on_request=False)}; when named also {_keys(on_request=True)} (some take "
            "minutes, a GPU or Chromium)."
        ),
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Repeats of each measurement; the medians count.")] = 7,
    quick: Annotated[
        bool, typer.Option("--quick", help="Two short repeats: for a first look, not for figures to quote.")
    ] = False,
    json: Annotated[
        Path | None, typer.Option(help="Write every repeat to this file (FILE.json).", callback=table_file(".json"))
    ] = None,
) -> None:
    """Measure speeds in alternation with the installed peers, and the ratios to them."""
    from ddz_training.measure.speed.benchmark import machine, measure

    parts, facts = _parts(only), machine()
    measured: list[Measurement] = []
    with error_console().status("") as status:
        for part in parts:
            measured += measure(
                part,
                _QUICK_REPEATS if quick else repeats,
                _QUICK_SECONDS if quick else None,
                lambda name, part=part: status.update(f"{part.key}: {name}"),  # type: ignore[misc]  # bound in the loop
            )
    for table in _tables(measured):
        show(table)
    remark(_facts(facts, quick))
    if json is not None:
        document = {"machine": facts, "quick": quick, "measurements": [dataclasses.asdict(m) for m in measured]}
        replace_file(json, (json_module.dumps(document, indent=2) + "\n").encode())


def _parts(only: str | None) -> list[Part]:
    from ddz_env.core.errors import unknown
    from ddz_training.measure.speed.benchmark import InvalidBenchmarkError

    if only is None:
        return [part for part in PARTS.values() if not part.on_request]
    names = [name.strip() for name in only.split(",") if name.strip()]
    if not names:
        raise InvalidBenchmarkError(f"--only names no part; choose from {', '.join(PARTS)}")
    for name in names:
        if name not in PARTS:
            raise InvalidBenchmarkError(unknown("part", name, PARTS))
    return [PARTS[name] for name in names]


_HEADER = ("what", "median", "range", "unit", "target", "ours ÷ peer", "ratio target", "reached")


def _tables(measured: Sequence[Measurement]) -> Iterator[Table]:
    """A table a part; a peer's ratio is ours over the peer's."""
    from ddz_training.experiments.experiment import Spare, Table

    for part in dict.fromkeys(row.part for row in measured):
        rows = [row for row in measured if row.part == part]
        yield Table(rows[0].title, _HEADER, list(map(_cells, rows)), spare=[Spare("range")])


def _cells(row: Measurement) -> list[str]:
    from ddz_training.measure.speed.benchmark import short_number, target_text

    target = target_text(row.target, row.unit, is_peer=row.is_peer)
    return [
        ("peer: " if row.is_peer else "") + row.name,
        row.note or (short_number(row.median) if row.median is not None else ""),
        f"{short_number(min(row.values))}–{short_number(max(row.values))}" if len(row.values) > 1 else "",
        row.unit,
        "" if row.is_peer else target,
        f"{row.ratio:,.1f} ×" if row.ratio is not None else "",
        target if row.is_peer else "",
        {None: "", True: "yes", False: "no"}[row.reached],
    ]


def _facts(facts: dict[str, Any], quick: bool) -> str:
    from ddz_training.measure.speed.benchmark import machine_lines

    notes = ["Repeats are interleaved; a ratio is the median of the ratios of single repeats."]
    if quick:
        notes.append("--quick: two short repeats; these are no figures to quote.")
    if (facts["load"] or 0) > _IDLE_LOAD:
        notes.append(f"The machine was busy (load {facts['load']}): ratios count, absolute figures are too low.")
    return "\n".join([*machine_lines(facts), *notes])
