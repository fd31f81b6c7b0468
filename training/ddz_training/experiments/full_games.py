"""Games of the full-game experiments of Whitehouse, Powley and Cowling (2011): line-ups of agents on the same deals.

The paper plays all its experiments on one set of 1,000 deals, chosen to reduce the variance as its reference [16]
describes, and publishes neither.  Ours are not selected in any way: the seed of a deal, for :meth:`ddz_env.State.new`
under the standard rules, is the upper half of the key of a numbered stream of SplitMix64.

The games of a deal are numbered.  Each seat's generator follows from the seed, the experiment, the line-up, the deal
and the number of the game, so a game does not depend on which others are played, on the number of processes or on where
a run was resumed.  Line-ups share nothing but the deals.  All play the first game of every deal before any plays its
second: a run that ends early is still balanced, and a file can be resumed for more games or more deals.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

from ddz_env import State
from ddz_env.core.engine.random import key
from ddz_env.core.options import Range
from ddz_env.playing.game import play_game, seat_generators
from ddz_env.playing.generators import published_generator
from ddz_training.experiments import experiment as ex
from ddz_training.experiments.experiment import Experiment, ParallelOptions, Saved, grouped
from ddz_training.measure.duplicate import AgentKeeper, check_agents
from ddz_training.measure.statistics import Interval, clustered_interval, within
from ddz_training.measure.store import Key

DEAL_COUNT = 1000
LIST_SEED = 2011
"""The seed of the seeds."""

DEAL_LIST = "deals_2011"
"""Name of the list in the settings of results."""


def new_game(deal: int) -> State:
    """The game of a deal before the first move; seat 0 is the landlord."""
    return State.new(seed=int(key(np.uint64(LIST_SEED), np.uint64(deal))) >> 32)


LANDLORD = 0


@dataclass(frozen=True)
class DealOptions(ex.SeedOptions):
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
        options_: More options for every agent, as after an agent's name: finish=false,threads=2 or the like.
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


Agents = tuple[str, ...]
"""Specifications for :func:`ddz_env.playing.registry.make_agent`, a seat each; seat 0 is the landlord."""


class Cast(NamedTuple):
    """The line-ups of an experiment.

    Attributes:
        lineups: Who plays, by the name in the results, which must stand for the agents within an experiment.
        agents: The agents by the part that they play, which a file must agree on before it is resumed.
    """

    lineups: Mapping[str, Agents]
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


def game_number(experiment: str, lineup: str, deal: int, game: int) -> int:
    """A number that no other game of any experiment has, for the seats' generators.

    Names enter by their CRC-32, so that a line-up keeps its games when another joins the experiment.
    """
    return (zlib.crc32(f"{experiment}/{lineup}".encode()) << 64) | (deal << 32) | game


class _GameWorker(AgentKeeper):
    """Plays games in one process."""

    def __init__(self, experiment: str, options: FullOptions) -> None:
        super().__init__()
        self._experiment, self._seed = experiment, options.seed

    def play(self, task: tuple[int, int, str, Agents]) -> list[GameResult]:
        game, deal, lineup, specs = task
        number, state = game_number(self._experiment, lineup, deal, game), new_game(deal)
        agents = [self.agent(spec, seat) for seat, spec in enumerate(specs)]
        play_game(state, agents, seat_generators([self._seed, number], len(agents), published_generator))
        assert state.winner is not None, "somebody has gone out"
        return [GameResult(game, deal, lineup, state.winner, len(state.history))]


def win_rate(results: Iterable[GameResult], lineup: str, *, peasants: bool = False) -> Interval:
    """The landlord's or the peasants' win rate in one line-up; the games of a deal are one cluster."""
    deals = grouped((result for result in results if result.lineup == lineup), "deal").values()
    return within(clustered_interval([[one.landlord_won != peasants for one in own] for own in deals]), 0.0, 1.0)


def difference(results: Iterable[GameResult], lineup: str, base: str, *, peasants: bool = False) -> Interval:
    """How much more one line-up wins than another, paired: over the games of the deals that both have played."""
    deals: dict[int, list[float]] = {}
    for (deal, _), games in grouped(results, "deal", "game").items():
        won = {result.lineup: result.landlord_won != peasants for result in games}
        if lineup in won and base in won:
            deals.setdefault(deal, []).append(won[lineup] - won[base])
    return clustered_interval(deals.values())


def rate_line(what: str, paper: str, rate: Interval) -> ex.Comparison:
    """A line of a report for a win rate; its games are counted."""
    return ex.Comparison(f"{what}, %", paper, rate.text(), f"{rate.span()}; {rate.count:,} games")


def gain_line(what: str, paper: str, gain: Interval) -> ex.Comparison:
    """A line of a report for a paired difference."""
    return ex.Comparison(f"{what}, points", paper, gain.text("+.1f"), f"{gain.span('+.1f')}; paired by deal")


def games_note(saved: Saved[Any]) -> str:
    """Where the games of a table are, and who played them."""
    agents = "; ".join(f"{part}: `{spec}`" for part, spec in saved.settings.get("agents", {}).items())
    return f"{len(saved.results):,} games in {saved.name}." + (f" {agents}." if agents else "")


def _games(cast: Callable[[Any], Cast], options: FullOptions) -> Mapping[Key, Any]:
    lineups = cast(options).lineups
    check_agents(spec for specs in lineups.values() for spec in specs)
    return {
        (game, deal, name): (game, deal, name, specs)
        for game in range(options.games)
        for deal in range(options.deals)
        for name, specs in lineups.items()
    }


def lineup_experiment(
    name: str,
    section: str,
    title: str,
    about: str,
    cast: Callable[[Any], Cast],
    compare: Callable[[Sequence[GameResult]], Iterable[ex.Comparison]],
    plot: Callable[[Saved[GameResult], Path], None],
    options: type[FullOptions] = FullOptions,
) -> Experiment[FullOptions, GameResult]:
    """An experiment that plays line-ups and compares them.

    Args:
        name: Its name.
        section: Section of the paper.
        title: The title of its table.
        about: The help of its command.
        cast: Its line-ups, from its options.
        compare: The lines of its table, from the games.
        plot: Its plot.
        options: Its options.
    """
    return Experiment(
        name=name,
        about=about,
        unit="games",
        options=options,
        result=GameResult,
        tasks=functools.partial(_games, cast),
        worker=functools.partial(_GameWorker, name),
        more=lambda given: {"deals": DEAL_LIST, "agents": dict(cast(given).agents)},
        agents=lambda tasks: dict.fromkeys(spec for *_, specs in tasks.values() for spec in specs),
        tables={f"full-{name}": ex.compared(title, compare, games_note)},
        file=f"full_{name}",
        source=f"Whitehouse, Powley and Cowling 2011, {section}",
        plot=plot,
    )
