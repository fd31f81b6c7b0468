"""Agent strengths on duplicate deals: the shipped policies, all named agents, the levels, and searches by depth.

Where weights play, the file of results names them, so that the games of other weights are never mixed in.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise, product
from statistics import fmean, median

from ddz_agents.neural.shipped import policy_name, policy_path, shipped_policy_path
from ddz_env.playing.registry import LEVELS
from ddz_papers.experiments import experiment as ex
from ddz_papers.experiments import matches
from ddz_training.measure import statistics, summaries
from ddz_training.measure.duplicate import GameResult
from ddz_training.measure.markdown import Table

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


@dataclass(frozen=True)
class StrengthOptions(matches.DealOptions):
    """Options of ``policy-strength``: the pairings that are played, and the deals of each of them.

    Attributes:
        only: Only this pairing (policy-rules, search-policy ...); may be repeated.
        deals: Duplicate deals of every pairing; 500 to 10,000 by default.
        neural: The agent that searches with the policy.
    """

    deals: ex.Count | None = None  # type: ignore[assignment]  # as many as the pairing has
    neural: str = NEURAL


def policy_pairs(options: StrengthOptions) -> dict[matches.Pair, int]:
    """Return the pairs of the shipped policy and its opponents, with each pair's number of deals."""
    names = ex.check_names("pairing", options.only, PAIRINGS)
    agents = {name: options.neural if name.startswith("search") else POLICY for name in PAIRINGS if name in names}
    return {(agent, PAIRINGS[name][0]): options.deals or PAIRINGS[name][1] for name, agent in agents.items()}


STRENGTH_HEADER = (
    *("agent", "against", "deals", "win %", "landlord %", "peasants %"),
    *("score", "over the policy", "ms", "its ms"),
)
"""Heads of the columns of :func:`strength_cells`."""


def strength_cells(results: Sequence[matches.TimedDealResult]) -> list[tuple[str, ...]]:
    """Format table cells, one line per pair of agents, with the pairs of ``PAIRINGS`` first.

    Win rates and scores are means over deals of both sides with 95 % intervals; the milliseconds are the median
    deal's.  What a search wins over the policy alone, in points, is counted on the deals that both have played.
    """
    order = [(NEURAL if name.startswith("search") else POLICY, opponent) for name, (opponent, _) in PAIRINGS.items()]
    groups = ex.group_by(results, "agent", "opponent", order=order)
    lines = []
    for (agent, opponent), deals in groups.items():
        over = matches.win_gain(deals, groups.get((POLICY, opponent), []) if agent != POLICY else [])
        scores = statistics.normal_interval([(deal.landlord_score + deal.peasants_score) / 2 for deal in deals])
        rates = matches.win_interval(deals).text_with_range(to="–"), *matches.side_rates(deals), scores.plus_minus()
        gained = over.text_with_range("+.1f") if over.count else ""
        lines.append((f"`{agent}`", f"`{opponent}`", f"{len(deals):,}", *rates, gained, *matches.median_times(deals)))
    return lines


def strength_table(saved: ex.SavedResults[matches.TimedDealResult]) -> Table:
    """Make the table of the shipped policy's results, alone and within a search."""
    title = "The shipped policy: rates and scores with 95 % intervals, milliseconds per decision"
    note = f"{matches.deals_note(saved)}, {saved.name}; the weights are `{policy_name(saved.settings['weights'])}`."
    return Table(title, STRENGTH_HEADER, strength_cells(saved.results), note)


POLICY_STRENGTH = matches.make_deal_experiment(
    "policy-strength",
    "The shipped policy, alone and in the search, against everybody, on deals not used for any choice.\n\n"
    "Pairings that search take hours with their default deals; `only`, `deals` and `neural` set what is played.",
    StrengthOptions,
    matches.Pairings(policy_pairs, FIRST_DEAL, clock="thread", weights=shipped_policy_path),
    {"policy-strength": strength_table},
    matches.TimedDealResult,
    changeable=("deals", "neural"),
)


# --- Every named agent ------------------------------------------------------------------------------------------------

_FIRST_AGENT_DEAL = 9_000_000
OPPONENT = "rules"
NAMED = (
    *("random", "random-staged", "rules-without", "rules-tuned", "rlcard-rule", "policy", "policy-without"),
    *("determinized-solver", "solver", "expectiminimax", "cheating-alpha-beta"),
    *("isuct", "duct", "cheating-uct", "rollout", "neural-ismcts"),
)
"""All agents that play whole games under the standard rules and need no file or program of their own."""


def agent_pairs(options: matches.DealOptions) -> dict[matches.Pair, int]:
    """Return the pairs of each named agent and the rule agent, with each pair's number of deals."""
    return {(name, OPPONENT): options.deals for name in ex.check_names("agent", options.only, NAMED)}


