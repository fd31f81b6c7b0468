"""``ddz reproduce``: experiments of the literature, each with the paper's figures beside ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from training.cli.console import console, error_console
from training.cli.friendly import FriendlyGroup

if TYPE_CHECKING:
    from training.experiments.comparison import Comparison, OnProgress

_Results = TypeVar("_Results")

app = typer.Typer(
    cls=FriendlyGroup,
    help="Repeat experiments of the literature; a run that was cut off goes on where it stopped.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

Out = Annotated[Path | None, typer.Option(help="Save here as it goes (CSV); a file of an earlier run is gone on with.")]
Plot = Annotated[Path | None, typer.Option(help="Draw here (PNG), where matplotlib is installed.")]


@app.command()
def mini_census(out: Out = None, plot: Plot = None) -> None:
    """Count and solve the 8,832 deals of Mini: at most 66 states, 70.7 % for player 1."""
    from training.experiments import mini_plots
    from training.experiments.mini_census import compare_mini_census, run_mini_census

    results = _with_bar("hands of player 1", lambda tell: run_mini_census(out, tell))
    _report("Mini Dou Dizhu: census", compare_mini_census(results))
    _draw(plot, lambda path: mini_plots.plot_mini_census(results, path))


@app.command()
def mini_agents(out: Out = None, plot: Plot = None) -> None:
    """Play every pair of exact agents on all deals of Mini (figure 3 of Whitehouse et al. 2011)."""
    from training.experiments import mini_plots
    from training.experiments.mini_agents import compare_mini_agents, run_mini_agents

    results = _with_bar("pairs of agents", lambda tell: run_mini_agents(out, tell))
    table = Table(title="Player 1's win rate on all deals", title_justify="left", title_style="bold")
    for heading in ("player 1", "player 2"):
        table.add_column(heading)
    table.add_column("win %", justify="right")
    for result in results:
        table.add_row(result.player_1, result.player_2, f"{100 * result.win_rate:.2f}")
    console().print(table)
    _report("Figure 3: differences as player 1, means over the opponents", compare_mini_agents(results))
    _draw(plot, lambda path: mini_plots.plot_mini_agents(results, path))


@app.command()
def mini_inference(out: Out = None, plot: Plot = None) -> None:
    """How often determinized minimax with the correct model knows the true state: 48 % and 74 %."""
    from training.experiments import mini_plots
    from training.experiments.mini_inference import compare_mini_inference, run_mini_inference

    results = _with_bar("games", lambda tell: run_mini_inference(out, tell))
    _report("Inference against expectimax on Mini", compare_mini_inference(results))
    _draw(plot, lambda path: mini_plots.plot_mini_inference(results, path))


@app.command()
def mini_uct(
    out: Out = None,
    plot: Plot = None,
    games: Annotated[int, typer.Option(min=1, help="Games a deal and agent; the paper played 10.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all agents.")] = 0,
) -> None:
    """Information-set UCT and determinized UCT on all deals of Mini: 67.2 % and 62.7 %."""
    from training.experiments import mini_plots
    from training.experiments.mini_uct import compare_mini_uct, run_mini_uct

    results = _with_bar("deals", lambda tell: run_mini_uct(out, tell, games, seed))
    _report("UCT on Mini against determinized UCT 20 × 200", compare_mini_uct(results, games))
    _draw(plot, lambda path: mini_plots.plot_mini_uct(results, games, path))


def _with_bar(what: str, run: Callable[[OnProgress], _Results]) -> _Results:
    """Run an experiment and show how far it is."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("eta"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=error_console()) as progress:
        bar = progress.add_task(what, total=None)
        return run(lambda done, total: progress.update(bar, completed=done, total=total))


def _report(title: str, comparisons: Sequence[Comparison]) -> None:
    """Print the paper's figures beside ours."""
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("what", style="cyan")
    for heading in ("paper", "ours"):
        table.add_column(heading, justify="right")
    table.add_column("95 % interval, or what is exact")
    for line in comparisons:
        table.add_row(line.what, line.paper, line.ours, line.note)
    console().print(table)


def _draw(path: Path | None, draw: Callable[[Path], None]) -> None:
    if path is None:
        return
    from training.experiments.mini_plots import can_plot

    if can_plot():
        draw(path)
    else:
        error_console().print("no plot: matplotlib is not installed (pip install 'ddz-env[plot]')", style="yellow")
