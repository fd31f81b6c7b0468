"""Leagues of agents, in which earlier results decide who plays the next deals, and tables of their ratings.

The pairs play next whose games narrow the ratings most.  A round goes, block by block, to the pair whose deals take
most off the sum of the variances of all overall ratings (A-optimal design; the variances are those of Fisher's
information of the Bradley–Terry model at today's ratings).  Each block counts as played when the next one is assigned,
so a round is spread.  Pairs that have never met come first.  A round depends on the results of complete rounds
alone: neither the number of processes nor a kill changes it.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ddz_training.measure.contest import Arena, DueMatches, Schedule, check_at_least, play_schedule
from ddz_training.measure.duplicate import KEY, GameResult, Match, list_seatings, make_matches
from ddz_training.measure.errors import SettingsMismatchError
from ddz_training.measure.markdown import Table
from ddz_training.measure.plotting import Panel, Series, save_plot
from ddz_training.measure.ratings import RIDGE, Rating, fisher_information, fit_logistic
from ddz_training.measure.statistics import Interval, is_decided
from ddz_training.measure.store import Key, OnProgress, ResultStore, ignore_progress, read_format
from ddz_training.measure.summaries import balanced_win_share, group_by_pair, wins_by_deal

FORMAT = "ddz-league-2"

ERROR = 0.05
"""The probability that a league calls any of its pairs decided wrongly, if one looked after every deal."""

Pair = tuple[str, str]
"""Two labels in the order of the alphabet."""

PlannedRound = tuple[int, str, str, int, int]
"""What a round wants of a pair: the number of the round, both labels, the first deal, and how many."""


def list_pairs(labels: Iterable[str]) -> list[Pair]:
    """List every pair of agents in a league, each pair and the whole list in alphabetical order.

    Example:
        >>> list_pairs(["rules", "isuct", "random"])
        [('isuct', 'random'), ('isuct', 'rules'), ('random', 'rules')]
    """
    return list(itertools.combinations(sorted(labels), 2))


def read_league(path: Path) -> tuple[dict[str, Any], list[GameResult]]:
    """Read a league's settings and games from its file.

    Returns:
        Its settings, and all games in the order of pair, deal and game.

    Raises:
        ResultsFileError: If there is no file, or it is not that of a league.
        InUseError: If another process is writing it.
    """
    settings, games = read_format(path, GameResult, FORMAT)
    return settings, sorted(games, key=lambda game: (game.a, game.b, game.deal, game.game))


class LeagueStore(ResultStore[GameResult]):
    """A store of a league's games, whose settings also record the agents and the planned rounds.

    Args:
        path: The file, usually ``.sqlite``.
        arena: Agents, rules and seed.  Agents that are new to the league join it; the others keep their games.
        resume: Whether an existing file is resumed; otherwise it is refused.

    Raises:
        SettingsMismatchError: If the file was written under other settings, or a label names another agent.
        ResultsFileError, InUseError, UnknownAgentError: As for a store.
    """

    def __init__(self, path: str | Path, arena: Arena, resume: bool = False) -> None:
        settings = {**arena.settings(), "format": FORMAT, "agents": {}, "rounds": []}
        settings.pop("names", None)
        super().__init__(GameResult, path, settings, KEY, agents=arena.agents, resume=resume, free=("agents", "rounds"))
        self.arena = arena
        agents = self.settings["agents"]
        for label, spec in arena.specs.items():
            if agents.get(label, spec) != spec:
                raise SettingsMismatchError(
                    f"{path} has another agent {label!r}, {agents[label]!r}: give this one another name, NAME=AGENT"
                )


# --- Playing ----------------------------------------------------------------------------------------------------------


def find_decided_pairs(games: Iterable[GameResult]) -> set[Pair]:
    """Find the pairs of agents whose comparison is decided, and put the stronger agent first in each pair.

    Each pair has its own confidence sequence, with an equal part of :data:`ERROR` (Bonferroni).
    """
    shares = {
        pair: wins_by_deal(played, pair[0], value=balanced_win_share) for pair, played in group_by_pair(games).items()
    }
    pairs = len(list_pairs({label for pair in shares for label in pair}))
    settled = set()
    for (a, b), by_deal in shares.items():
        in_order = [by_deal[deal] for deal in sorted(by_deal)]
        if is_decided(in_order, ERROR / pairs):
            settled.add((a, b) if sum(in_order) > len(in_order) / 2 else (b, a))
    return settled


def play_league(
    store: LeagueStore,
    deals: int,
    *,
    block: int = 25,
    processes: int = 1,
    until_decided: bool = False,
    on_progress: OnProgress = ignore_progress,
) -> None:
    """Play rounds of a league until its budget of deals is used up.

    Args:
        store: Agents, rules and seed, and where the games go.
        deals: As for :func:`schedule_rounds`.
        block: Likewise.
        processes: As for :func:`~ddz_training.measure.contest.play_schedule`, whose errors are raised.
        until_decided: As for :func:`schedule_rounds`.
        on_progress: As for :func:`~ddz_training.measure.contest.play_schedule`.
    """
    check_at_least(1, deals=deals, block=block, processes=processes)
    schedule = schedule_rounds(store.arena, deals, block, until_decided)
    play_schedule(store.arena, schedule, store, processes=processes, on_progress=on_progress)


def schedule_rounds(arena: Arena, deals: int, block: int, until_decided: bool = False) -> Schedule:
    """Make a league's schedule, which plans one round at a time and records the rounds in the store's settings.

    Args:
        arena: Who plays.
        deals: Deals per pair, on average over the pairs of these agents; those of the file count.  Pairs that have
            never met play a block in any case.
        block: Deals that are scheduled at a time.
        until_decided: Whether to end after the round that decides the last pair (:func:`find_decided_pairs`).
    """
    pairs, block = list_pairs(arena.labels), min(block, deals)

    def schedule(store: ResultStore[GameResult]) -> DueMatches:
        planned, agents = store.settings["rounds"], store.settings["agents"]
        wanted, tally = _planned_matches(arena, planned), _count_wins(store.results)
        complete = store.has_units(wanted)
        new = block * sum(pair not in tally for pair in pairs) if complete else 0
        left = max(deals * len(pairs) - len(wanted), new)
        total = len(wanted) + left
        if complete and left and not (until_decided and _are_all_decided(store.results, pairs)):
            planned = _add_round(planned, plan_next_round(pairs, tally, left, block, len(list_seatings(arena.rules))))
            wanted = _planned_matches(arena, planned)
        return DueMatches(wanted, total, {"rounds": planned, "agents": {**agents, **arena.specs}})

    return schedule


def _count_wins(games: Iterable[GameResult]) -> dict[Pair, tuple[int, float]]:
    """Count each pair's games and the wins of its first agent."""
    return {
        pair: (len(own), sum(balanced_win_share(game, "a") for game in own))
        for pair, own in group_by_pair(games).items()
    }