def group_by_agent(results: Sequence[matches.TimedDealResult]) -> dict[str, list[matches.TimedDealResult]]:
    """Group the results against the rule agent by agent."""
    return ex.group_by((result for result in results if result.opponent == OPPONENT), "agent")


def agent_strength_table(saved: ex.SavedResults[matches.TimedDealResult]) -> Table:
    """Make the table of all named agents by win rate against the rule agent, the strongest first."""
    deals = group_by_agent(saved.results)
    rates = {agent: matches.win_interval(results) for agent, results in deals.items()}
    lines = [
        (
            f"`{agent}`",
            f"{rate.count:,}",
            rate.text_with_range(to="–"),
            f"{median(line.ms for line in deals[agent]):.3g}",
        )
        for agent, rate in sorted(rates.items(), key=lambda item: -item[1].mean)
    ]
    header = ("agent", "deals", "win %", "ms per decision")
    note = matches.deals_note(saved)
    text = f"The agents played d{note[1:]}. The results are in {saved.name}."
    return Table("Named agents against `rules`", header, lines, text)


AGENT_STRENGTH = matches.make_deal_experiment(
    "agent-strength",
    "Play every named agent, with its default options, against the rule agent.",
    matches.DealOptions,
    matches.Pairings(agent_pairs, _FIRST_AGENT_DEAL, clock="processor"),
    {"strengths-of-agents": agent_strength_table},
    matches.TimedDealResult,
)
"""``ddz agents`` shows the win rates, beside those of larger experiments."""


# --- The policy for points, auction and doubling included -------------------------------------------------------------

_FIRST_POINTS_DEAL = 7_000_000
POINTS_RULES = "bidding,doubling=true,all_decline=end"
"""A deal that all decline ends with zero, so no game is ever played on other cards."""
POINTS = "points"
POINTS_AGENT = f"policy:path={POINTS}"
_PAYOFF = "rlcard-rule:bidder=payoff"
POINTS_OPPONENTS = ("rules", "rules:bidder=payoff", "policy:bidder=rules", "policy:bidder=payoff", _PAYOFF)
"""Fixed thresholds and the expected-payoff bidder, each with the rule agent's and the policy's play, and a player that
nothing was trained with."""


@dataclass(frozen=True)
class PointsResult:
    """The result of one deal over six games, in which each agent plays every seat against two of the other.

    Attributes:
        agent: Specification of the agent.
        opponent: Specification of the opponent.
        deal: Number of the deal.
        score: Mean of the stakes that the agent's seats won together.
        landlord: Games in which an agent of its kind was the landlord.
        won: How many of these it won.
        declined: Games without a bid.
        ms: Milliseconds per decision, forced ones included.
        opponent_ms: The opponent's milliseconds per decision.
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

    @classmethod
    def from_games(cls, records: Sequence[GameResult]) -> PointsResult:
        """Make the result of a deal from the records of its six games."""
        first, times = records[0], matches.decision_times(records)
        landlord = [record for record in records if record.landlord >= 0 and record.seats[record.landlord] == "a"]
        score = round(fmean(summaries.side_score(record, "a", "stake") for record in records), 4)
        won = sum(record.winner == "landlord" for record in landlord)
        declined = sum(record.landlord < 0 for record in records)
        return cls(first.a, first.b, first.deal, score, len(landlord), won, declined, *times)


@dataclass(frozen=True)
class PointsOptions(ex.ParallelOptions):
    """Options of ``points-strength``: the points policy's opponents, and the deals against each of them.

    Attributes:
        agent: Who plays for points.
        opponent: Whom it meets; may be repeated; by default fixed thresholds and expected payoff, with three players.
        deals: Duplicate deals against each.
    """

    agent: str = POINTS_AGENT
    opponent: tuple[str, ...] | None = None
    deals: ex.Count = 1000


def points_pairs(options: PointsOptions) -> dict[matches.Pair, int]:
    """Return the pairs of the points policy and its opponents, with each pair's number of deals."""
    return {(options.agent, other): options.deals for other in options.opponent or POINTS_OPPONENTS}


def points_table(saved: ex.SavedResults[PointsResult]) -> Table:
    """Make the table of the points policy's results: scores, landlord rates and times, one line per opponent."""
    order, lines = [(POINTS_AGENT, opponent) for opponent in POINTS_OPPONENTS], []
    for (agent, opponent), deals in ex.group_by(saved.results, "agent", "opponent", order=order).items():
        name = f"`{opponent}`" if agent == POINTS_AGENT else f"`{opponent}` (`{agent}`)"
        lines.append((name, *matches.auction_cells(deals), *matches.median_times(deals)))
    settings = saved.settings
    note = (
        f"{matches.deals_note(saved)} were played, with six games each under the rules `{settings['rules']}`. Scores "
        f"have 95 % intervals over deals. Computed from {saved.name}. The weights are `{settings['weights']}`."
    )
    header = ("against", *matches.AUCTION_HEADER, "ms", "its ms")
    return Table("The policy for points, stakes won per game", header, lines, note)


