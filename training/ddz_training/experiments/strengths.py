"""How strong agents are, on duplicate deals that nothing was chosen on: the policy that ships, and all named agents.

Where weights play, the file of results names them, so that the games of other weights are never mixed in.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from ddz_agents.neural.shipped import policy_name, shipped_policy_path
from ddz_env.playing.provenance import file_digest
from ddz_training.experiments import experiment as ex
from ddz_training.experiments import matches
from ddz_training.measure import statistics
from ddz_training.measure.duplicate import GameRecord


@dataclass(frozen=True)
class StrengthResult(matches.MatchResult):
    """A duplicate deal with its stakes and times.

    Attributes:
        landlord_score: The agent's stake as landlord.
        peasants_score: The stake of its peasants together.
        ms: float a decision, forced ones included.
        opponent_ms: The same of the opponent.
    """

    landlord_score: float
    peasants_score: float
    ms: float
    opponent_ms: float


def strength_result(records: Sequence[GameRecord]) -> StrengthResult:
    """The line of a deal."""
    *games, wins = statistics.won_by_side(records)
    scores = (statistics.side_score(game, "a", "stake") for game in games)
    return StrengthResult(games[0].a, games[0].b, games[0].deal, *wins, *scores, *decision_times(records))


def decision_times(records: Sequence[GameRecord]) -> list[float]:
    """Milliseconds a decision of both agents; 0 for an agent that made none."""
    times = [statistics.milliseconds_a_decision([(game, letter) for game in records]) for letter in "ab"]
    return [0.0 if math.isnan(ms) else round(ms, 3) for ms in times]


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


@dataclass(frozen=True)
class StrengthOptions(matches.DealOptions):
    """What is played.

    Attributes:
        only: Only this pairing (policy-rules, search-policy ...); may be repeated.
        deals: Duplicate deals of every pairing; 500 to 10,000 by default.
        neural: The agent that searches with the policy.
    """

    deals: ex.Count | None = None  # type: ignore[assignment]  # as many as the pairing has
    neural: str = NEURAL


def policy_pairs(options: StrengthOptions) -> dict[matches.Pair, int]:
    """Who plays how many deals."""
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
        lines.append((f"`{agent}`", f"`{opponent}`", f"{len(own):,}", *rates, gained, *matches.median_times(own)))
    return lines


def strength_table(saved: ex.Saved[StrengthResult]) -> ex.Table:
    """What the shipped policy wins, alone and in the search."""
    title = "The shipped policy: rates and scores with 95 % intervals, milliseconds a decision"
    note = f"{matches.deals_note(saved)}, {saved.name}; the weights are `{policy_name(saved.settings['weights'])}`."
    return ex.Table(title, STRENGTH_HEADER, strength_cells(saved.results), note)


POLICY_STRENGTH = ex.Experiment(
    name="policy-strength",
    about="The shipped policy, alone and in the search, against everybody, on deals not used for any choice.\n\n"
    "Pairings that search take hours with their default deals; `only`, `deals` and `neural` set what is played.",
    options=StrengthOptions,
    result=StrengthResult,
    key=matches.KEY,
    tasks=lambda options: matches.match_tasks(policy_pairs(options), FIRST_DEAL),
    worker=functools.partial(matches.MatchWorker, strength_result, "standard", "thread"),
    more=lambda options: {"weights": shipped_fingerprint()},
    agents=lambda options: matches.agents_of(policy_pairs(options)),
    unit="duplicate deals",
    tables={"policy-strength": strength_table},
)


# --- Every named agent ------------------------------------------------------------------------------------------------

_FIRST_OF_AGENTS = 9_000_000
OPPONENT = "rules"
NAMED = (
    *("random", "random-staged", "rules-without", "rules-tuned", "rlcard-rule", "policy", "policy-without"),
    *("determinized-solver", "solver", "expectiminimax", "cheating-alpha-beta"),
    *("isuct", "duct", "cheating-uct", "rollout", "neural-ismcts"),
)
"""All that play whole games under the standard rules and need no file or program of their own."""


def agent_pairs(options: matches.DealOptions) -> dict[matches.Pair, int]:
    """Who plays how many deals."""
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


AGENT_STRENGTH = ex.Experiment(
    name="agent-strength",
    about="Play every named agent, with its default options, against the rule agent.",
    options=matches.DealOptions,
    result=StrengthResult,
    key=matches.KEY,
    tasks=lambda options: matches.match_tasks(agent_pairs(options), _FIRST_OF_AGENTS),
    worker=functools.partial(matches.MatchWorker, strength_result, "standard", "processor"),
    agents=lambda options: matches.agents_of(agent_pairs(options)),
    unit="duplicate deals",
    tables={"strengths-of-agents": agent_strength_table},
)
"""``ddz agents`` shows the win rates, beside those of larger experiments."""
