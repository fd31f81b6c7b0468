"""Games of the full-game experiments: line-ups of agents on the same deals, saved game by game.

The games of a deal are numbered.  Each seat's generator follows from the seed, the experiment, the line-up, the deal
and the number of the game, so a game does not depend on which others are played, on the number of processes or on where
a run was resumed.  Line-ups share nothing but the deals.

All line-ups play the first game of every deal before any plays its second: a run that ends early is still balanced, and
a file can be resumed for more games or more deals.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from ddz_env.core.options import Range
from ddz_env.playing.game import play_game, seat_generators
from ddz_env.playing.generators import published_generator
from ddz_training.experiments.experiment import (
    Comparison,
    Experiment,
    ParallelOptions,
    Saved,
    SeedOptions,
    compared,
    kept,
)
from ddz_training.experiments.full_deals import DEAL_COUNT, DEAL_LIST, new_game
from ddz_training.measure.match.duplicate import AgentKeeper, check_agents
from ddz_training.measure.match.errors import InvalidExperimentError
from ddz_training.measure.match.results import OnProgress, ResultStore, no_progress
from ddz_training.measure.match.statistics import Interval, clustered_interval, within

LANDLORD = 0


@dataclass(frozen=True)
class DealOptions(SeedOptions):
    """Which of the 1,000 deals are played.

    Attributes:
        seed: Seed of all agents; the deals are always the same.
        deals: How many of the 1,000 deals, from the first.
    """

    deals: Annotated[int, Range(1, DEAL_COUNT)] = DEAL_COUNT


@dataclass(frozen=True)
class FullOptions(DealOptions, ParallelOptions):
    """How an experiment on the full game is run, and its three kinds of search at the paper's budgets.

    Attributes:
        games: Games for each deal and line-up; a file can be resumed with more.
        trees: Trees of determinized and of cheating UCT.
        tree_iterations: Iterations per tree; information-set UCT gets the total of all trees.
        options_: More options for every agent, as after an agent's name: reuse=true,trees=2 or the like.
    """

    games: Annotated[int, Range(1, 2**32)] = 1
    trees: Annotated[int, Range(1)] = 40
    tree_iterations: Annotated[int, Range(1)] = 250
    options_: str = ""

    @property
    def determinized(self) -> str:
        """Determinized UCT."""
        return self._spec("duct", f"trees={self.trees},iterations={self.tree_iterations}")

    @property
    def cheating(self) -> str:
        """UCT on the true game."""
        return self._spec("cheating-uct", f"trees={self.trees},iterations={self.tree_iterations}")

    def information_set(self, exploration: float = 1.0, iterations: int | None = None) -> str:
        """Information-set UCT.

        Example:
            >>> FullOptions().information_set(0.44, 500)
            'isuct:iterations=500,exploration=0.44'
        """
        budget = self.trees * self.tree_iterations if iterations is None else iterations
        return self._spec("isuct", f"iterations={budget},exploration={exploration:g}")

    def _spec(self, name: str, budget: str) -> str:
        return f"{name}:{budget}" + (f",{self.options_}" if self.options_ else "")


@dataclass(frozen=True)
class Lineup:
    """Who plays.

    Attributes:
        name: The line-up's name in the results; within an experiment it must stand for the agents.
        agents: Specifications for :func:`ddz_env.playing.registry.make_agent`, a seat each; seat 0 is the landlord.
    """

    name: str
    agents: tuple[str, str, str]


@dataclass(frozen=True)
class Cast:
    """The line-ups of an experiment.

    Attributes:
        name: Name of the experiment.
        lineups: The line-ups to play.
        agents: The agents by the part that they play, which a file must agree on before it is resumed.
    """

    name: str
    lineups: tuple[Lineup, ...]
    agents: Mapping[str, str]


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


class _Task(NamedTuple):
    """A game to play."""

    game: int
    deal: int
    lineup: Lineup


def game_number(experiment: str, lineup: str, deal: int, game: int) -> int:
    """A number that no other game of any experiment has, for the seats' generators.

    Names enter by their CRC-32, so that a line-up keeps its games when another joins the experiment.
    """
    return (zlib.crc32(f"{experiment}/{lineup}".encode()) << 64) | (deal << 32) | game


class _GameWorker(AgentKeeper):
    """Plays games in one process."""

    def __init__(self, experiment: str, seed: int) -> None:
        super().__init__()
        self._experiment, self._seed = experiment, seed

    def play(self, task: _Task) -> list[GameResult]:
        game, deal, lineup = task
        number = game_number(self._experiment, lineup.name, deal, game)
        state = new_game(deal)
        agents = [self.agent(spec, seat) for seat, spec in enumerate(lineup.agents)]
        play_game(state, agents, seat_generators([self._seed, number], len(agents), published_generator))
        if state.winner is None:
            raise InvalidExperimentError(f"deal {deal} ended without a winner")
        return [GameResult(game, deal, lineup.name, state.winner, len(state.history))]


def run_games(
    cast: Cast, options: FullOptions, path: Path | None = None, on_progress: OnProgress = no_progress
) -> Saved[GameResult]:
    """Play every line-up on every deal.

    Args:
        cast: Who plays.
        options: How many games, with how many processes.
        path: Where to save; a file of an earlier run is resumed, and may hold more games than are asked for now.
        on_progress: Told how many games are done.

    Returns:
        The games asked for, ordered by game, deal and line-up.

    Raises:
        SettingsMismatchError: If the file was written with other agents or another seed.
        UnknownAgentError: If an agent does not exist.
        WorkerDiedError: If a worker process died.
    """
    agents = tuple(dict.fromkeys(spec for lineup in cast.lineups for spec in lineup.agents))
    check_agents(agents)
    settings = {"experiment": cast.name, "deals": DEAL_LIST, "agents": dict(cast.agents), "seed": options.seed}
    store = ResultStore(GameResult, path, settings, ("game", "deal", "lineup"), agents=agents)
    tasks = {
        (game, deal, lineup.name): _Task(game, deal, lineup)
        for game in range(options.games)
        for deal in range(options.deals)
        for lineup in cast.lineups
    }
    start = functools.partial(_GameWorker, cast.name, options.seed)
    return kept(store, store.fill(tasks, start, options.processes, on_progress))


def win_rate(results: Iterable[GameResult], lineup: str, *, peasants: bool = False) -> Interval:
    """The landlord's or the peasants' win rate in one line-up; the games of a deal are one cluster."""
    deals: dict[int, list[float]] = {}
    for result in results:
        if result.lineup == lineup:
            deals.setdefault(result.deal, []).append(result.landlord_won != peasants)
    return within(clustered_interval(deals.values()), 0.0, 1.0)


def difference(results: Iterable[GameResult], lineup: str, base: str, *, peasants: bool = False) -> Interval:
    """How much more one line-up wins than another, paired: over the games of the deals that both have played."""
    games: dict[tuple[int, int], dict[str, float]] = {}
    for result in results:
        games.setdefault((result.deal, result.game), {})[result.lineup] = result.landlord_won != peasants
    deals: dict[int, list[float]] = {}
    for (deal, _), won in games.items():
        if lineup in won and base in won:
            deals.setdefault(deal, []).append(won[lineup] - won[base])
    return clustered_interval(deals.values())


def rate_line(what: str, paper: str, rate: Interval) -> Comparison:
    """A line of a report for a win rate; its games are counted."""
    return Comparison(f"{what}, %", paper, rate.text(), f"{rate.span()}; {rate.count:,} games")


def gain_line(what: str, paper: str, gain: Interval) -> Comparison:
    """A line of a report for a paired difference."""
    return Comparison(f"{what}, points", paper, gain.text("+.1f"), f"{gain.span('+.1f')}; paired by deal")


def games_note(saved: Saved[Any]) -> str:
    """Where the games of a table are, and who played them."""
    agents = "; ".join(f"{part}: `{spec}`" for part, spec in saved.settings.get("agents", {}).items())
    return f"{len(saved.results):,} games in {saved.name}." + (f" {agents}." if agents else "")


def lineup_experiment(
    about: str,
    source: str,
    title: str,
    cast: Callable[[Any], Cast],
    compare: Callable[[Sequence[GameResult]], Iterable[Comparison]],
    plot: Callable[[Saved[GameResult], Path], None],
    options: type[FullOptions] = FullOptions,
) -> Experiment[FullOptions, GameResult]:
    """An experiment that plays line-ups and compares them; it has the name of its cast.

    Args:
        about: The help of its command.
        source: Section of Whitehouse, Powley and Cowling 2011.
        title: The title of its table.
        cast: Its line-ups, from its options.
        compare: The lines of its table, from the games.
        plot: Its plot.
        options: Its options.
    """
    name = cast(options()).name

    def run(given: FullOptions, path: Path | None = None, on_progress: OnProgress = no_progress) -> Saved[GameResult]:
        return run_games(cast(given), given, path, on_progress)

    return Experiment(
        name=name,
        source=f"Whitehouse, Powley and Cowling 2011, {source}",
        about=about,
        unit="games",
        options=options,
        result=GameResult,
        run=run,
        tables={f"full-{name}": compared(title, compare, games_note)},
        file=f"full_{name}",
        plot=plot,
    )
