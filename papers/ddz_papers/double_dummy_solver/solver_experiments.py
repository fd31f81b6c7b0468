"""The open-card solver measured: positions solved by time, and what each of the paper's techniques is worth."""

from __future__ import annotations

import functools
import time
from dataclasses import dataclass, replace
from itertools import product
from statistics import fmean, median
from typing import Any, NamedTuple

import numpy as np

from ddz_agents.open_cards.solver.position import deal_position
from ddz_agents.open_cards.solver.solver import TECHNIQUES, OpenSolver
from ddz_env import Rules, State
from ddz_papers.experiments import experiment as ex
from ddz_training.measure.markdown import Table

PAPER = "Chang 1996, Building a fast double-dummy bridge solver"
CURVE_CARDS = ("10+10+10", "11+11+11", "12+12+12", "13+13+14", "15+15+15", "20+17+17")
"""The cards of the hands; the first is the landlord's and leads."""
TECHNIQUE_CARDS = ("10+10", "10+10+10")
_LIMITS = (0.01, 0.03, 0.1, 0.3, 1.0)
"""Seconds at which the table reads the curve."""


class Variant(NamedTuple):
    """A form of the solver.

    Attributes:
        without: The technique that it lacks, if any.
        ways: Entries per bucket of its table (rehash).
        megabytes: The size of its table; rehash is compared in a small one of 32,768 entries.
    """

    without: str = ""
    ways: int = 4
    megabytes: float = 64.0


ALL = "all techniques"
VARIANTS = {
    ALL: Variant(),
    **{f"without {name}": Variant(name) for name in TECHNIQUES},
    **{f"rehash {ways}": Variant("", ways, 0.25) for ways in (2, 4, 8, 16)},
}


@dataclass(frozen=True)
class SolverResult:
    """The attempt to solve a position.

    Attributes:
        variant: The form of the solver, one of :data:`VARIANTS`.
        cards: The cards of the hands.
        number: Number of the position among those of its size.
        solved: 1 if the winner was found, else 0.
        nodes: Positions opened.
        seconds: Processor time.
        hits: Positions whose value the table had.
        evictions: Entries of the table that gave way to other positions (collisions).
    """

    variant: str
    cards: str
    number: int
    solved: int
    nodes: int
    seconds: float
    hits: int
    evictions: int


@dataclass(frozen=True)
class CurveOptions(ex.SeedOptions):
    """Options of ``solver-curve``: how many positions are tried, and for how long.

    Attributes:
        positions: Positions of each size.
        nodes: Positions that a search may open.
    """

    positions: ex.Count = 50
    nodes: ex.Count = 300_000


@dataclass(frozen=True)
class TechniqueOptions(CurveOptions):
    """Options of ``solver-techniques``: which variants are tried, on how many positions, and for how long.

    Attributes:
        positions: Positions of each size.
        nodes: Positions that a search may open.
        only: Only this variant; may be repeated.
    """

    positions: ex.Count = 200
    nodes: ex.Count = 50_000
    only: tuple[str, ...] | None = None


@functools.cache
def _make_solver(rules: Rules, nodes: int, variant: Variant) -> OpenSolver:
    used = [name for name in TECHNIQUES if name != variant.without]
    solver = OpenSolver(rules, nodes, variant.megabytes, used, variant.ways)
    solver.solve(State.from_hands(["3", *["4"] * (rules.players - 1)], rules=rules, check_sizes=False))  # compiles
    return solver


def solve_position(options: CurveOptions, variant: str, cards: str, number: int) -> list[SolverResult]:
    """Deal a position and try to solve it with a variant of the solver."""
    sizes = [int(size) for size in cards.split("+")]
    state = deal_position(sizes, np.random.default_rng([options.seed, number, *sizes]))
    solver = _make_solver(state.rules, options.nodes, VARIANTS[variant])
    solver.clear()
    start = time.process_time()
    found = solver.solve(state)
    seconds, solved = round(time.process_time() - start, 6), int(found.landlord_wins is not None)
    return [SolverResult(variant, cards, number, solved, found.nodes, seconds, found.hits, found.evictions)]


def curve_table(saved: ex.SavedResults[SolverResult]) -> Table:
    """Make the table of the share solved, by cards and by time."""
    lines = []
    for cards, results in ex.group_by(saved.results, "cards").items():
        times = np.array([result.seconds if result.solved else np.inf for result in results])
        shares = [*(np.mean(times <= limit) for limit in _LIMITS), np.mean(times < np.inf)]
        lines.append((cards, str(len(results)), *(f"{100 * share:.0f}" for share in shares)))
    heads = [f"{limit * 1000:,.0f} ms" if limit < 1 else f"{limit:.0f} s" for limit in _LIMITS]
    limit = f"{saved.settings['nodes']:,} nodes per position at most"
    note = f"Percent solved within each processor time; {limit}, seed {saved.settings['seed']}; {saved.name}."
    return Table("Positions solved by time", ("cards", "positions", *heads, "at all"), lines, note)


def technique_table(saved: ex.SavedResults[SolverResult]) -> Table:
    """Make the table of the variants by cards: what they solve, nodes, times, and the traffic of the table."""
    lines = []
    for (cards, variant), results in ex.group_by(saved.results, "cards", "variant").items():
        nodes, seconds = ([getattr(result, name) for result in results] for name in ("nodes", "seconds"))
        times = (f"{1000 * value:,.1f}" for value in (median(seconds), np.quantile(seconds, 0.99)))
        traffic = [sum(getattr(result, name) for result in results) for name in ("hits", "evictions")]
        shares = (f"{100 * count / sum(nodes):.1f}" for count in traffic)
        solved = f"{sum(result.solved for result in results)} of {len(results)}"
        lines.append((cards, variant, solved, *times, f"{median(nodes):,.0f}", f"{fmean(nodes):,.0f}", *shares))
    header = ("cards", "solver", "solved", "median ms", "99 % ms", "median nodes", "mean nodes")
    note = (
        f"At most {saved.settings['nodes']:,} nodes per position, seed {saved.settings['seed']}; processor times. Hits "
        f"and collisions of the table in per cent of the nodes; {saved.name}."
    )
    return Table("The solver's techniques", (*header, "hits %", "collisions %"), lines, note)


SOLVER_CURVE: ex.Experiment[Any, SolverResult] = ex.Experiment(
    name="solver-curve",
    source=f"{PAPER}, section 7",
    about="The share of open positions that the solver decides, by cards and by time.",
    options=CurveOptions,
    result=SolverResult,
    key=("variant", "cards", "number"),
    tasks=lambda options: product([ALL], CURVE_CARDS, range(options.positions)),
    work=solve_position,
    changeable=("positions",),
    unit="positions",
    tables={"solver-curve": curve_table},
)

SOLVER_TECHNIQUES = replace(
    SOLVER_CURVE,
    name="solver-techniques",
    source=PAPER,
    about="What each technique of the solver is worth, by two and by three hands, and rehash.",
    options=TechniqueOptions,
    tasks=lambda options: product(
        ex.check_names("variant", options.only, VARIANTS), TECHNIQUE_CARDS, range(options.positions)
    ),
    tables={"solver-techniques": technique_table},
)