POINTS_STRENGTH = matches.make_deal_experiment(
    "points-strength",
    "What the shipped policy for points wins from bidders and players, auction and doubling included.",
    PointsOptions,
    matches.Pairings(
        points_pairs,
        _FIRST_POINTS_DEAL,
        rules=POINTS_RULES,
        clock="thread",
        weights=functools.partial(policy_path, POINTS),
    ),
    {"points-strength": points_table},
    PointsResult,
    changeable=("agent", "opponent", "deals"),
)


# --- The levels of play: how far apart they are -----------------------------------------------------------------------

_FIRST_LEVEL_DEAL = 6_000_000
ANCHOR, YARDSTICK = "rules", "random"
AGENTS_BY_LEVEL = (YARDSTICK, *(level.agent for level in LEVELS))
"""The agents of the levels, each stronger than the one before, above random play.

The ratings of :data:`ddz_env.playing.registry.LEVELS` are added up from ``hard`` (the rule agent, 0) in both
directions.  The agents were chosen on the deals from 500,000 on.
"""
_LOWEST_RATE, _HIGHEST_RATE = 0.001, 0.999
"""Rates beyond these have no rating."""


@dataclass(frozen=True)
class LevelOptions(ex.ParallelOptions):
    """Options of ``levels``: on how many deals each level plays the one below it.

    Attributes:
        seed: Seed of deals and agents.
        deals: Duplicate deals of every pair.
        slow: Duplicate deals of a pair with the strongest level, which searches.
    """

    deals: ex.Count = 1000
    slow: ex.Count = 200


def neighbour_pairs(options: LevelOptions) -> dict[matches.Pair, int]:
    """Return the pairs of neighbouring levels, with each pair's number of deals."""
    pairs = {(stronger, weaker): options.deals for weaker, stronger in pairwise(AGENTS_BY_LEVEL)}
    return pairs | {(AGENTS_BY_LEVEL[-1], AGENTS_BY_LEVEL[-2]): options.slow}


def level_rates(results: Sequence[matches.DealResult]) -> Mapping[matches.Pair, statistics.Interval]:
    """Compute the win rate of each pair's stronger agent over both sides, with its 95 % interval over deals."""
    return {pair: matches.win_interval(deals) for pair, deals in ex.group_by(results, "agent", "opponent").items()}


def rate_levels(results: Sequence[matches.DealResult]) -> dict[str, float]:
    """Compute every level's Elo rating, with the rule agent at 0, from games between neighbouring levels."""
    rates = level_rates(results)
    means = (rates[stronger, weaker].mean for weaker, stronger in pairwise(AGENTS_BY_LEVEL[1:]))
    odds = (rate / (1 - rate) for rate in (min(max(mean, _LOWEST_RATE), _HIGHEST_RATE) for mean in means))
    ladder = dict(
        zip(AGENTS_BY_LEVEL[1:], accumulate((400 * math.log10(ratio) for ratio in odds), initial=0.0), strict=True)
    )
    return {level.name: ladder[level.agent] - ladder[ANCHOR] for level in LEVELS}


def levels_table(saved: ex.SavedResults[matches.DealResult]) -> Table:
    """Make the table of the levels, their ratings, and their results against the level below."""
    rates, rated = level_rates(saved.results), rate_levels(saved.results)
    lines = []
    for level, below in zip(LEVELS, AGENTS_BY_LEVEL, strict=False):
        rate = rates[level.agent, below]
        cells = (level.name, f"`{level.agent}`", f"{rated[level.name]:+.0f}", f"`{below}`", f"{rate.count:,}")
        lines.append((*cells, rate.text_with_range(to="–")))
    note = f"Ratings are added up from the win rates between neighbours; `{ANCHOR}` is 0. {saved.name}."
    return Table("Levels of play", ("level", "agent", "Elo", "against", "deals", "win %"), lines, note)


LEVELS_OF_PLAY = matches.make_deal_experiment(
    "levels",
    "How far apart the levels easy, medium, hard and master are, by duplicate deals between neighbours.",
    LevelOptions,
    matches.Pairings(neighbour_pairs, _FIRST_LEVEL_DEAL),
    {"levels": levels_table},
    changeable=("deals", "slow"),
)


# --- Searches by their depth ------------------------------------------------------------------------------------------

