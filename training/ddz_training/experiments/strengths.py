"""How strong agents are, on duplicate deals that nothing was chosen on: the policies that ship, the levels, all agents.

Where weights play, the file of results names them, so that the games of other weights are never mixed in.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from statistics import fmean, median
from typing import Annotated, Any

from ddz_agents.neural.shipped import policy_name, policy_path, shipped_policy_path
from ddz_env.playing.provenance import file_digest
from ddz_env.playing.registry import LEVELS
from ddz_training.experiments import experiment as ex
from ddz_training.experiments import matches
from ddz_training.measure import statistics
from ddz_training.measure.duplicate import GameRecord
from ddz_training.measure.markdown import markdown_table

Milliseconds = Annotated[float, ".3f"]


class StrengthResult(matches.MatchResult):
    """A duplicate deal with its stakes and times.

    Attributes:
        landlord_score: The agent's stake as landlord.
        peasants_score: The stake of its peasants together.
        ms: Milliseconds a decision, forced ones included.
        opponent_ms: The same of the opponent.
    """

    landlord_score: Annotated[float, "g"]
    peasants_score: Annotated[float, "g"]
    ms: Milliseconds
    opponent_ms: Milliseconds


def strength_result(records: Sequence[GameRecord]) -> list[StrengthResult]:
    """The line of a deal."""
    *games, wins = statistics.won_by_side(records)
    scores = (statistics.side_score(game, "a", "stake") for game in games)
    return [StrengthResult(games[0].a, games[0].b, games[0].deal, *wins, *scores, *_times(records))]


def _times(records: Sequence[GameRecord]) -> list[float]:
    """Milliseconds a decision of both agents; 0 for an agent that made none."""
    times = [statistics.milliseconds_a_decision([(game, letter) for game in records]) for letter in "ab"]
    return [0.0 if math.isnan(ms) else round(ms, 3) for ms in times]


def _median_times(own: Sequence[Any]) -> list[str]:
    """Milliseconds of the median deal: compilation in one does not count."""
    return [f"{median(getattr(result, name) for result in own):.2f}" for name in ("ms", "opponent_ms")]


# --- The shipped policy -----------------------------------------------------------------------------------------------

FIRST_DEAL = 5_000_000
"""Training draws deals of its own, and evaluations during training play those from 1,000,000 on."""

POLICY, NEURAL = "policy", "neural-ismcts"
PAIRINGS: Mapping[str, tuple[str, int]] = {
    "policy-rlcard-rule": ("rlcard-rule", 10_000),
    "policy-random": ("random", 2000),
    "policy-random-staged": ("random-staged", 2000),
    "policy-rules": ("rules", 5000),
    "policy-isuct": ("isuct:iterations=10000", 1000),
    "policy-rollout": ("rollout", 1000),
    "search-policy": (POLICY, 1000),
    "search-rules": ("rules", 1000),
    "search-rlcard-rule": ("rlcard-rule", 1000),
    "search-isuct": ("isuct:iterations=10000", 500),
    "search-rollout": ("rollout", 500),
}
"""The opponents of the policy, and of the search with it, with the duplicate deals that are played by default."""


def shipped_fingerprint() -> str:
    """A hash of the weights that ship, sixteen hexadecimal digits."""
    return file_digest(shipped_policy_path())


class StrengthOptions(matches.DealOptions):
    """What is played.

    Attributes:
        only: Only this pairing (policy-rules, search-policy ...); may be repeated.
        deals: Duplicate deals of every pairing; 500 to 10,000 by default.
        neural: The agent that searches with the policy.
    """

    deals: ex.Count | None = None  # type: ignore[assignment]  # as many as the pairing has
    neural: str = NEURAL
    first_deal: ex.Natural = FIRST_DEAL


def policy_pairs(options: StrengthOptions) -> dict[matches.Pair, int]:
    """The shipped policy, alone and in the search, against everybody, on deals not used for any choice.

    Pairings that search take hours with their default deals; --only, --deals and --neural set what is played.
    """
    names = ex.chosen("pairing", options.only, PAIRINGS)
    agents = {name: options.neural if name.startswith("search") else POLICY for name in PAIRINGS if name in names}
    return {(agent, PAIRINGS[name][0]): options.deals or PAIRINGS[name][1] for name, agent in agents.items()}


STRENGTH_HEADER = (
    *("agent", "against", "deals", "win %", "landlord %", "peasants %"),
    *("score", "over the policy", "ms", "its ms"),
)
"""Heads of the columns of :func:`strength_cells`."""


def strength_cells(results: Sequence[StrengthResult]) -> list[tuple[str, ...]]:
    """A line a pairing, those of ``PAIRINGS`` first.

    Win rates and scores are means over deals of both sides with 95 % intervals; the milliseconds are the median
    deal's.  What a search wins over the policy alone, in points, is counted on the deals that both have played.
    """
    order = [(NEURAL if name.startswith("search") else POLICY, opponent) for name, (opponent, _) in PAIRINGS.items()]
    groups = ex.grouped(results, "agent", "opponent", order=order)
    lines = []
    for (agent, opponent), own in groups.items():
        over = matches.win_gain(own, groups.get((POLICY, opponent), []) if agent != POLICY else [])
        scores = statistics.normal_interval([(one.landlord_score + one.peasants_score) / 2 for one in own])
        rates = matches.win_interval(own).both(to="–"), *matches.side_rates(own), scores.plus_minus()
        gained = over.both("+.1f") if over.count else ""
        lines.append((f"`{agent}`", f"`{opponent}`", f"{len(own):,}", *rates, gained, *_median_times(own)))
    return lines


def strength_table(saved: ex.Saved[StrengthResult]) -> ex.Table:
    """What the shipped policy wins, alone and in the search."""
    title = "The shipped policy: rates and scores with 95 % intervals, milliseconds a decision"
    note = f"{matches.deals_note(saved)}, {saved.name}; the weights are `{policy_name(saved.settings['weights'])}`."
    return ex.Table(title, STRENGTH_HEADER, strength_cells(saved.results), note)


def _of_policy(folder: Path) -> list[StrengthResult]:
    """The results of the shipped policy, alone and in the default search."""
    results = ex.read_saved(StrengthResult, folder / "policy_strength.csv").results
    return [result for result in results if result.agent in (POLICY, NEURAL)]


def _rates(folder: Path) -> str:
    """Win rates of the shipped policy, alone and in the default search, for a page that has no room for more."""
    lines = strength_cells(_of_policy(folder))
    return markdown_table(("agents", "N", "win %"), ((f"{line[0]} v {line[1]}", *line[2:4]) for line in lines))


def _model_index(folder: Path) -> str:
    """Win rates of the shipped policy alone as the head of a model card has them: Hugging Face's ``model-index``."""
    lines = ["model-index:", "- name: ddz-env policy", "  results:"]
    for (agent, opponent), own in ex.grouped(_of_policy(folder), "agent", "opponent").items():
        if agent == POLICY:
            rate = matches.win_interval(own)
            lines += [
                "  - task: {type: reinforcement-learning, name: Dou Dizhu}",
                f"    dataset: {{type: duplicate-deals, name: '{rate.count:,} duplicate deals against {opponent}'}}",
                f"    metrics: [{{type: win_rate, name: win rate of both sides, value: {rate.mean:.3f}}}]",
            ]
    return "\n".join(lines)


