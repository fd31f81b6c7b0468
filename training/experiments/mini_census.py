"""How many deals Mini Dou Dizhu has, how large its information sets are, and how often player 1 wins them.

Whitehouse, Powley and Cowling (2011), sections II.D and III.C: 8832 deals, at most 66 states in an information set,
and player 1 wins about 70.7 % of the deals, weighted by their probabilities, with perfect play on perfect information.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agents.exact.minimax import MinimaxSolver
from training.experiments.comparison import Comparison, OnProgress, no_progress
from training.experiments.mini_deals import MINI, TABLE_BITS, MiniDeal, mini_deals
from training.experiments.result_table import ResultTable

COLUMNS = ("hand", "states", "wins", "probability", "win_probability")


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


def run_mini_census(path: Path | None = None, on_progress: OnProgress = no_progress) -> list[HandResult]:
    """Solve every deal.

    Args:
        path: Where to save, one line a hand of player 1; a file of an earlier run is gone on with.
        on_progress: Told how many hands are done.
    """
    table = ResultTable(path, {"experiment": "mini-census"}, COLUMNS)
    hands = {hand: list(deals) for hand, deals in itertools.groupby(mini_deals(), key=lambda deal: deal.hand)}
    solver = MinimaxSolver(MINI, epsilon=0.0, table_bits=TABLE_BITS)
    done = table.keys("hand")
    for number, (hand, deals) in enumerate(hands.items()):
        on_progress(number, len(hands))
        if (hand,) not in done:
            table.add(hand, len(deals), *_solve(solver, deals))
    on_progress(len(hands), len(hands))
    return [
        HandResult(
            row["hand"],
            int(row["states"]),
            int(row["wins"]),
            float(row["probability"]),
            float(row["win_probability"]),
        )
        for row in table.rows
    ]


def _solve(solver: MinimaxSolver, deals: Sequence[MiniDeal]) -> tuple[int, float, float]:
    won = [deal.probability for deal in deals if solver.value(deal.row) > 0]
    return len(won), sum(deal.probability for deal in deals), sum(won)


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