def _planned_matches(arena: Arena, planned: Sequence[PlannedRound]) -> dict[Key, Match]:
    """Return the matches of all planned rounds in order, skipping pairs with an agent outside the arena."""
    specs, found = arena.specs, dict[Key, Match]()
    for _, a, b, first, deals in planned:
        if specs.keys() >= {a, b}:
            found |= make_matches(specs, [(a, b)], range(first, first + deals))
    return found


def _add_round(planned: Sequence[PlannedRound], blocks: Mapping[Pair, int]) -> list[PlannedRound]:
    """Append a round that gives each pair its number of deals, continuing after the pair's earlier deals."""
    before = Counter[Pair]()
    for _, a, b, _, deals in planned:
        before[a, b] += deals
    number = 1 + max((number for number, *_ in planned), default=0)
    return [*planned, *((number, *pair, before[pair], deals) for pair, deals in blocks.items())]


def _are_all_decided(games: Iterable[GameResult], pairs: Iterable[Pair]) -> bool:
    settled = find_decided_pairs(games)
    return all((a, b) in settled or (b, a) in settled for a, b in pairs)


def plan_next_round(
    pairs: Sequence[Pair], tally: Mapping[Pair, tuple[int, float]], deals: int, block: int, games_per_deal: int
) -> dict[Pair, int]:
    """Assign the deals of a league's next round to the pairs whose games narrow the ratings most.

    Args:
        pairs: The pairs.
        tally: Games and wins of the pair's first agent, of pairs that have met.
        deals: Deals that are left for all pairs together.
        block: Deals that are scheduled at a time; a round has as many blocks as there are pairs.
        games_per_deal: Games of a deal.

    Example:
        >>> even, uneven = (100, 50.0), (100, 99.0)
        >>> tally = {("a", "b"): even, ("a", "z"): uneven, ("b", "z"): uneven}
        >>> plan_next_round(list(tally), tally, 60, 20, 2)  # who always loses needs more games, and shows less in each
        {('a', 'z'): 40, ('b', 'z'): 20}
    """
    new_pairs = [pair for pair in pairs if pair not in tally]
    blocks = [min(block, deals - start) for start in range(0, min(deals, block * len(new_pairs or pairs)), block)]
    if new_pairs:
        return dict(zip(new_pairs, blocks, strict=False))
    column = {label: number for number, label in enumerate(sorted({label for pair in pairs for label in pair}))}
    design = np.zeros((len(pairs), len(column)))
    for row, (a, b) in enumerate(pairs):
        design[row, [column[a], column[b]]] = 1, -1
    played, won = np.array([tally[pair] for pair in pairs], dtype=np.float64).T
    gauge = np.ones((1, len(column)))
    (ratings,) = fit_logistic(design, played[None] + 1, won[None] + 0.5, gauge)
    expected = 1 / (1 + np.exp(-design @ ratings))
    variance = expected * (1 - expected)
    (precision,) = fisher_information(design, (played * variance)[None]) + gauge.T @ gauge + RIDGE * np.eye(len(column))
    covariance, chosen = np.linalg.inv(precision), Counter[Pair]()
    for size in blocks:
        weights = size * games_per_deal * variance
        reach = design @ covariance
        gains = weights * (reach**2).sum(axis=1) / (1 + weights * (reach * design).sum(axis=1))
        best = int(gains.argmax())
        covariance -= (
            np.outer(reach[best], reach[best]) * weights[best] / (1 + weights[best] * reach[best] @ design[best])
        )
        chosen[pairs[best]] += size
    return {pair: chosen[pair] for pair in pairs if chosen[pair]}


