"""``ddz train curves``: the curves of a training in stages, put together and drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table

from training.cli.console import console
from training.cli.experiment import Plot, draw


def curves(
    runs: Annotated[
        list[str] | None,
        typer.Argument(help="Folders of self-play runs in their order, as NAME=FOLDER; none: what --out holds."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of training_curves.csv and training_evaluations.csv.")] = Path(
        "docs/results"
    ),
    plot: Plot = None,
) -> None:
    """Put the curves of a training in stages together, and draw them."""
    from training.experiments.training_curves import (
        STAGE_HEADER,
        load_training,
        plot_training,
        read_run,
        save_training,
        stage_cells,
    )

    if runs:
        save_training([read_run(name, folder) for name, folder in map(_named, runs)], out)
    stages = load_training(out)
    table = Table(title="Training", title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for heading in STAGE_HEADER:
        table.add_column(heading.replace("`", ""), justify="left" if heading == "stage" else "right")
    for cells in stage_cells(stages):
        table.add_row(*cells)
    console().print(table)
    draw(plot, lambda path: plot_training(stages, path))


def _named(run: str) -> tuple[str, Path]:
    """A stage's name and folder; a folder alone is its own name.

    Example:
        >>> [(name, folder.as_posix()) for name, folder in map(_named, ("first=runs/a", "runs/b"))]
        [('first', 'runs/a'), ('b', 'runs/b')]
    """
    name, _, folder = run.rpartition("=")
    return name or Path(folder).name, Path(folder)
