"""How often determinized minimax with the correct opponent model comes to know the true state.

Whitehouse, Powley and Cowling (2011), section IV.B.3: against expectimax it assigns the true state probability 1 by the
fourth turn in 48 % of the deals, and by the end of the game in 74 %.  A turn is read as one move of each player;
the deals are weighted by their probabilities, the agent is player 1 (the other seat is measured as well), and "by the
end" includes what the opponent's last move tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ddz_agents.mini.agents import DeterminizedMinimaxAgent, InformationSetExpectimaxAgent, Solvers
from ddz_agents.mini.inference import History, Inference
from ddz_env.core.engine.layout import ROW_WORDS
from ddz_env.core.view import write_view
from ddz_training.experiments.experiment import Comparison, Experiment, NoOptions, Saved, compared, kept
from ddz_training.experiments.mini_deals import MINI, TABLE_BITS, MiniDeal, mini_deals, play_exact
from ddz_training.measure.match.ordered_map import Worker
from ddz_training.measure.match.results import OnProgress, ResultStore, no_progress
from ddz_training.measure.plotting import finish_figure, new_axes

NEVER = -1
FOURTH_TURN = 8
"""Moves of both players in four turns."""


@dataclass(frozen=True)
class KnownResult:
    """One game.

    Attributes:
        player: 1 or 2: the seat of determinized minimax.
        deal: Number of the deal.
        moves: Moves of both players, passes included.
        known_after: After how many of them the true state was the only one left; ``NEVER`` if it never was.
    """

    player: int
    deal: int
    moves: int
    known_after: int


class Watcher(Worker[tuple[int, MiniDeal], list[KnownResult]]):
    """Plays determinized minimax with the correct model of expectimax, and looks into its head."""

    def __init__(self) -> None:
        solvers = Solvers(TABLE_BITS)
        expectimax = InformationSetExpectimaxAgent(solvers=solvers)
        self._expectimax = expectimax
        self._agent = DeterminizedMinimaxAgent("correct", expectimax, solvers)
        self._inference = Inference(MINI, expectimax)

    def play(self, task: tuple[int, MiniDeal]) -> list[KnownResult]:
        """Play one deal with the agent as player 1 or 2."""
        player, deal = task
        agents = (self._agent, self._expectimax) if player == 1 else (self._expectimax, self._agent)
        _, story = play_exact(deal, agents)
        return [KnownResult(player, deal.number, len(story), self._known_after(deal, player - 1, story))]

    def _known_after(self, deal: MiniDeal, seat: int, story: History) -> int:
        view = np.empty(ROW_WORDS, np.uint64)
        write_view(deal.row, seat, MINI.words(), view)
        for moves in range(len(story) + 1):
            if len(self._inference.states(view, seat, story[:moves])) == 1:
                return moves
        return NEVER


def run_mini_inference(
    options: NoOptions | None = None,
    path: Path | None = None,
    on_progress: OnProgress = no_progress,
    players: Sequence[int] = (1, 2),
    deals: Sequence[MiniDeal] | None = None,
) -> Saved[KnownResult]:
    """Play every deal.

    Args:
        options: There are none.
        path: Where to save, one line a game; a file of an earlier run is resumed.
        on_progress: Told how many games are done.
        players: Seats of determinized minimax, 1 and 2.
        deals: The deals; all of Mini's if None.
    """
    store = ResultStore(KnownResult, path, {"experiment": "mini-inference"}, ("player", "deal"))
    chosen = mini_deals() if deals is None else deals
    tasks = {(player, deal.number): (player, deal) for player in players for deal in chosen}
    return kept(store, store.fill(tasks, Watcher, 1, on_progress))


def share_known(results: Sequence[KnownResult], player: int, moves: int | None, *, weighted: bool = True) -> float:
    """The share of deals in which the state is known after so many moves (None: by the end)."""
    deals = mini_deals()
    known, total = 0.0, 0.0
    for result in results:
        if result.player == player:
            weight = deals[result.deal].probability if weighted else 1.0
            total += weight
            if result.known_after != NEVER and (moves is None or result.known_after <= moves):
                known += weight
    return known / total


def compare_mini_inference(results: Sequence[KnownResult]) -> list[Comparison]:
    """The paper's figures beside ours; the agent was most likely its player 1."""
    lines = []
    for player in sorted({result.player for result in results}):
        for label, moves, paper in (("by the fourth turn", FOURTH_TURN, "48"), ("by the end", None, "74")):
            ours = 100 * share_known(results, player, moves)
            plain = 100 * share_known(results, player, moves, weighted=False)
            note = f"exact; {plain:.1f} if every deal counts alike"
            printed = paper if player == 1 else ""
            lines.append(Comparison(f"state known {label}, as player {player}, %", printed, f"{ours:.1f}", note))
    return lines


def plot_mini_inference(saved: Saved[KnownResult], path: Path) -> None:
    """The share of deals in which the state is known, move by move."""
    results = saved.results
    figure, axes = new_axes(6.5)
    moves = range(max(result.moves for result in results) + 1)
    for player in sorted({result.player for result in results}):
        axes.plot(moves, [100 * share_known(results, player, n) for n in moves], label=f"as player {player}")
    axes.plot([FOURTH_TURN], [48], "k+", markersize=10, label="paper, fourth turn")
    axes.axhline(74, color="black", linestyle=":", linewidth=1, label="paper, end of the game")
    axes.set_ylim(0, 100)
    below = "moves played (both players, passes included)"
    finish_figure(figure, axes, path, below, "deals with the true state known, %")


INFERENCE = Experiment(
    name="mini-inference",
    source="Whitehouse, Powley and Cowling 2011, section IV.B.3",
    about="How often determinized minimax with the correct model knows the true state: 48 % and 74 %.",
    unit="games",
    options=NoOptions,
    result=KnownResult,
    run=run_mini_inference,
    tables={"mini-inference": compared("Inference against expectimax on Mini", compare_mini_inference)},
    file="mini_inference",
    plot=plot_mini_inference,
)
