"""What deals without a tendency save when two agents are compared (thesis, section 4.2.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Annotated

import numpy as np
import numpy.typing as npt

from ddz_env.support.options import Range
from ddz_papers.experiments import experiment as ex
from ddz_papers.thesis_2020.tendency import TendencyAgents
from ddz_papers.thesis_2020.tendency_experiment import TENDENCY_AGENTS, THESIS_2020, make_player
from ddz_training.measure import statistics
from ddz_training.measure.duplicate import Match
from ddz_training.measure.markdown import Table
from ddz_training.measure.summaries import split_wins_by_side
from ddz_training.measure.tendency_file import TENDENCIES

PAIRS: Mapping[str, tuple[str, str]] = {
    "search 200 v 100": ("isuct:iterations=200", "isuct:iterations=100"),
    "rules v rlcard-rule": ("rules", "rlcard-rule"),
}
"""The agents that are compared."""
JUDGES = ("policy v rules", "rules v random")
"""The agents whose tendencies are tried, of :data:`TENDENCY_AGENTS`: near in strength and far apart."""
FIRST_DEAL = 100_000

_Floats = npt.NDArray[np.float64]
_QUANTILES = 1.959964 + 0.841621
"""Of a test at the 5 % level with a power of 80 %."""
_REPLICATES = 2_000


@dataclass(frozen=True)
class SavingsResult:
    """The results of a deal that two agents played from both sides, and the tendency of the deal.

    Attributes:
        pair: Who, one of :data:`PAIRS`.
        deal: Its number under the seed.
        near: Its tendency by the first of :data:`JUDGES`.
        far: Its tendency by the second.
        as_landlord: Whether the first agent won as landlord, 0 or 1.
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
    """Options of ``tendency-savings``: which agents are compared, on how many deals.

    Attributes:
        only: Only this pair; may be repeated.
        deals: Deals for each.
    """

    deals: Annotated[int, Range(2)] = 2_000


def play_and_judge(options: SavingsOptions, pair: str, deal: int) -> list[SavingsResult]:
    """Play a deal from both sides, and measure its tendency by both pairs of judges."""
    player = make_player(options.seed)
    judges = [TendencyAgents(*TENDENCY_AGENTS[name], seed=options.seed) for name in JUDGES]
    *_, won = split_wins_by_side(player.play(Match(deal, PAIRS[pair])))
    near, far = (agents.measure(player, deal).tendency for agents in judges)
    return [SavingsResult(pair, deal, near, far, *won)]


def games_needed(sums: _Floats) -> _Floats:
    """Compute how many games tell two agents apart.

    Args:
        sums: The number of deals, the sum of the first agent's win shares and that of their squares, ``[..., 3]``.

    Returns:
        Its win rate, the standard deviation of a deal's share, the games needed if each deal is played from both sides,
        and those needed if each is played once, ``[..., 4]``.
    """
    count, total, squares = np.moveaxis(sums, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = total / count
        variance = (squares - count * mean**2) / (count - 1)
        per_game = np.square(_QUANTILES / (mean - 0.5))
        return np.stack([mean, np.sqrt(variance), 2 * per_game * variance, per_game * mean * (1 - mean)], axis=-1)


def _sums(results: Sequence[SavingsResult]) -> _Floats:
    shares = np.array([(result.as_landlord + result.as_peasants) / 2 for result in results])
    return np.stack([np.ones_like(shares), shares, shares**2], axis=1)


def saved_share(results: Sequence[SavingsResult], judges: str) -> list[statistics.Interval]:
    """Divide the games needed on deals without a tendency by those needed on all, with bootstrap intervals.

    Args:
        results: The deals of a pair.
        judges: ``near`` or ``far``.

    Returns:
        The ratio where deals are played from both sides, and where they are played once.
    """
    even = np.array([getattr(result, judges) == TENDENCIES[0] for result in results])
    every = _sums(results)
    columns = np.concatenate([every * even[:, None], every], axis=1)

    def ratio(added: _Floats) -> _Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(games_needed(added[..., :3])[..., 2:] / games_needed(added[..., 3:])[..., 2:])

    found, drawn = ratio(columns.sum(axis=0)), ratio(statistics.bootstrap_sums(columns, _REPLICATES))
    return [statistics.percentile_interval(float(found[kind]), drawn[:, kind], len(results)) for kind in (0, 1)]


def savings_table(saved: ex.SavedResults[SavingsResult]) -> Table:
    """Make the table of the games needed, by pair, judges and tendency."""
    lines = []
    for pair, results in ex.group_by(saved.results, "pair").items():
        lines.append((pair, "all", "all", "100", *_cells(results), "", ""))
        for column, name in zip(("near", "far"), JUDGES, strict=True):
            groups = ex.group_by(results, column)
            for tendency in (side for side in TENDENCIES if len(groups.get(side, ())) > 1):
                ratios = saved_share(results, column) if tendency == TENDENCIES[0] else ()
                share = f"{100 * len(groups[tendency]) / len(results):.1f}"
                texts = [ratio.text_with_range(".2f", 1) for ratio in ratios] or ["", ""]
                lines.append((pair, name, tendency, share, *_cells(groups[tendency]), *texts))
    header = ("compared", "agents of the filter", "deals that lean to", "% of deals", "wins %", "deviation")
    games = ("games, duplicate", "games, single", "duplicate × all", "single × all")
    note = f"Games that tell which agent is stronger (5 % level, 80 % power), without the filter's own; {saved.name}."
    return Table("What deals without a tendency save", (*header, *games), lines, note)


def _cells(results: Sequence[SavingsResult]) -> list[str]:
    mean, deviation, *games = games_needed(_sums(results).sum(axis=0)).tolist()
    return [
        f"{100 * mean:.1f}",
        f"{deviation:.3f}",
        *(f"{count:,.0f}" if count < 10**6 else "> 10⁶" for count in games),
    ]


TENDENCY_SAVINGS = ex.Experiment(
    name="tendency-savings",
    source=f"{THESIS_2020}, section 4.2.3",
    about="How many games deals without a tendency save when two agents are compared.\n\nTwo pairs play 2,000 deals "
    "each from both sides, and two pairs of judges judge them. Some eight CPU minutes.",
    options=SavingsOptions,
    result=SavingsResult,
    key=("pair", "deal"),
    tasks=lambda options: product(
        ex.check_names("pair", options.only, PAIRS), range(FIRST_DEAL, FIRST_DEAL + options.deals)
    ),
    work=play_and_judge,
    changeable=("deals",),
    agents=lambda options: ["policy"],
    unit="deals",
    tables={"games-saved": savings_table},
)
