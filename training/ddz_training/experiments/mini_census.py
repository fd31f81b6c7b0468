"""How many deals Mini Dou Dizhu has, how large its information sets are, and how often player 1 wins them.

Whitehouse, Powley and Cowling (2011), sections II.D and III.C: 8832 deals, at most 66 states in an information set,
and player 1 wins about 70.7 % of the deals, weighted by their probabilities, with perfect play on perfect information.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ddz_agents.open_cards.minimax import MinimaxSolver
from ddz_training.experiments.experiment import Comparison, Experiment, NoOptions, Saved, compared, kept
from ddz_training.experiments.mini_deals import MINI, TABLE_BITS, MiniDeal, mini_deals
from ddz_training.measure.match.ordered_map import Worker
from ddz_training.measure.match.results import OnProgress, ResultStore, no_progress
from ddz_training.measure.plotting import BLUE, finish_figure, new_axes


@dataclass(frozen=True)
class HandResult:
    """What holds for one hand of player 1.

    Attributes:
        hand: The hand.
        states: Deals with it: the states of player 1's information set at the first lead.
        wins: Deals that player 1 wins with perfect play on perfect information.
        probability: The probability of the hand.
        win_probability: The probability of the hand and a deal that player 1 wins.
    """

    hand: str
    states: int
    wins: int
    probability: float
    win_probability: float


class _Census(Worker[Sequence[MiniDeal], list[HandResult]]):
    """Solves the deals of one hand at a time."""

    def __init__(self) -> None:
        self._solver = MinimaxSolver(MINI, epsilon=0.0, table_bits=TABLE_BITS)

    def play(self, deals: Sequence[MiniDeal]) -> list[HandResult]:
        won = [deal.probability for deal in deals if self._solver.value(deal.row) > 0]
        return [HandResult(deals[0].hand, len(deals), len(won), sum(deal.probability for deal in deals), sum(won))]


def run_mini_census(
    options: NoOptions | None = None, path: Path | None = None, on_progress: OnProgress = no_progress
) -> Saved[HandResult]:
    """Solve every deal.

    Args:
        options: There are none.
        path: Where to save, one line a hand of player 1; a file of an earlier run is resumed.
        on_progress: Told how many hands are done.
    """
    store = ResultStore(HandResult, path, {"experiment": "mini-census"}, ("hand",))
    tasks = {(hand,): list(deals) for hand, deals in itertools.groupby(mini_deals(), key=lambda deal: deal.hand)}
    return kept(store, store.fill(tasks, _Census, 1, on_progress))


def compare_mini_census(results: Sequence[HandResult]) -> list[Comparison]:
    """The paper's figures beside ours."""
    rate = 100 * sum(result.win_probability for result in results)
    return [
        Comparison("deals", "8832", str(sum(result.states for result in results)), "exact"),
        Comparison("states in the largest information set", "66", str(max(r.states for r in results)), "exact"),
        Comparison(
            "player 1 wins with perfect information, %", "70.7", f"{rate:.2f}", "exact, weighted by probability"
        ),
        Comparison("deals that player 1 wins", "", str(sum(result.wins for result in results)), "exact, not weighted"),
    ]


def plot_mini_census(saved: Saved[HandResult], path: Path) -> None:
    """Player 1's hands by how often they win with perfect play."""
    results = saved.results
    figure, axes = new_axes(6.5)
    rates = [result.win_probability / result.probability for result in results]
    axes.hist(rates, bins=20, range=(0, 1), weights=[100 * result.probability for result in results], color=BLUE)
    mean = sum(result.win_probability for result in results)
    axes.axvline(mean, color="black", linestyle="--", label=f"all deals: {100 * mean:.2f} %")
    below = "deals with the hand that player 1 wins, by perfect play on perfect information"
    finish_figure(figure, axes, path, below, "% of hands, by probability")


CENSUS = Experiment(
    name="mini-census",
    source="Whitehouse, Powley and Cowling 2011, sections II.D and III.C",
    about="Count and solve the 8,832 deals of Mini: at most 66 states, 70.7 % for player 1.",
    unit="hands of player 1",
    options=NoOptions,
    result=HandResult,
    run=run_mini_census,
    tables={"mini-census": compared("Mini Dou Dizhu: census", compare_mini_census)},
    file="mini_census",
    plot=plot_mini_census,
)
