"""Every pair of exact agents over all 8,832 deals of Mini (Whitehouse, Powley and Cowling 2011, figure 3).

Figure 3 is a bar chart without numbers; section IV.B puts the differences into words.  One game a deal and pair is
enough, because the agents are deterministic.  Determinized minimax with the correct model of itself is left out, as in
the paper: it would be a model of a model without end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from agents.exact.agents import (
    CheatingMinimaxAgent,
    DeterminizedMinimaxAgent,
    ExactAgent,
    InformationSetExpectimaxAgent,
    Solvers,
)
from training.experiments.comparison import Comparison, OnProgress, no_progress
from training.experiments.mini_deals import TABLE_BITS, MiniDeal, mini_deals, play_exact
from training.experiments.result_table import ResultTable

COLUMNS = ("player_1", "player_2", "win_rate", "deals_won")

CHEATING, EXPECTIMAX, DETERMINIZED = "cheating", "expectimax", "determinized"
CORRECT, INCORRECT = "determinized+correct", "determinized+incorrect"
EXPECTIMAX_CORRECT = "expectimax+correct"
KINDS = (CHEATING, EXPECTIMAX, CORRECT, INCORRECT, DETERMINIZED)
"""The five agents of figure 3."""

PAIRS = tuple((one, two) for two in KINDS for one in KINDS if (one, two) != (CORRECT, CORRECT)) + tuple(
    (EXPECTIMAX_CORRECT, two) for two in (CHEATING, EXPECTIMAX, INCORRECT, DETERMINIZED)
)
"""Figure 3's games, and expectimax with inference as player 1, which the paper omits from the figure."""


@dataclass(frozen=True)
class PairResult:
    """What player 1 reached against player 2.

    Attributes:
        player_1: Kind of the agent that leads first.
        player_2: Kind of the other.
        win_rate: The probability that player 1 wins a randomly dealt game.
        deals_won: Deals of the 8,832 that it wins.
    """

    player_1: str
    player_2: str
    win_rate: float
    deals_won: int


class MiniFamily:
    """The exact agents by kind, sharing their solvers and their memories."""

    def __init__(self) -> None:
        self._solvers = Solvers(TABLE_BITS)
        self._plain: dict[str, ExactAgent] = {
            CHEATING: CheatingMinimaxAgent(self._solvers),
            EXPECTIMAX: InformationSetExpectimaxAgent(solvers=self._solvers),
            DETERMINIZED: DeterminizedMinimaxAgent(solvers=self._solvers),
        }

    def pair(self, player_1: str, player_2: str) -> tuple[ExactAgent, ExactAgent]:
        """The agents of a game; a correct model is the very agent on the other side."""
        if player_1 in (CORRECT, EXPECTIMAX_CORRECT):
            two = self._make(player_2, player_1)
            return self._make(player_1, two), two
        one = self._make(player_1, player_2)
        return one, self._make(player_2, one)

    def _make(self, kind: str, opponent: str | ExactAgent) -> ExactAgent:
        """An agent; where the opponent is given by kind, the agent needs only to know whether it cheats."""
        if kind in self._plain:
            return self._plain[kind]
        if isinstance(opponent, str):
            opponent = self._plain.get(opponent, self._plain[DETERMINIZED])
        if kind == EXPECTIMAX_CORRECT:
            return InformationSetExpectimaxAgent("correct", opponent, self._solvers)
        return DeterminizedMinimaxAgent("correct" if kind == CORRECT else "incorrect", opponent, self._solvers)


def run_mini_agents(
    path: Path | None = None,
    on_progress: OnProgress = no_progress,
    pairs: Sequence[tuple[str, str]] = PAIRS,
    deals: Sequence[MiniDeal] | None = None,
) -> list[PairResult]:
    """Play every pair on every deal.

    Args:
        path: Where to save, one line a pair; a file of an earlier run is gone on with.
        on_progress: Told how many pairs are done.
        pairs: Kinds of player 1 and player 2.
        deals: The deals; all of Mini's if None.  The win rate is then conditional on being dealt one of them.
    """
    deals = mini_deals() if deals is None else deals
    table = ResultTable(path, {"experiment": "mini-agents", "deals": len(deals)}, COLUMNS)
    family, done = MiniFamily(), table.keys("player_1", "player_2")
    for number, pair in enumerate(pairs):
        on_progress(number, len(pairs))
        if pair not in done:
            rate, won = _play_all(family.pair(*pair), deals)
            table.add(*pair, f"{rate:.6f}", won)
    on_progress(len(pairs), len(pairs))
    return [
        PairResult(row["player_1"], row["player_2"], float(row["win_rate"]), int(row["deals_won"]))
        for row in table.rows
    ]


def _play_all(agents: Sequence[ExactAgent], deals: Sequence[MiniDeal]) -> tuple[float, int]:
    won = [deal.probability for deal in deals if play_exact(deal, agents)[0] == 0]
    return sum(won) / sum(deal.probability for deal in deals), len(won)


def advantage(results: Sequence[PairResult], better: str, worse: str) -> list[float]:
    """How many points more one kind wins as player 1 than another, against each opponent that both met."""
    rates = {(result.player_1, result.player_2): result.win_rate for result in results}
    return [
        100 * (rates[better, two] - rates[worse, two])
        for two in KINDS
        if (better, two) in rates and (worse, two) in rates
    ]


def compare_mini_agents(results: Sequence[PairResult]) -> list[Comparison]:
    """The paper's words beside our means over the opponents, in percentage points."""
    lines = [
        ("cheating over determinized", CHEATING, DETERMINIZED, "about 40 %"),
        ("expectimax over determinized", EXPECTIMAX, DETERMINIZED, "around 30 %"),
        ("cheating over expectimax", CHEATING, EXPECTIMAX, "around 10 %"),
        ("inference, incorrect model, over determinized", INCORRECT, DETERMINIZED, "around 10 %"),
        ("inference, correct model, over determinized", CORRECT, DETERMINIZED, "23 %"),
        ("expectimax over determinized with the correct model", EXPECTIMAX, CORRECT, "above 0"),
        ("expectimax with the correct model over expectimax", EXPECTIMAX_CORRECT, EXPECTIMAX, "less than 0.2 %"),
    ]
    compared = []
    for what, better, worse, paper in lines:
        gaps = advantage(results, better, worse)
        if gaps:
            note = f"{min(gaps):+.1f} to {max(gaps):+.1f} over {len(gaps)} opponents"
            compared.append(Comparison(f"{what}, points", paper, f"{fmean(gaps):+.1f}", note))
    return compared
