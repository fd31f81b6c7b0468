"""``ddz reproduce``: experiments of the literature, each with the paper's figures beside ours."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from training.cli.console import FriendlyGroup, console
from training.cli.experiment import Out, Plot, draw, report, with_bar
from training.cli.reproduce_full import branching, cheating, exploration, iterations, landlord, thresholds
from training.cli.reproduce_policy import policy_strength
from training.cli.reproduce_search import hand_inference, search_gains, search_options

app = typer.Typer(
    cls=FriendlyGroup,
    help="Repeat experiments of the literature; a run that was cut off goes on where it stopped.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.command()
def mini_census(out: Out = None, plot: Plot = None) -> None:
    """Count and solve the 8,832 deals of Mini: at most 66 states, 70.7 % for player 1."""
    from training.experiments import mini_plots
    from training.experiments.mini_census import compare_mini_census, run_mini_census

    results = with_bar("hands of player 1", lambda tell: run_mini_census(out, tell))
    report("Mini Dou Dizhu: census", compare_mini_census(results))
    draw(plot, lambda path: mini_plots.plot_mini_census(results, path))


@app.command()
def mini_agents(out: Out = None, plot: Plot = None) -> None:
    """Play every pair of exact agents on all deals of Mini (figure 3 of Whitehouse et al. 2011)."""
    from training.experiments import mini_plots
    from training.experiments.mini_agents import compare_mini_agents, run_mini_agents

    results = with_bar("pairs of agents", lambda tell: run_mini_agents(out, tell))
    table = Table(title="Player 1's win rate on all deals", title_justify="left", title_style="bold")
    for heading in ("player 1", "player 2"):
        table.add_column(heading)
    table.add_column("win %", justify="right")
    for result in results:
        table.add_row(result.player_1, result.player_2, f"{100 * result.win_rate:.2f}")
    console().print(table)
    report("Figure 3: differences as player 1, means over the opponents", compare_mini_agents(results))
    draw(plot, lambda path: mini_plots.plot_mini_agents(results, path))


@app.command()
def mini_inference(out: Out = None, plot: Plot = None) -> None:
    """How often determinized minimax with the correct model knows the true state: 48 % and 74 %."""
    from training.experiments import mini_plots
    from training.experiments.mini_inference import compare_mini_inference, run_mini_inference

    results = with_bar("games", lambda tell: run_mini_inference(out, tell))
    report("Inference against expectimax on Mini", compare_mini_inference(results))
    draw(plot, lambda path: mini_plots.plot_mini_inference(results, path))


@app.command()
def mini_uct(
    out: Out = None,
    plot: Plot = None,
    games: Annotated[int, typer.Option(min=1, help="Games a deal and agent; the paper played 10.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all agents.")] = 0,
    exploration: Annotated[float, typer.Option(min=0, help="Exploration constant of all agents.")] = 1.0,
    finish: Annotated[bool, typer.Option(help="Finishing moves at once (the paper: no).")] = True,
) -> None:
    """Information-set UCT and determinized UCT on all deals of Mini: 67.2 % and 62.7 %."""
    from training.experiments import mini_plots
    from training.experiments.mini_uct import Variant, compare_mini_uct, run_mini_uct

    variant = Variant(exploration, finish)
    results = with_bar("deals", lambda tell: run_mini_uct(out, tell, games, seed, variant=variant))
    report("UCT on Mini against determinized UCT 20 × 200", compare_mini_uct(results, games))
    draw(plot, lambda path: mini_plots.plot_mini_uct(results, games, path))


for command in (
    cheating, landlord, thresholds, iterations, exploration, branching, hand_inference, search_options, search_gains,
    policy_strength,
):  # fmt: skip
    app.command()(command)
