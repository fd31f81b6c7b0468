"""The committed ratings of the benchmark's fixed opponents, and the rating of another agent against them."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ddz_training.measure.benchmark.field import ANCHOR
from ddz_training.measure.duplicate import GameResult
from ddz_training.measure.errors import InvalidBenchmarkRequestError
from ddz_training.measure.markdown import Table
from ddz_training.measure.ratings import fit_ratings, make_scores
from ddz_training.measure.statistics import Interval

RATINGS_FILE = Path(__file__).with_name("ratings.json")


@dataclass(frozen=True)
class FieldRatings:
    """The known ratings of the benchmark's fixed opponents.

    Attributes:
        elo: By name.
        played: The deals that they come from, in words.
    """

    elo: Mapping[str, Interval]
    played: str

    @property
    def fixed(self) -> dict[str, float]:
        """The fixed opponents' ratings by name, without intervals, as the basis for rating another agent."""
        return {name: interval.mean for name, interval in self.elo.items()}


@functools.cache
def read_field_ratings() -> FieldRatings:
    """Read the ratings of the benchmark's fixed opponents, with intervals, from the package's ratings file."""
    document = json.loads(RATINGS_FILE.read_text(encoding="utf-8"))
    elo = {name: Interval(mean, low, high, document["deals"]) for name, (mean, low, high) in document["elo"].items()}
    return FieldRatings(elo, document["played"])


def rate_in_field(records: Sequence[GameResult], name: str, ratings: Mapping[str, float]) -> Interval:
    """Compute an agent's Elo rating from its games against fixed opponents, whose ratings are known.

    Raises:
        InvalidBenchmarkRequestError: If there are none.
    """
    played = [record for record in records if {record.a, record.b} <= {name, *ratings}]
    if not played:
        raise InvalidBenchmarkRequestError(
            f"{name} has no game against an opponent whose rating is known: {', '.join(ratings)}"
        )
    return fit_ratings(make_scores(played), ratings)[name]


def make_placement_table(name: str, rating: Interval, ratings: FieldRatings) -> Table:
    """Make a table that ranks the fixed opponents and one other agent by Elo rating, strongest first."""
    ranking = sorted({**ratings.elo, name: rating}.items(), key=lambda item: -item[1].mean)
    rows = [(f"→ {player}" if player == name else player, elo.elo()) for player, elo in ranking]
    note = f"Elo, {ANCHOR} = 0; the field's from {ratings.played}, taken as exact."
    return Table("Placed in the field", ("agent", "Elo"), rows, note)