POLICY_STRENGTH = matches.rates(
    "policy-strength",
    policy_pairs,
    {"policy-strength": strength_table},
    result=StrengthResult,
    line=strength_result,
    more=lambda options: {"weights": shipped_fingerprint()},
    pages={"policy-rates": _rates, "policy-model-index": _model_index},
)


# --- The policy for points, auction and doubling included -------------------------------------------------------------

POINTS_RULES = "bidding,doubling=true,all_decline=end"
"""Where all decline the deal ends with zero, so that a game is never played on other cards."""
POINTS_AGENT = "policy:path=points"
_PAYOFF = "rlcard-rule:bidder=payoff"
POINTS_OPPONENTS = ("rules", "rules:bidder=payoff", "policy:bidder=rules", "policy:bidder=payoff", _PAYOFF)
"""Fixed thresholds and the expected-payoff bidder, each with the rule agent's and the policy's play, and a player that
nothing was trained with."""


class PointsResult(ex.Result):
    """The six games of a duplicate deal: one of the two alone in every seat, against two of the other.

    Attributes:
        agent: Specification of the agent.
        opponent: Specification of the opponent.
        deal: Number of the deal.
        score: Mean of the stakes that the agent's seats won together.
        landlord: Games in which an agent of its kind was the landlord.
        won: How many of these it won.
        declined: Games without a bid.
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
    ms: Milliseconds
    opponent_ms: Milliseconds


class PointsOptions(ex.ParallelOptions):
    """What is played.

    Attributes:
        agent: Who plays for points.
        opponent: Whom it meets; may be repeated; by default fixed thresholds and expected payoff, with three players.
        deals: Duplicate deals against each.
        first_deal: Number of the first deal under the seed.
    """

    agent: str = POINTS_AGENT
    opponent: tuple[str, ...] | None = None
    deals: ex.Count = 1000
    first_deal: ex.Natural = 7_000_000


def points_pairs(options: PointsOptions) -> dict[matches.Pair, int]:
    """What the shipped policy for points wins from bidders and players, auction and doubling included."""
    return {(options.agent, other): options.deals for other in options.opponent or POINTS_OPPONENTS}


def points_result(records: Sequence[GameRecord]) -> list[PointsResult]:
    """The line of a deal."""
    first = records[0]
    own = [record for record in records if record.landlord >= 0 and record.seats[record.landlord] == "a"]
    score = round(fmean(statistics.side_score(record, "a", "stake") for record in records), 4)
    wins, declined = (sum(record.winner == "landlord" for record in own), sum(game.landlord < 0 for game in records))
    return [PointsResult(first.a, first.b, first.deal, score, len(own), wins, declined, *_times(records))]


def points_table(saved: ex.Saved[PointsResult]) -> ex.Table:
    """A line an opponent."""
    order, lines = [(POINTS_AGENT, opponent) for opponent in POINTS_OPPONENTS], []
    for (agent, opponent), own in ex.grouped(saved.results, "agent", "opponent", order=order).items():
        name = f"`{opponent}`" if agent == POINTS_AGENT else f"`{opponent}` (`{agent}`)"
        lines.append((name, *matches.auction_cells(own), *_median_times(own)))
    settings = saved.settings
    note = (
        f"{matches.deals_note(saved)}, six games each, rules `{settings['rules']}`; scores with 95 % intervals over "
        f"deals. Computed from {saved.name}; the weights are `{settings['weights']}`."
    )
    header = ("against", *matches.AUCTION_HEADER, "ms", "its ms")
    return ex.Table("The policy for points, stakes won a game", header, lines, note)


POINTS_STRENGTH = matches.rates(
    "points-strength",
    points_pairs,
    {"points-strength": points_table},
    result=PointsResult,
    line=points_result,
    rules=POINTS_RULES,
    more=lambda options: {"rules": POINTS_RULES, "weights": file_digest(policy_path("points"))},
)


# --- The levels of play -----------------------------------------------------------------------------------------------

ANCHOR, YARDSTICK = "rules", "random"
LADDER = (YARDSTICK, *(level.agent for level in LEVELS))
"""The agents of the levels, each stronger than the one before, above random play."""
_LEAST, _MOST = 0.001, 0.999
"""Rates beyond these have no rating."""


class LevelOptions(ex.ParallelOptions):
    """What is played.

    Attributes:
        seed: Seed of deals and agents.
        deals: Duplicate deals of every pair.
        slow: Duplicate deals of a pair with the strongest level, which searches.
    """

    deals: ex.Count = 1000
    slow: ex.Count = 200


def neighbours(options: LevelOptions) -> dict[matches.Pair, int]:
    """How far apart the levels easy, medium, hard and master are, by duplicate deals between neighbours."""
    pairs = {(stronger, weaker): options.deals for weaker, stronger in pairwise(LADDER)}
    return pairs | {(LADDER[-1], LADDER[-2]): options.slow}


def level_rates(results: Sequence[matches.MatchResult]) -> Mapping[matches.Pair, statistics.Interval]:
    """The win rate of every pair's stronger agent over both sides, with its 95 % interval over deals."""
    return {pair: matches.win_interval(own) for pair, own in ex.grouped(results, "agent", "opponent").items()}


