"""Results of an arena as tables."""

from __future__ import annotations

import csv
import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from training.arena.duplicate import GameRecord
    from training.arena.statistics import AgentResult, Interval
    from training.league.bradley_terry import Rating


def milliseconds(value: float) -> str:
    """Milliseconds a decision with three digits."""
    return "–" if math.isnan(value) or value == 0 else f"{value:#.3g}".rstrip(".")


_Column = tuple[str, Callable[["AgentResult"], str]]

_WIDE, _NARROW = 120, 100
"""Screens below the first leave the scores by role out, below the second the intervals by role too; files have all."""


def _columns(width: int) -> list[_Column]:
    """The columns that fit a screen."""

    def rate(interval: Interval) -> str:
        return interval.percent() if width >= _NARROW else interval.text()

    columns: list[_Column] = []
    if width >= _NARROW:
        columns.append(("deals", lambda result: str(result.deals)))
    if width >= _WIDE:
        columns.append(("games", lambda result: str(result.games)))
    columns += [
        ("win %\nlandlord", lambda result: rate(result.landlord_wins)),
        ("win %\npeasants", lambda result: rate(result.peasant_wins)),
        ("win %\noverall", lambda result: result.wins.percent()),
    ]
    if width >= _WIDE:
        columns += [
            ("score\nlandlord", lambda result: result.landlord_score.score()),
            ("score\npeasants", lambda result: result.peasant_score.score()),
        ]
    return [
        *columns,
        ("score\noverall", lambda result: result.score.score()),
        ("ms per\ndecision", lambda result: milliseconds(result.ms_per_decision)),
    ]


def short_names(labels: Sequence[str], width: int) -> dict[str, str]:
    """Names that fit the tables of a screen: long specifications lose their options, and stay different.

    Args:
        labels: What the results call the agents.
        width: Characters of a line.

    Example:
        >>> short_names(["rules", "isuct:iterations=20,trees=2", "isuct:iterations=20,trees=4"], 80)
        {'rules': 'rules', 'isuct:iterations=20,trees=2': 'isuct:…', 'isuct:iterations=20,trees=4': 'isuct:… 2'}
    """
    longest = 32 if width >= _WIDE else 24 if width >= _NARROW else 14
    short: dict[str, str] = {}
    seen: Counter[str] = Counter()
    for label in labels:
        short[label] = label
        if len(label) > longest:
            before, equals, _ = label.partition("=")
            cut = f"{before.rpartition(':')[0] if equals else before[:longest]}:…"
            seen[cut] += 1
            short[label] = cut if seen[cut] == 1 else f"{cut} {seen[cut]}"
    return short


def results_table(
    results: Sequence[AgentResult],
    title: str,
    width: int,
    *,
    pairs: bool = True,
    names: Mapping[str, str] | None = None,
) -> Table:
    """The table that ``ddz arena`` and ``ddz demo`` end with.

    Args:
        results: Two a pair, or standings.
        title: Its title.
        width: Characters of a line; narrow tables leave something out.
        pairs: Whether rows come in pairs (with the opponent's name) or are standings.
        names: Short names of the agents (:func:`short_names`); None for those in the results.
    """
    columns = _columns(width)
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("agent", style="cyan", vertical="bottom", overflow="fold")
    if pairs:
        table.add_column("against", vertical="bottom", overflow="fold")
    for heading, _ in columns:
        table.add_column(heading, justify="right", no_wrap=True, vertical="bottom")
    for number, result in enumerate(results):
        labels = (result.agent, result.opponent) if pairs else (result.agent,)
        cells = [text(result) for _, text in columns]
        table.add_row(
            *(escape((names or {}).get(label, label)) for label in labels),
            *cells,
            end_section=pairs and number % 2 == 1,
        )
    return table


NOTE = (
    "95 % intervals: Wilson for one role, normal on the means of the deals for the rest. "
    "A score is a side's (both peasants together)."
)


def fault_lines(records: Sequence[GameRecord]) -> list[str]:
    """A line for each agent that lost games by faults of its own: how many, and the first."""
    lines = []
    for agent in dict.fromkeys(record.label(letter) for record in records for letter in "ab"):
        own = [record for record in records if agent in (record.a, record.b)]
        lost = [record for record in own if record.fault_by and record.label(record.fault_by) == agent]
        if lost:
            first = f"deal {lost[0].deal}, game {lost[0].game}, {lost[0].fault}"
            lines.append(f"{agent} failed, and so lost, {len(lost)} of its {len(own)} games; first in {first}")
    return lines


def write_json(path: Path, settings: dict[str, Any], results: Sequence[AgentResult]) -> None:
    """Write settings and results as JSON."""
    document = {"settings": settings, "results": [result.as_dict() for result in results]}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write_csv(path: Path, results: Sequence[AgentResult | Rating]) -> None:
    """Write results as comma-separated values, three columns an interval."""
    rows = [_flat(result.as_dict()) for result in results]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _flat(values: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict):
            flat.update({name if part == "mean" else f"{name}_{part}": value[part] for part in ("mean", "low", "high")})
        else:
            flat[name] = value
    return flat
