"""Ratings by maximum likelihood, on Elo's scale: 400 points are odds of ten to one.

The model is Bradley and Terry's (1952, Biometrika 39): a game between ratings ``r`` and ``s`` is won with probability
``1 / (1 + 10 ** ((s - r) / 400))``.  Each player with an unknown rating has one more game, drawn, against each of its
opponents: so a player that won or lost everything has a finite rating.

The games of a deal share their cards, also those of different pairs, so deals are what is independent: the interval is
the sandwich estimate over deals.  Where that is narrower than the one for independent games, the latter counts, because
a handful of upsets says little about how often they happen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_training.measure.benchmark.errors import InvalidBenchmarkRequestError
from ddz_training.measure.league.bradley_terry import ELO, fit, information
from ddz_training.measure.match.duplicate import GameRecord
from ddz_training.measure.match.statistics import Z95, Interval, win_share

Floats = npt.NDArray[np.float64]


class Score(NamedTuple):
    """A game as ratings see it.

    Attributes:
        deal: Names the deal.
        a: One player.
        b: The other.
        share: What the first won of it, 0 to 1.
    """

    deal: int
    a: str
    b: str
    share: float


def scores_of(records: Iterable[GameRecord]) -> list[Score]:
    """The games of records."""
    return [Score(record.deal, record.a, record.b, win_share(record, "a")) for record in records]


def fit_ratings(scores: Iterable[Score], fixed: Mapping[str, float]) -> dict[str, Interval]:
    """The ratings of all players that have none yet, with 95 % intervals.

    Args:
        scores: Games.
        fixed: Ratings that are known; their own uncertainty is not part of the intervals.

    Returns:
        A rating for each other player; its ``count`` is that of the deals.

    Raises:
        InvalidBenchmarkRequestError: If a player has no chain of games to one with a known rating.

    Example:
        >>> games = [Score(deal, "me", "rules", float(deal % 4 > 0)) for deal in range(400)]
        >>> fit_ratings(games, {"rules": 0.0})["me"].both(".0f", 1, "..")
        '190 (151..230)'
    """
    games = list(scores)
    names = list(dict.fromkeys(name for game in games for name in (game.a, game.b) if name not in fixed))
    _check_connected(games, names, fixed)
    if not names:
        return {}
    drawn = [Score(-1, a, b, 0.5) for a, b in {(game.a, game.b) for game in games}]
    signs, known = _design([*games, *drawn], names, fixed)
    shares = np.array([game.share for game in (*games, *drawn)])
    (found,) = fit(signs, np.ones((1, len(shares))), shares[None], np.zeros((0, len(names))), known / ELO)
    chances = 1 / (1 + np.exp(-signs @ found - known / ELO))
    slopes = signs * (shares - chances)[:, None]
    (curve,) = information(signs, (chances * (1 - chances))[None])
    deals = np.unique([game.deal for game in games], return_inverse=True)[1]
    errors = ELO * np.sqrt(_variances(slopes[: len(games)], deals, curve))
    return {
        name: Interval(rating, rating - Z95 * error, rating + Z95 * error, int(deals.max()) + 1)
        for name, rating, error in zip(names, (ELO * found).tolist(), errors.tolist(), strict=True)
    }


def _design(games: list[Score], names: list[str], fixed: Mapping[str, float]) -> tuple[Floats, Floats]:
    """Which unknown ratings make the difference of a game, shape ``[games, names]``, and what is known of it."""
    signs, known = np.zeros((len(games), len(names))), np.zeros(len(games))
    place = {name: number for number, name in enumerate(names)}
    for row, game in enumerate(games):
        for name, sign in ((game.a, 1.0), (game.b, -1.0)):
            if name in place:
                signs[row, place[name]] += sign
            else:
                known[row] += sign * fixed[name]
    return signs, known


def _variances(slopes: Floats, deals: npt.NDArray[np.intp], curve: Floats) -> Floats:
    """The larger of both estimates for each rating, in units of the scale."""
    inverse = np.linalg.inv(curve)
    by_deal = np.zeros((int(deals.max()) + 1, slopes.shape[1]))
    np.add.at(by_deal, deals, slopes)
    sandwich = inverse @ (by_deal.T @ by_deal) @ inverse
    larger: Floats = np.maximum(np.diag(sandwich), np.diag(inverse))
    return larger


def _check_connected(games: list[Score], names: list[str], fixed: Mapping[str, float]) -> None:
    reached, before = set(fixed), -1
    while len(reached) != before:
        before = len(reached)
        reached |= {name for game in games if {game.a, game.b} & reached for name in (game.a, game.b)}
    if lost := [name for name in names if name not in reached]:
        raise InvalidBenchmarkRequestError(f"{', '.join(lost)} played nobody whose rating is known")
