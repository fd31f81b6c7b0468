"""How many deals lean to a side (thesis, algorithm 2, table 4.1, figure 4.1), by who judges them."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np

from ddz_env.core.options import Range
from ddz_training.experiments.experiment import Experiment, ParallelOptions, Saved, Table, check_known, kept
from ddz_training.measure.match.duplicate import DealPlayer, check_agents
from ddz_training.measure.match.ordered_map import Worker
from ddz_training.measure.match.results import OnProgress, ResultStore, no_progress
from ddz_training.measure.match.statistics import wilson_interval
from ddz_training.measure.plotting import BLUE, GREY, ORANGE, new_axes, save_figure
from ddz_training.measure.tendency import TENDENCIES, Judges, settled_at, shares

JUDGES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "policy v rules": (("policy",), ("rules",)),
    "rules v rlcard-rule": (("rules",), ("rlcard-rule",)),
    "two v three": (("policy", "rules"), ("rlcard-rule", "random", "random-staged")),
    "rules v random": (("rules",), ("random",)),
}
"""The strong and the weak agents by name; of several, one is drawn for each deal, as in the thesis."""

THESIS = {"none": 43.56, "landlord": 28.34, "peasants": 28.10}
"""Table 4.1, in percent: five of Botzone's first ten bots against three behind the 200th."""


@dataclass(frozen=True)
class TendencyResult:
    """A deal.

    Attributes:
        judges: Who judged it, one of :data:`JUDGES`.
        deal: Its number under the seed.
        tendency: ``none``, ``landlord`` or ``peasants``.
        top_wins: Games that the strong agent won, of two.
    """

    judges: str
    deal: int
    tendency: str
    top_wins: int


@dataclass(frozen=True)
class TendencyOptions(ParallelOptions):
    """Who judges how many deals.

    Attributes:
        only: Only these judges; may be repeated.
        deals: Deals for each, from number 0 on.
    """

    only: tuple[str, ...] | None = None
    deals: Annotated[int, Range(1)] = 2_000


class _Judge(Worker[tuple[str, int], list[TendencyResult]]):
    """Judges deals, with one player for each pair of judges."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._players: dict[str, DealPlayer] = {}

    def play(self, task: tuple[str, int]) -> list[TendencyResult]:
        name, deal = task
        judges = Judges(*JUDGES[name], seed=self._seed)
        judged = judges.judge(self._players.setdefault(name, judges.player()), deal)
        return [TendencyResult(name, deal, judged.tendency, judged.top_wins)]

    def close(self) -> None:
        for player in self._players.values():
            player.close()


def run_tendency(
    options: TendencyOptions, path: Path | None = None, on_progress: OnProgress = no_progress
) -> Saved[TendencyResult]:
    """Judge the same deals by every pair of judges.

    Args:
        options: Who judges how many deals.
        path: Where to save, one line a deal; a file of an earlier run is resumed.
        on_progress: Told how many deals are done.

    Raises:
        InvalidExperimentError: If there are no such judges.
    """
    names = options.only or tuple(JUDGES)
    check_known("judges", names, JUDGES)
    check_agents(_agents(names))
    settings = {"experiment": "tendency", "seed": options.seed}
    store = ResultStore(TendencyResult, path, settings, ("judges", "deal"), agents=_agents(JUDGES))
    tasks = {(name, deal): (name, deal) for name in names for deal in range(options.deals)}
    start = functools.partial(_Judge, options.seed)
    return kept(store, store.fill(tasks, start, options.processes, on_progress))


def _agents(names: Iterable[str]) -> list[str]:
    return sorted({agent for name in names for kind in JUDGES[name] for agent in kind})


def _by_judges(saved: Saved[TendencyResult]) -> dict[str, list[TendencyResult]]:
    found: dict[str, list[TendencyResult]] = {name: [] for name in JUDGES}
    for result in sorted(saved.results, key=lambda result: result.deal):
        found[result.judges].append(result)
    return {name: results for name, results in found.items() if results}


def tendency_table(saved: Saved[TendencyResult]) -> Table:
    """Table 4.1 beside ours."""
    lines = [
        ("thesis: 5 of Botzone's best 10 v 3 behind the 200th", *(f"{THESIS[one]:g}" for one in TENDENCIES), "", "", "")
    ]
    for name, results in _by_judges(saved).items():
        found = [result.tendency for result in results]
        even = [result.top_wins for result in results if result.tendency == TENDENCIES[0]]
        rates = (wilson_interval(found.count(one), len(found)) for one in TENDENCIES)
        settled = settled_at(found)
        cells = (
            f"{len(found):,}",
            f"{settled:,}" if settled else "not yet",
            f"{100 * even.count(2) / max(1, len(even)):.0f}",
        )
        lines.append((name, *(rate.both() for rate in rates), *cells))
    header = ("judges", *(f"{one} %" for one in TENDENCIES), "deals", "settled after", "of none, won by the strong %")
    note = "95 % intervals (Wilson). Settled: no further deal changes a share by 0.0001. The same deals for"
    return Table("Deal tendency by who judges", header, lines, f"{note} all judges; {saved.name}.")


def plot_tendency(saved: Saved[TendencyResult], path: Path) -> None:
    """Figure 4.1: the shares as deals are judged, for each pair of judges."""
    judges = _by_judges(saved)
    figure, panels = new_axes(3.2 * len(judges), 3.2, max(2, len(judges)))
    for axes, (name, results) in zip(panels, judges.items(), strict=False):
        found = 100 * shares([result.tendency for result in results])
        games = 2 * np.arange(1, len(found) + 1)
        for column, color in enumerate((GREY, BLUE, ORANGE)):
            axes.plot(games, found[:, column], color=color, label=TENDENCIES[column])
            axes.axhline(THESIS[TENDENCIES[column]], color=color, linestyle=":", linewidth=1)
        axes.set_title(name, fontsize=9)
        axes.set_xlabel("games")
    panels[0].set_ylabel("% of deals (dotted: thesis)")
    panels[0].legend(frameon=False, fontsize=8)
    save_figure(figure, path)


TENDENCY = Experiment(
    name="tendency",
    source="Wang Zhengfei, thesis, Peking University 2020, algorithms 1 and 2, table 4.1, figure 4.1",
    about="""How many deals lean to the landlord, to the peasants, or to neither, by who judges them.

    Each deal is played from both sides by a strong and a weak agent. Some five CPU minutes.
    """,
    unit="deals",
    options=TendencyOptions,
    result=TendencyResult,
    run=run_tendency,
    tables={"tendency": tendency_table},
    file="tendency",
    plot=plot_tendency,
)