# --- Reports ----------------------------------------------------------------------------------------------------------

_COLUMNS = ("overall", "landlord", "peasants")


def make_ratings_table(ratings: Sequence[Rating], advantage: Interval, title: str, anchor: str | None) -> Table:
    """Make a table of a league's Elo ratings, overall and by role, best first.

    There is no column for the share of games won, since the schedule decides whom an agent meets.

    Args:
        ratings: The ratings.
        advantage: What a landlord has over peasants of the same strength.
        title: The title.
        anchor: Who is rated 0; None where the mean is.
    """
    lines = [
        (str(rank), entry.agent, *(getattr(entry, name).elo() for name in _COLUMNS), str(entry.deals), str(entry.games))
        for rank, entry in enumerate(ratings, 1)
    ]
    note = (
        f"Elo points by the Bradley–Terry model, {anchor or 'the mean of the league'} = 0; 95 % intervals by bootstrap "
        f"over deals. Roles are rated apart. Landlord among equals: {advantage.elo()}. Who met whom is in the "
        "cross-table."
    )
    return Table(title, ("", "agent", *_COLUMNS, "deals", "games"), lines, note)


def make_cross_table(ratings: Sequence[Rating], games: Sequence[GameResult]) -> Table:
    """Make the table of every agent's win rate against every other, in rating order."""
    settled, played = find_decided_pairs(games), group_by_pair(games)
    order = [rating.agent for rating in ratings]
    lines = []
    for rank, agent in enumerate(order, 1):
        cells = []
        for other in order:
            shares = wins_by_deal([*played.get((agent, other), ()), *played.get((other, agent), ())], agent)
            star = "*" if {(agent, other), (other, agent)} & settled else ""
            cells.append(f"{100 * sum(shares.values()) / len(shares):.1f}{star}" if shares else "–")
        lines.append((str(rank), agent, *cells))
    note = (
        "Win % of the row against the column. *: who is better is decided; all stars together are wrong with "
        "probability 5 % at most, however often one looks."
    )
    return Table("Cross-table", ("", "agent", *map(str, range(1, 1 + len(order)))), lines, note)


def plot_ratings(ratings: Sequence[Rating], path: Path) -> None:
    """Plot the ratings with their intervals, best at the top."""
    names = [rating.agent for rating in ratings]
    series = [
        Series(column, names, [getattr(rating, column) for rating in ratings], "list", scale=1) for column in _COLUMNS
    ]
    save_plot(path, Panel(series, "Elo points", vertical_lines={"": 0}), size=(7, 1.2 + 0.45 * len(ratings)))
