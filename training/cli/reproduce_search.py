"""``ddz reproduce``: measurements of the search beyond the 2011 paper."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from training.cli.console import console
from training.cli.experiment import Out, Plot, draw, report, with_bar


def search_options(
    out: Out = None,
    only: Annotated[list[str] | None, typer.Option(help="Only this variant; may be repeated.")] = None,
    against: Annotated[
        list[str] | None, typer.Option(help="Opponent: isuct (the plain search) or an agent; may be repeated.")
    ] = None,
    iterations: Annotated[int, typer.Option(min=16, help="Iterations of the plain search: the time all get.")] = 1500,
    deals: Annotated[int, typer.Option(min=2, help="Duplicate deals a pair; two games each.")] = 1000,
    first_deal: Annotated[int, typer.Option(min=0, help="Number of the first deal under the seed.")] = 20_000,
    processes: Annotated[int, typer.Option(min=1, help="Worker processes; the results do not depend on them.")] = 2,
    seed: Annotated[int, typer.Option(min=0, help="Seed of deals and agents.")] = 0,
) -> None:
    """Every option of the search at equal time against plain information-set UCT.

    First measures how many iterations each gets; then 3 CPU minutes an option by default.
    """
    from training.experiments.search_options import PLAIN, QUICK, option_cells, run_search_options

    results = with_bar(
        "duplicate deals",
        lambda tell: run_search_options(
            out,
            tell,
            names=tuple(only or QUICK),
            opponents=tuple(against or (PLAIN,)),
            base_iterations=iterations,
            deals=deals,
            first_deal=first_deal,
            processes=processes,
            seed=seed,
        ),
    )
    table = Table(title="Options of the search at equal time", title_justify="left", title_style="bold")
    for heading in ("variant", "against", "deals", "landlord %", "peasants %", "both %", "95 % interval"):
        table.add_column(heading, justify="left" if heading in ("variant", "against") else "right")
    for cells in option_cells(results):
        table.add_row(*cells)
    console().print(table)


def hand_inference(
    out: Out = None,
    plot: Plot = None,
    games: Annotated[int, typer.Option(min=1, help="Games a kind of player.")] = 80,
    particles: Annotated[int, typer.Option(min=1, help="Particles a look.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the games.")] = 0,
) -> None:
    """How much the moves tell about the hidden hands of the full game (left open by the paper)."""
    from training.experiments.hand_inference import compare_hand_inference, run_hand_inference
    from training.experiments.hand_inference_plot import plot_hand_inference

    results = with_bar("games", lambda tell: run_hand_inference(out, tell, games=games, particles=particles, seed=seed))
    report("Hand inference: the true split of a hidden rank", compare_hand_inference(results))
    draw(plot, lambda path: plot_hand_inference(results, path))


def search_gains(
    out: Out = None,
    agent: Annotated[
        list[str] | None, typer.Option(help="This search; may be repeated, the first is compared with.")
    ] = None,
    games: Annotated[int, typer.Option(min=1, help="Games of the policy against itself.")] = 100,
    playouts: Annotated[int, typer.Option(min=1, help="Games that are played on to value a move.")] = 64,
    processes: Annotated[int, typer.Option(min=1, help="Worker processes; but for times, results are the same.")] = 2,
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything.")] = 0,
) -> None:
    """What the decisions of the search over the policy are worth in the deals that are really played."""
    from training.experiments.search_gains import GAIN_HEADER, SEARCHES, gain_cells, run_search_gains

    results = with_bar(
        "games",
        lambda tell: run_search_gains(
            out,
            tell,
            agents=tuple(agent or SEARCHES),
            games=games,
            playouts=playouts,
            processes=processes,
            seed=seed,
        ),
    )
    table = Table(title="Gains over the policy, points of win rate", title_justify="left", title_style="bold")
    for heading in GAIN_HEADER:
        table.add_column(heading, justify="left" if heading == "search" else "right", overflow="fold")
    for cells in gain_cells(results):
        table.add_row(*(cell.strip("`") for cell in cells))
    console().print(table)
