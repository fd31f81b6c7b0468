"""What a league ends with: ratings, a cross-table, and a plot of both roles."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ddz_training.measure.league.bradley_terry import Rating
from ddz_training.measure.league.playing import decided_pairs
from ddz_training.measure.markdown import Spare, Table
from ddz_training.measure.match.duplicate import GameRecord
from ddz_training.measure.match.statistics import Interval, by_pair, wins_by_deal
from ddz_training.measure.plotting import Panel, Series, save_plot

_COLUMNS = ("overall", "landlord", "peasants")


def ratings_table(ratings: Sequence[Rating], advantage: Interval, title: str, anchor: str | None) -> Table:
    """The ratings, the best first.

    The share of games won is no column: whom an agent met, the schedule has decided.

    Args:
        ratings: The ratings.
        advantage: What a landlord has over peasants of the same strength.
        title: The title.
        anchor: Who is rated 0; None where the mean is.
    """
    lines = [
        (str(rank), one.agent, *(getattr(one, name).elo() for name in _COLUMNS), str(one.deals), str(one.games))
        for rank, one in enumerate(ratings, 1)
    ]
    note = (
        f"Elo points by the Bradley–Terry model, {anchor or 'the mean of the league'} = 0; 95 % intervals by bootstrap "
        f"over deals. Roles are rated apart. Landlord among equals: {advantage.elo()}. Who met whom is in the "
        "cross-table."
    )
    spare = [Spare("games"), *(Spare(column, interval=True) for column in _COLUMNS[1:]), Spare("deals")]
    return Table(title, ("", "agent", *_COLUMNS, "deals", "games"), lines, note, spare)


def cross_table(ratings: Sequence[Rating], games: Sequence[GameRecord]) -> Table:
    """Who won how many of the games against whom, in the order of the ratings."""
    known, played = decided_pairs(games), by_pair(games)
    order = [rating.agent for rating in ratings]
    lines = []
    for rank, agent in enumerate(order, 1):
        cells = []
        for other in order:
            shares = wins_by_deal([*played.get((agent, other), ()), *played.get((other, agent), ())], agent)
            sure = "*" if {(agent, other), (other, agent)} & known else ""
            cells.append(f"{100 * sum(shares.values()) / len(shares):.1f}{sure}" if shares else "–")
        lines.append((str(rank), agent, *cells))
    note = (
        "Win % of the row against the column. *: who is better is decided; all stars together are wrong with "
        "probability 5 % at most, however often one looks."
    )
    return Table("Cross-table", ("", "agent", *map(str, range(1, 1 + len(order)))), lines, note)


def plot_ratings(ratings: Sequence[Rating], path: Path) -> None:
    """Draw the ratings with their intervals, the best at the top."""
    names = [rating.agent for rating in ratings]
    series = [
        Series(column, names, [getattr(rating, column) for rating in ratings], "list", scale=1)
        for column in ("overall", "landlord", "peasants")
    ]
    save_plot(path, Panel(series, "Elo points", upright={"": 0}), size=(7, 1.2 + 0.45 * len(ratings)))
