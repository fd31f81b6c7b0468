"""Table 2 of Whitehouse, Powley and Cowling (2011): the gain of information-set UCT where cheating helps.

The deals of the landlord experiment are filtered by how much more cheating UCT wins than determinized UCT.  On the
deals that pass, the paper compares determinized UCT with information-set UCT.

The paper's filter looks at the very games whose win rate is then reported.  A deal on which determinized UCT had bad
luck passes "> 25 %" more easily, so its rate comes out too low there (and too high in "< 0 %"): regression to the mean,
which is stronger with fewer games per deal.  The held-out figures avoid that: determinized UCT's games of each deal are
split in two halves, one judges the deal and the other is reported, and then the other way round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, NamedTuple

from ddz_env.support.options import Range
from ddz_papers.determinization_2011 import full_games as full
from ddz_papers.experiments import experiment as ex
from ddz_training.measure.markdown import Table
from ddz_training.measure.statistics import Interval, clip_interval, clustered_interval


class Threshold(NamedTuple):
    """A row of table 2 of the 2011 paper: a filter on deals, with the figures that the paper prints.

    Attributes:
        label: The row's name.
        admits: Whether a difference of win rates, cheating minus determinized, belongs to the row.
        paper: What the paper prints: determinized UCT's and information-set UCT's rate in percent, and deals.
    """

    label: str
    admits: Callable[[Fraction], bool]
    paper: tuple[str, str, str]


THRESHOLDS = (
    Threshold("none", lambda gain: True, ("42.4", "42.0", "1000")),
    Threshold("< 0 %", lambda gain: gain < 0, ("53.0", "45.2", "133")),
    Threshold("= 0 %", lambda gain: gain == 0, ("44.9", "43.3", "138")),
    Threshold("> 0 %", lambda gain: gain > 0, ("40.0", "41.1", "729")),
    Threshold("> 25 %", lambda gain: gain > Fraction(1, 4), ("31.6", "38.4", "166")),
    Threshold("> 50 %", lambda gain: gain > Fraction(1, 2), ("20.4", "35.0", "12")),
    Threshold("> 75 %", lambda gain: gain > Fraction(3, 4), ("15.0", "95.0", "1")),
)

THRESHOLD_COLUMNS = (
    "cheating over determinized",
    *("paper: determinized %", "information-set %", "deals"),
    *("same: determinized %", "information-set %", "points", "deals"),
    *("held out: determinized %", "information-set %", "points", "deals"),
)
"""Headings of table 2 with ours beside it."""


class FilteredRates(NamedTuple):
    """The win rates of determinized and information-set UCT, and their difference, on deals that pass a filter.

    Attributes:
        deals: How many deals passed.
        determinized: Determinized UCT's win rate.
        information_set: Information-set UCT's win rate.
        gain: Information-set minus determinized.
    """

    deals: int
    determinized: Interval
    information_set: Interval
    gain: Interval


class _FilteredDeal(NamedTuple):
    """A deal with the gain from cheating, by which it is filtered, and the win rates to report if it passes."""

    deal: int
    advantage: Fraction
    determinized: Fraction
    information_set: Fraction


def filter_deals(results: Iterable[full.GameResult]) -> list[tuple[Threshold, FilteredRates, FilteredRates]]:
    """Compute the win rates on deals that pass each threshold, for table 2 of the 2011 paper.

    Args:
        results: Games of the landlord experiment.  Deals that lack one of the landlords are left out, from the
            held-out figures also those with a single game of determinized UCT.

    Returns:
        Rows: the filter with the paper's figures; ours computed as in the paper, where the games that choose a deal
        are reported; and ours held out, where other games choose.
    """
    same, held_out = _make_cases(results)
    return [(row, _summarize_passing(same, row), _summarize_passing(held_out, row)) for row in THRESHOLDS]


def _make_cases(results: Iterable[full.GameResult]) -> tuple[list[_FilteredDeal], list[_FilteredDeal]]:
    """Return deals that are filtered by the reported games themselves, and deals filtered by other games."""
    same, held_out = list[_FilteredDeal](), list[_FilteredDeal]()
    for deal, games in ex.group_by(sorted(results, key=lambda result: result.game), "deal").items():
        won = {name: [game.landlord_won for game in lineup] for name, lineup in ex.group_by(games, "lineup").items()}
        if all(name in won for name in full.LANDLORDS):
            cheating, information_set = _win_share(won[full.CHEATING]), _win_share(won[full.INFORMATION_SET])
            whole, even, odd = won[full.DETERMINIZED], won[full.DETERMINIZED][::2], won[full.DETERMINIZED][1::2]
            same.append(_FilteredDeal(deal, cheating - _win_share(whole), _win_share(whole), information_set))
            for judged, reported in ((even, odd), (odd, even)) if odd else ():
                held_out.append(
                    _FilteredDeal(deal, cheating - _win_share(judged), _win_share(reported), information_set)
                )
    return same, held_out


def _win_share(won: Sequence[bool]) -> Fraction:
    return Fraction(sum(won), len(won))


def _summarize_passing(cases: Sequence[_FilteredDeal], threshold: Threshold) -> FilteredRates:
    deals = ex.group_by((case for case in cases if threshold.admits(case.advantage)), "deal").values()
    determinized, information_set = (
        clip_interval(clustered_interval([[float(getattr(case, name)) for case in group] for group in deals]), 0.0, 1.0)
        for name in ("determinized", "information_set")
    )
    gain = clustered_interval([[float(case.information_set - case.determinized) for case in group] for group in deals])
    return FilteredRates(len(deals), determinized, information_set, gain)


def _filtered_cells(rates: FilteredRates) -> list[str]:
    return [
        rates.determinized.text(),
        rates.information_set.text(),
        rates.gain.text_with_range("+.1f"),
        f"{rates.deals:,}",
    ]


def threshold_table(saved: ex.SavedResults[full.GameResult]) -> Table:
    """Make a table that compares the paper's table 2 with our figures."""
    title = (
        "Table 2: deals by cheating minus determinized (same: the games that choose a deal are reported, as in the "
        "paper; held out: others are; points: information-set minus determinized, with 95 % intervals)"
    )
    lines = [
        [row.label, *row.paper, *_filtered_cells(same), *_filtered_cells(held_out)]
        for row, same, held_out in filter_deals(saved.results)
    ]
    return Table(title, THRESHOLD_COLUMNS, lines, full.games_note(saved))


@dataclass(frozen=True)
class ThresholdOptions(full.LandlordOptions):
    """Options of ``thresholds``: those of the landlord experiment, with two games per deal by default."""

    games: Annotated[int, Range(1, 2**32)] = 2


THRESHOLDS_2011 = replace(
    full.LANDLORD_UCT,
    name="thresholds",
    source=f"{full.PAPER}, section IV.D, table 2",
    about="Table 2: determinized and information-set UCT in the deals where seeing all cards helps.\n\n"
    "Needs the games of `landlord`: give its file and its options; games that are missing are played first.  The "
    "filter picks luck as well; the held-out figures, which need 2 games per deal, avoid that.",
    options=ThresholdOptions,
    more=lambda options: {**full.LANDLORD_UCT.more(options), "experiment": full.LANDLORD_UCT.name},
    tables={"full-thresholds": threshold_table},
    file="full_landlord_deep",
    plot=None,
)
"""The games of the landlord experiment, of which only the table differs."""
