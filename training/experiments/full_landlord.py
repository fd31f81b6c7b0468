"""Three searches as landlord against determinized UCT (Whitehouse, Powley and Cowling 2011, section IV.D).

The landlord is cheating UCT, determinized UCT or information-set UCT with exploration 1.0, all at 10,000 iterations a
decision.  The paper plays each of its 1,000 deals 40 times with each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from training.experiments.comparison import Comparison, OnProgress, no_progress
from training.experiments.full_games import (
    FullExperiment,
    GameResult,
    Lineup,
    Scale,
    difference,
    in_percent,
    run_games,
    win_rate,
)
from training.experiments.searchers import Searchers

CHEATING, DETERMINIZED, INFORMATION_SET = "cheating", "determinized", "information-set"
LANDLORDS = (CHEATING, DETERMINIZED, INFORMATION_SET)
PAPER_RATES = {CHEATING: "54.0", DETERMINIZED: "42.4", INFORMATION_SET: "42.0"}
PAPER_GAMES = 40


def landlord_experiment(searchers: Searchers, seed: int = 0) -> FullExperiment:
    """The three landlords."""
    agents = {
        CHEATING: searchers.cheating,
        DETERMINIZED: searchers.determinized,
        INFORMATION_SET: searchers.information_set(),
    }
    peasant = searchers.determinized
    lineups = tuple(Lineup(name, (agents[name], peasant, peasant)) for name in LANDLORDS)
    return FullExperiment("landlord", lineups, {**agents, "peasants": peasant}, seed)


def run_landlord(
    scale: Scale,
    path: Path | None = None,
    on_progress: OnProgress = no_progress,
    searchers: Searchers | None = None,
    seed: int = 0,
) -> list[GameResult]:
    """Play all landlords on the same deals.

    Args:
        scale: How many games.
        path: Where to save, one line a game; a file of an earlier run is gone on with.
        on_progress: Told how many games are done.
        searchers: The agents; the paper's if None.
        seed: Seed of all agents.
    """
    return run_games(landlord_experiment(searchers or Searchers(), seed), scale, path, on_progress)


def compare_landlord(results: Sequence[GameResult]) -> list[Comparison]:
    """The paper's win rates beside ours, and the differences from determinized UCT, paired by deal."""
    lines = []
    for name in LANDLORDS:
        rate = win_rate(results, name)
        mean, interval = in_percent(rate)
        lines.append(Comparison(f"{name} as landlord, %", PAPER_RATES[name], mean, f"{interval}; {rate.count:,} games"))
    for name in (CHEATING, INFORMATION_SET):
        paper = float(PAPER_RATES[name]) - float(PAPER_RATES[DETERMINIZED])
        mean, interval = in_percent(difference(results, name, DETERMINIZED), "+")
        what = f"{name} over {DETERMINIZED}, points"
        lines.append(Comparison(what, f"{paper:+.1f}", mean, f"{interval}; paired by deal"))
    return lines
