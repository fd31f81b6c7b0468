"""Experiments that are duplicate deals: who meets whom, a line of results a deal, and what a pair's lines say."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, TypeVar

from ddz_env import Rules
from ddz_env.playing.generators import published_generator
from ddz_training.experiments.experiment import Saved, SeedOptions
from ddz_training.measure.duplicate import SIDES, DealPlayer, DealWorker, GameRecord, Match, check_agents
from ddz_training.measure.statistics import Interval, normal_interval, paired_difference, within, won_by_side
from ddz_training.measure.store import Key

Pair = tuple[str, str]
_Line = TypeVar("_Line")


@dataclass(frozen=True)
class MatchResult:
    """A duplicate deal.

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


def matches(pairs: Mapping[Pair, int], first: int, specs: Mapping[str, str] | None = None) -> dict[Key, Match]:
    """The tasks of pairs that play duplicate deals.

    Args:
        pairs: Who meets whom, by the names that they have in the results, on how many deals.
        first: Number of the first deal.
        specs: Specifications of names that are none themselves.

    Raises:
        UnknownAgentError: If an agent does not exist.
    """
    specs = specs or {}
    played = {pair: (specs.get(pair[0], pair[0]), specs.get(pair[1], pair[1])) for pair in pairs}
    check_agents(spec for both in played.values() for spec in both)
    return {
        (*pair, deal): Match(pair, deal, played[pair])
        for pair, deals in pairs.items()
        for deal in range(first, first + deals)
    }


def match_agents(tasks: Mapping[Key, Match]) -> Iterable[str]:
    """Who plays in some tasks."""
    return dict.fromkeys(spec for match in tasks.values() for spec in match.specs)


def deal_worker(
    line: Callable[[Sequence[GameRecord]], list[Any]], rules: str = "standard", **player: Any
) -> Callable[[SeedOptions], DealWorker[list[Any]]]:
    """What makes the worker of an experiment.

    Args:
        line: Makes the results of a deal from its games; picklable.
        rules: The rules.
        player: More arguments of :class:`~ddz_training.measure.duplicate.DealPlayer`.
    """
    return functools.partial(_deal_worker, line, rules, player)


def _deal_worker(
    line: Callable[[Sequence[GameRecord]], list[Any]], rules: str, player: Mapping[str, Any], options: SeedOptions
) -> DealWorker[list[Any]]:
    named = {"make_generator": published_generator, **player}
    return DealWorker(line, functools.partial(DealPlayer, Rules.preset(rules), options.seed, **named))


def match_line(kind: Callable[..., _Line], records: Sequence[GameRecord]) -> list[_Line]:
    """Who won a deal, in the first five fields of a result."""
    game, _, wins = won_by_side(records)
    return [kind(game.a, game.b, game.deal, *wins)]


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
    """How much more is won than by somebody else, paired over the deals that both have played; NaN without such."""
    return paired_difference(*({result.deal: won(result) for result in lines} for lines in (results, base)))


AUCTION_HEADER = ("deals", "score a game", "landlord %", "of these won %", "declined %")
"""Heads of the columns of :func:`auction_cells`."""


def auction_cells(own: Sequence[Any]) -> list[str]:
    """What duplicate deals of six games with an auction come to; scores have 95 % intervals over deals."""
    games, landlord = 6 * len(own), sum(result.landlord for result in own)
    return [
        f"{len(own):,}",
        normal_interval([result.score for result in own]).plus_minus(),
        f"{100 * landlord / games:.1f}",
        f"{100 * sum(result.won for result in own) / max(landlord, 1):.1f}",
        f"{100 * sum(result.declined for result in own) / games:.1f}",
    ]


def deals_note(saved: Saved[Any]) -> str:
    """Which deals a table is of."""
    first = min(result.deal for result in saved.results)
    return f"Duplicate deals from number {first:,} on under seed {saved.settings['seed']}"