def ratings(results: Sequence[matches.MatchResult]) -> dict[str, float]:
    """The rating of every level by its name; the rule agent's is 0."""
    found = level_rates(results)
    means = (found[stronger, weaker].mean for weaker, stronger in pairwise(LADDER[1:]))
    odds = (rate / (1 - rate) for rate in (min(max(mean, _LEAST), _MOST) for mean in means))
    ladder = dict(zip(LADDER[1:], accumulate((400 * math.log10(one) for one in odds), initial=0.0), strict=True))
    return {level.name: ladder[level.agent] - ladder[ANCHOR] for level in LEVELS}


def levels_table(saved: ex.Saved[matches.MatchResult]) -> ex.Table:
    """The levels, their ratings, and what each wins against the one below it."""
    found, rated = level_rates(saved.results), ratings(saved.results)
    lines = []
    for level, below in zip(LEVELS, LADDER, strict=False):
        rate = found[level.agent, below]
        cells = (level.name, f"`{level.agent}`", f"{rated[level.name]:+.0f}", f"`{below}`", f"{rate.count:,}")
        lines.append((*cells, rate.both(to="–")))
    note = f"Ratings are added up from the win rates between neighbours; `{ANCHOR}` is 0. {saved.name}."
    return ex.Table("Levels of play", ("level", "agent", "Elo", "against", "deals", "win %"), lines, note)


