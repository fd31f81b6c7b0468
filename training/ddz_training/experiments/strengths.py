"""How strong agents are, on duplicate deals that nothing was chosen on.

Experiments of the shipped policies and of all named agents.  Where weights play, the file of
results names them, so that the games of other weights are never mixed in.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Annotated, Any

from ddz_agents.neural.shipped import shipped_points_path, shipped_policy_path
from ddz_env.core.options import Range
from ddz_env.playing.provenance import file_digest
from ddz_training.experiments import matches as play
from ddz_training.experiments.experiment import Experiment, ParallelOptions, Saved, Table, chosen, grouped, read_saved
from ddz_training.experiments.matches import MatchResult, win_interval
from ddz_training.measure import statistics
from ddz_training.measure.duplicate import GameRecord
from ddz_training.measure.markdown import markdown_table
from ddz_training.measure.statistics import Interval
from ddz_training.measure.store import Key

Milliseconds = Annotated[float, ".3f"]


@dataclass(frozen=True)
class StrengthResult(MatchResult):
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
    """Milliseconds a decision of both agents; 0 where one never came to act."""
    times = [statistics.milliseconds_a_decision([(game, letter) for game in records]) for letter in "ab"]
    return [0.0 if math.isnan(ms) else round(ms, 3) for ms in times]


def _weights_note(saved: Saved[Any]) -> str:
    return f"; the weights are `{saved.settings['weights']}`."


# --- The shipped policy -----------------------------------------------------------------------------------------------

FIRST_DEAL = 5_000_000
"""Training draws deals of its own, and evaluations during training play those from 1,000,000 on."""

POLICY = "policy"
NEURAL = "neural-ismcts"


@dataclass(frozen=True)
class Pairing:
    """A policy, or a search with it, against somebody.

    Attributes:
        searches: Whether the policy plays inside the search.
        opponent: Specification of the opponent.
        deals: Duplicate deals unless another number is asked for.
        target: Win rate in % to reach; None for none.
        elsewhere: Win rates in % that others report against such an opponent, from memory and not verified.
    """

    searches: bool
    opponent: str
    deals: int
    target: float | None = None
    elsewhere: str = ""


PAIRINGS: Mapping[str, Pairing] = {
    "policy-rlcard-rule": Pairing(False, "rlcard-rule", 10_000, 80, "DouZero 89"),
    "policy-random": Pairing(False, "random", 2000, 98, "DouZero 98.9, PerfectDou 99.4"),
    "policy-random-staged": Pairing(False, "random-staged", 2000),
    "policy-rules": Pairing(False, "rules", 5000, 65),
    "policy-isuct": Pairing(False, "isuct:iterations=10000", 1000, 50),
    "policy-rollout": Pairing(False, "rollout", 1000),
    "search-policy": Pairing(True, POLICY, 1000, 55),
    "search-rules": Pairing(True, "rules", 1000),
    "search-rlcard-rule": Pairing(True, "rlcard-rule", 1000),
    "search-isuct": Pairing(True, "isuct:iterations=10000", 500),
    "search-rollout": Pairing(True, "rollout", 500),
}
"""What is played, by name."""


def shipped_fingerprint() -> str:
    """A hash of the weights that ship, sixteen hexadecimal digits."""
    return file_digest(shipped_policy_path())


@dataclass(frozen=True)
class StrengthOptions(ParallelOptions):
    """What is played.

    Attributes:
        seed: Seed of deals and agents.
        only: Only this pairing (policy-rules, search-policy ...); may be repeated.
        deals: Duplicate deals of every pairing; 500 to 10,000 by default.
        neural: The agent that searches with the policy.
        first_deal: Number of the first deal under the seed.
    """

    only: tuple[str, ...] | None = None
    deals: Annotated[int, Range(1)] | None = None
    neural: str = NEURAL
    first_deal: Annotated[int, Range(0)] = FIRST_DEAL


def _pairings(options: StrengthOptions) -> Mapping[Key, Any]:
    played = [PAIRINGS[name] for name in PAIRINGS if name in chosen("pairing", options.only, PAIRINGS)]
    pairs = {(options.neural if one.searches else POLICY, one.opponent): options.deals or one.deals for one in played}
    return play.matches(pairs, options.first_deal)


_SIDES = ("agent", "against", "deals", "win %", "landlord %", "peasants %")
STRENGTH_HEADER = (*_SIDES, "score", "over the policy", "ms", "its ms", "target %", "others %, from memory")
"""Heads of the columns of :func:`strength_cells`."""


def strength_cells(results: Sequence[StrengthResult]) -> list[tuple[str, ...]]:
    """A line a pairing, in the order of ``PAIRINGS``.

    Win rates and scores are means over deals of both sides with 95 % intervals; the milliseconds are the median
    deal's.  What a search wins over the policy alone, in points, is counted on the deals that both have played.  What
    is not a pairing of ``PAIRINGS`` has no target.
    """
    groups = grouped(results, "agent", "opponent")
    return [
        (f"`{agent}`", f"`{opponent}`", *_strength(agent, opponent, own, groups.get((POLICY, opponent), [])))
        for (agent, opponent), own in sorted(groups.items(), key=lambda group: _place(*group[0]))
    ]


def score_interval(results: Sequence[StrengthResult]) -> Interval:
    """The mean stake of a game with its 95 % interval over deals."""
    return statistics.normal_interval([(result.landlord_score + result.peasants_score) / 2 for result in results])


def _strength(agent: str, opponent: str, own: list[StrengthResult], alone: list[StrengthResult]) -> list[str]:
    place = _place(agent, opponent)
    pairing = list(PAIRINGS.values())[place] if place < len(PAIRINGS) else Pairing(False, "", 0)
    over = play.win_gain(own, [] if own is alone else alone)
    target = "" if pairing.target is None else f"{pairing.target:g}"
    gained = over.both("+.1f") if over.count else ""
    rates = win_interval(own).both(to="–"), *play.side_rates(own), score_interval(own).plus_minus(), gained
    return [f"{len(own):,}", *rates, *_median_times(own), target, pairing.elsewhere]


def _median_times(own: Sequence[Any]) -> list[str]:
    """Milliseconds of the median deal: compilation in one does not count."""
    return [f"{median(getattr(result, name) for result in own):.2f}" for name in ("ms", "opponent_ms")]


def _place(agent: str, opponent: str) -> int:
    """The place of a pairing among ``PAIRINGS``, whatever the search's budget; behind them if it is none."""
    known = [(pairing.searches, pairing.opponent) for pairing in PAIRINGS.values()]
    pair = agent != POLICY, opponent
    return known.index(pair) if pair in known else len(known)


