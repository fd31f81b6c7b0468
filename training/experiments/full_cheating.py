"""How much knowing the hidden cards is worth (Whitehouse, Powley and Cowling 2011, section IV.B, table 1).

The baseline is everybody with determinized UCT; then player 1 (the landlord), 2, 3, or 2 and 3 search the true game
instead.  The paper plays one game from each of its 1,000 deals.
"""

from __future__ import annotations

from collections.abc import Sequence

from training.experiments.comparison import Comparison, OnProgress, no_progress
from training.experiments.full_games import (
    FullExperiment,
    FullRun,
    GameResult,
    Lineup,
    difference,
    gain_line,
    rate_line,
    run_games,
    win_rate,
)
from training.experiments.searchers import Searchers

BASELINE = "nobody"
CHEATS = {BASELINE: (), "player 1": (0,), "player 2": (1,), "player 3": (2,), "players 2 & 3": (1, 2)}
"""Line-ups by name: the seats that cheat."""

PAPER = {
    "player 1": ("49.9", "43.0", "6.9"),
    "player 2": ("65.6", "57.0", "8.6"),
    "player 3": ("68.9", "57.0", "11.9"),
    "players 2 & 3": ("78.0", "57.0", "21.0"),
}
"""Table 1: win rates in percent with cheating and with determinized UCT, and the difference."""


def cheating_experiment(searchers: Searchers) -> FullExperiment:
    """The baseline and the four rows of table 1."""
    lineups = []
    for name, seats in CHEATS.items():
        one, two, three = (searchers.cheating if seat in seats else searchers.determinized for seat in range(3))
        lineups.append(Lineup(name, (one, two, three)))
    agents = {"cheating": searchers.cheating, "determinized": searchers.determinized}
    return FullExperiment("cheating", tuple(lineups), agents)


def run_cheating(run: FullRun, on_progress: OnProgress = no_progress) -> list[GameResult]:
    """Play all rows on the same deals.

    Args:
        run: How many games, where to save them, with how many processes.
        on_progress: Told how many games are done.
    """
    return run_games(cheating_experiment(run.searchers), run, on_progress)


def compare_cheating(results: Sequence[GameResult]) -> list[Comparison]:
    """Table 1 beside ours: the win rate of whoever cheats, that of the baseline, and the paired difference."""
    lines = []
    for name, (cheating, determinized, gain) in PAPER.items():
        peasants = name != "player 1"
        for what, lineup, paper in (("cheating", name, cheating), ("determinized", BASELINE, determinized)):
            lines.append(rate_line(f"{name}, {what}", paper, win_rate(results, lineup, peasants=peasants)))
        gained = difference(results, name, BASELINE, peasants=peasants)
        lines.append(gain_line(f"{name}, difference", f"+{gain}", gained))
    return lines
