"""Experiments that are duplicate deals: who meets whom, a line of results a deal, and what a pair's lines say."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any, TypeVar, get_type_hints

from ddz_env import Rules
from ddz_env.playing.generators import published_generator
from ddz_training.experiments import experiment as ex
from ddz_training.measure.duplicate import SIDES, DealPlayer, DealWorker, GameRecord, Match
from ddz_training.measure.keeper import check_agents
from ddz_training.measure.statistics import Interval, normal_interval, paired_difference, within, won_by_side
from ddz_training.measure.store import Key

Pair = tuple[str, str]
_Options = TypeVar("_Options", bound=ex.SeedOptions)
_Result = TypeVar("_Result")


class DealOptions(ex.ChosenOptions):
    """Which duplicate deals are played.

    Attributes:
        seed: Seed of deals and agents.
        deals: Duplicate deals of every pair; two games each.
        first_deal: Number of the first deal under the seed.
    """

    deals: ex.Count = 200
    first_deal: ex.Natural = 0


class MatchResult(ex.Result):
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


def matches(pairs: Mapping[Pair, int], first: int, specs: Mapping[str, str] = {}) -> dict[Key, Match]:
    """The tasks of pairs that play duplicate deals.

    Args:
        pairs: Who meets whom, by the names that they have in the results, on how many deals.
        first: Number of the first deal.
        specs: Specifications of names that are not specifications themselves.

    Raises:
        UnknownAgentError: If an agent does not exist.
    """
    played = {pair: (specs.get(pair[0], pair[0]), specs.get(pair[1], pair[1])) for pair in pairs}
    check_agents(spec for both in played.values() for spec in both)
    return {
        (*pair, deal): Match(pair, deal, played[pair])
        for pair, deals in pairs.items()
        for deal in range(first, first + deals)
    }


def match_result(kind: Callable[..., _Result], records: Sequence[GameRecord]) -> list[_Result]:
    """Who won a deal, in the first five fields of a result."""
    game, _, wins = won_by_side(records)
    return [kind(game.a, game.b, game.deal, *wins)]


def deal_worker(
    line: Callable[[Sequence[GameRecord]], list[Any]], rules: str, player: Mapping[str, Any], options: ex.SeedOptions
) -> DealWorker[list[Any]]:
    """What plays deals and makes the results of each from its games.

    Args:
        line: Makes the results; picklable.
        rules: The rules.
        player: More arguments of :class:`~ddz_training.measure.duplicate.DealPlayer`.
        options: The experiment's.
    """
    named = {"make_generator": published_generator, **player}
    return DealWorker(line, functools.partial(DealPlayer, Rules.preset(rules), options.seed, **named))


def rates(
    name: str,
    pairs: Callable[[_Options], Mapping[Pair, int]],
    tables: Mapping[str, Callable[[ex.Saved[Any]], ex.Table]],
    *,
    first: int = 0,
    specs: Callable[[_Options], Mapping[str, str]] = lambda options: {},
    result: type[Any] = MatchResult,
    line: Callable[[Sequence[GameRecord]], list[Any]] | None = None,
    rules: str = "standard",
    player: Mapping[str, Any] = {},
    **more: Any,
) -> ex.Experiment[_Options, Any]:
    """An experiment in which pairs of agents play duplicate deals.

    Args:
        name: Its name.
        pairs: Who meets whom on how many deals, from the options.  Its docstring is the help of the command.
        tables: Its tables.
        first: Number of the first deal, where that is not an option.
        specs: Specifications of names that are not specifications themselves, from the options.
        result: The dataclass of a deal.
        line: Makes it from the games of a deal; by default who won them.
        rules: The rules.
        player: More arguments of what plays the deals.
        more: More of :class:`~ddz_training.experiments.experiment.Experiment`.
    """
    given = {"about": pairs.__doc__, "options": get_type_hints(pairs)["options"], **more}
    return ex.Experiment(
        name,
        functools.partial(deal_worker, line or functools.partial(match_result, result), rules, player),
        "duplicate deals",
        lambda options: matches(pairs(options), getattr(options, "first_deal", first), specs(options)),
        tables,
        agents=lambda tasks: dict.fromkeys(spec for match in tasks.values() for spec in match.specs),
        result=result,
        **given,
    )


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
    """How much more is won than by another agent, paired over the deals that both have played; NaN without such."""
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


def deals_note(saved: ex.Saved[Any]) -> str:
    """Which deals a table is of."""
    first = min(result.deal for result in saved.results)
    return f"Duplicate deals from number {first:,} on under seed {saved.settings['seed']}"
