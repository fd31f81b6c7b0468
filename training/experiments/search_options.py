"""Options of the search at equal time: each against plain information-set UCT and against the rule agent.

An option that costs time gets fewer iterations.  Before anything is played, the processor time of a decision is
measured for every variant on the same positions, and iterations are set so that all cost what the plain search costs
with ``base_iterations``; the numbers found are saved with the results and used again when a run is resumed.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ddz_env import State, View
from ddz_env.agent import Agent
from ddz_env.registry import make_agent
from training.arena.duplicate import GameRecord
from training.arena.errors import InvalidExperimentError
from training.arena.round_robin import Arena, run_arena
from training.arena.statistics import Interval, normal_interval, win_share
from training.experiments.comparison import OnProgress, no_progress
from training.experiments.result_table import ResultTable
from training.experiments.stretches import stretches

PLAIN = "isuct"
RULES = "rules"
VARIANTS: Mapping[str, str] = {
    "plain": "isuct:iterations={}",
    "availability counts": "isuct:iterations={},counts=availability",
    "PUCT": "isuct:iterations={},selection=puct",
    "PUCT with rules prior": "isuct:iterations={},selection=puct,prior=rules",
    "choice by value": "isuct:iterations={},final=value",
    "tree reuse": "isuct:iterations={},reuse=true",
    "4 trees": "isuct:iterations={},trees=4",
    "planned simulation": "isuct:iterations={},simulation=planned",
    "rules simulation": "isuct:iterations={},simulation=rules",
    "two levels": "isuct-moves:iterations={},levels=sets",
    "flat": "isuct-moves:iterations={},levels=flat",
    "re-determinizing": "isuct-redetermined:iterations={}",
    "inference": "isuct:iterations={},particles=100",
    "duplicate rollouts (random)": "rollout:iterations={},simulation=random,caution=0,particles=0",
    "duplicate rollouts (planned)": "rollout:iterations={},simulation=planned,caution=0,particles=0",
    "duplicate rollouts (rules)": "rollout:iterations={},caution=0,particles=0",
    "cautious rollouts (planned)": "rollout:iterations={},simulation=planned,caution=0.5,particles=0",
    "cautious rollouts (rules)": "rollout:iterations={},caution=0.5,particles=0",
    "more cautious rollouts (rules)": "rollout:iterations={},caution=1,particles=0",
    "cautious rollouts with inference": "rollout:iterations={},caution=0.5,particles=100",
}
"""Specifications by name, with a place for the iterations."""

QUICK = tuple(name for name in VARIANTS if "inference" not in name)
"""Variants without a large fixed cost a decision.  The others need a larger budget, and are measured if named."""

WITHOUT_INFERENCE: Mapping[str, str] = {"cautious rollouts with inference": "cautious rollouts (rules)"}
"""The same rollouts without inference; a report that has both compares them deal by deal."""

BUDGET_COLUMNS = ("variant", "iterations", "microseconds")
COLUMNS = ("variant", "opponent", "deal", "landlord", "peasants")


@dataclass(frozen=True)
class Budget:
    """What a variant may do.

    Attributes:
        iterations: Iterations a decision.
        microseconds: Processor time that a decision took with them, on average.
    """

    iterations: int
    microseconds: float


@dataclass(frozen=True)
class DealResult:
    """A duplicate deal.

    Attributes:
        variant: Name of the variant.
        opponent: Specification of the opponent.
        deal: Number of the deal.
        landlord: Whether the variant won as landlord.
        peasants: Whether it won as peasants.
    """

    variant: str
    opponent: str
    deal: int
    landlord: int
    peasants: int


def positions(count: int, seed: int) -> list[View]:
    """Decisions with a choice, from games of the rule agent."""
    rules, rng = make_agent(RULES), np.random.default_rng(seed)
    views: list[View] = []
    while len(views) < count:
        state = State.new(seed=int(rng.integers(2**63)))
        while not state.is_over:
            if len(state.legal_moves()) > 1 and rng.random() < 0.1:
                views.append(state.view())
            state.step(rules.act(state.view(), rng))
    return views[:count]


def microseconds_a_decision(agent: Agent, views: Sequence[View]) -> float:
    """Mean processor time of a decision, compilation not counted."""
    rng = np.random.default_rng(0)
    agent.act(views[0], rng)
    start = time.process_time()
    for view in views:
        agent.act(view, rng)
    return (time.process_time() - start) / len(views) * 1e6


def calibrate(spec: str, target: float, views: Sequence[View]) -> Budget:
    """Iterations with which a variant costs so many microseconds a decision, to 4 per cent if the clock allows it.

    Cost is nearly a fixed part (inference has a large one) and so much an iteration: after the first step, which takes
    it as proportional, each step follows the line through what was measured, at most fourfold.
    """
    iterations, best = 64, Budget(64, float("inf"))
    measured: list[tuple[int, float]] = []
    for _ in range(8):
        cost = microseconds_a_decision(make_agent(spec.format(iterations)), views)
        measured.append((iterations, cost))
        if abs(cost - target) < abs(best.microseconds - target):
            best = Budget(iterations, cost)
        if abs(cost / target - 1) < 0.04:
            break
        wanted = iterations + (target - cost) / _cost_of_an_iteration(measured)
        iterations = max(16, round(min(4.0 * iterations, max(0.25 * iterations, wanted))))
    return best


def _cost_of_an_iteration(measured: Sequence[tuple[int, float]]) -> float:
    """Slope of the least-squares line through iterations and costs; the last ratio if it does not rise."""
    iterations, costs = np.array(measured, np.float64).T
    spread = iterations - iterations.mean()
    rise = float(spread @ costs)
    return rise / float(spread @ spread) if rise > 0 else float(costs[-1] / iterations[-1])


def budgets(path: Path | None, base_iterations: int, names: Iterable[str], seed: int = 7) -> dict[str, Budget]:
    """Budgets of equal time, from the file of an earlier run where it has them.

    Args:
        path: Where to save them; None saves nothing.
        base_iterations: Iterations of the plain search.
        names: Variants, of ``VARIANTS``.
        seed: Seed of the positions that are timed.
    """
    table = ResultTable(path, {"experiment": "search-budgets", "base": base_iterations, "seed": seed}, BUDGET_COLUMNS)
    known = {row["variant"]: Budget(int(row["iterations"]), float(row["microseconds"])) for row in table.rows}
    views = positions(60, seed)
    if "plain" not in known:
        cost = microseconds_a_decision(make_agent(VARIANTS["plain"].format(base_iterations)), views)
        known["plain"] = Budget(base_iterations, cost)
        table.add("plain", base_iterations, f"{cost:.0f}")
    for name in names:
        if name not in known:
            known[name] = calibrate(VARIANTS[name], known["plain"].microseconds, views)
            table.add(name, known[name].iterations, f"{known[name].microseconds:.0f}")
    return known


def run_search_options(
    path: Path | None = None,
    on_progress: OnProgress = no_progress,
    *,
    names: Sequence[str] = QUICK,
    opponents: Sequence[str] = (PLAIN, RULES),
    base_iterations: int = 1500,
    deals: int = 1000,
    first_deal: int = 20_000,
    processes: int = 1,
    seed: int = 0,
) -> list[DealResult]:
    """Play every variant against every opponent on the same duplicate deals.

    Args:
        path: Where to save, one line a deal; a file of an earlier run is gone on with.  Budgets are saved beside it.
        on_progress: Told how many deals are done.
        names: Variants, of ``VARIANTS``.
        opponents: ``isuct`` (the plain search with the base budget) or an agent's specification.
        base_iterations: Iterations of the plain search.
        deals: Duplicate deals a pair.
        first_deal: Number of the first.
        processes: Worker processes; the results do not depend on them.
        seed: Seed of deals and agents.

    Returns:
        The deals asked for; the file may hold more.

    Raises:
        InvalidExperimentError: If there is no such variant.
        UnknownAgentError: If an opponent does not exist.
        SettingsMismatchError: If the file was written with another base or seed.
    """
    unknown = [name for name in names if name not in VARIANTS]
    if unknown:
        raise InvalidExperimentError(f"{', '.join(unknown)}: no such variant; there are {', '.join(VARIANTS)}")
    for opponent in opponents:
        make_agent(opponent)  # a wrong name is an error before anything is timed
    beside = None if path is None else path.with_name(f"{path.stem}_budgets.csv")
    known = budgets(beside, base_iterations, names)
    settings = {"experiment": "search-options", "base": base_iterations, "seed": seed}
    table = ResultTable(path, settings, COLUMNS)
    done = table.keys("variant", "opponent", "deal")
    wanted = range(first_deal, first_deal + deals)
    pairs = [(name, opponent) for opponent in opponents for name in names if (name, opponent) != ("plain", PLAIN)]
    finished = 0
    for name, opponent in pairs:
        missing = [deal for deal in wanted if (name, opponent, str(deal)) not in done]
        finished += deals - len(missing)
        on_progress(finished, deals * len(pairs))
        spec = VARIANTS[name].format(known[name].iterations)
        other = VARIANTS["plain"].format(base_iterations) if opponent == PLAIN else opponent

        def save(records: list[GameRecord], name: str = name, opponent: str = opponent) -> None:
            nonlocal finished
            finished += 1
            table.add(name, opponent, records[0].deal, *(_won(records, side) for side in ("landlord", "peasants")))
            on_progress(finished, deals * len(pairs))

        arena = Arena((spec, other), seed=seed, timing=False)
        for first, count in stretches(missing):
            run_arena(arena, count, first_deal=first, processes=processes, on_deal=save)
    return [
        deal_result(row)
        for row in table.rows
        if (row["variant"], row["opponent"]) in pairs and int(row["deal"]) in wanted
    ]


def _won(records: Sequence[GameRecord], side: str) -> int:
    """Whether the first agent won the game in which it was on this side."""
    alone = next(record for record in records if (record.seats == "abb") == (side == "landlord"))
    return int(win_share(alone, "a") > 0.5)


def deal_result(row: Mapping[str, str]) -> DealResult:
    """A line of the results file."""
    return DealResult(row["variant"], row["opponent"], int(row["deal"]), int(row["landlord"]), int(row["peasants"]))


def win_rate(results: Iterable[DealResult], variant: str, opponent: str) -> Interval:
    """A variant's win rate over both sides, with a 95 % interval over deals."""
    return normal_interval(
        [
            (result.landlord + result.peasants) / 2
            for result in results
            if (result.variant, result.opponent) == (variant, opponent)
        ]
    )


