"""Both ways to find an equivalent, on simulated games with a known win curve: coverage, error and games."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Annotated, NamedTuple

import numpy as np

from ddz_env.core.options import Range
from ddz_training.experiments.equivalent_known import Method, draw_bounds
from ddz_training.experiments.experiment import Experiment, ParallelOptions, Saved, Table, kept
from ddz_training.measure.equivalent import (
    STEP_DEALS,
    Found,
    Play,
    SequentialOptions,
    binary_search,
    sequential_search,
)
from ddz_training.measure.match.results import OnProgress, ResultStore, no_progress
from ddz_training.measure.match.statistics import wilson_interval

_BATCH = 50


class Curve(NamedTuple):
    """How strength grows with iterations.

    Attributes:
        slope: What doubling the iterations adds to the log-odds of a decisive deal, near the equivalent.
        bend: By how much that falls with each octave: strength levels off.
        decisive: The share of deals that are decisive.
    """

    slope: float
    bend: float
    decisive: float

    def world(self, truth: float, rng: np.random.Generator) -> Play:
        """What plays simulated deals of an agent whose equivalent is ``truth``."""

        def play(budgets: object) -> list[int]:
            octaves = np.log2(np.asarray(budgets, np.float64) / truth)
            odds = np.exp(self.slope * octaves - self.bend * octaves * np.abs(octaves) / 2)
            decisive = rng.random(len(octaves)) < self.decisive
            signs = np.where(rng.random(len(octaves)) * (1 + odds) < 1, 1, -1)
            found: list[int] = np.where(decisive, signs, 0).tolist()
            return found

        return play


CURVES = {
    "steep": Curve(0.65, 0.0, 0.3),
    "usual": Curve(0.55, 0.0, 0.2),
    "flat": Curve(0.3, 0.0, 0.2),
    "levelling off": Curve(0.55, 0.1, 0.2),
}
"""Half-deck games between `isuct` with 125 and 500 iterations have a slope of 0.65 and 30 % decisive deals, those with
500 and 2,000 a slope of 0.57 and 15 % (300 and 200 deals)."""


@dataclass(frozen=True)
class SimulatedOptions(ParallelOptions):
    """How many searches are simulated.

    Attributes:
        known: The equivalent that is to be found.
        searches: Searches for each method, shared by the curves.
        deals: Duplicate deals of the sequential test, at most.
        step_deals: Duplicate deals of each step of the binary search.
    """

    known: Annotated[int, Range(8)] = 500
    searches: Annotated[int, Range(1)] = 10_000
    deals: Annotated[int, Range(1)] = 2000
    step_deals: Annotated[int, Range(1)] = STEP_DEALS


@dataclass(frozen=True)
class SimulatedResult:
    """Some simulated searches.

    Attributes:
        curve: Name of the curve.
        method: ``sequential`` or ``binary``.
        batch: Number of the batch.
        searches: Searches in it.
        covered: Those whose 95 % interval holds the truth.
        ratio: Mean logarithm of what was found over the truth.
        square: Mean square of this logarithm.
        deals: Mean number of deals.
    """

    curve: str
    method: str
    batch: int
    searches: int
    covered: int
    ratio: Annotated[float, ".5f"]
    square: Annotated[float, ".5f"]
    deals: Annotated[float, ".1f"]


class SimulationWorker:
    """Simulates searches in one process.

    Args:
        options: Which.
    """

    def __init__(self, options: SimulatedOptions) -> None:
        self._options = options

    def play(self, task: tuple[str, Method, int]) -> list[SimulatedResult]:
        """Simulate one batch."""
        curve, method, batch = task
        rng = np.random.default_rng([self._options.seed, [*CURVES].index(curve), method == "binary", batch])
        found = [self._search(CURVES[curve], method, rng) for _ in range(_BATCH)]
        known = self._options.known
        logs = [math.log(one.iterations.mean / known) for one in found]
        covered = sum(one.iterations.low <= known <= one.iterations.high for one in found)
        deals = fmean(one.iterations.count for one in found)
        square = fmean(log * log for log in logs)
        return [SimulatedResult(curve, method, batch, len(found), covered, fmean(logs), square, deals)]

    def _search(self, curve: Curve, method: Method, rng: np.random.Generator) -> Found:
        options = self._options
        bounds, play = draw_bounds(options.known, rng), curve.world(options.known, rng)
        if method == "binary":
            return binary_search(play, bounds, options.step_deals)
        return sequential_search(play, SequentialOptions(deals=options.deals), bounds)

    def close(self) -> None:
        """There is nothing to release."""


def run_simulated(
    options: SimulatedOptions, path: Path | None = None, on_progress: OnProgress = no_progress
) -> Saved[SimulatedResult]:
    """Simulate searches for equivalents.

    Args:
        options: How many.
        path: Where to save, one line for each batch of 50; a file of an earlier run is resumed.
        on_progress: Told how many batches are done.
    """
    settings = {"experiment": "equivalent-simulated", **options.as_dict()}
    for free in ("searches", "processes"):
        del settings[free]
    store = ResultStore(SimulatedResult, path, settings, ("curve", "method", "batch"))
    batches = math.ceil(options.searches / len(CURVES) / _BATCH)
    methods: tuple[Method, ...] = ("sequential", "binary")
    tasks = {
        (curve, method, batch): (curve, method, batch)
        for batch in range(batches)
        for method in methods
        for curve in CURVES
    }
    start = functools.partial(SimulationWorker, options)
    return kept(store, store.fill(tasks, start, options.processes, on_progress))


def simulated_table(saved: Saved[SimulatedResult]) -> Table:
    """Coverage, error and games by curve and method."""
    groups: dict[tuple[str, str], list[SimulatedResult]] = {}
    for result in saved.results:
        for curve in (result.curve, "all"):
            groups.setdefault((curve, result.method), []).append(result)
    lines = []
    for curve in (*CURVES, "all"):
        for method in ("sequential", "binary"):
            batches = groups.get((curve, method))
            if not batches:
                continue
            covered = wilson_interval(sum(b.covered for b in batches), sum(b.searches for b in batches))
            ratio, square = fmean(b.ratio for b in batches), fmean(b.square for b in batches)
            lines.append(
                (
                    curve,
                    method,
                    f"{covered.count:,}",
                    covered.both(),
                    f"{math.exp(ratio):.3f}",
                    f"{100 * math.expm1(math.sqrt(square)):.0f} %",
                    f"{2 * fmean(b.deals for b in batches):,.0f}",
                )
            )
    header = ("curve", "method", "searches", "covered %", "mean ratio", "typical error", "games")
    settings = saved.settings
    note = (
        f"Equivalent {settings['known']}, bounds drawn as above; at most {settings['deals']} deals, or "
        f"{settings['step_deals']} a step. Typical error: the root mean square of the logarithm of the ratio, as a "
        f"factor; {saved.name}."
    )
    return Table("Simulated searches", header, lines, note)


SIMULATED = Experiment(
    name="equivalent-simulated",
    source="own",
    about="Simulated searches for Monte Carlo equivalents with a known answer: coverage, error and games.",
    unit="batches of 50 searches",
    options=SimulatedOptions,
    result=SimulatedResult,
    run=run_simulated,
    tables={"equivalent-simulated": simulated_table},
    file="equivalent_simulated",
)
