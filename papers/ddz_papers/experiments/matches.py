"""The common parts of experiments on duplicate deals: pairs of agents, results per deal, and statistics."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any, NamedTuple

from ddz_env import Rules
from ddz_env.playing.generators import make_published_generator
from ddz_papers.experiments import experiment as ex
from ddz_training.measure.agent_pool import check_agents
from ddz_training.measure.duplicate import PAIR, SIDES, DealPlayer, GameResult, Match
from ddz_training.measure.markdown import Table
from ddz_training.measure.provenance import digest_file
from ddz_training.measure.statistics import Interval, normal_interval, paired_difference, share_interval
from ddz_training.measure.summaries import mean_ms_per_decision, side_score, split_wins_by_side
from ddz_training.measure.workers import Worker

Pair = tuple[str, str]


@dataclass(frozen=True)
class DealOptions(ex.ChosenOptions):
    """Options that choose the duplicate deals of an experiment.

    Attributes:
        seed: Seed of deals and agents.
        only: Only this line of the table; may be repeated.
        deals: Duplicate deals of every pair; two games each.
    """

    deals: ex.Count = 200


@dataclass(frozen=True)
class DealResult:
    """An agent's wins on a duplicate deal with a fixed landlord, once as landlord and once as peasants.

    Attributes:
        agent: The agent.
        opponent: The opponent.
        deal: Number of the deal.
        landlord: Whether the agent won as landlord, 0 or 1.
        peasants: Whether it won as peasants.
    """

    agent: str
    opponent: str
    deal: int
    landlord: int
    peasants: int

    @classmethod
    def from_games(cls, records: Sequence[GameResult]) -> DealResult:
        """Make the result of a deal from the records of its two games."""
        game, _, wins = split_wins_by_side(records)
        return cls(game.a, game.b, game.deal, *wins)


@dataclass(frozen=True)
class TimedDealResult(DealResult):
    """An agent's wins and stakes on a duplicate deal with a fixed landlord, with both agents' decision times.

    Attributes:
        landlord_score: The agent's stake as landlord.
        peasants_score: The stake of its peasants together.
        ms: Milliseconds per decision, forced ones included.
        opponent_ms: The opponent's milliseconds per decision.
    """

    landlord_score: float
    peasants_score: float
    ms: float
    opponent_ms: float

    @classmethod
    def from_games(cls, records: Sequence[GameResult]) -> TimedDealResult:
        """Make the result of a deal, with stakes and times, from the records of its two games."""
        *games, wins = split_wins_by_side(records)
        scores = (side_score(game, "a", "stake") for game in games)
        return cls(games[0].a, games[0].b, games[0].deal, *wins, *scores, *decision_times(records))


KEY = ("agent", "opponent", "deal")


def decision_times(records: Sequence[GameResult]) -> list[float]:
    """Compute both agents' milliseconds per decision, with 0 for an agent that made no decision."""
    times = [mean_ms_per_decision([(game, letter) for game in records]) for letter in PAIR]
    return [0.0 if math.isnan(ms) else round(ms, 3) for ms in times]


class Pairings(NamedTuple):
    """The pairs of agents that meet in an experiment, with each pair's number of deals and the rules.

    Attributes:
        pairs: Who meets whom, by the names that they have in the results, on how many deals; from the options.
        first: Number of the first deal.
        specs: Specifications of names that are not specifications themselves.
        rules: The rules.
        clock: What times the decisions: ``none``, ``thread`` or ``processor``.
        weights: Finds the file of weights that results depend on, if they do.
        by_deal: Whether all pairs play a deal before any plays the next.
    """

    pairs: Callable[[Any], Mapping[Pair, int]]
    first: int
    specs: Mapping[str, str] = {}
    rules: str = "standard"
    clock: str = "none"
    weights: Callable[[], Path] | None = None
    by_deal: bool = False

    def spec(self, name: str) -> str:
        """Return the specification of an agent from its name in the results."""
        return self.specs.get(name, name)

    def agents(self, options: ex.SeedOptions) -> list[str]:
        """Return the specifications of all agents that play, without duplicates."""
        return list(dict.fromkeys(self.spec(name) for pair in self.pairs(options) for name in pair))

    def tasks(self, options: ex.SeedOptions) -> list[ex.Task]:
        """List the tasks of an experiment, one for each deal of every pair.

        Raises:
            UnknownAgentError: If an agent does not exist.
        """
        check_agents(self.agents(options))
        wanted = [
            (*pair, deal, Match(deal, (self.spec(pair[0]), self.spec(pair[1])), pair))
            for pair, deals in self.pairs(options).items()
            for deal in range(self.first, self.first + deals)
        ]
        return sorted(wanted, key=lambda task: task[2]) if self.by_deal else wanted

    def settings(self, options: ex.SeedOptions) -> dict[str, str]:
        """Return the settings, apart from the options, on which results depend: the rules and the policy weights."""
        rules = {} if self.rules == "standard" else {"rules": self.rules}
        return rules if self.weights is None else {**rules, "weights": digest_file(self.weights())}


