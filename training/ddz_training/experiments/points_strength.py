"""What the shipped policy for points wins from others, auction and doubling included, on deals that it never saw.

A deal is six games on the same cards: the policy alone in every seat against two of the other, and the other way round.
Where all decline the deal ends with zero, so that a game is never played on other cards.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Annotated

from ddz_agents.neural.shipped import shipped_points_path
from ddz_env import Rules
from ddz_env.core.options import Range
from ddz_env.playing.provenance import file_digest
from ddz_training.experiments.experiment import Experiment, ParallelOptions, Saved, Table
from ddz_training.experiments.matches import play_matches
from ddz_training.measure.match.duplicate import GameRecord, Match
from ddz_training.measure.match.results import OnProgress, no_progress
from ddz_training.measure.match.statistics import milliseconds_a_decision, normal_interval, side_score

FIRST_DEAL = 7_000_000
RULES = "bidding,doubling=true,all_decline=end"
AGENT = "policy:path=points"
OPPONENTS = ("rules", "rules:bidder=payoff", "policy:bidder=rules", "policy:bidder=payoff", "rlcard-rule:bidder=payoff")
"""Fixed thresholds and the expected-payoff bidder, each with the rule agent's and the policy's play, and a player that
nothing was trained with."""


@dataclass(frozen=True)
class PointsResult:
    """The six games of a duplicate deal.

    Attributes:
        agent: Specification of the agent.
        opponent: Specification of the opponent.
        deal: Number of the deal.
        score: Mean of the stakes that the agent's seats won together.
        landlord: Games in which an agent of its kind was the landlord.
        won: How many of these it won.
        declined: Games in which nobody bid.
        ms: Milliseconds a decision, forced ones included.
        opponent_ms: The same of the opponent.
    """

    agent: str
    opponent: str
    deal: int
    score: Annotated[float, ".4f"]
    landlord: int
    won: int
    declined: int
    ms: Annotated[float, ".3f"]
    opponent_ms: Annotated[float, ".3f"]


@dataclass(frozen=True)
class PointsOptions(ParallelOptions):
    """What is played.

    Attributes:
        agent: Who plays for points.
        opponent: Whom it meets; may be repeated; by default fixed thresholds and expected payoff, with three players.
        deals: Duplicate deals against each.
        first_deal: Number of the first deal under the seed.
    """

    agent: str = AGENT
    opponent: tuple[str, ...] | None = None
    deals: Annotated[int, Range(1)] = 1000
    first_deal: Annotated[int, Range(0)] = FIRST_DEAL


def run_points_strength(
    options: PointsOptions, path: Path | None = None, on_progress: OnProgress = no_progress
) -> Saved[PointsResult]:
    """Play for points against others.

    Args:
        options: Who plays how many deals.
        path: Where to save, one line a deal; a file of an earlier run is resumed.
        on_progress: Told how many deals are done.

    Raises:
        UnknownAgentError: If an agent does not exist.
        SettingsMismatchError: If the file was written with other weights or another seed.
    """
    tasks = {
        (options.agent, opponent, deal): Match((options.agent, opponent), deal, (options.agent, opponent))
        for opponent in options.opponent or OPPONENTS
        for deal in range(options.first_deal, options.first_deal + options.deals)
    }
    settings = {
        "experiment": "points-strength", "rules": RULES, "seed": options.seed,
        "weights": file_digest(shipped_points_path()),
    }  # fmt: skip
    rules = Rules.preset(RULES)
    return play_matches(PointsResult, points_result, rules, tasks, settings, options.processes, path, on_progress)


def points_result(records: Sequence[GameRecord]) -> list[PointsResult]:
    """The line of a deal."""
    first = records[0]
    own = [record for record in records if record.landlord >= 0 and record.seats[record.landlord] == "a"]
    times = (milliseconds_a_decision([(game, letter) for game in records]) for letter in "ab")
    return [
        PointsResult(
            first.a,
            first.b,
            first.deal,
            round(fmean(side_score(record, "a", "stake") for record in records), 4),
            len(own),
            sum(record.winner == "landlord" for record in own),
            sum(record.landlord < 0 for record in records),
            *(0.0 if math.isnan(ms) else round(ms, 3) for ms in times),
        )
    ]


POINTS_HEADER = (
    "against", "deals", "score a game", "landlord %", "of these won %", "declined %", "ms", "its ms",
)  # fmt: skip
"""Heads of the columns of :func:`points_table`."""


def points_table(saved: Saved[PointsResult]) -> Table:
    """A line an opponent."""
    groups: dict[tuple[str, str], list[PointsResult]] = {}
    for result in saved.results:
        groups.setdefault((result.agent, result.opponent), []).append(result)
    places = {(AGENT, opponent): place for place, opponent in enumerate(OPPONENTS)}
    pairs = sorted(groups, key=lambda pair: places.get(pair, len(places)))
    first, settings = min(result.deal for result in saved.results), saved.settings
    note = (
        f"Duplicate deals from number {first:,} on under seed {settings['seed']}, six games each, rules "
        f"`{settings['rules']}`; scores with 95 % intervals over deals. Computed from {saved.name}; the weights are "
        f"`{settings['weights']}`."
    )
    lines = [(_pair(*pair), *_line(groups[pair])) for pair in pairs]
    return Table("The policy for points, stakes won a game", POINTS_HEADER, lines, note)


def _pair(agent: str, opponent: str) -> str:
    return f"`{opponent}`" if agent == AGENT else f"`{opponent}` (`{agent}`)"


def _line(own: Sequence[PointsResult]) -> list[str]:
    games, landlord = 6 * len(own), sum(result.landlord for result in own)
    return [
        f"{len(own):,}",
        normal_interval([result.score for result in own]).plus_minus(),
        f"{100 * landlord / games:.1f}",
        f"{100 * sum(result.won for result in own) / max(landlord, 1):.1f}",
        f"{100 * sum(result.declined for result in own) / games:.1f}",
        f"{median(result.ms for result in own):.2f}",
        f"{median(result.opponent_ms for result in own):.2f}",
    ]


POINTS_STRENGTH = Experiment(
    name="points-strength",
    source="own",
    about="What the shipped policy for points wins from bidders and players, auction and doubling included.",
    unit="duplicate deals",
    options=PointsOptions,
    result=PointsResult,
    run=run_points_strength,
    tables={"points-strength": points_table},
    file="points_strength",
)
