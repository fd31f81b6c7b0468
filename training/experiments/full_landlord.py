"""Three searches as landlord against determinized UCT (Whitehouse, Powley and Cowling 2011, section IV.D).

The landlord is cheating UCT, determinized UCT or information-set UCT with exploration 1.0, all at 10,000 iterations a
decision.  The paper plays each of its 1,000 deals 40 times with each of them.
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

CHEATING, DETERMINIZED, INFORMATION_SET = "cheating", "determinized", "information-set"
LANDLORDS = (CHEATING, DETERMINIZED, INFORMATION_SET)
PAPER_RATES = {CHEATING: "54.0", DETERMINIZED: "42.4", INFORMATION_SET: "42.0"}
PAPER_GAMES = 40


def landlord_experiment(searchers: Searchers) -> FullExperiment:
    """The three landlords."""
    agents = {
        CHEATING: searchers.cheating,
        DETERMINIZED: searchers.determinized,
        INFORMATION_SET: searchers.information_set(),
    }
    peasant = searchers.determinized
    lineups = tuple(Lineup(name, (agents[name], peasant, peasant)) for name in LANDLORDS)
    return FullExperiment("landlord", lineups, {**agents, "peasants": peasant})


def run_landlord(run: FullRun, on_progress: OnProgress = no_progress) -> list[GameResult]:
    """Play all landlords on the same deals.

    Args:
        run: How many games, where to save them, with how many processes.
        on_progress: Told how many games are done.
    """
    return run_games(landlord_experiment(run.searchers), run, on_progress)


def compare_landlord(results: Sequence[GameResult]) -> list[Comparison]:
    """The paper's win rates beside ours, and the differences from determinized UCT, paired by deal."""
    lines = [rate_line(f"{name} as landlord", PAPER_RATES[name], win_rate(results, name)) for name in LANDLORDS]
    for name in (CHEATING, INFORMATION_SET):
        paper = float(PAPER_RATES[name]) - float(PAPER_RATES[DETERMINIZED])
        gained = difference(results, name, DETERMINIZED)
        lines.append(gain_line(f"{name} over {DETERMINIZED}", f"{paper:+.1f}", gained))
    return lines
