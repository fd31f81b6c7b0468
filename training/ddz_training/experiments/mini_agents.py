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
from typing import Annotated, Any

from ddz_agents.mini.agents import (
    CheatingMinimaxAgent,
    DeterminizedMinimaxAgent,
    ExactAgent,
    InformationSetExpectimaxAgent,
    Solvers,
)
from ddz_training.experiments.experiment import Comparison, Experiment, NoOptions, Saved, Table, compared, kept
from ddz_training.experiments.mini_deals import TABLE_BITS, MiniDeal, mini_deals, play_exact
from ddz_training.measure.match.ordered_map import Worker
from ddz_training.measure.match.results import OnProgress, ResultStore, no_progress
from ddz_training.measure.plotting import finish_figure, new_axes

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
    win_rate: Annotated[float, ".6f"]
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


class _Pairs(Worker[tuple[str, str], list[PairResult]]):
    """Plays one pair at a time on every deal."""

    def __init__(self, deals: Sequence[MiniDeal]) -> None:
        self._family, self._deals = MiniFamily(), deals

    def play(self, pair: tuple[str, str]) -> list[PairResult]:
        agents = self._family.pair(*pair)
        won = [deal.probability for deal in self._deals if play_exact(deal, agents)[0] == 0]
        return [PairResult(*pair, round(sum(won) / sum(deal.probability for deal in self._deals), 6), len(won))]


def run_mini_agents(
    options: NoOptions | None = None,
    path: Path | None = None,
    on_progress: OnProgress = no_progress,
    pairs: Sequence[tuple[str, str]] = PAIRS,
    deals: Sequence[MiniDeal] | None = None,
) -> Saved[PairResult]:
    """Play every pair on every deal.

    Args:
        options: There are none.
        path: Where to save, one line a pair; a file of an earlier run is resumed.
        on_progress: Told how many pairs are done.
        pairs: Kinds of player 1 and player 2.
        deals: The deals; all of Mini's if None.  The win rate is then conditional on being dealt one of them.
    """
    deals = mini_deals() if deals is None else deals
    settings = {"experiment": "mini-agents", "deals": len(deals)}
    store = ResultStore(PairResult, path, settings, ("player_1", "player_2"))
    return kept(store, store.fill({pair: pair for pair in pairs}, lambda: _Pairs(deals), 1, on_progress))


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


def pair_table(saved: Saved[PairResult]) -> Table:
    """Player 1's win rate in every pair, a line for each kind of player 1."""
    rates = {(result.player_1, result.player_2): f"{100 * result.win_rate:.1f}" for result in saved.results}
    kinds = [one for one in (*KINDS, EXPECTIMAX_CORRECT) if any((one, two) in rates for two in KINDS)]
    lines = [(one, *(rates.get((one, two), "–") for two in KINDS)) for one in kinds]
    return Table("Player 1's win rate on all deals, %", ("player 1 ↓, player 2 →", *KINDS), lines)


_ABSENT: dict[str, Any] = {"rotation": 90, "ha": "center", "va": "bottom", "fontsize": 7, "color": "grey"}
"""What stands in the place of a bar that there is not."""


def plot_mini_agents(saved: Saved[PairResult], path: Path) -> None:
    """Figure 3 of the paper: groups by player 2, bars by player 1; a pair without a result is named in its place."""
    figure, axes = new_axes(9.0)
    rates = {(result.player_1, result.player_2): 100 * result.win_rate for result in saved.results}
    groups = [kind for kind in KINDS if any((one, kind) in rates for one in KINDS)]
    for index, one in enumerate(KINDS):
        bars = [(group, rates[one, two]) for group, two in enumerate(groups) if (one, two) in rates]
        drawn = axes.bar(
            [group + 0.16 * (index - 2) for group, _ in bars], [rate for _, rate in bars], width=0.15, label=one
        )
        axes.bar_label(drawn, fmt="%.0f", fontsize=7)
        for group, two in enumerate(groups):
            if (one, two) not in rates:
                place = group + 0.16 * (index - 2)
                axes.text(place, 1, "not defined" if one == two == CORRECT else "not played", **_ABSENT)
    axes.set_xticks(range(len(groups)), [group.replace("+", "\n+ ") for group in groups])
    axes.set_ylim(0, 105)
    legend = {"title": "player 1", "loc": "center left", "bbox_to_anchor": (1, 0.5)}
    finish_figure(figure, axes, path, "player 2", "player 1 wins, %", **legend)


AGENTS = Experiment(
    name="mini-agents",
    source="Whitehouse, Powley and Cowling 2011, section IV.B, figure 3",
    about="Play every pair of exact agents on all deals of Mini (figure 3 of Whitehouse et al. 2011).",
    unit="pairs of agents",
    options=NoOptions,
    result=PairResult,
    run=run_mini_agents,
    tables={
        "mini-pairs": pair_table,
        "mini-agents": compared("Figure 3: differences as player 1, means over the opponents", compare_mini_agents),
    },
    file="mini_agents",
    plot=plot_mini_agents,
)
