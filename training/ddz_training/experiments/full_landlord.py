"""Three searches as landlord against determinized UCT (Whitehouse, Powley and Cowling 2011, section IV.D).

The landlord is cheating UCT, determinized UCT or information-set UCT with exploration 1.0, all at 10,000 iterations a
decision.  The paper plays each of its 1,000 deals 40 times with each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ddz_training.experiments import full_games as full
from ddz_training.experiments.experiment import Comparison, Saved
from ddz_training.experiments.full_games import Cast, FullOptions, GameResult, Lineup, gain_line, rate_line
from ddz_training.measure.plotting import BLUE, PAPER, draw_bars, finish_figure, new_axes

CHEATING, DETERMINIZED, INFORMATION_SET = "cheating", "determinized", "information-set"
LANDLORDS = (CHEATING, DETERMINIZED, INFORMATION_SET)
PAPER_RATES = {CHEATING: "54.0", DETERMINIZED: "42.4", INFORMATION_SET: "42.0"}


def landlord_cast(options: FullOptions) -> Cast:
    """The three landlords."""
    agents = {
        CHEATING: options.cheating,
        DETERMINIZED: options.determinized,
        INFORMATION_SET: options.information_set(),
    }
    peasant = options.determinized
    lineups = tuple(Lineup(name, (agents[name], peasant, peasant)) for name in LANDLORDS)
    return Cast("landlord", lineups, {**agents, "peasants": peasant})


def compare_landlord(results: Sequence[GameResult]) -> list[Comparison]:
    """The paper's win rates beside ours, and the differences from determinized UCT, paired by deal."""
    lines = [rate_line(f"{name} as landlord", PAPER_RATES[name], full.win_rate(results, name)) for name in LANDLORDS]
    for name in (CHEATING, INFORMATION_SET):
        paper = float(PAPER_RATES[name]) - float(PAPER_RATES[DETERMINIZED])
        gained = full.difference(results, name, DETERMINIZED)
        lines.append(gain_line(f"{name} over {DETERMINIZED}", f"{paper:+.1f}", gained))
    return lines


def plot_landlord(saved: Saved[GameResult], path: Path) -> None:
    """The three landlords beside the paper."""
    figure, axes = new_axes(5.5)
    draw_bars(axes, range(len(LANDLORDS)), [full.win_rate(saved.results, name) for name in LANDLORDS], 0.5, color=BLUE)
    beside = [place - 0.14 for place in range(len(LANDLORDS))]
    axes.plot(beside, [float(PAPER_RATES[name]) for name in LANDLORDS], label="paper", **PAPER)
    axes.set_xticks(range(len(LANDLORDS)), [f"{name}\nUCT" for name in LANDLORDS])
    finish_figure(figure, axes, path, "", "landlord wins, %")


LANDLORD = full.lineup_experiment(
    """Three searches as landlord: 54.0, 42.4 and 42.0 %.

    Plays 3 games a deal for each of --games, of about 0.2 CPU seconds: 10 CPU minutes by default.  (The paper: 40.)
    """,
    "section IV.D",
    "The landlord against determinized UCT",
    landlord_cast,
    compare_landlord,
    plot_landlord,
)
