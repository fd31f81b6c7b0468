"""``ddz reproduce policy-strength``: what the shipped policy wins."""

from __future__ import annotations

from typing import Annotated

import typer
from rich import box
from rich.table import Table

from training.cli.console import console
from training.cli.experiment import Out, with_bar


def policy_strength(
    out: Out = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Only this pairing (policy-rules, search-policy ...); may be repeated.")
    ] = None,
    deals: Annotated[
        int | None, typer.Option(min=2, help="Duplicate deals of every pairing; 500 to 10,000 by default.")
    ] = None,
    neural: Annotated[str, typer.Option(help="The search with the policy.")] = "neural-ismcts",
    first_deal: Annotated[int, typer.Option(min=0, help="Number of the first deal under the seed.")] = 5_000_000,
    processes: Annotated[int, typer.Option(min=1, help="Worker processes; but for times, results are the same.")] = 2,
    seed: Annotated[int, typer.Option(min=0, help="Seed of deals and agents.")] = 0,
) -> None:
    """The shipped policy, alone and in the search, against everybody, on deals that nothing was chosen on.

    Pairings that search take hours with their default deals; --only, --deals and --neural set what is played.
    """
    from training.experiments.policy_strength import PAIRINGS, STRENGTH_HEADER, run_policy_strength, strength_cells

    results = with_bar(
        "duplicate deals",
        lambda tell: run_policy_strength(
            out,
            tell,
            names=tuple(only or PAIRINGS),
            deals=deals,
            neural=neural,
            first_deal=first_deal,
            processes=processes,
            seed=seed,
        ),
    )
    title = "The shipped policy: rates and scores with 95 % intervals, milliseconds a decision"
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for place, heading in enumerate(STRENGTH_HEADER):
        named = place in (0, 1, len(STRENGTH_HEADER) - 1)
        table.add_column(heading, justify="left" if named else "right", overflow="fold", no_wrap=not named)
    for cells in strength_cells(results):
        table.add_row(*(cell.strip("`") for cell in cells))
    console().print(table)
