"""Whom deals favour, as judged by pairs of agents (thesis, algorithm 2, table 4.1 and figure 4.1)."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from ddz_env import Rules
from ddz_papers.experiments import experiment as ex
from ddz_papers.thesis_2020.tendency import TendencyAgents, cumulative_shares
from ddz_training.measure import statistics
from ddz_training.measure.duplicate import DealPlayer
from ddz_training.measure.markdown import Table
from ddz_training.measure.plotting import Panel, Series, save_plot
from ddz_training.measure.tendency_file import TENDENCIES

THESIS_2020 = "Wang Zhengfei, thesis, Peking University 2020"
TENDENCY_AGENTS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
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
    """The side that a deal favours, as judged by the games of one pair of agents.

    Attributes:
        judges: Who judged it, one of :data:`TENDENCY_AGENTS`.
        deal: Its number under the seed.
        tendency: ``none``, ``landlord`` or ``peasants``.
        top_wins: Games that the strong agent won, of two.
    """

    judges: str
    deal: int
    tendency: str
    top_wins: int


@dataclass(frozen=True)
class TendencyOptions(ex.ChosenOptions):
    """Options of ``tendency``: which agents play, and how many deals.

    Attributes:
        only: Only these judges; may be repeated.
        deals: Deals for each, from number 0 on.
    """

    deals: ex.Count = 2_000


@functools.cache
def make_player(seed: int) -> DealPlayer:
    """Make the player of the deals under a seed, which is kept."""
    return DealPlayer(Rules(), seed, timing=False)


def measure_tendency(options: TendencyOptions, name: str, deal: int) -> list[TendencyResult]:
    """Let a strong and a weak agent play a deal from both sides, and return whom the deal favours."""
    judged = TendencyAgents(*TENDENCY_AGENTS[name], seed=options.seed).measure(make_player(options.seed), deal)
    return [TendencyResult(name, deal, judged.tendency, judged.top_wins)]


def _group_by_agents(saved: ex.SavedResults[TendencyResult]) -> dict[str, list[TendencyResult]]:
    return ex.group_by(sorted(saved.results, key=lambda result: result.deal), "judges", order=TENDENCY_AGENTS)


def tendency_table(saved: ex.SavedResults[TendencyResult]) -> Table:
    """Make a table that compares the thesis's table 4.1 with our shares of deals that favour each side."""
    of_leaning = f"{100 * THESIS['peasants'] / (THESIS['landlord'] + THESIS['peasants']):.1f}"
    printed = (f"{THESIS[side]:g}" for side in TENDENCIES)
    lines = [("thesis: 5 of Botzone's best 10 v 3 behind the 200th", *printed, of_leaning, "")]
    for name, results in _group_by_agents(saved).items():
        tendencies = [result.tendency for result in results]
        rates = (statistics.wilson_interval(tendencies.count(side), len(tendencies)) for side in TENDENCIES)
        leaning = len(tendencies) - tendencies.count("none")
        shares = (*rates, statistics.wilson_interval(tendencies.count("peasants"), leaning))
        lines.append((name, *(share.text_with_range() for share in shares), f"{len(tendencies):,}"))
    header = ("agents", *(f"{side} %" for side in TENDENCIES), "peasants, % of leaning", "deals")
    note = f"95 % intervals are Wilson's. All pairs play the same deals, some more of them. Computed from {saved.name}."
    return Table("Deal tendency by who judges", header, lines, note)


def plot_tendency(saved: ex.SavedResults[TendencyResult], path: Path) -> None:
    """Plot figure 4.1: the shares of deals that favour each side as deals are added, for each pair of agents."""
    panels = []
    for name, results in _group_by_agents(saved).items():
        percents = 100 * cumulative_shares([result.tendency for result in results])
        games = range(2, 2 * len(percents) + 1, 2)
        lines = [Series(side, games, list(percents[:, column])) for column, side in enumerate(TENDENCIES)]
        panels.append(Panel(lines, "games", "% of deals (dotted: thesis)", name, horizontal_lines={"": THESIS["none"]}))
    save_plot(path, *panels, size=(3.2 * len(panels), 3.2))


TENDENCY = ex.Experiment(
    name="tendency",
    source=f"{THESIS_2020}, algorithms 1 and 2, table 4.1, figure 4.1",
    about="How many deals lean to the landlord, to the peasants, or to neither, by who judges them.\n\nEach deal is "
    "played from both sides by a strong and a weak agent. Some five CPU minutes.",
    options=TendencyOptions,
    result=TendencyResult,
    key=("judges", "deal"),
    tasks=lambda options: product(ex.check_names("judges", options.only, TENDENCY_AGENTS), range(options.deals)),
    work=measure_tendency,
    changeable=("deals",),
    agents=lambda options: ["policy"],
    unit="deals",
    tables={"tendency": tendency_table},
    whole=True,
    plot=plot_tendency,
)
