"""Searches on the same duplicate deals: options at equal time, and strength by depth.

An option that costs time gets fewer iterations.  Before anything is played, the processor time of a decision is
measured for every variant on the same positions, and iterations are set so that all cost what the plain search costs
with its own; the numbers found are saved with the results and used again when a run is resumed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np

from ddz_env import State, View
from ddz_env.core.options import Range
from ddz_env.playing.agent import Agent
from ddz_env.playing.registry import make_agent
from ddz_training.experiments import experiment as ex
from ddz_training.experiments import matches as play
from ddz_training.experiments.experiment import Experiment, Result, Saved, Table, chosen, grouped, read_saved
from ddz_training.experiments.matches import DealOptions, Pair
from ddz_training.measure.duplicate import Match
from ddz_training.measure.statistics import normal_interval
from ddz_training.measure.store import Key
from ddz_training.measure.timing import processor_time

PLAIN = "isuct"
RULES = "rules"
VARIANTS: Mapping[str, str] = {
    "plain": "isuct:iterations={}",
    "4 trees": "isuct:iterations={},trees=4",
    "inference": "isuct:iterations={},particles=100",
    "duplicate rollouts (rules)": "rollout:iterations={},caution=0,particles=0",
    "cautious rollouts (rules)": "rollout:iterations={},caution=0.5,particles=0",
    "more cautious rollouts (rules)": "rollout:iterations={},caution=1,particles=0",
    "cautious rollouts with inference": "rollout:iterations={},caution=0.5,particles=100",
}
"""Specifications by name, with a place for the iterations.  A file may hold others, of searches that went."""

QUICK = tuple(name for name in VARIANTS if "inference" not in name)
"""Variants without a large fixed cost a decision.  The others need a larger budget, and are measured if named."""

WITHOUT_INFERENCE: Mapping[str, str] = {"cautious rollouts with inference": "cautious rollouts (rules)"}
"""The same rollouts without inference; a report that has both compares them deal by deal."""


class DealResult(Result):
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


def option_cells(results: Sequence[DealResult]) -> list[tuple[str, ...]]:
    """A line a variant and opponent: name, opponent, deals, win rates by side and over both with its interval, in %."""
    lines = []
    for (variant, opponent), own in grouped(results, "variant", "opponent").items():
        both = normal_interval([play.won(result) for result in own])
        lines.append((variant, opponent, str(len(own)), *play.side_rates(own), both.text(), both.span()))
    return lines


# --- Equal time -------------------------------------------------------------------------------------------------------


class EqualTime(Result):
    """The iterations with which a variant takes as long as the plain search.

    Attributes:
        variant: Its name.
        iterations: Iterations a decision.
        microseconds: Processor time that a decision took with them, on average.
    """

    variant: str
    iterations: int
    microseconds: Annotated[float, ".0f"]


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
    start = processor_time()
    for view in views:
        agent.act(view, rng)
    return (processor_time() - start) / len(views) * 1e6


def calibrate(variant: str, target: float, views: Sequence[View]) -> EqualTime:
    """Iterations with which a variant costs the given microseconds a decision, to 4 per cent if the clock allows it.

    Cost is nearly a fixed part (inference has a large one) and a constant an iteration: after the first step, which
    takes it as proportional, each step follows the line through what was measured, at most fourfold.
    """
    iterations, best = 64, EqualTime(variant, 64, float("inf"))
    measured: list[tuple[int, float]] = []
    for _ in range(8):
        cost = microseconds_a_decision(make_agent(VARIANTS[variant].format(iterations)), views)
        measured.append((iterations, cost))
        if abs(cost - target) < abs(best.microseconds - target):
            best = EqualTime(variant, iterations, cost)
        if abs(cost / target - 1) < 0.04:
            break
        tried, costs = np.array(measured, np.float64).T
        slope = float(np.polyfit(tried, costs, 1)[0]) if len(measured) > 1 else 0.0
        wanted = iterations + (target - cost) / (slope if slope > 0 else cost / iterations)
        iterations = max(16, round(min(4.0 * iterations, max(0.25 * iterations, wanted))))
    return best


class TimeOptions(ex.SeedOptions):
    """How equal times are found.

    Attributes:
        seed: Seed of the positions that are timed.
        base: Iterations of the plain search.
        target: Microseconds a decision that the others are to take.
    """

    seed: Annotated[int, Range(0, 2**64 - 1)] = 7
    base: Annotated[int, Range(1)] = 1500
    target: Annotated[float, Range(0)] = 0.0


def _time(options: TimeOptions, name: str) -> list[EqualTime]:
    """The iterations with which every option of the search takes as long as the plain search."""
    views = positions(60, options.seed)
    if name != "plain":
        return [calibrate(name, options.target, views)]
    plain = make_agent(VARIANTS[name].format(options.base))
    return [EqualTime(name, options.base, microseconds_a_decision(plain, views))]


EQUAL_TIMES = Experiment(
    "search-budgets",
    _time,
    "variants",
    lambda options: [(name,) for name in VARIANTS],
    {},
    settings=("base", "seed"),
    key=("variant",),
)
"""Done before ``search-options``, whose table shows what it found; not a command of its own."""


def equal_times(path: Path | None, base_iterations: int, names: Iterable[str]) -> dict[str, EqualTime]:
    """The iterations of equal time, from the file of an earlier run where it has them.

    Args:
        path: Where to save them; None saves nothing.
        base_iterations: Iterations of the plain search.
        names: Variants, of ``VARIANTS``.
    """
    options = TimeOptions(base=base_iterations)
    [plain] = EQUAL_TIMES.run(options, path, tasks=[("plain",)]).results
    others = [(name,) for name in dict.fromkeys(names) if name != "plain"]
    found = EQUAL_TIMES.run(replace(options, target=plain.microseconds), path, tasks=others).results
    return {one.variant: one for one in (plain, *found)}


def times_beside(path: Path) -> Path:
    """The file with the iterations of equal time of a file of results."""
    return path.with_name(f"{path.stem}_budgets.csv")


class SearchOptions(DealOptions):
    """What is compared.

    Attributes:
        only: Only this variant; may be repeated.
        against: Opponent: isuct (the plain search) or an agent; may be repeated.
        iterations: Iterations of the plain search; they set the time for all.
    """

    against: tuple[str, ...] | None = None
    iterations: Annotated[int, Range(1)] = 1500
    deals: Annotated[int, Range(1)] = 1000
    first_deal: Annotated[int, Range(0)] = 20_000


def option_pairs(options: SearchOptions) -> dict[Pair, int]:
    """Every option of the search at equal time against plain information-set UCT.

    First measures how many iterations each gets; then plays, by default 3 CPU minutes for each option.
    """
    names = chosen("variant", options.only or QUICK, VARIANTS)
    pairs = [(name, opponent) for opponent in options.against or (PLAIN,) for name in names]
    return {pair: options.deals for pair in pairs if pair != ("plain", PLAIN)}


def _at_equal_time(options: SearchOptions, path: Path | None, tasks: Mapping[Key, Match]) -> Mapping[Key, Match]:
    known = equal_times(path and times_beside(path), options.iterations, [name for name, *_ in tasks])
    plain = {PLAIN: VARIANTS["plain"].format(options.iterations)}
    found = {}
    for (name, opponent, deal), match in tasks.items():
        specs = VARIANTS[name].format(known[name].iterations), str(plain.get(opponent, opponent))
        found[name, opponent, deal] = match._replace(specs=specs)
    return found


def option_table(saved: Saved[DealResult]) -> Table:
    """Options of the search at equal time, with the iterations that were calibrated where they are kept."""
    times = read_saved(EqualTime, times_beside(saved.path)).results if saved.path else ()
    budgets = {one.variant: (str(one.iterations), f"{one.microseconds / 1000:.2f}") for one in times}
    lines = [(*cells[:2], *budgets.get(cells[0], ("", "")), *cells[2:]) for cells in option_cells(saved.results)]
    header = ("variant", "against", "iterations", "ms", "deals", "landlord %", "peasants %", "both %", "95 % interval")
    notes = [f"{play.deals_note(saved)}, {saved.name}."]
    if budgets:
        iterations, ms = budgets["plain"]
        notes.append(f"`plain` has {int(iterations):,} iterations and {ms} ms a decision.")
    groups = grouped(saved.results, "variant", "opponent")
    for (variant, opponent), own in groups.items():  # a sentence for each pair of rows that differ in inference alone
        base = WITHOUT_INFERENCE.get(variant, "")
        if (base, opponent) in groups:
            gain = play.win_gain(own, groups[base, opponent])
            points = f"{gain.text('+.1f')} points ({gain.span('+.1f')}), paired by deal"
            notes.append(f"Against `{opponent}`, {variant} over {base}: {points}.")
    return Table("Options of the search at equal time", header, lines, " ".join(notes))


SEARCH_OPTIONS = play.rates(
    "search-options",
    option_pairs,
    {"search-options": option_table},
    specs={name: spec.format(1) for name, spec in VARIANTS.items()},
    result=DealResult,
    player={"timing": False},
    more=lambda options: {"base": options.iterations},
    prepare=_at_equal_time,
)


# --- Depth ------------------------------------------------------------------------------------------------------------

DEPTHS: Mapping[str, str] = {
    **{f"open hands, depth {depth}": f"cheating-alpha-beta:depth={depth}" for depth in (1, 2, 3, 4, 6)},
    "open hands, depth 4, no quiescence": "cheating-alpha-beta:depth=4,quiescence=off",
    "open hands, depth 4, bombs only": "cheating-alpha-beta:depth=4,quiescence=bombs",
    "open hands, depth 4, singular": "cheating-alpha-beta:depth=4,singular=0.2",
    **{f"sampled deals, depth {depth}": f"expectiminimax:depth={depth}" for depth in (1, 2, 3, 4)},
}
"""Specifications by name."""


class DepthOptions(DealOptions):
    """Which searches play how much against the rule agent.

    Attributes:
        only: Only this search; may be repeated.
    """

    first_deal: Annotated[int, Range(0)] = 70_000


def depth_pairs(options: DepthOptions) -> dict[Pair, int]:
    """Depth-limited searches against the rule agent, by depth."""
    return {(name, RULES): options.deals for name in chosen("search", options.only, DEPTHS)}


def depth_table(saved: Saved[DealResult]) -> Table:
    """Win rates by depth; a search that went has its name instead of its agent's."""
    agents = {variant: f"`{agent}`" for variant, agent in DEPTHS.items()}
    lines = [(variant, agents.get(variant, variant), *cells) for variant, _, *cells in option_cells(saved.results)]
    header = ("search", "agent", "deals", "landlord %", "peasants %", "both %", "95 % interval")
    return Table("Strength by depth", header, lines, f"Against `{RULES}`, d{play.deals_note(saved)[1:]}; {saved.name}.")


SEARCH_DEPTH = play.rates(
    "search-depth",
    depth_pairs,
    {"search-depth": depth_table},
    specs=DEPTHS,
    result=DealResult,
    player={"timing": False},
)
"""Alpha-beta on the true game, and expectiminimax over sampled deals, against the rule agent."""
