"""What deals without a tendency save: the games that tell two agents apart, on all deals and on those.

The agents that are compared play every deal from both sides, and the same deals have been judged by others.  A deal's
value is the share of its two games that an agent won; the deals needed to tell its mean from one half with a power of
80 % at a level of 5 % are ((1.96 + 0.84) * standard deviation / (mean - 0.5)) squared.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_env import Rules
from ddz_env.core.options import Range
from ddz_training.experiments.experiment import Experiment, ParallelOptions, Saved, Table, check_known, kept
from ddz_training.experiments.tendency import JUDGES
from ddz_training.measure.match.duplicate import DealPlayer, check_agents
from ddz_training.measure.match.ordered_map import Worker
from ddz_training.measure.match.results import OnProgress, ResultStore, no_progress
from ddz_training.measure.match.statistics import Interval, bootstrap_sums, percentile_interval, won_by_side
from ddz_training.measure.tendency import TENDENCIES, Judges

PAIRS: Mapping[str, tuple[str, str]] = {
    "search 200 v 100": ("isuct:iterations=200", "isuct:iterations=100"),
    "rules v rlcard-rule": ("rules", "rlcard-rule"),
}
"""Who is compared."""

JUDGED_BY = ("policy v rules", "rules v random")
"""Whose tendencies are tried, of :data:`ddz_training.experiments.tendency.JUDGES`."""

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
class SavingsOptions(ParallelOptions):
    """Who is compared on how many deals.

    Attributes:
        only: Only this pair; may be repeated.
        deals: Deals for each.
        first_deal: Number of the first.
    """

    only: tuple[str, ...] | None = None
    deals: Annotated[int, Range(2)] = 2_000
    first_deal: Annotated[int, Range(0)] = 100_000


class _Player(Worker[tuple[str, int], list[SavingsResult]]):
    """Judges and plays deals."""

    def __init__(self, seed: int) -> None:
        self._judges = [Judges(*JUDGES[name], seed=seed) for name in JUDGED_BY]
        self._player = DealPlayer(Rules(), seed, timing=False)

    def play(self, task: tuple[str, int]) -> list[SavingsResult]:
        pair, deal = task
        near, far = (judges.judge(self._player, deal).tendency for judges in self._judges)
        *_, won = won_by_side(self._player.play(deal, PAIRS[pair]))
        return [SavingsResult(pair, deal, near, far, *won)]

    def close(self) -> None:
        self._player.close()


def run_savings(
    options: SavingsOptions, path: Path | None = None, on_progress: OnProgress = no_progress
) -> Saved[SavingsResult]:
    """Judge deals, and let the pairs play them.

    Args:
        options: Who plays how many deals.
        path: Where to save, one line a deal; a file of an earlier run is resumed.
        on_progress: Told how many deals are done.

    Raises:
        InvalidExperimentError: If there is no such pair.
    """
    names = options.only or tuple(PAIRS)
    check_known("pair", names, PAIRS)
    agents = {agent for name in JUDGED_BY for kind in JUDGES[name] for agent in kind}
    check_agents(sorted({*agents, *(agent for name in names for agent in PAIRS[name])}))
    settings = {"experiment": "tendency-savings", "seed": options.seed}
    store = ResultStore(SavingsResult, path, settings, ("pair", "deal"), agents=sorted(agents))
    numbers = range(options.first_deal, options.first_deal + options.deals)
    tasks = {(name, deal): (name, deal) for name in names for deal in numbers}
    return kept(store, store.fill(tasks, functools.partial(_Player, options.seed), options.processes, on_progress))


class Need(NamedTuple):
    """What telling two agents apart takes on some deals.

    Attributes:
        mean: The first agent's share of wins.
        deviation: The standard deviation of a deal's value, both games together.
        duplicate: Games needed where every deal is played from both sides.
        single: Games needed where a deal is played once, each agent as landlord half the time.
    """

    mean: float
    deviation: float
    duplicate: float
    single: float


def need(count: float, total: float, squares: float) -> Need:
    """The games that it takes on some deals.

    Args:
        count: How many there are.
        total: The sum of their values.
        squares: The sum of the squares of their values.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.float64(total) / count
        variance = (squares - count * mean**2) / (count - 1)
        per_game = np.square(np.divide(_QUANTILES, mean - 0.5))
        return Need(
            float(mean), float(np.sqrt(variance)), float(2 * per_game * variance), float(per_game * mean * (1 - mean))
        )


