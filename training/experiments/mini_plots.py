"""Plots of the Mini experiments, where matplotlib is installed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from training.experiments.mini_agents import KINDS, PairResult
from training.experiments.mini_census import HandResult
from training.experiments.mini_inference import KnownResult, share_known
from training.experiments.mini_uct import PAPER_RATES, PLAYERS_1, DealResult, win_rate
from training.experiments.plotting import new_axes, save_figure


def plot_mini_census(results: Sequence[HandResult], path: Path) -> None:
    """Player 1's hands by how often they win with perfect play."""
    figure, axes = new_axes(6.5)
    rates = [result.win_probability / result.probability for result in results]
    axes.hist(rates, bins=20, range=(0, 1), weights=[100 * result.probability for result in results], color="#4477aa")
    mean = sum(result.win_probability for result in results)
    axes.axvline(mean, color="black", linestyle="--", label=f"all deals: {100 * mean:.2f} %")
    axes.set_xlabel("deals with the hand that player 1 wins, by perfect play on perfect information")
    axes.set_ylabel("% of hands, by probability")
    axes.legend(frameon=False)
    save_figure(figure, path)


def plot_mini_agents(results: Sequence[PairResult], path: Path) -> None:
    """Figure 3 of the paper: groups by player 2, bars by player 1."""
    figure, axes = new_axes(9.0)
    rates = {(result.player_1, result.player_2): 100 * result.win_rate for result in results}
    groups = [kind for kind in KINDS if any((one, kind) in rates for one in KINDS)]
    for index, one in enumerate(KINDS):
        bars = [(group, rates[one, two]) for group, two in enumerate(groups) if (one, two) in rates]
        drawn = axes.bar(
            [group + 0.16 * (index - 2) for group, _ in bars], [rate for _, rate in bars], width=0.15, label=one
        )
        axes.bar_label(drawn, fmt="%.0f", fontsize=7)
    axes.set_xticks(range(len(groups)), [group.replace("+", "\n+ ") for group in groups])
    axes.set_xlabel("player 2")
    axes.set_ylabel("player 1 wins, %")
    axes.set_ylim(0, 105)
    axes.legend(title="player 1", frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    save_figure(figure, path)


def plot_mini_inference(results: Sequence[KnownResult], path: Path) -> None:
    """The share of deals in which the state is known, move by move."""
    figure, axes = new_axes(6.5)
    moves = range(max(result.moves for result in results) + 1)
    for player in sorted({result.player for result in results}):
        axes.plot(moves, [100 * share_known(results, player, n) for n in moves], label=f"as player {player}")
    axes.plot([8], [48], "k+", markersize=10, label="paper, fourth turn")
    axes.axhline(74, color="black", linestyle=":", linewidth=1, label="paper, end of the game")
    axes.set_xlabel("moves played (both players, passes included)")
    axes.set_ylabel("deals with the true state known, %")
    axes.set_ylim(0, 100)
    axes.legend(frameon=False)
    save_figure(figure, path)


def plot_mini_uct(results: Sequence[DealResult], games: int, path: Path) -> None:
    """Both kinds of player 1 beside the paper."""
    figure, axes = new_axes(5.5)
    rates = [win_rate(results, kind, games) for kind in PLAYERS_1]
    drawn = axes.bar(
        PLAYERS_1, [100 * r.mean for r in rates], width=0.5, yerr=[100 * r.half_width for r in rates], color="#4477aa"
    )
    axes.bar_label(drawn, fmt="%.1f", padding=2)
    axes.plot(PLAYERS_1, [float(PAPER_RATES[k]) for k in PLAYERS_1], "k+", markersize=12, label="paper")
    axes.set_ylabel("player 1 wins, %")
    axes.set_ylim(50, 80)
    axes.legend(frameon=False)
    save_figure(figure, path)
