"""How many deals lean to a side (thesis, algorithm 2, table 4.1, figure 4.1), and what deals without a tendency save.

*Tendency*: by who judges the deals.

*Savings*: the games that distinguish two agents, on all deals and on those without a tendency.  The agents that are
compared play every deal from both sides, and the same deals have been judged by others.  A deal's value is the share of
its two games that an agent won; the deals needed to distinguish its mean from one half with a power of 80 % at a level
of 5 % are ((1.96 + 0.84) * standard deviation / (mean - 0.5)) squared.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt

from ddz_env import Rules
from ddz_env.core.options import Range
from ddz_training.experiments import experiment as ex
from ddz_training.measure import statistics
from ddz_training.measure.duplicate import DealPlayer
from ddz_training.measure.plotting import Panel, Series, save_plot
from ddz_training.measure.tendency import TENDENCIES, Judges, settled_at, shares

THESIS_2020 = "Wang Zhengfei, thesis, Peking University 2020"
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
class TendencyOptions(ex.ChosenOptions):
    """Who judges how many deals.

    Attributes:
        only: Only these judges; may be repeated.
        deals: Deals for each, from number 0 on.
    """

    deals: ex.Count = 2_000


@functools.cache
def _player(seed: int) -> DealPlayer:
    return DealPlayer(Rules(), seed, timing=False)


def judge_deal(options: TendencyOptions, name: str, deal: int) -> list[TendencyResult]:
    """Have a deal judged: it is played from both sides by a strong and a weak agent."""
    judged = Judges(*JUDGES[name], seed=options.seed).judge(_player(options.seed), deal)
    return [TendencyResult(name, deal, judged.tendency, judged.top_wins)]


def _by_judges(saved: ex.Saved[TendencyResult]) -> dict[str, list[TendencyResult]]:
    return ex.grouped(sorted(saved.results, key=lambda result: result.deal), "judges", order=JUDGES)


def tendency_table(saved: ex.Saved[TendencyResult]) -> ex.Table:
    """Table 4.1 beside ours."""
    lines = [
        ("thesis: 5 of Botzone's best 10 v 3 behind the 200th", *(f"{THESIS[one]:g}" for one in TENDENCIES), "", "", "")
    ]
    for name, results in _by_judges(saved).items():
        found = [result.tendency for result in results]
        even = [result.top_wins for result in results if result.tendency == TENDENCIES[0]]
        rates = (statistics.wilson_interval(found.count(one), len(found)) for one in TENDENCIES)
        settled = settled_at(found)
        cells = (
            f"{len(found):,}",
            f"{settled:,}" if settled else "not yet",
            f"{100 * even.count(2) / max(1, len(even)):.0f}",
        )
        lines.append((name, *(rate.both() for rate in rates), *cells))
    header = ("judges", *(f"{one} %" for one in TENDENCIES), "deals", "settled after", "of none, won by the strong %")
    note = "95 % intervals (Wilson). Settled: no further deal changes a share by 0.0001. The same deals for"
    return ex.Table("Deal tendency by who judges", header, lines, f"{note} all judges; {saved.name}.")


def plot_tendency(saved: ex.Saved[TendencyResult], path: Path) -> None:
    """Figure 4.1: the shares as deals are judged, for each pair of judges."""
    panels = []
    for name, results in _by_judges(saved).items():
        found = 100 * shares([result.tendency for result in results])
        games = range(2, 2 * len(found) + 1, 2)
        lines = [Series(one, games, list(found[:, place])) for place, one in enumerate(TENDENCIES)]
        panels.append(Panel(lines, "games", "% of deals (dotted: thesis)", name, across={"": THESIS["none"]}))
    save_plot(path, *panels, size=(3.2 * len(panels), 3.2))


TENDENCY = ex.Experiment(
    name="tendency",
    source=f"{THESIS_2020}, algorithms 1 and 2, table 4.1, figure 4.1",
    about="How many deals lean to the landlord, to the peasants, or to neither, by who judges them.\n\nEach deal is "
    "played from both sides by a strong and a weak agent. Some five CPU minutes.",
    options=TendencyOptions,
    result=TendencyResult,
    key=("judges", "deal"),
    tasks=lambda options: product(ex.chosen("judges", options.only, JUDGES), range(options.deals)),
    work=judge_deal,
    agents=lambda options: ["policy"],
    unit="deals",
    tables={"tendency": tendency_table},
    plot=plot_tendency,
)


# --- Savings ----------------------------------------------------------------------------------------------------------

PAIRS: Mapping[str, tuple[str, str]] = {
    "search 200 v 100": ("isuct:iterations=200", "isuct:iterations=100"),
    "rules v rlcard-rule": ("rules", "rlcard-rule"),
}
"""Who is compared."""

JUDGED_BY = ("policy v rules", "rules v random")
"""Whose tendencies are tried, of :data:`JUDGES`."""

FloatArray = npt.NDArray[np.float64]
_QUANTILES = 1.959964 + 0.841621
_REPLICATES = 2_000


@dataclass(frozen=True)
class SavingsResult:
    """A deal that two agents have played.

    Attributes:
        pair: Who, one of :data:`PAIRS`.
        deal: Its number under the seed.
        near: Its tendency by the first of :data:`JUDGED_BY`.
        far: And by the second.
        as_landlord: Whether the first agent won as landlord.
        as_peasants: Whether it won as peasants.
    """

    pair: str
    deal: int
    near: str
    far: str
    as_landlord: int
    as_peasants: int


@dataclass(frozen=True)
class SavingsOptions(ex.ChosenOptions):
    """Who is compared on how many deals.

    Attributes:
        only: Only this pair; may be repeated.
        deals: Deals for each.
        first_deal: Number of the first.
    """

    deals: Annotated[int, Range(2)] = 2_000
    first_deal: ex.Natural = 100_000


def play_judged(options: SavingsOptions, pair: str, deal: int) -> list[SavingsResult]:
    """Play a deal from both sides, and have it judged by both pairs of judges."""
    judges, player = [Judges(*JUDGES[name], seed=options.seed) for name in JUDGED_BY], _player(options.seed)
    *_, won = statistics.won_by_side(player.play(deal, PAIRS[pair]))
    near, far = (one.judge(player, deal).tendency for one in judges)
    return [SavingsResult(pair, deal, near, far, *won)]


def need(sums: FloatArray) -> FloatArray:
    """What distinguishing two agents takes on some deals.

    Args:
        sums: How many deals there are, the sum of their values and that of the squares, ``[..., 3]``.

    Returns:
        The first agent's share of wins, the standard deviation of a deal's value (both games together), the games
        needed where every deal is played from both sides, and those where a deal is played once, each agent as landlord
        half the time, ``[..., 4]``.
    """
    count, total, squares = np.moveaxis(sums, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = total / count
        variance = (squares - count * mean**2) / (count - 1)
        per_game = np.square(_QUANTILES / (mean - 0.5))
        return np.stack([mean, np.sqrt(variance), 2 * per_game * variance, per_game * mean * (1 - mean)], axis=-1)


def ratios(results: Sequence[SavingsResult], judges: str) -> tuple[statistics.Interval, statistics.Interval]:
    """Games needed on deals without tendency over games needed on all: duplicate and single, with 95 % intervals.

    The intervals are of a bootstrap over deals.

    Args:
        results: The deals of a pair.
        judges: ``near`` or ``far``.
    """
    even = np.array([getattr(result, judges) == TENDENCIES[0] for result in results])
    every = sums(results)
    columns = np.concatenate([every * even[:, None], every], axis=1)

    def ratio(added: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(need(added[..., :3])[..., 2:] / need(added[..., 3:])[..., 2:])

    whole, replicates = ratio(columns.sum(axis=0)), ratio(statistics.bootstrap_sums(columns, _REPLICATES))
    ends = [statistics.percentile_interval(float(whole[kind]), replicates[:, kind], len(results)) for kind in (0, 1)]
    return ends[0], ends[1]


def sums(results: Sequence[SavingsResult]) -> FloatArray:
    """What :func:`need` takes, a deal a row, to be added up: ``[deals, 3]``."""
    values = np.array([(result.as_landlord + result.as_peasants) / 2 for result in results])
    return np.stack([np.ones_like(values), values, values**2], axis=1)


def savings_table(saved: ex.Saved[SavingsResult]) -> ex.Table:
    """What a deal's value is like, by tendency, and the games needed."""
    lines = []
    for pair, results in ex.grouped(saved.results, "pair").items():
        lines.append((pair, "all", "all", "100", *_cells(results), "", ""))
        for column, name in zip(("near", "far"), JUDGED_BY, strict=True):
            groups = ex.grouped(results, column)
            for tendency, own in ((one, groups[one]) for one in TENDENCIES if len(groups.get(one, ())) > 1):
                saving = ratios(results, column) if tendency == TENDENCIES[0] else ()
                share = f"{100 * len(own) / len(results):.1f}"
                saved_games = [one.both(".2f", 1) for one in saving] or ["", ""]
                lines.append((pair, name, tendency, share, *_cells(own), *saved_games))
    header = ("compared", "judges", "tendency", "% of deals", "wins %", "deviation")
    games = ("games, duplicate", "games, single", "duplicate × all", "single × all")
    note = (
        "Games needed to find which of the pair is stronger (5 % level, 80 % power); × all: over those on all deals, "
        "with 95 % intervals (bootstrap over deals). The judges' own games, two for each deal tried, are not counted; "
        f"{saved.name}."
    )
    return ex.Table("What deals without a tendency save", (*header, *games), lines, note)


def _cells(results: Sequence[SavingsResult]) -> list[str]:
    mean, deviation, *games = need(sums(results).sum(axis=0)).tolist()
    return [f"{100 * mean:.1f}", f"{deviation:.3f}", *(f"{one:,.0f}" if one < 10**6 else "> 10⁶" for one in games)]


TENDENCY_SAVINGS = ex.Experiment(
    name="tendency-savings",
    source=f"{THESIS_2020}, section 4.2.3",
    about="The variance and the games that deals without a tendency save when two agents are compared.\n\nTwo pairs "
    "play 2,000 deals each from both sides, and two pairs of judges judge them. Some eight CPU minutes.",
    options=SavingsOptions,
    result=SavingsResult,
    key=("pair", "deal"),
    tasks=lambda options: product(
        ex.chosen("pair", options.only, PAIRS), range(options.first_deal, options.first_deal + options.deals)
    ),
    work=play_judged,
    agents=lambda options: ["policy"],
    unit="deals",
    tables={"games-saved": savings_table},
)
