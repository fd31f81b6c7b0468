"""How strong the shipped policy is, alone and inside the search, on duplicate deals that nothing was chosen on.

Every pairing plays the same deals, from number 5,000,000 on.  The file of results names the weights that played, so
that the games of other weights are never mixed in.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

from agents.neural.shipped import shipped_policy_path
from ddz_env.agent import close
from ddz_env.registry import make_agent
from training.arena.duplicate import SIDES, GameRecord
from training.arena.errors import InvalidExperimentError
from training.arena.round_robin import Arena, run_arena
from training.arena.statistics import Interval, normal_interval, side_score, win_share, within
from training.experiments.comparison import OnProgress, no_progress
from training.experiments.result_table import ResultTable
from training.experiments.stretches import stretches

FIRST_DEAL = 5_000_000
"""Training draws deals of its own, and evaluations during training play those from 1,000,000 on."""

POLICY = "policy"
NEURAL = "neural-ismcts"
COLUMNS = (
    "agent", "opponent", "deal", "landlord", "peasants", "landlord_score", "peasants_score", "ms", "opponent_ms",
)  # fmt: skip


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
    "search-policy": Pairing(True, POLICY, 1000, 55),
    "search-rules": Pairing(True, "rules", 1000),
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
    landlord_score: float
    peasants_score: float
    ms: float
    opponent_ms: float

    @classmethod
    def of_row(cls, row: Mapping[str, str]) -> StrengthResult:
        """A line of the results file."""
        scores = float(row["landlord_score"]), float(row["peasants_score"])
        wins = int(row["landlord"]), int(row["peasants"])
        return cls(
            row["agent"], row["opponent"], int(row["deal"]), *wins, *scores, float(row["ms"]), float(row["opponent_ms"])
        )


def shipped_fingerprint() -> str:
    """A hash of the weights that ship, sixteen hexadecimal digits."""
    return hashlib.sha256(shipped_policy_path().read_bytes()).hexdigest()[:16]


def run_policy_strength(
    path: Path | None = None,
    on_progress: OnProgress = no_progress,
    *,
    names: Sequence[str] = tuple(PAIRINGS),
    deals: int | None = None,
    neural: str = NEURAL,
    first_deal: int = FIRST_DEAL,
    processes: int = 1,
    seed: int = 0,
) -> list[StrengthResult]:
    """Play the shipped policy against others.

    Args:
        path: Where to save, one line a deal; a file of an earlier run is gone on with.
        on_progress: Told how many deals are done.
        names: Pairings, of ``PAIRINGS``.
        deals: Duplicate deals of each; None for its own number.
        neural: Specification of the search.
        first_deal: Number of the first deal.
        processes: Worker processes; but for the milliseconds, the results do not depend on them.
        seed: Seed of deals and agents.

    Returns:
        The deals asked for, pairing by pairing; the file may hold more.

    Raises:
        InvalidExperimentError: If there is no such pairing.
        UnknownAgentError: If an agent does not exist.
        SettingsMismatchError: If the file was written with other weights or another seed.
    """
    unknown = [name for name in names if name not in PAIRINGS]
    if unknown:
        raise InvalidExperimentError(f"{', '.join(unknown)}: no such pairing; there are {', '.join(PAIRINGS)}")
    plan = [(neural if pair.searches else POLICY, pair.opponent, deals or pair.deals) for pair in _chosen(names)]
    for spec in {spec for agent, opponent, _ in plan for spec in (agent, opponent)}:
        close(make_agent(spec))  # a wrong name is an error before anything is played
    settings = {"experiment": "policy-strength", "seed": seed, "weights": shipped_fingerprint()}
    table = ResultTable(path, settings, COLUMNS)
    total, finished = sum(count for _, _, count in plan), 0
    done = table.keys("agent", "opponent", "deal")
    for agent, opponent, count in plan:
        wanted = range(first_deal, first_deal + count)
        missing = [deal for deal in wanted if (agent, opponent, str(deal)) not in done]
        finished += count - len(missing)
        on_progress(finished, total)

        def save(records: list[GameRecord], agent: str = agent, opponent: str = opponent) -> None:
            nonlocal finished
            finished += 1
            table.add(agent, opponent, *_cells(records))
            on_progress(finished, total)

        arena = Arena((agent, opponent), seed=seed)
        for first, stretch in stretches(missing):
            run_arena(arena, stretch, first_deal=first, processes=processes, on_deal=save)
    return [result for part in plan for result in _found(table, part, first_deal)]


def _chosen(names: Sequence[str]) -> list[Pairing]:
    """Pairings in the order of the table, each once."""
    return [pairing for name, pairing in PAIRINGS.items() if name in names]


def _found(table: ResultTable, part: tuple[str, str, int], first_deal: int) -> list[StrengthResult]:
    """A pairing's results by deal."""
    agent, opponent, count = part
    own = [row for row in table.rows if (row["agent"], row["opponent"]) == (agent, opponent)]
    results = [StrengthResult.of_row(row) for row in own]
    chosen = [result for result in results if first_deal <= result.deal < first_deal + count]
    return sorted(chosen, key=lambda result: result.deal)