class MatchWorker(Worker[ex.Task, list[Any]]):
    """A worker that plays an experiment's duplicate deals, and makes a result of each.

    Args:
        line: Makes the result of a deal from its games; picklable.
        rules: The rules.
        clock: As in :class:`Pairings`.
        options: The experiment's.
    """

    def __init__(
        self, line: Callable[[Sequence[GameResult]], Any], rules: str, clock: str, options: ex.SeedOptions
    ) -> None:
        timing, processor, make = clock != "none", clock == "processor", make_published_generator
        self._player = DealPlayer(Rules.preset(rules), options.seed, timing, processor=processor, make_generator=make)
        self._line = line

    def work(self, task: ex.Task) -> list[Any]:
        """Play a duplicate deal from both sides, and return its result."""
        return [self._line(self._player.play(task[-1]))]

    def close(self) -> None:
        """Release the agents that the worker holds."""
        self._player.close()


def make_deal_experiment(
    name: str,
    about: str,
    options: type[Any],
    pairings: Pairings,
    tables: Mapping[str, Callable[[ex.SavedResults[Any]], Table]],
    result: type[Any] = DealResult,
    changeable: Sequence[str] = ("deals",),
) -> ex.Experiment[Any, Any]:
    """Make an experiment in which pairs of agents play duplicate deals.

    Args:
        name: Its name.
        about: The help of its command.
        options: The class of its options.
        pairings: Who plays.
        tables: What it shows.
        result: A line of its file; its ``from_games`` makes one from the games of a deal.
        changeable: As for an experiment.
    """
    return ex.Experiment(
        name=name,
        about=about,
        options=options,
        result=result,
        key=KEY,
        tasks=pairings.tasks,
        worker=functools.partial(MatchWorker, result.from_games, pairings.rules, pairings.clock),
        changeable=changeable,
        more=pairings.settings,
        agents=pairings.agents,
        unit="duplicate deals",
        tables=tables,
    )


def share_won(result: DealResult) -> float:
    """Return the share of a deal's two games that the agent won: 0, one half or 1."""
    return float(result.landlord + result.peasants) / 2


def win_interval(results: Iterable[DealResult]) -> Interval:
    """Compute an agent's win rate over both sides, with its 95 % interval over deals."""
    return share_interval([share_won(result) for result in results])


def side_rates(results: Sequence[DealResult]) -> list[str]:
    """Format an agent's win rates as landlord and as peasants, in per cent."""
    return [f"{100 * fmean(getattr(result, side) for result in results):.1f}" for side in SIDES]


def win_gain(results: Iterable[DealResult], base: Iterable[DealResult]) -> Interval:
    """Compute the difference between two agents' win rates on their common deals; NaN if there are none."""
    return paired_difference(*({result.deal: share_won(result) for result in lines} for lines in (results, base)))


def median_times(results: Sequence[Any]) -> list[str]:
    """Format both agents' milliseconds per decision, as medians over deals so that compile time does not count."""
    return [f"{median(getattr(result, name) for result in results):.2f}" for name in ("ms", "opponent_ms")]


AUCTION_HEADER = ("deals", "score per game", "landlord %", "of these won %", "declined %")
"""Heads of the columns of :func:`auction_cells`."""


def auction_cells(results: Sequence[Any]) -> list[str]:
    """Format the cells for six-game duplicate deals with an auction; scores have 95 % intervals over deals."""
    games, landlord = 6 * len(results), sum(result.landlord for result in results)
    return [
        f"{len(results):,}",
        normal_interval([result.score for result in results]).plus_minus(),
        f"{100 * landlord / games:.1f}",
        f"{100 * sum(result.won for result in results) / max(landlord, 1):.1f}",
        f"{100 * sum(result.declined for result in results) / games:.1f}",
    ]


def deals_note(saved: ex.SavedResults[Any]) -> str:
    """Return a note with the number of a table's first deal and the seed."""
    first = min(result.deal for result in saved.results)
    return f"Duplicate deals from number {first:,} on under seed {saved.settings['seed']}"