FIRST_DEPTH_DEAL = 70_000
DEPTHS: Mapping[str, str] = {
    **{f"open hands, depth {depth}": f"cheating-alpha-beta:depth={depth}" for depth in range(1, 9)},
    **{f"open hands, {ms} ms": f"cheating-alpha-beta:milliseconds={ms}" for ms in (1, 4, 16)},
    **{f"open hands, {ms} ms, no table": f"cheating-alpha-beta:milliseconds={ms},table=false" for ms in (1, 4, 16)},
    "open hands, depth 4, no quiescence": "cheating-alpha-beta:depth=4,quiescence=off",
    "open hands, depth 4, bombs only": "cheating-alpha-beta:depth=4,quiescence=bombs",
    "open hands, depth 4, singular": "cheating-alpha-beta:depth=4,singular=0.2",
    **{f"sampled deals, depth {depth}": f"expectiminimax:depth={depth}" for depth in (1, 2, 3, 4)},
}
"""Alpha-beta on the true game and expectiminimax over sampled deals: specifications by name.

The table changes no move at a depth, so that it matters by time only; results by time depend on the machine.
"""


def depth_pairs(options: matches.DealOptions) -> dict[matches.Pair, int]:
    """Return the pairs of each depth-limited search and the rule agent, with each pair's number of deals."""
    return {(name, OPPONENT): options.deals for name in ex.check_names("search", options.only, DEPTHS)}


def depth_table(saved: ex.SavedResults[matches.DealResult]) -> Table:
    """Make the table of depth-limited searches' win rates against the rule agent."""
    lines = []
    for name, deals in ex.group_by(saved.results, "agent", order=DEPTHS).items():
        agent = f"`{DEPTHS[name]}`" if name in DEPTHS else name
        both = matches.win_interval(deals)
        lines.append((name, agent, str(len(deals)), *matches.side_rates(deals), both.text(), both.range_text()))
    header = ("search", "agent", "deals", "landlord %", "peasants %", "both %", "95 % interval")
    note = f"Against `{OPPONENT}`, d{matches.deals_note(saved)[1:]}; {saved.name}."
    return Table("Strength by depth", header, lines, note)


SEARCH_DEPTH = matches.make_deal_experiment(
    "search-depth",
    "Depth-limited searches against the rule agent, by depth.",
    matches.DealOptions,
    matches.Pairings(depth_pairs, FIRST_DEPTH_DEAL, DEPTHS),
    {"search-depth": depth_table},
)


# --- The search with the policy, taken apart --------------------------------------------------------------------------

_FIRST_PARTS_DEAL = 11_000_000
ITERATIONS: Mapping[str, Mapping[tuple[str, str], int]] = {
    "300 iterations": dict.fromkeys(product(("policy", "uniform"), ("critic", "playout")), 300),
    "40 ms": {
        ("policy", "critic"): 650,
        ("policy", "playout"): 1_800,
        ("uniform", "critic"): 90,
        ("uniform", "playout"): 900,
    },
}
"""Iterations by budget, then prior and leaves.

Those of 40 ms took 37 to 40 ms of processor time per decision, on one idle core, in 162 positions of six games: a clock
would give other results wherever other programs run.
"""
PARTS: Mapping[str, str] = {
    f"{budget}: {prior} + {leaf}": f"{NEURAL}:iterations={count},prior={prior},leaf={leaf}"
    for budget, counts in ITERATIONS.items()
    for (prior, leaf), count in counts.items()
}
"""Specifications by budget, prior and leaves."""


def part_pairs(options: matches.DealOptions) -> dict[matches.Pair, int]:
    """Return the pairs of each search variant and the policy alone, with each pair's number of deals."""
    return {(name, POLICY): options.deals for name in ex.check_names("search", options.only, PARTS)}


def parts_table(saved: ex.SavedResults[matches.DealResult]) -> Table:
    """Make the table of the search's results against the policy alone, by combination of prior and leaf value."""
    lines = [
        (name, f"{len(results):,}", matches.win_interval(results).text_with_range(to="–"), *matches.side_rates(results))
        for name, results in ex.group_by(saved.results, "agent", order=PARTS).items()
    ]
    header = ("budget: prior + leaves", "deals", "win %", "landlord %", "peasants %")
    note = f"Against `{POLICY}`, d{matches.deals_note(saved)[1:]}; {saved.name}."
    return Table("`neural-ismcts` taken apart", header, lines, note)


SEARCH_PARTS = matches.make_deal_experiment(
    "search-parts",
    "What prior and critic bring to neural-ismcts, at equal iterations and at equal time.\n\nSome 10 CPU seconds "
    "for each deal; all searches play a deal before any plays the next.",
    matches.DealOptions,
    matches.Pairings(part_pairs, _FIRST_PARTS_DEAL, PARTS, weights=shipped_policy_path, by_deal=True),
    {"search-parts": parts_table},
)
