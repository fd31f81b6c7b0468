"""Summaries of games: each agent's win rates and scores, against each opponent and against all of them.

Win rates in one role count games; everything over both roles is paired by deal.  How the intervals are computed is in
:mod:`ddz_training.measure.statistics`.  A side's score is the sum over its seats (two peasants at ½ are 1), so that an
agent's score is minus its opponent's; under Botzone's scoring, which is not zero-sum, it is the mean over its seats.
A partner (:mod:`ddz_training.measure.duplicate`) counts with the peasant beside it.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, TypeVar

from ddz_training.measure.duplicate import PAIR, PARTNER, SIDES, GameResult
from ddz_training.measure.statistics import (
    Interval,
    normal_interval,
    paired_difference,
    share_interval,
    wilson_interval,
)


@dataclass(frozen=True)
class AgentResult:
    """An agent's win rates and scores against one opponent, or against all opponents together.

    Attributes:
        agent: The agent's label.
        opponent: The opponent's label, ``all`` in standings.
        deals: Duplicate deals.
        games: Games.
        landlord_wins: Win rate as landlord, Wilson.
        peasant_wins: Win rate as peasants, Wilson.
        wins: Win rate over both, paired by deal.  A game without a bid is half a win.
        landlord_score: Average score as landlord.
        peasant_score: Average score of its peasants together.
        score: Average score per game, paired by deal.
        ms_per_decision: Milliseconds per decision, forced moves included.
        decisions: Decisions.
        faults: Games that the agent lost by a fault of its own.
        cpu_ms_per_decision: Milliseconds of a processor per decision, in the games in which it was measured; else NaN.
    """

    agent: str
    opponent: str
    deals: int
    games: int
    landlord_wins: Interval
    peasant_wins: Interval
    wins: Interval
    landlord_score: Interval
    peasant_score: Interval
    score: Interval
    ms_per_decision: float
    decisions: int
    faults: int
    cpu_ms_per_decision: float


@dataclass(frozen=True)
class PairedDifference:
    """The difference between two agents' results against the same opponent, on the deals that both have played.

    Attributes:
        agent: The agent's label.
        over: The label of the agent that it is compared with.
        opponent: The opponent's label.
        landlord_wins: Difference of the win rates as landlord, paired by deal.
        peasant_wins: Difference of the win rates as peasants.
        wins: Difference of the win rates over both.
        score: Difference of the average scores per game.
    """

    agent: str
    over: str
    opponent: str
    landlord_wins: Interval
    peasant_wins: Interval
    wins: Interval
    score: Interval


def to_plain_values(result: Any) -> dict[str, Any]:
    """Return a dataclass's fields as JSON values, with intervals as dicts and NaN as None."""
    values: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(result)), parse_constant=lambda _: None)
    return values


def seats_of(record: GameResult, letter: str, side: str | None = None) -> list[int]:
    """List the seats of agent A or B in a game, its partner's included, optionally only those on one side."""
    own = {letter} if record.seats[record.landlord] == letter else {letter, PARTNER}
    return [
        seat
        for seat, occupant in enumerate(record.seats)
        if occupant in own and (side is None or record.side(seat) == side)
    ]


def win_share(record: GameResult, letter: str) -> float:
    """Return the share of an agent's seats that won: one half if nobody bid, 0 if the agent is at fault."""
    if record.fault_by in PAIR:
        return float(letter != record.fault_by)
    if not record.winner:
        return 0.5
    return fmean(record.side(seat) == record.winner for seat in seats_of(record, letter))


def balanced_win_share(record: GameResult, letter: str) -> float:
    """Score a game for an agent from 0 to 1, with one half if equal shares of both agents' seats won.

    With a fixed landlord it is :func:`win_share`.  After an auction the two shares need not add up to 1.
    """
    other = "b" if letter == "a" else "a"
    return (1 + win_share(record, letter) - win_share(record, other)) / 2


def side_score(record: GameResult, letter: str, scoring: str, side: str | None = None) -> float:
    """Compute an agent's score in a game, over all its seats or only those on one side."""
    returns: tuple[float, ...] = getattr(record, scoring)
    values = [returns[seat] for seat in seats_of(record, letter, side)]
    return fmean(values) if scoring == "botzone" else sum(values)


def split_wins_by_side(records: Sequence[GameResult]) -> tuple[GameResult, GameResult, tuple[int, int]]:
    """Return agent A's games as landlord and as peasants on a fixed-landlord deal, and whether A won each."""
    as_landlord, as_peasants = sorted(records, key=lambda record: record.seats != "abb")
    return as_landlord, as_peasants, (int(win_share(as_landlord, "a") > 0.5), int(win_share(as_peasants, "a") > 0.5))


def mean_ms_per_decision(samples: Iterable[tuple[GameResult, str]], clock: str = "ms") -> float:
    """Compute an agent's mean milliseconds per decision over the given games, or NaN if it made no decision.

    Args:
        samples: Games, each with the agent's letter.
        clock: ``ms``, or ``cpu_ms`` for those of a processor in the games that have them.
    """
    both = [(getattr(game, f"decisions_{letter}"), getattr(game, f"{clock}_{letter}")) for game, letter in samples]
    spent = [(count, ms) for count, ms in both if not math.isnan(ms)]
    decisions = sum(count for count, _ in spent)
    return sum(count * ms for count, ms in spent) / decisions if decisions else math.nan


_Sample = tuple[GameResult, str]  # a game and the letter of the agent in question
_Value = Callable[[GameResult, str], float]
_Item = TypeVar("_Item")
_Key = TypeVar("_Key")


