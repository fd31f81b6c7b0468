"""``ddz reproduce``: the experiments of the 2011 paper on the full game."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from training.cli.experiment import Out, Plot, report, with_bar

if TYPE_CHECKING:
    from training.experiments.full_sweeps import Sweep

Deals = Annotated[int, typer.Option(min=1, max=1000, help="The first so many of the 1,000 deals.")]
Games = Annotated[int, typer.Option(min=1, help="Games a deal and line-up; more go on with the same file.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of all agents; the deals are always the same.")]
Processes = Annotated[int, typer.Option(min=1, help="Worker processes; the results do not depend on them.")]
Trees = Annotated[int, typer.Option(min=1, help="Trees of determinized and cheating UCT.")]
TreeIterations = Annotated[
    int, typer.Option(min=1, help="Iterations a tree; information-set UCT gets those of all trees together.")
]
Options = Annotated[str, typer.Option(help="More options of every agent, as in an agent's name: option=value,…")]


def cheating(
    out: Out = None,
    plot: Plot = None,
    deals: Deals = 1000,
    games: Games = 1,
    seed: Seed = 0,
    processes: Processes = 2,
    trees: Trees = 40,
    tree_iterations: TreeIterations = 250,
    options: Options = "",
) -> None:
    """Table 1: who gains how much by seeing all cards. 5 games a deal, about 0.2 CPU seconds each."""
    from training.experiments.full_cheating import compare_cheating, run_cheating
    from training.experiments.full_games import Scale
    from training.experiments.searchers import Searchers

    searchers = Searchers(trees, tree_iterations, options)
    results = with_bar("games", lambda tell: run_cheating(Scale(deals, games, processes), out, tell, searchers, seed))
    report("Table 1: cheating over determinized UCT", compare_cheating(results))


def landlord(
    out: Out = None,
    plot: Plot = None,
    deals: Deals = 1000,
    games: Games = 1,
    seed: Seed = 0,
    processes: Processes = 2,
    trees: Trees = 40,
    tree_iterations: TreeIterations = 250,
    options: Options = "",
) -> None:
    """Three searches as landlord: 54.0, 42.4, 42.0 %. 3 games a deal, about 0.2 CPU seconds each (paper: 120)."""
    from training.experiments.full_games import Scale
    from training.experiments.full_landlord import compare_landlord, run_landlord
    from training.experiments.searchers import Searchers

    searchers = Searchers(trees, tree_iterations, options)
    results = with_bar("games", lambda tell: run_landlord(Scale(deals, games, processes), out, tell, searchers, seed))
    report("The landlord against determinized UCT", compare_landlord(results))


def iterations(
    out: Out = None,
    plot: Plot = None,
    at: Annotated[list[int] | None, typer.Option(help="Only so many iterations; may be repeated.")] = None,
    deals: Deals = 1000,
    games: Games = 1,
    seed: Seed = 0,
    processes: Processes = 2,
    trees: Trees = 40,
    tree_iterations: TreeIterations = 250,
    options: Options = "",
) -> None:
    """Information-set UCT with 500 to 30,000 iterations. 7 games a deal, 0.15 to 0.4 CPU seconds each (paper: 35)."""
    from training.experiments.full_sweeps import ITERATIONS
    from training.experiments.searchers import Searchers

    values = [float(value) for value in at] if at else None
    _sweep(ITERATIONS, values, out, deals, games, processes, Searchers(trees, tree_iterations, options), seed)


def exploration(
    out: Out = None,
    plot: Plot = None,
    at: Annotated[list[float] | None, typer.Option(help="Only this constant; may be repeated.")] = None,
    deals: Deals = 1000,
    games: Games = 1,
    seed: Seed = 0,
    processes: Processes = 2,
    trees: Trees = 40,
    tree_iterations: TreeIterations = 250,
    options: Options = "",
) -> None:
    """Information-set UCT with exploration 0.1 to 3. 8 games a deal, about 0.2 CPU seconds each (paper: 40)."""
    from training.experiments.full_sweeps import EXPLORATION
    from training.experiments.searchers import Searchers

    _sweep(EXPLORATION, at, out, deals, games, processes, Searchers(trees, tree_iterations, options), seed)


def _sweep(sweep: Sweep, values, out, deals, games, processes, searchers, seed) -> None:  # type: ignore
    from training.experiments.full_games import Scale
    from training.experiments.full_sweeps import compare_sweep, run_sweep

    results = with_bar(
        "games", lambda tell: run_sweep(sweep, Scale(deals, games, processes), out, tell, searchers, seed, values)
    )
    report(f"Information-set UCT as landlord: {sweep.name}", compare_sweep(sweep, results))
