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

from agents.exact.agents import DeterminizedMinimaxAgent, InformationSetExpectimaxAgent, Solvers
from agents.exact.inference import History, Inference
from ddz_env.engine.layout import ROW_WORDS
from ddz_env.view import write_view
from training.experiments.comparison import Comparison, OnProgress, no_progress
from training.experiments.mini_deals import MINI, TABLE_BITS, MiniDeal, mini_deals, play_exact
from training.experiments.result_table import ResultTable

COLUMNS = ("player", "deal", "moves", "known_after")
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


class Watcher:
    """Plays determinized minimax with the correct model of expectimax, and looks into its head."""

    def __init__(self) -> None:
        solvers = Solvers(TABLE_BITS)
        expectimax = InformationSetExpectimaxAgent(solvers=solvers)
        self._expectimax = expectimax
        self._agent = DeterminizedMinimaxAgent("correct", expectimax, solvers)
        self._inference = Inference(MINI, expectimax)

    def watch(self, deal: MiniDeal, player: int) -> KnownResult:
        """Play one deal with the agent as player 1 or 2."""
        agents = (self._agent, self._expectimax) if player == 1 else (self._expectimax, self._agent)
        _, story = play_exact(deal, agents)
        return KnownResult(player, deal.number, len(story), self._known_after(deal, player - 1, story))

    def _known_after(self, deal: MiniDeal, seat: int, story: History) -> int:
        view = np.empty(ROW_WORDS, np.uint64)
        write_view(deal.row, seat, MINI.words(), view)
        for moves in range(len(story) + 1):
            if len(self._inference.states(view, seat, story[:moves])) == 1:
                return moves
        return NEVER


def run_mini_inference(
    path: Path | None = None,
    on_progress: OnProgress = no_progress,
    players: Sequence[int] = (1, 2),
    deals: Sequence[MiniDeal] | None = None,
) -> list[KnownResult]:
    """Play every deal.

    Args:
        path: Where to save, one line a game; a file of an earlier run is gone on with.
        on_progress: Told how many games are done.
        players: Seats of determinized minimax, 1 and 2.
        deals: The deals; all of Mini's if None.
    """
    deals = mini_deals() if deals is None else deals
    table = ResultTable(path, {"experiment": "mini-inference"}, COLUMNS)
    watcher, done = Watcher(), table.keys("player", "deal")
    games = [(player, deal) for player in players for deal in deals]
    for number, (player, deal) in enumerate(games):
        on_progress(number, len(games))
        if (str(player), str(deal.number)) not in done:
            result = watcher.watch(deal, player)
            table.add(result.player, result.deal, result.moves, result.known_after)
    on_progress(len(games), len(games))
    return [KnownResult(*(int(row[column]) for column in COLUMNS)) for row in table.rows]


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