def strength_table(saved: Saved[StrengthResult]) -> Table:
    """What the shipped policy wins, alone and in the search."""
    title = "The shipped policy: rates and scores with 95 % intervals, milliseconds a decision"
    note = f"{play.deals_note(saved)}, {saved.name}{_weights_note(saved)}"
    return Table(title, STRENGTH_HEADER, strength_cells(saved.results), note)


def _rates(folder: Path) -> str:
    """Win rates of the shipped policy, alone and in the default search, for a page that has no room for more."""
    results = read_saved(StrengthResult, folder / "policy_strength.csv").results
    lines = strength_cells([result for result in results if result.agent in (POLICY, NEURAL)])
    return markdown_table(("agents", "N", "win %"), ((f"{line[0]} v {line[1]}", *line[2:4]) for line in lines))


def _model_index(folder: Path) -> str:
    """Win rates of the shipped policy alone as the head of a model card has them: Hugging Face's ``model-index``."""
    results = read_saved(StrengthResult, folder / "policy_strength.csv").results
    own_games = [result for result in results if result.agent == POLICY]
    lines = ["model-index:", "- name: ddz-env policy", "  results:"]
    for opponent, own in grouped(own_games, "opponent").items():
        lines += [
            "  - task: {type: reinforcement-learning, name: Dou Dizhu}",
            f"    dataset: {{type: duplicate-deals, name: '{len(own):,} duplicate deals against {opponent}'}}",
            f"    metrics: [{{type: win_rate, name: win rate of both sides, value: {win_interval(own).mean:.3f}}}]",
        ]
    return "\n".join(lines)


