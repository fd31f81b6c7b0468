"""Results of matches: the tables that ``ddz arena``, ``benchmark`` and ``demo`` end with, and the files of them."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ddz_env.core.errors import plural
from ddz_env.core.whole_file import replace_file
from ddz_training.apps.cli.lazily import lazily
from ddz_training.experiments.experiment import Spare, Table

with lazily():
    from ddz_training.measure import duplicate, statistics
    from ddz_training.measure import ratings as bradley_terry


def milliseconds(value: float) -> str:
    """Milliseconds a decision with three digits."""
    return "–" if math.isnan(value) or value == 0 else f"{value:#.3g}".rstrip(".")


def results_table(
    results: Sequence[statistics.AgentResult], title: str, scoring: str, who: Sequence[str] = ("agent", "against")
) -> Table:
    """The table that ``ddz arena``, ``ddz benchmark`` and ``ddz demo`` end with.

    Args:
        results: Two a pair, or standings.
        title: Its title.
        scoring: What scores are of.  Those of ``win`` repeat the win rates, and are left out.
        who: Which of both a line names.
    """
    sides, has_scores = ("landlord", "peasants", "overall"), scoring != "win"

    def line(result: statistics.AgentResult) -> list[str]:
        named = {"agent": result.agent, "against": result.opponent}
        wins = (result.landlord_wins, result.peasant_wins, result.wins)
        scores = (result.landlord_score, result.peasant_score, result.score) if has_scores else ()
        cells = [*(named[name] for name in who), str(result.deals), str(result.games)]
        return [
            *cells,
            *(rate.percent() for rate in wins),
            *(score.score() for score in scores),
            milliseconds(result.ms_per_decision),
        ]

    header = [*who, "deals", "games", *(f"win % {side}" for side in sides)]
    header += [*(f"score {side}" for side in sides if has_scores), "ms per decision"]
    spare = [Spare(heading) for heading in ("games", "score landlord", "score peasants", "deals")]
    spare += [Spare(f"win % {role}", interval=True) for role in sides[:2]]
    return Table(title, header, list(map(line, results)), "", spare)


def note(scoring: str) -> str:
    """What stands below tables of results."""
    intervals = "95 % intervals: Wilson for one role, normal on the means of the deals for the rest."
    return intervals if scoring == "win" else f"{intervals} A score is a side's (both peasants together)."


def fault_lines(records: Sequence[duplicate.GameRecord]) -> list[str]:
    """A line for each agent that lost games by faults of its own: how many, and the first."""
    lines = []
    for agent in dict.fromkeys(record.label(letter) for record in records for letter in "ab"):
        own = [record for record in records if agent in (record.a, record.b)]
        lost = [record for record in own if record.fault_by and record.label(record.fault_by) == agent]
        if lost:
            first = f"deal {lost[0].deal}, game {lost[0].game}, {lost[0].fault}"
            of_its = plural(len(own), "game")
            lines.append(f"{agent} failed, and so lost, {len(lost)} of its {of_its}; first in {first}")
    return lines


def write_json(path: Path, settings: dict[str, Any], results: Sequence[statistics.AgentResult]) -> None:
    """Write settings and results as JSON."""
    document = {"settings": settings, "results": [result.as_dict() for result in results]}
    replace_file(path, (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode())


def write_csv(path: Path, results: Sequence[statistics.AgentResult | bradley_terry.Rating]) -> None:
    """Write results as comma-separated values, three columns an interval."""
    rows = [_flat(result.as_dict()) for result in results]
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0].keys(), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    replace_file(path, text.getvalue().encode())


def _flat(values: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict):
            flat.update({name if part == "mean" else f"{name}_{part}": value[part] for part in ("mean", "low", "high")})
        else:
            flat[name] = value
    return flat
