"""Searches on the same duplicate deals: options at equal time, and strength by depth.

An option that costs time gets fewer iterations.  Before anything is played, the processor time of a decision is
measured for every variant on the same positions, and iterations are set so that all cost what the plain search costs
with its own; the numbers found are saved with the results and used again when a run is resumed.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from ddz_env import State, View
from ddz_env.core.options import Range
from ddz_env.playing.agent import Agent
from ddz_env.playing.registry import make_agent
from ddz_training.experiments import experiment as ex
from ddz_training.experiments import matches as play
from ddz_training.experiments.experiment import Experiment, ParallelOptions, Saved, Table, chosen, grouped
from ddz_training.measure.duplicate import Match, check_agents
from ddz_training.measure.statistics import normal_interval
from ddz_training.measure.store import Key, OnProgress, ResultStore
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


_player = play.deal_worker(functools.partial(play.match_line, DealResult), timing=False)
"""Makes what plays."""


def option_cells(results: Sequence[DealResult]) -> list[tuple[str, ...]]:
    """A line a variant and opponent: name, opponent, deals, win rates by side and over both with its interval, in %."""
    lines = []
    for (variant, opponent), own in grouped(results, "variant", "opponent").items():
        both = normal_interval([play.won(result) for result in own])
        lines.append((variant, opponent, str(len(own)), *play.side_rates(own), both.text(), both.span()))
    return lines


# --- Equal time -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EqualTime:
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
    """Iterations with which a variant costs so many microseconds a decision, to 4 per cent if the clock allows it.

    Cost is nearly a fixed part (inference has a large one) and so much an iteration: after the first step, which takes
    it as proportional, each step follows the line through what was measured, at most fourfold.
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
        wanted = iterations + (target - cost) / _cost_of_an_iteration(measured)
        iterations = max(16, round(min(4.0 * iterations, max(0.25 * iterations, wanted))))
    return best


def _cost_of_an_iteration(measured: Sequence[tuple[int, float]]) -> float:
    """Slope of the least-squares line through iterations and costs; the last ratio if it does not rise."""
    iterations, costs = np.array(measured, np.float64).T
    spread = iterations - iterations.mean()
    rise = float(spread @ costs)
    return rise / float(spread @ spread) if rise > 0 else float(costs[-1] / iterations[-1])


def equal_times(path: Path | None, base_iterations: int, names: Iterable[str], seed: int = 7) -> dict[str, EqualTime]:
    """The iterations of equal time, from the file of an earlier run where it has them.

    Args:
        path: Where to save them; None saves nothing.
        base_iterations: Iterations of the plain search.
        names: Variants, of ``VARIANTS``.
        seed: Seed of the positions that are timed.
    """
    settings = {"experiment": "search-budgets", "base": base_iterations, "seed": seed}
    agents = (VARIANTS[name].format(base_iterations) for name in names)
    store = ResultStore(EqualTime, path, settings, ("variant",), agents=agents)
    known = {found.variant: found for found in store.results}
    views = positions(60, seed)
    for name in dict.fromkeys(("plain", *names)):
        if name not in known:
            if name == "plain":
                cost = microseconds_a_decision(make_agent(VARIANTS[name].format(base_iterations)), views)
                known[name] = EqualTime(name, base_iterations, cost)
            else:
                known[name] = calibrate(name, known["plain"].microseconds, views)
            store.add([known[name]])
    return known


def times_beside(path: Path) -> Path:
    """Where the iterations of equal time of a file of results are."""
    return path.with_name(f"{path.stem}_budgets.csv")


@dataclass(frozen=True)
class SearchOptions(ParallelOptions):
    """What is compared.

    Attributes:
        seed: Seed of deals and agents.
        only: Only this variant; may be repeated.
        against: Opponent: isuct (the plain search) or an agent; may be repeated.
        iterations: Iterations of the plain search; they set the time for all.
        deals: Duplicate deals per pair; two games each.
        first_deal: Number of the first deal under the seed.
    """

    only: tuple[str, ...] | None = None
    against: tuple[str, ...] | None = None
    iterations: Annotated[int, Range(1)] = 1500
    deals: Annotated[int, Range(1)] = 1000
    first_deal: Annotated[int, Range(0)] = 20_000


def _meetings(options: SearchOptions) -> Iterable[Key]:
    names, opponents = options.only or QUICK, options.against or (PLAIN,)
    chosen("variant", names, VARIANTS)
    check_agents(opponents)
    deals = range(options.first_deal, options.first_deal + options.deals)
    pairs = [(name, opponent) for opponent in opponents for name in names if (name, opponent) != ("plain", PLAIN)]
    return [(*pair, deal) for pair in pairs for deal in deals]


