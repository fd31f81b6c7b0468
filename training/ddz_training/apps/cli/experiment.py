"""What the commands of experiments show: a progress bar, tables, a plot."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from ddz_training.apps.cli.console import console, counting_bar
from ddz_training.apps.cli.fitting import print_table
from ddz_training.apps.cli.outputs import plot_file, results_file

if TYPE_CHECKING:
    from ddz_training.experiments.experiment import Table
    from ddz_training.measure.match.results import OnProgress

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


def show(table: Table, *, sections: Collection[int] = ()) -> None:
    """Print a table so that it fits the screen.

    Args:
        table: The table.
        sections: Numbers of lines with an empty line behind them.
    """
    print_table(console(), table, sections=sections)


def draw(path: Path | None, plot: Callable[[Path], None]) -> None:
    """Draw where that was asked for."""
    if path is not None:
        plot(path)