POLICY_STRENGTH = Experiment(
    name="policy-strength",
    about="""The shipped policy, alone and in the search, against everybody, on deals not used for any choice.

    Pairings that search take hours with their default deals; --only, --deals and --neural set what is played.
    """,
    unit="duplicate deals",
    options=StrengthOptions,
    result=StrengthResult,
    tasks=_pairings,
    worker=play.deal_worker(strength_result),
    more=lambda options: {"weights": shipped_fingerprint()},
    agents=play.match_agents,
    tables={"policy-strength": strength_table},
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
    ms: Milliseconds
    opponent_ms: Milliseconds


@dataclass(frozen=True)
class PointsOptions(ParallelOptions):
    """What is played.

    Attributes:
        agent: Who plays for points.
        opponent: Whom it meets; may be repeated; by default fixed thresholds and expected payoff, with three players.
        deals: Duplicate deals against each.
        first_deal: Number of the first deal under the seed.
    """

    agent: str = POINTS_AGENT
    opponent: tuple[str, ...] | None = None
    deals: Annotated[int, Range(1)] = 1000
    first_deal: Annotated[int, Range(0)] = 7_000_000


def _points_matches(options: PointsOptions) -> Mapping[Key, Any]:
    opponents = options.opponent or POINTS_OPPONENTS
    return play.matches({(options.agent, other): options.deals for other in opponents}, options.first_deal)


def points_result(records: Sequence[GameRecord]) -> list[PointsResult]:
    """The line of a deal."""
    first = records[0]
    own = [record for record in records if record.landlord >= 0 and record.seats[record.landlord] == "a"]
    score = round(fmean(statistics.side_score(record, "a", "stake") for record in records), 4)
    wins, declined = (sum(record.winner == "landlord" for record in own), sum(game.landlord < 0 for game in records))
    return [PointsResult(first.a, first.b, first.deal, score, len(own), wins, declined, *_times(records))]


def points_table(saved: Saved[PointsResult]) -> Table:
    """A line an opponent."""
    order, lines = [(POINTS_AGENT, opponent) for opponent in POINTS_OPPONENTS], []
    for (agent, opponent), own in grouped(saved.results, "agent", "opponent", order=order).items():
        name = f"`{opponent}`" if agent == POINTS_AGENT else f"`{opponent}` (`{agent}`)"
        lines.append((name, *play.auction_cells(own), *_median_times(own)))
    note = (
        f"{play.deals_note(saved)}, six games each, rules `{saved.settings['rules']}`; scores with 95 % intervals over "
        f"deals. Computed from {saved.name}{_weights_note(saved)}"
    )
    header = ("against", *play.AUCTION_HEADER, "ms", "its ms")
    return Table("The policy for points, stakes won a game", header, lines, note)


POINTS_STRENGTH = Experiment(
    name="points-strength",
    about="What the shipped policy for points wins from bidders and players, auction and doubling included.",
    unit="duplicate deals",
    options=PointsOptions,
    result=PointsResult,
    tasks=_points_matches,
    worker=play.deal_worker(points_result, POINTS_RULES),
    more=lambda options: {"rules": POINTS_RULES, "weights": file_digest(shipped_points_path())},
    agents=play.match_agents,
    tables={"points-strength": points_table},
)


# --- Every named agent ------------------------------------------------------------------------------------------------

FIRST_OF_AGENTS = 9_000_000
"""Nothing was chosen on the deals from here on."""

OPPONENT = "rules"
FAST = ("random", "random-staged", "rules-without", "rules-tuned", "rlcard-rule", "policy", "policy-without")
SEARCHES = ("isuct", "duct", "cheating-uct", "rollout", "neural-ismcts")
NAMED = (*FAST, "determinized-solver", "solver", "expectiminimax", "cheating-alpha-beta", *SEARCHES)
"""All that play whole games under the standard rules and need no file or program of their own."""


@dataclass(frozen=True)
class AgentStrengthOptions(ParallelOptions):
    """What is played.

    Attributes:
        seed: Seed of deals and agents.
        only: Only this agent; may be repeated.
        deals: Duplicate deals of every agent; two games each.
        first_deal: Number of the first deal under the seed.
    """

    only: tuple[str, ...] | None = None
    deals: Annotated[int, Range(1)] = 200
    first_deal: Annotated[int, Range(0)] = FIRST_OF_AGENTS


def _agent_matches(options: AgentStrengthOptions) -> Mapping[Key, Any]:
    names = chosen("agent", options.only, NAMED)
    return play.matches({(name, OPPONENT): options.deals for name in names}, options.first_deal)


def by_agent(results: Sequence[StrengthResult]) -> dict[str, list[StrengthResult]]:
    """The deals of each agent against the rule agent."""
    return grouped((result for result in results if result.opponent == OPPONENT), "agent")


def agent_strength_table(saved: Saved[StrengthResult]) -> Table:
    """The agents, the strongest first."""
    lines = [
        (f"`{agent}`", f"{len(own):,}", win_interval(own).both(to="–"), f"{median(line.ms for line in own):.3g}")
        for agent, own in sorted(by_agent(saved.results).items(), key=lambda item: -win_interval(item[1]).mean)
    ]
    note = f"Duplicate deals from number {FIRST_OF_AGENTS:,} on under seed {saved.settings['seed']}; {saved.name}."
    return Table("Named agents against `rules`", ("agent", "deals", "win %", "ms a decision"), lines, note)


AGENT_STRENGTH = Experiment(
    name="agent-strength",
    about="Play every named agent, with its default options, against the rule agent.",
    unit="deals",
    options=AgentStrengthOptions,
    result=StrengthResult,
    tasks=_agent_matches,
    worker=play.deal_worker(strength_result, processor=True),
    agents=play.match_agents,
    tables={"strengths-of-agents": agent_strength_table},
)
"""``ddz agents`` shows the win rates; :mod:`ddz_training.apps.strengths` joins them with larger experiments'."""