LEVELS_OF_PLAY = matches.rates("levels", neighbours, {"levels": levels_table}, first=6_000_000)
"""The ratings of :data:`ddz_env.playing.registry.LEVELS` are these, added up from ``hard`` (the rule agent, 0) in both
directions.  The agents were chosen on the deals from 500,000 on."""


# --- Every named agent ------------------------------------------------------------------------------------------------

OPPONENT = "rules"
NAMED = (
    *("random", "random-staged", "rules-without", "rules-tuned", "rlcard-rule", "policy", "policy-without"),
    *("determinized-solver", "solver", "expectiminimax", "cheating-alpha-beta"),
    *("isuct", "duct", "cheating-uct", "rollout", "neural-ismcts"),
)
"""All that play whole games under the standard rules and need no file or program of their own."""


class AgentStrengthOptions(matches.DealOptions):
    """What is played.

    Attributes:
        only: Only this agent; may be repeated.
    """

    first_deal: ex.Natural = 9_000_000


def agent_pairs(options: AgentStrengthOptions) -> dict[matches.Pair, int]:
    """Play every named agent, with its default options, against the rule agent."""
    return {(name, OPPONENT): options.deals for name in ex.chosen("agent", options.only, NAMED)}


def by_agent(results: Sequence[StrengthResult]) -> dict[str, list[StrengthResult]]:
    """The deals of each agent against the rule agent."""
    return ex.grouped((result for result in results if result.opponent == OPPONENT), "agent")


def agent_strength_table(saved: ex.Saved[StrengthResult]) -> ex.Table:
    """The agents, the strongest first."""
    deals = by_agent(saved.results)
    rates = {agent: matches.win_interval(own) for agent, own in deals.items()}
    lines = [
        (f"`{agent}`", f"{rate.count:,}", rate.both(to="–"), f"{median(line.ms for line in deals[agent]):.3g}")
        for agent, rate in sorted(rates.items(), key=lambda item: -item[1].mean)
    ]
    header = ("agent", "deals", "win %", "ms a decision")
    return ex.Table("Named agents against `rules`", header, lines, f"{matches.deals_note(saved)}; {saved.name}.")


AGENT_STRENGTH = matches.rates(
    "agent-strength",
    agent_pairs,
    {"strengths-of-agents": agent_strength_table},
    result=StrengthResult,
    line=strength_result,
    player={"processor": True},
)
"""``ddz agents`` shows the win rates; :mod:`ddz_training.apps.strengths` joins them with larger experiments'."""
