"""Games of the full-game experiments: line-ups of agents on the same deals, saved game by game.

The games of a deal are numbered.  Each seat's generator follows from the seed, the experiment, the line-up, the deal
and the number of the game, so a game does not depend on which others are played, on the number of processes or on where
a run was resumed.  Line-ups share nothing but the deals.

All line-ups play the first game of every deal before any plays its second: a run that ends early is still balanced, and
a file can be gone on with for more games or more deals.
"""

from __future__ import annotations

import functools
import math
import zlib
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ddz_env.agent import Agent, close
from ddz_env.playing import play_game, seat_generators
from ddz_env.registry import make_agent
from training.arena.errors import InvalidExperimentError
from training.arena.ordered_map import ordered_map
from training.arena.statistics import Interval, clustered_interval, within
from training.experiments.comparison import Comparison, OnProgress, no_progress
from training.experiments.full_deals import DEAL_COUNT, DEAL_LIST, new_game
from training.experiments.result_table import ResultTable
from training.experiments.searchers import Searchers

COLUMNS = ("game", "deal", "lineup", "winner", "moves")
LANDLORD = 0


@dataclass(frozen=True)
class Lineup:
    """Who plays.

    Attributes:
        name: The line-up's name in the results; within an experiment it must stand for the agents.
        agents: Specifications for :func:`ddz_env.registry.make_agent`, a seat each; seat 0 is the landlord.
    """

    name: str
    agents: tuple[str, str, str]


@dataclass(frozen=True)
class FullExperiment:
    """What is played.

    Attributes:
        name: Name of the experiment.
        lineups: The line-ups to play.
        agents: The agents by the part that they play, which a file must agree on before it is resumed.
    """

    name: str
    lineups: tuple[Lineup, ...]
    agents: Mapping[str, str]


@dataclass(frozen=True)
class FullRun:
    """How an experiment on the full game is run.

    Attributes:
        path: Where to save, one line a game; a file of an earlier run is gone on with, and may hold more games than are
            asked for now.  None saves nothing.
        deals: The first so many of the 1,000 deals.
        games: Games a deal and line-up.
        processes: Worker processes; the results do not depend on them.
        searchers: The agents.
        seed: Seed of all agents.

    Raises:
        InvalidExperimentError: If a number is out of range.
    """

    path: Path | None = None
    deals: int = DEAL_COUNT
    games: int = 1
    processes: int = 1
    searchers: Searchers = field(default_factory=Searchers)
    seed: int = 0

    def __post_init__(self) -> None:
        limits = {"deals": (1, DEAL_COUNT), "games": (1, 2**32), "processes": (1, 2**16), "seed": (0, 2**64 - 1)}
        for name, (least, most) in limits.items():
            if not least <= getattr(self, name) <= most:
                raise InvalidExperimentError(f"{name}={getattr(self, name)} must be in {least}..{most}")


@dataclass(frozen=True)
class GameResult:
    """One game.

    Attributes:
        game: Its number among the line-up's games of the deal.
        deal: Number of the deal.
        lineup: Name of the line-up.
        winner: The seat that went out.
        moves: Moves, passes included.
    """

    game: int
    deal: int
    lineup: str
    winner: int
    moves: int

    @property
    def landlord_won(self) -> bool:
        """Whether the landlord went out first."""
        return self.winner == LANDLORD


class GameTask(NamedTuple):
    """A game to play.

    Attributes:
        game: Its number among the line-up's games of the deal.
        deal: Number of the deal.
        lineup: Index of the line-up.
    """

    game: int
    deal: int
    lineup: int


def game_number(experiment: str, lineup: str, deal: int, game: int) -> int:
    """A number that no other game of any experiment has, for the seats' generators.

    Names enter by their CRC-32, so that a line-up keeps its games when another joins the experiment.
    """
    return (zlib.crc32(f"{experiment}/{lineup}".encode()) << 64) | (deal << 32) | game


class _Worker:
    """Plays games in one process; agents are made once a seat and kept from game to game."""

    def __init__(self, experiment: FullExperiment, seed: int) -> None:
        self._experiment = experiment
        self._seed = seed
        self._made: dict[tuple[str, int], Agent] = {}

    def play(self, task: GameTask) -> GameResult:
        lineup = self._experiment.lineups[task.lineup]
        number = game_number(self._experiment.name, lineup.name, task.deal, task.game)
        state = new_game(task.deal)
        agents = [self._agent(spec, seat) for seat, spec in enumerate(lineup.agents)]
        play_game(state, agents, seat_generators([self._seed, number], len(agents)))
        if state.winner is None:
            raise InvalidExperimentError(f"deal {task.deal} ended without a winner")
        return GameResult(task.game, task.deal, lineup.name, state.winner, len(state.history))

    def close(self) -> None:
        for agent in self._made.values():
            close(agent)
        self._made.clear()

    def _agent(self, spec: str, seat: int) -> Agent:
        if (spec, seat) not in self._made:
            self._made[spec, seat] = make_agent(spec)
        return self._made[spec, seat]


