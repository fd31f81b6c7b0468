"""Ratings and tables: what ``ddz benchmark`` prints, and the blocks of the pages, from the committed files."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ddz_training.measure.benchmark.field import ANCHOR, DEALS, FIELD, digest, frozen_moves
from ddz_training.measure.benchmark.play import SCORING, Results, read_file
from ddz_training.measure.duplicate import GameRecord
from ddz_training.measure.errors import InvalidBenchmarkRequestError
from ddz_training.measure.markdown import Table, markdown_table
from ddz_training.measure.ratings import fit_ratings, scores_of
from ddz_training.measure.statistics import AgentResult, Interval, standings

FOLDER = "benchmark"
"""The folder of the committed files, below ``docs/results``."""

RATINGS_FILE = Path(__file__).with_name("ratings.json")
_HEADER = ("landlord win %", "peasants win %", "win %", "landlord score", "peasants score", "score")
_NONE = "*There are no committed results yet.*"


@dataclass(frozen=True)
class FieldRatings:
    """The ratings of the field's players as far as they are known.

    Attributes:
        elo: By name.
        played: Which deals, in words.
    """

    elo: Mapping[str, Interval]
    played: str

    @property
    def fixed(self) -> dict[str, float]:
        """The ratings that others are fitted to."""
        return {name: interval.mean for name, interval in self.elo.items()}


@functools.cache
def field_ratings() -> FieldRatings:
    """The committed ratings, with which agents are placed."""
    document = json.loads(RATINGS_FILE.read_text(encoding="utf-8"))
    elo = {name: Interval(mean, low, high, document["deals"]) for name, (mean, low, high) in document["elo"].items()}
    return FieldRatings(elo, document["played"])


def place(records: Sequence[GameRecord], name: str, ratings: Mapping[str, float]) -> Interval:
    """An agent's rating from its games against players of the field whose ratings are known.

    Raises:
        InvalidBenchmarkRequestError: If there are none.
    """
    played = [record for record in records if {record.a, record.b} <= {name, *ratings}]
    if not played:
        raise InvalidBenchmarkRequestError(f"{name} played no one whose rating is known")
    return fit_ratings(scores_of(played), ratings)[name]


def _cells(result: AgentResult) -> tuple[str, ...]:
    rates = (result.landlord_wins, result.peasant_wins, result.wins)
    scores = (result.landlord_score, result.peasant_score, result.score)
    return (*(rate.both(to="–") for rate in rates), *(score.plus_minus() for score in scores))


def placement_table(name: str, rating: Interval, ratings: FieldRatings) -> Table:
    """An agent among the field, the strongest first."""
    everybody = sorted({**ratings.elo, name: rating}.items(), key=lambda item: -item[1].mean)
    rows = [(f"→ {one}" if one == name else one, elo.elo()) for one, elo in everybody]
    note = f"Elo, {ANCHOR} = 0; the field's from {ratings.played}, taken as exact."
    return Table("Placed in the field", ("agent", "Elo"), rows, note)


def committed(folder: Path) -> list[Results]:
    """The results that are committed, checked.

    Raises:
        BenchmarkFileError: If a file is not one of the benchmark's.
    """
    found = [read_file(path) for path in sorted((folder / FOLDER).glob("*.csv"))]
    return [results for results in found if results.contest.deals.name == "reporting"]


def _entries(folder: Path) -> Iterator[tuple[float, tuple[str, ...]]]:
    """A rating and a line of the leaderboard for each agent."""
    ratings = field_ratings()
    for results in committed(folder):
        own = results.contest.agents.keys() - FIELD.keys()
        for line in standings(results.records, SCORING):
            if line.agent in own or not own:
                rating = place(results.records, line.agent, ratings.fixed) if own else ratings.elo[line.agent]
                yield rating.mean, _entry(line, rating, results)


def _entry(line: AgentResult, elo: Interval, results: Results) -> tuple[str, ...]:
    times = [one.ms_per_decision for one in results.summary() if one.agent == line.agent]
    ms = f"{sum(times) / len(times):.3g}"
    file = f"[{results.path.name}](../results/{FOLDER}/{results.path.name})" if results.path else ""
    return (f"`{line.agent}`", elo.elo(), *_cells(line), ms, str(results.deals), results.code[-1], file)


def _leaderboard(folder: Path) -> str:
    rows = [row for _, row in sorted(_entries(folder), key=lambda entry: -entry[0])]
    return markdown_table(("agent", "Elo", *_HEADER, "ms", "deals", "code", "file"), rows) if rows else _NONE


def _cross(folder: Path) -> str:
    """Win rates of the field's players against each other."""
    pages = []
    for results in committed(folder):
        names = list(results.contest.agents)
        if not FIELD.keys() >= {*names}:
            continue
        rates = {(line.agent, line.opponent): line.wins.both(to="–") for line in results.summary()}
        rows = [(f"`{a}`", *(rates.get((a, b), "") for b in names)) for a in names]
        pages.append(markdown_table(("win % of … against", *(f"`{name}`" for name in names)), rows))
    return "\n\n".join(pages) or _NONE


def _field(_: Path) -> str:
    rows = []
    for member in FIELD.values():
        elo = field_ratings().elo.get(member.name)
        quick = "yes" if member.quick else ""
        moves = digest(frozen_moves()[member.name])
        rows.append((f"`{member.name}`", f"`{member.agent}`", quick, f"`{moves}`", elo.elo() if elo else "–"))
    table = markdown_table(("name", "agent", "quick", "moves in the sample", "Elo"), rows)
    return f"{table}\n\nThe ratings are fitted to {field_ratings().played}."


def _deals(_: Path) -> str:
    rows = [(f"`{one.name}`", one.purpose, str(one.seed), str(one.count), f"`{one.sha256}`") for one in DEALS.values()]
    return markdown_table(("list", "for", "seed", "deals", "SHA-256"), rows)


PAGES: dict[str, Callable[[Path], str]] = {
    "leaderboard": _leaderboard,
    "benchmark-cross": _cross,
    "benchmark-field": _field,
    "benchmark-deals": _deals,
}
"""Generated blocks by name."""
