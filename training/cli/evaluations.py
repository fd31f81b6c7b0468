"""Evaluations during training, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table

if TYPE_CHECKING:
    from training.ppo.run import Evaluation


def evaluation_table(found: Sequence[Evaluation]) -> Table:
    """The evaluations after one update, a line an opponent."""
    title = f"After {found[0].update} updates, {found[0].deals} duplicate deals each"
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("against", style="cyan")
    for heading in ("wins %", "95 %", "landlord", "peasants"):
        table.add_column(heading, justify="right")
    for line in found:
        span = f"{100 * line.low:.1f}–{100 * line.high:.1f}"
        cells = (f"{100 * share:.1f}" for share in (line.landlord, line.peasants))
        table.add_row(line.opponent, f"{100 * line.wins:.1f}", span, *cells)
    return table
