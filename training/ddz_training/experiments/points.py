"""The policy for points, auction and doubling included: what it wins from bidders and players."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from ddz_agents.neural.shipped import policy_path
from ddz_env.playing.provenance import file_digest
from ddz_training.experiments import experiment as ex
from ddz_training.experiments import matches
from ddz_training.experiments.strengths import decision_times
from ddz_training.measure import statistics
from ddz_training.measure.duplicate import GameRecord

FIRST_DEAL = 7_000_000
POINTS_RULES = "bidding,doubling=true,all_decline=end"
"""Where all decline the deal ends with zero, so that a game is never played on other cards."""
POINTS_AGENT = "policy:path=points"
_PAYOFF = "rlcard-rule:bidder=payoff"
POINTS_OPPONENTS = ("rules", "rules:bidder=payoff", "policy:bidder=rules", "policy:bidder=payoff", _PAYOFF)
"""Fixed thresholds and the expected-payoff bidder, each with the rule agent's and the policy's play, and a player that
nothing was trained with."""


@dataclass(frozen=True)
class PointsResult:
    """The six games of a duplicate deal: one of the two alone in every seat, against two of the other.

    Attributes:
        agent: Specification of the agent.
        opponent: Specification of the opponent.
        deal: Number of the deal.
        score: Mean of the stakes that the agent's seats won together.
        landlord: Games in which an agent of its kind was the landlord.
        won: How many of these it won.
        declined: Games without a bid.
        ms: float a decision, forced ones included.
        opponent_ms: The same of the opponent.
    """

    agent: str
    opponent: str
    deal: int
    score: float
    landlord: int
    won: int
    declined: int
    ms: float
    opponent_ms: float


@dataclass(frozen=True)
class PointsOptions(ex.ParallelOptions):
    """What is played.

    Attributes:
        agent: Who plays for points.
        opponent: Whom it meets; may be repeated; by default fixed thresholds and expected payoff, with three players.
        deals: Duplicate deals against each.
    """

    agent: str = POINTS_AGENT
    opponent: tuple[str, ...] | None = None
    deals: ex.Count = 1000


def points_pairs(options: PointsOptions) -> dict[matches.Pair, int]:
    """Who plays how many deals."""
    return {(options.agent, other): options.deals for other in options.opponent or POINTS_OPPONENTS}


def points_result(records: Sequence[GameRecord]) -> PointsResult:
    """The line of a deal."""
    first = records[0]
    own = [record for record in records if record.landlord >= 0 and record.seats[record.landlord] == "a"]
    score = round(fmean(statistics.side_score(record, "a", "stake") for record in records), 4)
    wins, declined = (sum(record.winner == "landlord" for record in own), sum(game.landlord < 0 for game in records))
    return PointsResult(first.a, first.b, first.deal, score, len(own), wins, declined, *decision_times(records))


def points_table(saved: ex.Saved[PointsResult]) -> ex.Table:
    """A line an opponent."""
    order, lines = [(POINTS_AGENT, opponent) for opponent in POINTS_OPPONENTS], []
    for (agent, opponent), own in ex.grouped(saved.results, "agent", "opponent", order=order).items():
        name = f"`{opponent}`" if agent == POINTS_AGENT else f"`{opponent}` (`{agent}`)"
        lines.append((name, *_cells(own), *matches.median_times(own)))
    settings = saved.settings
    note = (
        f"{matches.deals_note(saved)}, six games each, rules `{settings['rules']}`; scores with 95 % intervals over "
        f"deals. Computed from {saved.name}; the weights are `{settings['weights']}`."
    )
    scores = ("deals", "score a game", "landlord %", "of these won %", "declined %")
    header = ("against", *scores, "ms", "its ms")
    return ex.Table("The policy for points, stakes won a game", header, lines, note)


def _cells(own: Sequence[PointsResult]) -> list[str]:
    """What duplicate deals of six games with an auction come to; scores have 95 % intervals over deals."""
    games, landlord = 6 * len(own), sum(result.landlord for result in own)
    return [
        f"{len(own):,}",
        statistics.normal_interval([result.score for result in own]).plus_minus(),
        f"{100 * landlord / games:.1f}",
        f"{100 * sum(result.won for result in own) / max(landlord, 1):.1f}",
        f"{100 * sum(result.declined for result in own) / games:.1f}",
    ]


POINTS_STRENGTH = ex.Experiment(
    name="points-strength",
    about="What the shipped policy for points wins from bidders and players, auction and doubling included.",
    options=PointsOptions,
    result=PointsResult,
    key=matches.KEY,
    tasks=lambda options: matches.match_tasks(points_pairs(options), FIRST_DEAL),
    worker=functools.partial(matches.MatchWorker, points_result, POINTS_RULES, "thread"),
    more=lambda options: {"rules": POINTS_RULES, "weights": file_digest(policy_path("points"))},
    agents=lambda options: matches.agents_of(points_pairs(options)),
    unit="duplicate deals",
    tables={"points-strength": points_table},
)
