"""How strong the shipped policy is, alone and inside the search, on duplicate deals that nothing was chosen on.

Every pairing plays the same deals, from number 5,000,000 on.  The file of results names the weights that played, so
that the games of other weights are never mixed in.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Annotated

from ddz_agents.neural.shipped import shipped_policy_path
from ddz_env import Rules
from ddz_env.core.options import Range
from ddz_env.playing.provenance import file_digest
from ddz_training.experiments.experiment import Experiment, ParallelOptions, Saved, Table, check_known, read_saved
from ddz_training.experiments.matches import play_matches
from ddz_training.measure.markdown import markdown_table
from ddz_training.measure.match.duplicate import SIDES, GameRecord, Match
from ddz_training.measure.match.results import OnProgress, no_progress
from ddz_training.measure.match.statistics import (
    Interval,
    milliseconds_a_decision,
    normal_interval,
    paired_difference,
    side_score,
    within,
    won_by_side,
)

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


@dataclass(frozen=True)
class StrengthResult:
    """A duplicate deal.

    Attributes:
        agent: Specification of the policy or of the search with it.
        opponent: Specification of the opponent.
        deal: Number of the deal.
        landlord: Whether the agent won as landlord, 0 or 1.
        peasants: Whether it won as peasants.
        landlord_score: Its stake as landlord.
        peasants_score: The stake of its peasants together.
        ms: Milliseconds a decision, forced ones included.
        opponent_ms: The same of the opponent.
    """

    agent: str
    opponent: str
    deal: int
    landlord: int
    peasants: int
    landlord_score: Annotated[float, "g"]
    peasants_score: Annotated[float, "g"]
    ms: Annotated[float, ".3f"]
    opponent_ms: Annotated[float, ".3f"]


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


def run_policy_strength(
    options: StrengthOptions, path: Path | None = None, on_progress: OnProgress = no_progress
) -> Saved[StrengthResult]:
    """Play the shipped policy against others.

    Args:
        options: Who plays how many deals.
        path: Where to save, one line a deal; a file of an earlier run is resumed.
        on_progress: Told how many deals are done.

    Returns:
        The deals asked for, pairing by pairing; the file may hold more.

    Raises:
        InvalidExperimentError: If there is no such pairing.
        UnknownAgentError: If an agent does not exist.
        SettingsMismatchError: If the file was written with other weights or another seed.
    """
    names = options.only or tuple(PAIRINGS)
    check_known("pairing", names, PAIRINGS)
    chosen = [pairing for name, pairing in PAIRINGS.items() if name in names]
    tasks = {
        (*pair, deal): Match(pair, deal, pair)
        for pairing in chosen
        for pair in [(options.neural if pairing.searches else POLICY, pairing.opponent)]
        for deal in range(options.first_deal, options.first_deal + (options.deals or pairing.deals))
    }
    settings = {"experiment": "policy-strength", "seed": options.seed, "weights": shipped_fingerprint()}
    return play_matches(StrengthResult, strength_result, Rules(), tasks, settings, options.processes, path, on_progress)


def strength_result(records: Sequence[GameRecord]) -> list[StrengthResult]:
    """The line of a deal."""
    *games, wins = won_by_side(records)
    scores = (side_score(game, "a", "stake") for game in games)
    times = (milliseconds_a_decision([(game, letter) for game in records]) for letter in "ab")
    rounded = (0.0 if math.isnan(ms) else round(ms, 3) for ms in times)
    return [StrengthResult(games[0].a, games[0].b, games[0].deal, *wins, *scores, *rounded)]


STRENGTH_HEADER = (
    "agent", "against", "deals", "win %", "landlord %", "peasants %", "score", "over the policy", "ms", "its ms",
    "target %", "others %, from memory",
)  # fmt: skip
"""Heads of the columns of :func:`strength_cells`."""


def strength_cells(results: Sequence[StrengthResult]) -> list[tuple[str, ...]]:
    """A line a pairing, in the order of ``PAIRINGS``.

    Win rates and scores are means over deals of both sides with 95 % intervals; the milliseconds are the median
    deal's.  What a search wins over the policy alone, in points, is counted on the deals that both have played.  What
    is not a pairing of ``PAIRINGS`` has no target.
    """
    groups: dict[tuple[str, str], list[StrengthResult]] = {}
    for result in results:
        groups.setdefault((result.agent, result.opponent), []).append(result)
    pairs = sorted(groups, key=lambda pair: _place(*pair))
    return [
        (f"`{agent}`", f"`{opponent}`", *_line(agent, opponent, own, groups.get((POLICY, opponent), [])))
        for agent, opponent in pairs
        for own in [groups[agent, opponent]]
    ]


def win_interval(results: Sequence[StrengthResult]) -> Interval:
    """The win rate over both sides with its 95 % interval over deals."""
    return within(normal_interval([(result.landlord + result.peasants) / 2 for result in results]), 0.0, 1.0)


def score_interval(results: Sequence[StrengthResult]) -> Interval:
    """The mean stake of a game with its 95 % interval over deals."""
    return normal_interval([(result.landlord_score + result.peasants_score) / 2 for result in results])


def _over(own: Sequence[StrengthResult], alone: Sequence[StrengthResult]) -> str:
    """What is won over the policy alone, in points, on the deals that both have played."""
    first, second = ({result.deal: (result.landlord + result.peasants) / 2 for result in rows} for rows in (own, alone))
    return paired_difference(first, second).both("+.1f") if own is not alone and first.keys() & second.keys() else ""


def _line(agent: str, opponent: str, own: Sequence[StrengthResult], alone: Sequence[StrengthResult]) -> list[str]:
    wins, score = win_interval(own), score_interval(own)
    place = _place(agent, opponent)
    pairing = list(PAIRINGS.values())[place] if place < len(PAIRINGS) else None
    target = pairing.target if pairing else None
    return [
        f"{len(own):,}",
        wins.both(to="–"),
        *(f"{100 * fmean(getattr(result, side) for result in own):.1f}" for side in SIDES),
        score.plus_minus(),
        _over(own, alone),
        f"{median(result.ms for result in own):.2f}",
        f"{median(result.opponent_ms for result in own):.2f}",
        "" if target is None else f"{target:g}",
        pairing.elsewhere if pairing else "",
    ]


def _place(agent: str, opponent: str) -> int:
    """The place of a pairing among ``PAIRINGS``, whatever the search's budget; behind them if it is none."""
    known = [(pairing.searches, pairing.opponent) for pairing in PAIRINGS.values()]
    pair = agent != POLICY, opponent
    return known.index(pair) if pair in known else len(known)


