"""Fit the ratings of the benchmark's field, with which agents are placed, to its games.

    python docs/field_ratings.py docs/results/benchmark/field*.csv

The files are those of ``ddz benchmark --field --out FILE``, with ``--full`` and without.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from ddz_training.measure.benchmark.field import ANCHOR, FIELD
from ddz_training.measure.benchmark.leaderboard import RATINGS_FILE
from ddz_training.measure.benchmark.play import Results, read_file
from ddz_training.measure.ratings import fit_ratings, scores_of
from ddz_training.measure.statistics import Interval


def field_ratings(*files: Results) -> dict[str, Any]:
    """The ratings, fitted to the games of all files at once."""
    games = [record for file in files for record in file.records if {record.a, record.b} <= FIELD.keys()]
    elo = {ANCHOR: Interval(0.0, 0.0, 0.0, len(games)), **fit_ratings(scores_of(games), {ANCHOR: 0.0})}
    return {
        "played": " and ".join(map(_played, files)),
        "deals": sum(file.deals for file in files),
        "code": sorted({code for file in files for code in file.code}),
        "elo": {name: [round(end, 1) for end in elo[name].ends] for name in FIELD if name in elo},
    }


def _played(results: Results) -> str:
    who = "all pairs" if results.contest.agents.keys() >= FIELD.keys() else "the quick players' pairs"
    return f"the first {results.deals} deals of the list {results.contest.deals.name!r} ({who})"


if __name__ == "__main__":
    document = field_ratings(*(read_file(Path(argument)) for argument in sys.argv[1:]))
    RATINGS_FILE.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
