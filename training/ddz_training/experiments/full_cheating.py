"""How much knowing the hidden cards is worth (Whitehouse, Powley and Cowling 2011, section IV.B, table 1).

The baseline is everybody with determinized UCT; then player 1 (the landlord), 2, 3, or 2 and 3 search the true game
instead.  The paper plays one game from each of its 1,000 deals.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ddz_training.experiments import full_games as full
from ddz_training.experiments.experiment import Comparison, Saved
from ddz_training.experiments.full_games import Cast, FullOptions, GameResult, Lineup, gain_line, rate_line
from ddz_training.measure.plotting import BLUE, GREY, draw_bars, finish_figure, new_axes
from ddz_training.measure.plotting import PAPER as PAPER_MARKS

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


def cheating_cast(options: FullOptions) -> Cast:
    """The baseline and the four rows of table 1."""
    lineups = []
    for name, seats in CHEATS.items():
        one, two, three = (options.cheating if seat in seats else options.determinized for seat in range(3))
        lineups.append(Lineup(name, (one, two, three)))
    return Cast("cheating", tuple(lineups), {"cheating": options.cheating, "determinized": options.determinized})


def compare_cheating(results: Sequence[GameResult]) -> list[Comparison]:
    """Table 1 beside ours: the win rate of whoever cheats, that of the baseline, and the paired difference."""
    lines = []
    for name, (cheating, determinized, gain) in PAPER.items():
        peasants = name != "player 1"
        for what, lineup, paper in (("cheating", name, cheating), ("determinized", BASELINE, determinized)):
            lines.append(rate_line(f"{name}, {what}", paper, full.win_rate(results, lineup, peasants=peasants)))
        gained = full.difference(results, name, BASELINE, peasants=peasants)
        lines.append(gain_line(f"{name}, difference", f"+{gain}", gained))
    return lines


def plot_cheating(saved: Saved[GameResult], path: Path) -> None:
    """Table 1: win rates of whoever cheats beside those of the baseline."""
    figure, axes = new_axes(7.0)
    names = list(PAPER)
    places = range(len(names))
    for offset, label, color in ((-0.2, "determinized", GREY), (0.2, "cheating", BLUE)):
        rates = [
            full.win_rate(saved.results, name if label == "cheating" else BASELINE, peasants=name != "player 1")
            for name in names
        ]
        printed = [float(PAPER[name][label == "determinized"]) for name in names]
        draw_bars(axes, [place + offset for place in places], rates, 0.38, label=label, color=color)
        beside = [place + offset - 0.1 for place in places]
        axes.plot(beside, printed, label="paper" if offset > 0 else None, **PAPER_MARKS)
    axes.set_xticks(places, names)
    axes.set_ylim(0, 100)
    finish_figure(figure, axes, path, "", "their side wins, %")


CHEATING_UCT = full.lineup_experiment(
    """Table 1: who gains how much by seeing all cards.

    Plays 5 games a deal for each of --games, of about 0.2 CPU seconds: 17 CPU minutes by default.  (The paper: 1 game.)
    """,
    "section IV.B, table 1",
    "Table 1: cheating over determinized UCT",
    cheating_cast,
    compare_cheating,
    plot_cheating,
)