def strength_table(saved: Saved[StrengthResult]) -> Table:
    """What the shipped policy wins, alone and in the search."""
    first = min(result.deal for result in saved.results)
    note = f"Duplicate deals from number {first:,} on under seed {saved.settings['seed']}, {saved.name}"
    return Table(
        "The shipped policy: rates and scores with 95 % intervals, milliseconds a decision",
        STRENGTH_HEADER,
        strength_cells(saved.results),
        f"{note}; the weights are `{saved.settings['weights']}`.",
    )


def _rates(folder: Path) -> str:
    """Win rates of the shipped policy, alone and in the default search, for a page that has no room for more."""
    results = read_saved(StrengthResult, folder / "policy_strength.csv").results
    lines = strength_cells([result for result in results if result.agent in (POLICY, NEURAL)])
    return markdown_table(("agents", "N", "win %"), ((f"{line[0]} v {line[1]}", *line[2:4]) for line in lines))


def _model_index(folder: Path) -> str:
    """Win rates of the shipped policy alone as the head of a model card has them: Hugging Face's ``model-index``."""
    saved = read_saved(StrengthResult, folder / "policy_strength.csv")
    opponents = dict.fromkeys(result.opponent for result in saved.results if result.agent == POLICY)
    lines = ["model-index:", "- name: ddz-env policy", "  results:"]
    for opponent in opponents:
        own = [result for result in saved.results if (result.agent, result.opponent) == (POLICY, opponent)]
        lines += [
            "  - task: {type: reinforcement-learning, name: Dou Dizhu}",
            f"    dataset: {{type: duplicate-deals, name: '{len(own):,} duplicate deals against {opponent}'}}",
            f"    metrics: [{{type: win_rate, name: win rate of both sides, value: {win_interval(own).mean:.3f}}}]",
        ]
    return "\n".join(lines)


POLICY_STRENGTH = Experiment(
    name="policy-strength",
    source="own",
    about="""The shipped policy, alone and in the search, against everybody, on deals not used for any choice.

    Pairings that search take hours with their default deals; --only, --deals and --neural set what is played.
    """,
    unit="duplicate deals",
    options=StrengthOptions,
    result=StrengthResult,
    run=run_policy_strength,
    tables={"policy-strength": strength_table},
    file="policy_strength",
    pages={"policy-rates": _rates, "policy-model-index": _model_index},
)