def paired_gain(results: Iterable[DealResult], variant: str, base: str, opponent: str) -> Interval:
    """How much more one variant wins than another over both sides, on the deals that both have played.

    Args:
        results: Deals of both.
        variant: Name of the first.
        base: Name of the one that it is compared with.
        opponent: Whom both played.

    Returns:
        The mean difference of win rates, with a 95 % interval over deals; NaN if they share no deal.
    """
    won: dict[str, dict[int, float]] = {variant: {}, base: {}}
    for result in results:
        if result.variant in won and result.opponent == opponent:
            won[result.variant][result.deal] = (result.landlord + result.peasants) / 2
    return normal_interval([rate - won[base][deal] for deal, rate in won[variant].items() if deal in won[base]])


def option_cells(results: Sequence[DealResult]) -> list[tuple[str, ...]]:
    """A line a variant and opponent: name, opponent, deals, win rates by side and over both with its interval, in %."""
    lines = []
    for variant, opponent in dict.fromkeys((result.variant, result.opponent) for result in results):
        own = [result for result in results if (result.variant, result.opponent) == (variant, opponent)]
        both = win_rate(own, variant, opponent)
        sides = [sum(getattr(result, side) for result in own) / len(own) for side in ("landlord", "peasants")]
        rates = [f"{100 * rate:.1f}" for rate in (*sides, both.mean)]
        lines.append((variant, opponent, str(len(own)), *rates, f"{100 * both.low:.1f} to {100 * both.high:.1f}"))
    return lines
