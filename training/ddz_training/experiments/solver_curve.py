"""How many open positions the exact solver decides, by cards and by time."""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ddz_agents.open_cards.solver.position import dealt_position, open_position
from ddz_agents.open_cards.solver.solver import OpenSolver
from ddz_env import Rules
from ddz_training.experiments import experiment as ex

DEALS = ("10+10+10", "11+11+11", "12+12+12", "13+13+14", "15+15+15", "20+17+17")
"""Cards of the hands; the first is the landlord's and leads."""
_LIMITS = (0.01, 0.03, 0.1, 0.3, 1.0)
"""Seconds at which the table reads the curve."""


@dataclass(frozen=True)
class SolverCurveOptions(ex.SeedOptions):
    """How many positions are tried for how long.

    Attributes:
        positions: Positions of each size.
        nodes: Positions that a search may open.
    """

    positions: ex.Count = 20
    nodes: ex.Count = 1_000_000


@dataclass(frozen=True)
class CurveResult:
    """One position.

    Attributes:
        cards: Cards of the hands.
        number: Which position of that size.
        solved: 1 if the verdict was found, else 0.
        nodes: Positions opened.
        seconds: Time of the processor.
    """

    cards: str
    number: int
    solved: int
    nodes: int
    seconds: float


@functools.cache
def _solver(rules: Rules, nodes: int) -> OpenSolver:
    state = open_position("3 5 / 4 / 6")
    OpenSolver(state.rules, megabytes=1).solve(state)  # compiles, where nothing is compiled
    return OpenSolver(rules, nodes=nodes)


def solve_position(options: SolverCurveOptions, cards: str, number: int) -> list[CurveResult]:
    """Deal a position and try to solve it."""
    sizes = [int(size) for size in cards.split("+")]
    state = dealt_position(sizes, np.random.default_rng([options.seed, number, *sizes]))
    solver = _solver(state.rules, options.nodes)
    solver.clear()
    began = time.process_time()
    solution = solver.solve(state)
    taken = time.process_time() - began
    return [CurveResult(cards, number, int(solution.landlord_wins is not None), solution.nodes, round(taken, 6))]


def solved_within(results: Sequence[CurveResult], seconds: float) -> float:
    """The share of positions solved within a time, in percent."""
    return 100 * sum(result.solved == 1 and result.seconds <= seconds for result in results) / len(results)


def curve_table(saved: ex.Saved[CurveResult]) -> ex.Table:
    """The share solved, by cards and by time."""
    lines = []
    for cards, results in ex.grouped(saved.results, "cards").items():
        shares = [f"{solved_within(results, limit):.0f}" for limit in (*_LIMITS, np.inf)]
        speed = sum(result.nodes for result in results) / max(1e-9, sum(result.seconds for result in results))
        lines.append((cards, str(len(results)), *shares, f"{speed / 1000:,.0f},000"))
    heads = [f"{limit * 1000:,.0f} ms" if limit < 1 else f"{limit:.0f} s" for limit in _LIMITS]
    header = ("cards", "positions", *heads, "at all", "nodes a second")
    limit = f"{saved.settings['nodes']:,} nodes a position at most"
    note = f"Percent solved within a time of the processor; {limit}, seed {saved.settings['seed']}; {saved.name}."
    return ex.Table("Positions solved by time", header, lines, note)


SOLVER_CURVE = ex.Experiment(
    name="solver-curve",
    about="The share of open positions that the exact solver decides, by cards and time.",
    options=SolverCurveOptions,
    result=CurveResult,
    key=("cards", "number"),
    tasks=lambda options: [(cards, number) for number in range(options.positions) for cards in DEALS],
    work=solve_position,
    settings=("seed", "nodes"),
    unit="positions",
    tables={"solver-curve": curve_table},
)
