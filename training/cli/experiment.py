"""What the commands of experiments show: a progress bar, tables, a plot."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer
from rich import box
from rich.table import Table as Screen

from training.cli.console import console, counting_bar
from training.cli.outputs import plot_file, results_file

if TYPE_CHECKING:
    from training.arena.results import OnProgress
    from training.experiments.experiment import Table

_Results = TypeVar("_Results")

Out = Annotated[
    Path | None,
    typer.Option(help="Save results here as they come (FILE.csv); resumes an existing file.", callback=results_file),
]
OtherCode = Annotated[
    bool, typer.Option("--allow-other-code", help="Add to a file that other code has written; it then names both.")
]
Plot = Annotated[Path | None, typer.Option(help="Write a plot here (.png, .pdf or .svg).", callback=plot_file)]


def with_bar(what: str, run: Callable[[OnProgress], _Results]) -> _Results:
    """Run an experiment and show how far it is."""
    with counting_bar() as progress:
        bar = progress.add_task(what, total=None)
        return run(lambda done, total: progress.update(bar, completed=done, total=total))


def show(table: Table) -> None:
    """Print a table; columns of numbers stand to the right."""
    screen = Screen(title=table.title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for place, heading in enumerate(table.header):
        cells = [line[place] for line in table.lines if line[place]]
        numbers = bool(cells) and all(cell[0] in "+-–0123456789" for cell in cells)
        screen.add_column(heading.replace("`", ""), justify="right" if numbers else "left", overflow="fold")
    for line in table.lines:
        screen.add_row(*(cell.replace("`", "") for cell in line))
    console().print(screen)
    if table.note:
        console().print(table.note.replace("`", ""), style="dim", markup=False)


def draw(path: Path | None, plot: Callable[[Path], None]) -> None:
    """Draw where that was asked for."""
    if path is not None:
        plot(path)
