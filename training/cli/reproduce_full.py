"""``ddz reproduce``: the experiments of the 2011 paper on the full game."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from rich.table import Table

from training.cli.console import console
from training.cli.experiment import Out, Plot, draw, report, with_bar

if TYPE_CHECKING:
    from training.experiments.full_games import FullRun
    from training.experiments.full_sweeps import Sweep
    from training.experiments.full_thresholds import ThresholdResult

Deals = Annotated[int, typer.Option(min=1, max=1000, help="The first so many of the 1,000 deals.")]
Games = Annotated[int, typer.Option(min=1, help="Games a deal and line-up; with more, a file is gone on with.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of all agents; the deals are always the same.")]
Processes = Annotated[int, typer.Option(min=1, help="Worker processes; the results do not depend on them.")]
Trees = Annotated[int, typer.Option(min=1, help="Trees of determinized and of cheating UCT.")]
TreeIterations = Annotated[
    int, typer.Option(min=1, help="Iterations a tree; information-set UCT gets those of all trees together.")
]
Options = Annotated[
    str, typer.Option(help="More options of every agent, as behind an agent's name: option=value,option=value.")
]


def _full_run(
    out: Out = None,
    deals: Deals = 1000,
    games: Games = 1,
    seed: Seed = 0,
    processes: Processes = 2,
    trees: Trees = 40,
    tree_iterations: TreeIterations = 250,
    options: Options = "",
) -> FullRun:
    """The run that a command's options ask for."""
    from training.experiments.full_games import FullRun
    from training.experiments.searchers import Searchers

    return FullRun(out, deals, games, processes, Searchers(trees, tree_iterations, options), seed)


def with_run(games: int = 1) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a command of a function of a run: its options are those of :func:`_full_run`, then the function's own.

    Args:
        games: The default of ``--games``.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        shared, own = _parameters(_full_run), _parameters(function)[1:]
        shared = [option.replace(default=games) if option.name == "games" else option for option in shared]

        @functools.wraps(function)
        def command(**options: Any) -> None:
            mine = {option.name: options.pop(option.name) for option in own}
            function(_full_run(**options), **mine)

        # What typer reads; the wrapped function's own signature would be found otherwise.
        command.__signature__ = inspect.Signature([*shared, *own])  # type: ignore[attr-defined]
        command.__annotations__ = {option.name: option.annotation for option in (*shared, *own)}
        return command

    return decorate


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """A function's parameters with their annotations as objects; of a run it is enough to know that it is one."""
    hints = get_type_hints(function, localns={"FullRun": object}, include_extras=True)
    parameters = inspect.signature(function).parameters.values()
    return [parameter.replace(annotation=hints[parameter.name]) for parameter in parameters]


@with_run()
def cheating(run: FullRun, plot: Plot = None) -> None:
    """Table 1: who gains how much by seeing all cards.

    Plays 5 games a deal for each of --games, of about 0.2 CPU seconds: 17 CPU minutes by default.  (The paper: 1 game.)
    """
    from training.experiments import full_plots
    from training.experiments.full_cheating import compare_cheating, run_cheating

    results = with_bar("games", lambda tell: run_cheating(run, tell))
    report("Table 1: cheating over determinized UCT", compare_cheating(results))
    draw(plot, lambda path: full_plots.plot_cheating(results, path))


@with_run()
def landlord(run: FullRun, plot: Plot = None) -> None:
    """Three searches as landlord: 54.0, 42.4 and 42.0 %.

    Plays 3 games a deal for each of --games, of about 0.2 CPU seconds: 10 CPU minutes by default.  (The paper: 40.)
    """
    from training.experiments import full_plots
    from training.experiments.full_landlord import compare_landlord, run_landlord

    results = with_bar("games", lambda tell: run_landlord(run, tell))
    report("The landlord against determinized UCT", compare_landlord(results))
    draw(plot, lambda path: full_plots.plot_landlord(results, path))


@with_run(games=2)
def thresholds(run: FullRun, plot: Plot = None) -> None:
    """Table 2: determinized and information-set UCT in the deals where seeing all cards helps.

    Needs the games of `landlord`: give its file and its options; games that are missing are played first.  The filter
    picks luck as well; the held-out figures, which need 2 games a deal, avoid that.
    """
    from training.experiments import full_plots
    from training.experiments.full_landlord import run_landlord
    from training.experiments.full_thresholds import filter_deals

    results = filter_deals(with_bar("games", lambda tell: run_landlord(run, tell)))
    _print_thresholds(results)
    draw(plot, lambda path: full_plots.plot_thresholds(results, path))


@with_run()
def iterations(
    run: FullRun,
    plot: Plot = None,
    at: Annotated[list[int] | None, typer.Option(help="Only so many iterations; may be repeated.")] = None,
) -> None:
    """Information-set UCT as landlord with 500 to 30,000 iterations: rises to 10,000 (40.8 %).

    Plays 7 games a deal for each of --games, of 0.13 (500 iterations) to 0.4 CPU seconds (30,000): 26 CPU minutes by
    default.  (The paper: 5 games.)
    """
    from training.experiments.full_sweeps import ITERATIONS

    _sweep(ITERATIONS, run, at, plot)


@with_run()
def exploration(
    run: FullRun,
    plot: Plot = None,
    at: Annotated[list[float] | None, typer.Option(help="Only this constant; may be repeated.")] = None,
) -> None:
    """Information-set UCT as landlord with exploration 0.1 to 3: poor below 0.5, best above 1.

    Plays 8 games a deal for each of --games, of about 0.2 CPU seconds: 27 CPU minutes by default.  (The paper: 5.)
    """
    from training.experiments.full_sweeps import EXPLORATION

    _sweep(EXPLORATION, run, at, plot)


def branching(out: Out = None, plot: Plot = None, deals: Deals = 1000, seed: Seed = 0) -> None:
    """Choices at a decision with and without grouping: 20 to 70 against more than 300.

    Plays every deal by the rule agent and at random, half a CPU minute in all; the first decision is the deal's alone.
    """
    from training.experiments import full_plots
    from training.experiments.full_branching import compare_branching, run_branching
    from training.experiments.full_games import FullRun

    results = with_bar("games", lambda tell: run_branching(FullRun(out, deals, seed=seed), tell))
    report("Branching with and without grouping", compare_branching(results))
    draw(plot, lambda path: full_plots.plot_branching(results, path))


def _sweep(sweep: Sweep, run: FullRun, values: Sequence[float] | None, plot: Path | None) -> None:
    from training.experiments import full_plots
    from training.experiments.full_sweeps import compare_sweep, run_sweep

    results = with_bar("games", lambda tell: run_sweep(sweep, run, tell, values or None))
    report(f"Information-set UCT as landlord: {sweep.name}", compare_sweep(sweep, results))
    draw(plot, lambda path: full_plots.plot_sweep(sweep, results, path))


def _print_thresholds(results: Sequence[ThresholdResult]) -> None:
    from training.experiments.full_thresholds import THRESHOLD_COLUMNS, threshold_cells

    table = Table(title="Table 2: deals by cheating minus determinized", title_justify="left", title_style="bold")
    for column in THRESHOLD_COLUMNS:
        table.add_column(column, justify="right")
    for cells in threshold_cells(results):
        table.add_row(*cells)
    console().print(table)
    console().print(
        "same: the games that choose a deal are reported, as in the paper; held out: others are. "
        "Points: information-set minus determinized, with 95 % intervals.",
        style="dim",
    )