def _cells(records: Sequence[GameRecord]) -> tuple[object, ...]:
    """A deal's line from its two games, behind the names."""
    as_landlord, as_peasants = (
        next(record for record in records if (record.seats == "abb") == (side == SIDES[0])) for side in SIDES
    )
    wins = (int(win_share(record, "a") > 0.5) for record in (as_landlord, as_peasants))
    scores = (f"{side_score(record, 'a', 'stake'):g}" for record in (as_landlord, as_peasants))
    return records[0].deal, *wins, *scores, *(f"{_milliseconds(records, letter):.3f}" for letter in "ab")


def _milliseconds(records: Sequence[GameRecord], letter: str) -> float:
    """Milliseconds a decision over the games of a deal; 0 where an agent never came to act."""
    decisions = [getattr(record, f"decisions_{letter}") for record in records]
    times = [getattr(record, f"ms_{letter}") for record in records]
    spent = sum(count * each for count, each in zip(decisions, times, strict=True))
    return float(spent / sum(decisions)) if sum(decisions) else 0.0


STRENGTH_HEADER = (
    "agent", "against", "deals", "win %", "landlord %", "peasants %", "score", "ms", "its ms", "target %",
    "others %, from memory",
)  # fmt: skip
"""Heads of the columns of :func:`strength_cells`."""


def strength_cells(results: Sequence[StrengthResult]) -> list[tuple[str, ...]]:
    """A line a pairing, in the order of ``PAIRINGS``.

    Win rates and scores are means over deals of both sides with 95 % intervals; the milliseconds are the median
    deal's, which compilation in the first does not touch.  What is not a pairing of ``PAIRINGS`` has no target.
    """
    groups: dict[tuple[str, str], list[StrengthResult]] = {}
    for result in results:
        groups.setdefault((result.agent, result.opponent), []).append(result)
    pairs = sorted(groups, key=lambda pair: _place(*pair))
    return [
        (f"`{agent}`", f"`{opponent}`", *_line(agent, opponent, groups[agent, opponent])) for agent, opponent in pairs
    ]


def win_interval(results: Sequence[StrengthResult]) -> Interval:
    """The win rate over both sides with its 95 % interval over deals."""
    return within(normal_interval([(result.landlord + result.peasants) / 2 for result in results]), 0.0, 1.0)


def score_interval(results: Sequence[StrengthResult]) -> Interval:
    """The mean stake of a game with its 95 % interval over deals."""
    return normal_interval([(result.landlord_score + result.peasants_score) / 2 for result in results])


def _line(agent: str, opponent: str, own: Sequence[StrengthResult]) -> list[str]:
    wins, score = win_interval(own), score_interval(own)
    place = _place(agent, opponent)
    pairing = list(PAIRINGS.values())[place] if place < len(PAIRINGS) else None
    target = pairing.target if pairing else None
    return [
        f"{len(own):,}",
        f"{100 * wins.mean:.1f} ({100 * wins.low:.1f}–{100 * wins.high:.1f})",
        *(f"{100 * fmean(getattr(result, side) for result in own):.1f}" for side in SIDES),
        f"{score.mean:+.2f} ±{score.half_width:.2f}",
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
