"""What experiments on duplicate deals share: the pairs, one result per deal, and the statistics of a pair's results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

from ddz_env import Rules
from ddz_env.playing.generators import published_generator
from ddz_training.experiments import experiment as ex
from ddz_training.measure.duplicate import SIDES, DealPlayer, GameRecord, Match
from ddz_training.measure.keeper import check_agents
from ddz_training.measure.statistics import Interval, normal_interval, paired_difference, within, won_by_side
from ddz_training.measure.workers import Worker

Pair = tuple[str, str]


@dataclass(frozen=True)
class DealOptions(ex.ChosenOptions):
    """Which duplicate deals are played.

    Attributes:
        seed: Seed of deals and agents.
        only: Only this line of the table; may be repeated.
        deals: Duplicate deals of every pair; two games each.
    """

    deals: ex.Count = 200


@dataclass(frozen=True)
class MatchResult:
    """The result of a duplicate deal.

    Attributes:
        agent: Specification of the agent.
        opponent: Specification of the opponent.
        deal: Number of the deal.
        landlord: Whether the agent won as landlord, 0 or 1.
        peasants: Whether it won as peasants.
    """

    agent: str
    opponent: str
    deal: int
    landlord: int
    peasants: int


KEY = ("agent", "opponent", "deal")


def match_tasks(pairs: Mapping[Pair, int], first: int, specs: Mapping[str, str] = {}) -> list[ex.Task]:
    """Make the tasks of pairs that play duplicate deals.

    Args:
        pairs: Who meets whom, by the names that they have in the results, on how many deals.
        first: Number of the first deal.
        specs: Specifications of names that are not specifications themselves.

    Raises:
        UnknownAgentError: If an agent does not exist.
    """
    played = {pair: (specs.get(pair[0], pair[0]), specs.get(pair[1], pair[1])) for pair in pairs}
    check_agents(spec for both in played.values() for spec in both)
    return [
        (*pair, deal, Match(deal, played[pair], pair))
        for pair, deals in pairs.items()
        for deal in range(first, first + deals)
    ]


def who_won(records: Sequence[GameRecord]) -> MatchResult:
    """Make the result of a deal from its games."""
    game, _, wins = won_by_side(records)
    return MatchResult(game.a, game.b, game.deal, *wins)


class MatchWorker(Worker[ex.Task, list[Any]]):
    """Plays the deals of an experiment.

    Args:
        line: Makes the result of a deal from its games; picklable.
        rules: The rules.
        clock: What times the decisions: ``none``, ``thread`` or ``processor``.
        options: The experiment's.
    """

    def __init__(
        self, line: Callable[[Sequence[GameRecord]], Any], rules: str, clock: str, options: ex.SeedOptions
    ) -> None:
        self._line = line
        self._player = DealPlayer(
            Rules.preset(rules),
            options.seed,
            timing=clock != "none",
            processor=clock == "processor",
            make_generator=published_generator,
        )

    def work(self, task: ex.Task) -> list[Any]:
        """Play a deal from both sides."""
        return [self._line(self._player.play(task[-1]))]

    def close(self) -> None:
        """Release the agents."""
        self._player.close()


def agents_of(pairs: Mapping[Pair, int]) -> list[str]:
    """The agents of some pairs, each once."""
    return [*dict.fromkeys(spec for pair in pairs for spec in pair)]


def won(result: Any) -> float:
    """The share of a deal's two games that the agent won."""
    return float(result.landlord + result.peasants) / 2


def win_interval(results: Iterable[Any]) -> Interval:
    """The win rate over both sides with its 95 % interval over deals."""
    return within(normal_interval([won(result) for result in results]), 0.0, 1.0)


def side_rates(results: Sequence[Any]) -> list[str]:
    """The win rates as landlord and as peasants, in per cent."""
    return [f"{100 * fmean(getattr(result, side) for result in results):.1f}" for side in SIDES]


def win_gain(results: Iterable[Any], base: Iterable[Any]) -> Interval:
    """How much more an agent wins than another one, paired by deal; NaN if they have no deal in common."""
    return paired_difference(*({result.deal: won(result) for result in lines} for lines in (results, base)))


def median_times(results: Sequence[Any]) -> list[str]:
    """Milliseconds per decision of both agents; the median over deals leaves out those that had to compile."""
    return [f"{median(getattr(result, name) for result in results):.2f}" for name in ("ms", "opponent_ms")]


def deals_note(saved: ex.Saved[Any]) -> str:
    """The note that says which deals a table is about."""
    first = min(result.deal for result in saved.results)
    return f"Duplicate deals from number {first:,} on under seed {saved.settings['seed']}"
