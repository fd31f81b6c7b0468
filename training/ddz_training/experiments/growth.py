"""Cost as work grows: games in the batch, iterations in the search."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np

from ddz_agents.tree_search.agent import IsUctAgent
from ddz_env import State
from ddz_env.envs.batch import SelfPlayBatch
from ddz_training.experiments import experiment as ex
from ddz_training.measure.plotting import Panel, Series, save_plot
from ddz_training.measure.timing import processor_time

_SECONDS = 0.1
"""Processor time of a sample; small work is repeated."""


class GrowthOptions(ex.SeedOptions):
    """How often work of each size is measured.

    Attributes:
        samples: Measurements of each size, of which the table shows the median.
    """

    samples: ex.Count = 5


class GrowthResult(ex.Result):
    """A size of one kind of work.

    Attributes:
        work: ``decisions of a batch, by games`` or ``iterations of a search``.
        size: How many.
        seconds: Processor time of all of them, the median of the samples.
    """

    work: str
    size: int
    seconds: float


def _step(games: int, seed: int) -> Callable[[], object]:
    batch = SelfPlayBatch(games, seed=seed, threads=1)
    for _ in range(60):  # until games are of every age
        batch.step(batch.sample_actions())
    return lambda: batch.step(batch.sample_actions())


def _search(iterations: int, seed: int) -> Callable[[], object]:
    agent, view = IsUctAgent(iterations=iterations), State.new(seed).view()
    return lambda: agent.act(view, np.random.default_rng(seed))


WORKS = {
    "decisions of a batch, by games": (_step, [4**power for power in range(9)]),
    "iterations of a search": (_search, [10**power for power in range(2, 7)]),
}


def measure_growth(options: GrowthOptions, work: str, size: int) -> list[GrowthResult]:
    """The processor time of one core as work grows: games 1 to 65,536 in a batch, iterations 100 to 1,000,000."""
    once = WORKS[work][0](size, options.seed)
    once()  # compiles, and grows the tree's memory
    samples = []
    for _ in range(options.samples):
        began, times = processor_time(), 0
        while times == 0 or processor_time() - began < _SECONDS:
            once()
            times += 1
        samples.append((processor_time() - began) / times)
    return [GrowthResult(work, size, round(median(samples), 9))]


def growth_table(saved: ex.Saved[GrowthResult]) -> ex.Table:
    """Time a piece of work, which is the same at every size where time grows in a straight line."""
    lines = [(one.work, f"{one.size:,}", f"{1e9 * one.seconds / one.size:,.0f}") for one in saved.results]
    return ex.Table("Cost as work grows", ("work", "size", "ns each"), lines, ex.computed_from(saved))


def plot_growth(saved: ex.Saved[GrowthResult], path: Path) -> None:
    """Time by size, a panel each kind of work."""
    works = ex.grouped(saved.results, "work").items()
    logarithmic = {"xscale": "log", "yscale": "log"}
    panels = []
    for work, own in works:
        series = Series("", [one.size for one in own], [one.seconds for one in own], style={"marker": "o"})
        panels.append(Panel([series], work, "s", axes=logarithmic))
    save_plot(path, *panels)


GROWTH = ex.Experiment(
    "growth",
    measure_growth,
    "sizes",
    lambda options: [(work, size) for work, (_, sizes) in WORKS.items() for size in sizes],
    {"growth": growth_table},
    plot=plot_growth,
)