def group_by(items: Iterable[_Item], key: Callable[[_Item], _Key]) -> dict[_Key, list[_Item]]:
    """Group items by a key, keeping groups in the order of their first items."""
    groups: dict[_Key, list[_Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def group_by_pair(records: Iterable[GameResult]) -> dict[tuple[str, str], list[GameResult]]:
    """Group games by the pair of agents that played them."""
    return group_by(records, lambda record: (record.a, record.b))


def _mean_by_deal(samples: Iterable[_Sample], value: _Value) -> dict[int, float]:
    deals = group_by(samples, lambda sample: sample[0].deal)
    return {deal: fmean(value(*game) for game in games) for deal, games in deals.items()}


def _paired_interval(samples: Iterable[_Sample], value: _Value) -> Interval:
    """Average a value over each deal's games, and return the mean over deals with its 95 % interval."""
    return normal_interval([*_mean_by_deal(samples, value).values()])


def wins_by_deal(records: Iterable[GameResult], agent: str, value: _Value = win_share) -> dict[int, float]:
    """Compute the share of the games that an agent won on each deal, keyed by deal number.

    Args:
        records: Games.
        agent: Its label.
        value: What a game counts; :func:`balanced_win_share` where one half must mean that neither is better.
    """
    samples = [(record, letter) for record in records for letter in PAIR if record.agent_of(letter) == agent]
    return _mean_by_deal(samples, value)


def _side_won(record: GameResult, letter: str, side: str) -> bool:
    """Return whether an agent won a game on the given side; an agent at fault has always lost."""
    return letter != record.fault_by if record.fault_by in PAIR else record.winner == side


def _role_win_rate(samples: Iterable[_Sample], side: str) -> Interval:
    outcomes = [_side_won(*sample, side) for sample in samples]
    return wilson_interval(sum(outcomes), len(outcomes))


def _make_result(agent: str, opponent: str, samples: Sequence[_Sample], scoring: str) -> AgentResult:
    landlord, peasants = ([sample for sample in samples if seats_of(*sample, side)] for side in SIDES)
    score, wins = functools.partial(side_score, scoring=scoring), _mean_by_deal(samples, win_share)
    return AgentResult(
        agent=agent,
        opponent=opponent,
        deals=len(wins),
        games=len(samples),
        landlord_wins=_role_win_rate(landlord, SIDES[0]),
        peasant_wins=_role_win_rate(peasants, SIDES[1]),
        wins=share_interval([*wins.values()], len(samples) / len(wins)),
        landlord_score=_paired_interval(landlord, functools.partial(score, side=SIDES[0])),
        peasant_score=_paired_interval(peasants, functools.partial(score, side=SIDES[1])),
        score=_paired_interval(samples, score),
        ms_per_decision=mean_ms_per_decision(samples),
        decisions=sum(getattr(record, f"decisions_{letter}") for record, letter in samples),
        faults=sum(record.fault_by == letter for record, letter in samples),
        cpu_ms_per_decision=mean_ms_per_decision(samples, "cpu_ms"),
    )


def summarize(records: Iterable[GameResult], scoring: str = "win") -> list[AgentResult]:
    """Compute each agent's result against each opponent that it played, in the order of the games.

    Args:
        records: Games of complete deals.
        scoring: ``win``, ``stake`` or ``botzone``.
    """
    return [
        _make_result(agent, opponent, [(record, letter) for record in games], scoring)
        for (a, b), games in group_by_pair(records).items()
        for letter, agent, opponent in (("a", a, b), ("b", b, a))
    ]


def compute_standings(records: Iterable[GameResult], scoring: str = "win") -> list[AgentResult]:
    """Compute each agent's result against all of its opponents together, best first.

    Every pair plays the same deals, so a deal stays one observation: the mean over all the agent's games on it.
    """
    samples = group_by(
        ((record, letter) for record in records for letter in PAIR), lambda item: item[0].agent_of(item[1])
    )
    results = [_make_result(agent, "all", games, scoring) for agent, games in samples.items()]
    return sorted(results, key=lambda result: -result.wins.mean)


def compare_agents(records: Iterable[GameResult], over: str, scoring: str = "win") -> list[PairedDifference]:
    """Compare each agent with the agent ``over``, against every opponent that both have met.

    Args:
        records: Games of complete deals.
        over: The label of the agent that the others are compared with.
        scoring: ``win``, ``stake`` or ``botzone``.
    """
    samples = group_by(
        ((record, letter) for record in records for letter in PAIR),
        lambda item: (item[0].agent_of(item[1]), item[0].agent_of("b" if item[1] == "a" else "a")),
    )
    return [
        _make_difference(agent, over, opponent, (own, samples[over, opponent]), scoring)
        for (agent, opponent), own in samples.items()
        if agent != over and (over, opponent) in samples
    ]


def _make_difference(
    agent: str, over: str, opponent: str, both: tuple[Sequence[_Sample], Sequence[_Sample]], scoring: str
) -> PairedDifference:
    def difference(value: _Value, side: str | None = None) -> Interval:
        return paired_difference(
            *(_mean_by_deal([one for one in samples if seats_of(*one, side)], value) for samples in both)
        )

    landlord_wins, peasant_wins = (difference(functools.partial(_side_won, side=side), side) for side in SIDES)
    score = difference(functools.partial(side_score, scoring=scoring))
    return PairedDifference(agent, over, opponent, landlord_wins, peasant_wins, difference(win_share), score)