def _play_at_equal_time(
    options: SearchOptions, tasks: Mapping[Key, Any], store: ResultStore[DealResult], on_progress: OnProgress
) -> list[DealResult]:
    names = options.only or QUICK
    known = equal_times(store.path and times_beside(store.path), options.iterations, names)
    specs = {name: VARIANTS[name].format(known[name].iterations) for name in names}
    plain = {PLAIN: VARIANTS["plain"].format(options.iterations)}
    matches = {
        (name, opponent, deal): Match((name, opponent), deal, (specs[name], str(plain.get(opponent, opponent))))
        for name, opponent, deal in tasks
    }
    start = functools.partial(_player, options)
    return store.fill(matches, start, options.processes, on_progress)


def option_table(saved: Saved[DealResult]) -> Table:
    """Options of the search at equal time, with the iterations that were calibrated where they are kept."""
    known = {}
    if saved.path is not None:
        known = {found.variant: found for found in ex.read_saved(EqualTime, times_beside(saved.path)).results}
    lines = []
    for variant, opponent, *cells in option_cells(saved.results):
        times = known.get(variant)
        budget = (str(times.iterations), f"{times.microseconds / 1000:.2f}") if times else ("", "")
        lines.append((variant, opponent, *budget, *cells))
    header = ("variant", "against", "iterations", "ms", "deals", "landlord %", "peasants %", "both %", "95 % interval")
    notes = [f"{play.deals_note(saved)}, {saved.name}."]
    if known:
        plain = known["plain"]
        ms = plain.microseconds / 1000
        notes.append(f"`plain` has {plain.iterations:,} iterations and {ms:.2f} ms a decision.")
    groups = grouped(saved.results, "variant", "opponent")
    for (variant, opponent), own in groups.items():  # a sentence for each pair of rows that differ in inference alone
        base = WITHOUT_INFERENCE.get(variant, "")
        if (base, opponent) in groups:
            gain = play.win_gain(own, groups[base, opponent])
            points = f"{gain.text('+.1f')} points ({gain.span('+.1f')}), paired by deal"
            notes.append(f"Against `{opponent}`, {variant} over {base}: {points}.")
    return Table("Options of the search at equal time", header, lines, " ".join(notes))


SEARCH_OPTIONS = Experiment(
    name="search-options",
    about="""Every option of the search at equal time against plain information-set UCT.

    First measures how many iterations each gets; then plays, by default 3 CPU minutes for each option.
    """,
    unit="duplicate deals",
    options=SearchOptions,
    result=DealResult,
    tasks=_meetings,
    fill=_play_at_equal_time,
    more=lambda options: {"base": options.iterations},
    agents=lambda tasks: {opponent for _, opponent, _ in tasks} - {PLAIN},
    tables={"search-options": option_table},
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


@dataclass(frozen=True)
class DepthOptions(ParallelOptions):
    """Which searches play how much.

    Attributes:
        only: Only this search; may be repeated.
        deals: Duplicate deals against the rule agent; two games each.
        first_deal: Number of the first deal under the seed.
    """

    only: tuple[str, ...] | None = None
    deals: Annotated[int, Range(1)] = 200
    first_deal: Annotated[int, Range(0)] = 70_000


def _depths(options: DepthOptions) -> Mapping[Key, Any]:
    names = chosen("search", options.only, DEPTHS)
    return play.matches({(name, RULES): options.deals for name in names}, options.first_deal, DEPTHS)


def depth_table(saved: Saved[DealResult]) -> Table:
    """Win rates by depth; a search that went has its name instead of its agent's."""
    agents = {variant: f"`{agent}`" for variant, agent in DEPTHS.items()}
    lines = [(variant, agents.get(variant, variant), *cells) for variant, _, *cells in option_cells(saved.results)]
    header = ("search", "agent", "deals", "landlord %", "peasants %", "both %", "95 % interval")
    return Table("Strength by depth", header, lines, f"Against `{RULES}`, d{play.deals_note(saved)[1:]}; {saved.name}.")


SEARCH_DEPTH = Experiment(
    name="search-depth",
    about="Depth-limited searches against the rule agent, by depth.",
    unit="duplicate deals",
    options=DepthOptions,
    result=DealResult,
    tasks=_depths,
    worker=_player,
    agents=(RULES,),
    tables={"search-depth": depth_table},
)
"""Alpha-beta on the true game, and expectiminimax over sampled deals, against the rule agent."""
