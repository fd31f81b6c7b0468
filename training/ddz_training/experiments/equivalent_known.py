"""Equivalents of searches whose iterations are known: the validation of the thesis, tables 5.1 and 5.2.

The thesis looks between 1 and twice the answer, so that its first step is the answer.  Here the bounds are drawn from
[m/8, m] and [m, 8m].
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Annotated, Literal, NamedTuple

import numpy as np

from ddz_env.core.options import Range
from ddz_env.playing.generators import published_generator
from ddz_training.experiments.experiment import Experiment, ParallelOptions, Saved, Table, kept
from ddz_training.measure.equivalent import (
    SEARCH,
    STEP_DEALS,
    Bounds,
    Ladder,
    SequentialOptions,
    binary_search,
    here,
    sequential_search,
)
from ddz_training.measure.match.results import OnProgress, ResultStore, no_progress

Method = Literal["sequential", "binary"]

THESIS = {500: "485 ± 40", 1000: "1,020 ± 100", 2000: "1,980 ± 120"}
"""Table 5.1: the mean and standard deviation of ten searches."""

_FACTOR = 8


@dataclass(frozen=True)
class KnownOptions(ParallelOptions):
    """Which searches are recovered how often.

    Attributes:
        known: Iterations of the search whose equivalent is looked for; may be repeated, 500 and 1,000 by default.
        method: How it is looked for: by the sequential test or the thesis's binary search.
        repetitions: Searches for each.
        deals: Duplicate deals of the sequential test, at most; two games each.
        step_deals: Duplicate deals of each step of the binary search.
    """

    known: tuple[int, ...] | None = None
    method: Method = "sequential"
    repetitions: Annotated[int, Range(1)] = 20
    deals: Annotated[int, Range(1)] = 2000
    step_deals: Annotated[int, Range(1)] = STEP_DEALS


@dataclass(frozen=True)
class KnownResult:
    """A search for an equivalent that is known.

    Attributes:
        known: It.
        method: ``sequential`` or ``binary``.
        budget: Deals that were allowed: in all, or in each step of the binary search.
        repetition: Number of the search.
        lower: The lower bound that was given.
        upper: The upper bound.
        iterations: What was found.
        low: The lower end of its 95 % interval.
        high: The upper end.
        deals: Duplicate deals that were played.
    """

    known: int
    method: str
    budget: int
    repetition: int
    lower: int
    upper: int
    iterations: Annotated[float, ".1f"]
    low: Annotated[float, ".1f"]
    high: Annotated[float, ".1f"]
    deals: int

    @property
    def covered(self) -> bool:
        """Whether the interval holds the truth."""
        return self.low <= self.known <= self.high


class Recovery(NamedTuple):
    """A search to be recovered.

    Attributes:
        known: Its iterations.
        repetition: Number of the attempt.
    """

    known: int
    repetition: int


def draw_bounds(known: int, rng: np.random.Generator) -> Bounds:
    """Bounds from [m/8, m] and [m, 8m]."""
    lower = int(rng.integers(max(1, known // _FACTOR), known + 1))
    return Bounds(lower, int(rng.integers(known, _FACTOR * known + 1)))


class RecoveryWorker:
    """Recovers searches in one process.

    Args:
        options: How.
    """

    def __init__(self, options: KnownOptions) -> None:
        self._options = options

    def play(self, task: Recovery) -> list[KnownResult]:
        """Look for the equivalent of one search."""
        options, binary = self._options, self._options.method == "binary"
        key = [options.seed, task.known, task.repetition]
        bounds = draw_bounds(task.known, np.random.default_rng(key))
        seed = int(np.random.SeedSequence(key).generate_state(1)[0])  # other deals for each search
        ladder = Ladder(f"{SEARCH}:iterations={task.known}", seed=seed, make_generator=published_generator)
        with here(ladder) as play:
            if binary:
                found = binary_search(play, bounds, options.step_deals)
            else:
                found = sequential_search(play, SequentialOptions(deals=options.deals), bounds)
        value, budget = found.iterations, options.step_deals if binary else options.deals
        return [
            KnownResult(
                task.known,
                options.method,
                budget,
                task.repetition,
                *bounds,
                value.mean,
                value.low,
                value.high,
                value.count,
            )
        ]

    def close(self) -> None:
        """Nothing is kept from one task to the next."""


def run_known(
    options: KnownOptions, path: Path | None = None, on_progress: OnProgress = no_progress
) -> Saved[KnownResult]:
    """Look for equivalents that are known.

    Args:
        options: Which, and how often.
        path: Where to save, one line a search; a file of an earlier run is resumed, other methods and numbers join it.
        on_progress: Told how many searches are done.
    """
    settings = {"experiment": "equivalent-known", "seed": options.seed}
    store = ResultStore(KnownResult, path, settings, ("known", "method", "budget", "repetition"), agents=[SEARCH])
    budget = options.step_deals if options.method == "binary" else options.deals
    tasks = {
        (known, options.method, budget, repetition): Recovery(known, repetition)
        for known in options.known or (500, 1000)
        for repetition in range(options.repetitions)
    }
    store.fill(tasks, functools.partial(RecoveryWorker, options), options.processes, on_progress)
    return kept(store, store.results)


def recovered(results: Sequence[KnownResult]) -> tuple[float, float]:
    """The mean and the standard deviation of the ratio of what was found to the truth, both of its logarithm.

    Example:
        >>> mean, spread = recovered([KnownResult(4, "", 1, 0, 1, 9, found, 0, 0, 1) for found in (2.0, 8.0)])
        >>> round(mean, 3), round(spread, 3)
        (1.0, 0.98)
    """
    logs = [math.log(result.iterations / result.known) for result in results]
    return math.exp(fmean(logs)), stdev(logs) if len(logs) > 1 else math.nan


def known_table(saved: Saved[KnownResult]) -> Table:
    """Tables 5.1 and 5.2: what was recovered."""
    groups: dict[tuple[int, str, int], list[KnownResult]] = {}
    for result in saved.results:
        groups.setdefault((result.known, result.method, result.budget), []).append(result)
    lines = []
    for (known, method, budget), results in sorted(groups.items()):
        ratio, spread = recovered(results)
        lines.append(
            (
                f"{known:,}",
                method,
                f"{budget} a step" if method == "binary" else f"{budget} in all",
                str(len(results)),
                f"{fmean(r.lower for r in results):,.0f}, {fmean(r.upper for r in results):,.0f}",
                f"{known * ratio:,.0f} ± {known * ratio * spread:,.0f}",
                f"{ratio:.2f} ± {ratio * spread:.2f}",
                f"{ratio * spread / math.sqrt(len(results)):.2f}",
                f"{sum(r.covered for r in results)} of {len(results)}",
                f"{2 * fmean(r.deals for r in results):,.0f}",
                THESIS.get(known, "–"),
            )
        )
    header = (
        "iterations", "method", "deals", "searches", "mean bounds", "found", "ratio", "standard error", "covered",
        "games", "thesis",
    )  # fmt: skip
    note = (
        "Half-deck game. Found and ratio: geometric mean and standard deviation over the searches; covered: 95 % "
        f"intervals that hold the truth; games: of one search, on average. {saved.name}."
    )
    return Table("Known iterations recovered", header, lines, note)


KNOWN = Experiment(
    name="equivalent-known",
    source="Peking University thesis 2020, section 5.1.3",
    about="Recover the iterations of searches that have known ones, from games against other numbers of iterations.",
    unit="searches",
    options=KnownOptions,
    result=KnownResult,
    run=run_known,
    tables={"equivalent-known": known_table},
    file="equivalent_known",
)
