"""Games of the full-game experiments: line-ups of agents on the same deals, saved game by game.

The games of a deal are numbered.  Each seat's generator follows from the seed, the experiment, the line-up, the deal
and the number of the game, so a game does not depend on which others are played, on the number of processes or on where
a run was resumed.  Line-ups share nothing but the deals.

All line-ups play the first game of every deal before any plays its second: a run that ends early is still balanced, and
a file can be gone on with for more games or more deals.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from agents.playing import play_game, seat_generators
from agents.protocol import Agent, close
from agents.registry import make_agent
from training.evaluation.errors import InvalidExperimentError
from training.evaluation.ordered_map import ordered_map
from training.evaluation.statistics import Interval, clustered_interval
from training.experiments.comparison import OnProgress, no_progress
from training.experiments.full_deals import DEAL_COUNT, new_game
from training.experiments.result_table import ResultTable

COLUMNS = ("game", "deal", "lineup", "winner", "moves")
LANDLORD = 0


@dataclass(frozen=True)
class Lineup:
    """Who plays.

    Attributes:
        name: The line-up's name in the results; within an experiment it must stand for the agents.
        agents: Specifications for :func:`agents.registry.make_agent`, a seat each; seat 0 is the landlord.
    """

    name: str
    agents: tuple[str, str, str]


@dataclass(frozen=True)
class FullExperiment:
    """What results depend on.

    Attributes:
        name: Name of the experiment.
        lineups: All line-ups.
        agents: What a file must agree on before it is resumed: the agents by the part that they play.
        seed: Seed of all agents.
    """

    name: str
    lineups: tuple[Lineup, ...]
    agents: Mapping[str, str]
    seed: int = 0

    def settings(self) -> dict[str, object]:
        """What a results file must agree on."""
        return {"experiment": self.name, "deals": "deals_2011", "agents": dict(self.agents), "seed": self.seed}


@dataclass(frozen=True)
class Scale:
    """How much is played, and by how many processes.

    Attributes:
        deals: The first so many of the 1,000 deals.
        games: Games a deal and line-up.
        processes: Worker processes; the results do not depend on them.

    Raises:
        InvalidExperimentError: If a number is out of range.
    """

    deals: int = DEAL_COUNT
    games: int = 1
    processes: int = 1

    def __post_init__(self) -> None:
        most = {"deals": DEAL_COUNT, "games": 2**32, "processes": 2**16}
        for name, largest in most.items():
            if not 1 <= getattr(self, name) <= largest:
                raise InvalidExperimentError(f"{name}={getattr(self, name)} must be in 1..{largest}")


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

    def __init__(self, experiment: FullExperiment) -> None:
        self._experiment = experiment
        self._made: dict[tuple[str, int], Agent] = {}

    def play(self, task: GameTask) -> GameResult:
        lineup = self._experiment.lineups[task.lineup]
        number = game_number(self._experiment.name, lineup.name, task.deal, task.game)
        state = new_game(task.deal)
        agents = [self._agent(spec, seat) for seat, spec in enumerate(lineup.agents)]
        play_game(state, agents, seat_generators(self._experiment.seed, number, len(agents)))
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


def run_games(
    experiment: FullExperiment, scale: Scale, path: Path | None = None, on_progress: OnProgress = no_progress
) -> list[GameResult]:
    """Play every line-up on every deal.

    Args:
        experiment: Who plays.
        scale: How many games.
        path: Where to save, one line a game; a file of an earlier run is gone on with, and may hold more games than are
            asked for now.
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
    table = ResultTable(path, experiment.settings(), COLUMNS)
    done = {(result.game, result.deal, result.lineup): result for result in results_of(table)}
    wanted = [
        GameTask(game, deal, lineup)
        for game in range(scale.games)
        for deal in range(scale.deals)
        for lineup in range(len(experiment.lineups))
    ]

    def key(task: GameTask) -> tuple[int, int, str]:
        return task.game, task.deal, experiment.lineups[task.lineup].name

    tasks = [task for task in wanted if key(task) not in done]
    before = len(wanted) - len(tasks)
    on_progress(before, len(wanted))
    with closing(ordered_map(functools.partial(_Worker, experiment), tasks, scale.processes)) as played:
        for number, result in enumerate(played, 1):
            table.add(result.game, result.deal, result.lineup, result.winner, result.moves)
            done[result.game, result.deal, result.lineup] = result
            on_progress(before + number, len(wanted))
    return [done[key(task)] for task in wanted]


def results_of(table: ResultTable) -> list[GameResult]:
    """The games of a table."""
    return [
        GameResult(int(row["game"]), int(row["deal"]), row["lineup"], int(row["winner"]), int(row["moves"]))
        for row in table.rows
    ]


def _landlord_won(result: GameResult) -> float:
    return float(result.landlord_won)


def _peasants_won(result: GameResult) -> float:
    return float(not result.landlord_won)


def win_rate(results: Sequence[GameResult], lineup: str, *, peasants: bool = False) -> Interval:
    """The landlord's or the peasants' win rate in one line-up; the games of a deal are one cluster."""
    won = _peasants_won if peasants else _landlord_won
    deals: dict[int, list[float]] = {}
    for result in results:
        if result.lineup == lineup:
            deals.setdefault(result.deal, []).append(won(result))
    return clustered_interval(deals.values())


def difference(results: Sequence[GameResult], lineup: str, base: str, *, peasants: bool = False) -> Interval:
    """How much more one line-up wins than another, paired: over the games of the deals that both have played."""
    won: Callable[[GameResult], float] = _peasants_won if peasants else _landlord_won
    games = {
        name: {(result.deal, result.game): won(result) for result in results if result.lineup == name}
        for name in (lineup, base)
    }
    deals: dict[int, list[float]] = {}
    for key in games[lineup].keys() & games[base].keys():
        deals.setdefault(key[0], []).append(games[lineup][key] - games[base][key])
    return clustered_interval(deals.values())


def in_percent(interval: Interval, sign: str = "") -> tuple[str, str]:
    """A rate or a difference and its interval, as percentages or points with one decimal.

    Example:
        >>> in_percent(Interval(0.5, 0.42, 0.58, 10))
        ('50.0', '42.0 to 58.0')
    """
    low, mean, high = (format(100 * value, f"{sign}.1f") for value in (interval.low, interval.mean, interval.high))
    return mean, f"{low} to {high}"