def ratios(results: Sequence[SavingsResult], judges: str) -> tuple[Interval, Interval]:
    """Games needed on deals without tendency over games needed on all: duplicate and single, with 95 % intervals.

    The intervals are of a bootstrap over deals.

    Args:
        results: The deals of a pair.
        judges: ``near`` or ``far``.
    """
    even = np.array([getattr(result, judges) == TENDENCIES[0] for result in results])
    every = sums(results)
    columns = np.concatenate([every, every * even[:, None]], axis=1)
    replicates = np.array([_ratio(drawn) for drawn in bootstrap_sums(columns, _REPLICATES)])
    whole = _ratio(columns.sum(axis=0))
    first, second = (percentile_interval(whole[design], replicates[:, design], len(results)) for design in (0, 1))
    return first, second


def sums(results: Sequence[SavingsResult]) -> npt.NDArray[np.float64]:
    """What :func:`need` takes, a deal a row, to be added up: ``[deals, 3]``."""
    values = np.array([(result.as_landlord + result.as_peasants) / 2 for result in results])
    return np.stack([np.ones_like(values), values, values**2], axis=1)


def _ratio(columns: npt.NDArray[np.float64]) -> tuple[float, float]:
    every, even = need(*columns[:3]), need(*columns[3:])
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.divide(even.duplicate, every.duplicate)), float(np.divide(even.single, every.single))


def savings_table(saved: Saved[SavingsResult]) -> Table:
    """What a deal's value is like, by tendency, and the games needed."""
    lines = []
    for pair in PAIRS:
        results = [result for result in saved.results if result.pair == pair]
        if not results:
            continue
        lines.append((pair, "all", "all", "100", *_cells(results), "", ""))
        for column, name in zip(("near", "far"), JUDGED_BY, strict=True):
            for tendency in TENDENCIES:
                these = [result for result in results if getattr(result, column) == tendency]
                if len(these) < 2:
                    continue
                compared = ("", "")
                if tendency == TENDENCIES[0]:
                    first, second = ratios(results, column)
                    compared = (first.both(".2f", 1), second.both(".2f", 1))
                share = f"{100 * len(these) / len(results):.1f}"
                lines.append((pair, name, tendency, share, *_cells(these), *compared))
    header = (
        "compared",
        "judges",
        "tendency",
        "% of deals",
        "wins %",
        "deviation",
        "games, duplicate",
        "games, single",
    )
    note = (
        "Games needed to tell the pair apart (5 % level, 80 % power); × all: over those on all deals, with 95 % "
        "intervals (bootstrap over deals). The judges' own games, two for each deal tried, are not counted; "
        f"{saved.name}."
    )
    return Table("What deals without a tendency save", (*header, "duplicate × all", "single × all"), lines, note)


def _cells(results: Sequence[SavingsResult]) -> list[str]:
    found = need(*sums(results).sum(axis=0))
    games = (f"{number:,.0f}" if number < 10**6 else "> 10⁶" for number in (found.duplicate, found.single))
    return [f"{100 * found.mean:.1f}", f"{found.deviation:.3f}", *games]


TENDENCY_SAVINGS = Experiment(
    name="tendency-savings",
    source="Wang Zhengfei, thesis, Peking University 2020, section 4.2.3",
    about="""The variance and the games that deals without a tendency save when two agents are compared.

    Two pairs play 2,000 deals each from both sides, and two pairs of judges judge them. Some eight CPU minutes.
    """,
    unit="deals",
    options=SavingsOptions,
    result=SavingsResult,
    run=run_savings,
    tables={"games-saved": savings_table},
    file="tendency_savings",
)
