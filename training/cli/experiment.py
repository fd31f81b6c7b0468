"""What every experiment's command does: a progress bar, a report with the paper's figures, a plot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer
from rich.table import Table

from training.cli.console import console, counting_bar, error_console

if TYPE_CHECKING:
    from training.experiments.comparison import Comparison, OnProgress

_Results = TypeVar("_Results")

Out = Annotated[Path | None, typer.Option(help="Save here as it goes (CSV); a file of an earlier run is gone on with.")]
Plot = Annotated[Path | None, typer.Option(help="Draw here (PNG), where matplotlib is installed.")]


def with_bar(what: str, run: Callable[[OnProgress], _Results]) -> _Results:
    """Run an experiment and show how far it is."""
    with counting_bar() as progress:
        bar = progress.add_task(what, total=None)
        return run(lambda done, total: progress.update(bar, completed=done, total=total))


def report(title: str, comparisons: Sequence[Comparison]) -> None:
    """Print the paper's figures beside ours."""
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("what", style="cyan")
    for heading in ("paper", "ours"):
        table.add_column(heading, justify="right")
    table.add_column("95 % interval, or what is exact")
    for line in comparisons:
        table.add_row(line.what, line.paper, line.ours, line.note)
    console().print(table)


def draw(path: Path | None, plot: Callable[[Path], None]) -> None:
    """Draw where that was asked for and can be done."""
    if path is None:
        return
    from training.experiments.plotting import can_plot

    if can_plot():
        plot(path)
    else:
        error_console().print("no plot: matplotlib is not installed (pip install 'ddz-env[plot]')", style="yellow")
