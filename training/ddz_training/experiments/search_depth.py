"""Strength by depth: alpha-beta on the true game and expectiminimax over sampled deals against the rule agent."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ddz_env import Rules
from ddz_env.core.options import Range
from ddz_env.playing.generators import published_generator
from ddz_training.experiments.experiment import Experiment, ParallelOptions, Saved, Table, check_known, kept
from ddz_training.experiments.search_options import DealResult, deal_result, option_cells
from ddz_training.measure.match.duplicate import DealPlayer, DealWorker, Match, check_agents
from ddz_training.measure.match.results import OnProgress, ResultStore, no_progress

RULES = "rules"
VARIANTS: Mapping[str, str] = {
    **{f"open hands, depth {depth}": f"cheating-alpha-beta:depth={depth}" for depth in (1, 2, 3, 4, 6)},
    "open hands, depth 4, no quiescence": "cheating-alpha-beta:depth=4,quiescence=off",
    "open hands, depth 4, bombs only": "cheating-alpha-beta:depth=4,quiescence=bombs",
    "open hands, depth 4, singular": "cheating-alpha-beta:depth=4,singular=0.2",
    **{f"sampled deals, depth {depth}": f"expectiminimax:depth={depth}" for depth in (1, 2, 3, 4)},
    "sampled deals, depth 3, log-odds": "expectiminimax:depth=3,values=log-odds",
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


def run_search_depth(
    options: DepthOptions, path: Path | None = None, on_progress: OnProgress = no_progress
) -> Saved[DealResult]:
    """Play every search against the rule agent on the same duplicate deals.

    Args:
        options: Who plays how many deals.
        path: Where to save, one line a deal; a file of an earlier run is resumed.
        on_progress: Told how many deals are done.

    Raises:
        InvalidExperimentError: If there is no such search.
    """
    names = options.only or tuple(VARIANTS)
    check_known("search", names, VARIANTS)
    check_agents([RULES, *(VARIANTS[name] for name in names)])
    settings = {"experiment": "search-depth", "seed": options.seed}
    store = ResultStore(DealResult, path, settings, ("variant", "opponent", "deal"), agents=[RULES])
    tasks = {
        (name, RULES, deal): Match((name, RULES), deal, (VARIANTS[name], RULES))
        for name in names
        for deal in range(options.first_deal, options.first_deal + options.deals)
    }
    published = functools.partial(DealPlayer, Rules(), options.seed, timing=False, make_generator=published_generator)
    start = functools.partial(DealWorker[list[DealResult]], deal_result, published)
    return kept(store, store.fill(tasks, start, options.processes, on_progress))


def depth_table(saved: Saved[DealResult]) -> Table:
    """Win rates by depth."""
    lines = []
    for variant, _, *cells in option_cells(saved.results):
        lines.append((variant, f"`{VARIANTS[variant]}`", *cells))
    header = ("search", "agent", "deals", "landlord %", "peasants %", "both %", "95 % interval")
    first = min(result.deal for result in saved.results)
    note = f"Against `{RULES}`, duplicate deals from number {first:,} on under seed {saved.settings['seed']}"
    return Table("Strength by depth", header, lines, f"{note}; {saved.name}.")


SEARCH_DEPTH = Experiment(
    name="search-depth",
    source="own",
    about="Depth-limited searches against the rule agent, by depth.",
    unit="duplicate deals",
    options=DepthOptions,
    result=DealResult,
    run=run_search_depth,
    tables={"search-depth": depth_table},
    file="search_depth",
)