def run_games(experiment: FullExperiment, run: FullRun, on_progress: OnProgress = no_progress) -> list[GameResult]:
    """Play every line-up on every deal.

    Args:
        experiment: Who plays.
        run: How many games, where to save them, with how many processes.
        on_progress: Told how many games are done.

    Returns:
        The games asked for, ordered by game, deal and line-up.

    Raises:
        SettingsMismatchError: If the file was written with other agents or another seed.
        UnknownAgentError: If an agent does not exist.
        WorkerDiedError: If a worker process died.
    """
    for spec in {spec for lineup in experiment.lineups for spec in lineup.agents}:
        close(make_agent(spec))  # a wrong option is an error before anything is played
    settings = {"experiment": experiment.name, "deals": DEAL_LIST, "agents": dict(experiment.agents), "seed": run.seed}
    table = ResultTable(run.path, settings, COLUMNS)
    done = {(result.game, result.deal, result.lineup): result for result in games_of(table.rows)}
    wanted = [
        GameTask(game, deal, lineup)
        for game in range(run.games)
        for deal in range(run.deals)
        for lineup in range(len(experiment.lineups))
    ]

    def key(task: GameTask) -> tuple[int, int, str]:
        return task.game, task.deal, experiment.lineups[task.lineup].name

    tasks = [task for task in wanted if key(task) not in done]
    before = len(wanted) - len(tasks)
    on_progress(before, len(wanted))
    with closing(ordered_map(functools.partial(_Worker, experiment, run.seed), tasks, run.processes)) as played:
        for number, result in enumerate(played, 1):
            table.add(result.game, result.deal, result.lineup, result.winner, result.moves)
            done[result.game, result.deal, result.lineup] = result
            on_progress(before + number, len(wanted))
    return [done[key(task)] for task in wanted]


def games_of(rows: Iterable[Mapping[str, str]]) -> list[GameResult]:
    """The games that the lines of a file hold."""
    return [
        GameResult(int(row["game"]), int(row["deal"]), row["lineup"], int(row["winner"]), int(row["moves"]))
        for row in rows
    ]


def _won(result: GameResult, peasants: bool) -> float:
    return float(result.landlord_won != peasants)


def win_rate(results: Iterable[GameResult], lineup: str, *, peasants: bool = False) -> Interval:
    """The landlord's or the peasants' win rate in one line-up; the games of a deal are one cluster."""
    deals: dict[int, list[float]] = {}
    for result in results:
        if result.lineup == lineup:
            deals.setdefault(result.deal, []).append(_won(result, peasants))
    return within(clustered_interval(deals.values()), 0.0, 1.0)


def difference(results: Iterable[GameResult], lineup: str, base: str, *, peasants: bool = False) -> Interval:
    """How much more one line-up wins than another, paired: over the games of the deals that both have played."""
    games: dict[tuple[int, int], dict[str, float]] = {}
    for result in results:
        games.setdefault((result.deal, result.game), {})[result.lineup] = _won(result, peasants)
    deals: dict[int, list[float]] = {}
    for (deal, _), won in games.items():
        if lineup in won and base in won:
            deals.setdefault(deal, []).append(won[lineup] - won[base])
    return clustered_interval(deals.values())


def percent(interval: Interval) -> str:
    """A rate as a percentage with one decimal.

    Example:
        >>> percent(Interval(0.5, 0.42, 0.58, 10)), percent_range(Interval(0.5, 0.42, 0.58, 10))
        ('50.0', '42.0 to 58.0')
    """
    return "–" if math.isnan(interval.mean) else f"{100 * interval.mean:.1f}"


def percent_range(interval: Interval) -> str:
    """A rate's interval as percentages; a dash where one deal alone gives none."""
    return "–" if math.isnan(interval.low) else f"{100 * interval.low:.1f} to {100 * interval.high:.1f}"


def points(interval: Interval) -> str:
    """A difference of rates in percentage points, signed.

    Example:
        >>> points(Interval(0.05, -0.02, 0.12, 10)), points_range(Interval(0.05, -0.02, 0.12, 10))
        ('+5.0', '-2.0 to +12.0')
    """
    return "–" if math.isnan(interval.mean) else f"{100 * interval.mean:+.1f}"


def points_range(interval: Interval) -> str:
    """A difference's interval in percentage points; a dash where one deal alone gives none."""
    return "–" if math.isnan(interval.low) else f"{100 * interval.low:+.1f} to {100 * interval.high:+.1f}"


def rate_line(what: str, paper: str, rate: Interval) -> Comparison:
    """A line of a report for a win rate; its games are counted."""
    return Comparison(f"{what}, %", paper, percent(rate), f"{percent_range(rate)}; {rate.count:,} games")


def gain_line(what: str, paper: str, gain: Interval) -> Comparison:
    """A line of a report for a paired difference."""
    return Comparison(f"{what}, points", paper, points(gain), f"{points_range(gain)}; paired by deal")
