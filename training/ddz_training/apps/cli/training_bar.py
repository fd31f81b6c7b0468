"""What the commands that train show meanwhile: how far the run is, and a table for every evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TypeVar

from ddz_training.apps.cli.console import share_bar
from ddz_training.apps.cli.fitting import print_table

if TYPE_CHECKING:
    from ddz_training.experiments.experiment import Table
    from ddz_training.learn.board import Board
    from ddz_training.learn.strength import Evaluation


class ProgressLine(Protocol):
    """What an update brought, a line of the curves."""

    @property
    def update(self) -> int:
        """Updates so far."""

    @property
    def games(self) -> int:
        """Games finished so far."""


_Line = TypeVar("_Line", bound=ProgressLine)


@contextmanager
def training_bar(
    total: float,
    done: Callable[[], float],
    learned: Callable[[], tuple[int, float]],
    unit: str,
    describe: Callable[[_Line], str],
    board: Board | None = None,
) -> Iterator[tuple[Callable[[_Line], None], Callable[[Sequence[Evaluation]], None]]]:
    """A bar of how much is done, with a line of what the run is doing.

    Args:
        total: How much there is to do.
        done: How much of it is done.
        learned: What the run has learned from so far, and in how many seconds.
        unit: Of what it learns from.
        describe: What else an update brought.
        board: Where the curves go, too.

    Yields:
        What to call after an update, and after an evaluation.
    """
    count, seconds = learned()
    with share_bar() as progress:
        bar = progress.add_task("training", total=total, state="")
        progress.update(bar, completed=done())

        def on_update(line: _Line) -> None:
            now, elapsed = learned()
            speed = (now - count) / max(elapsed - seconds, 1e-9)
            state = f"update {line.update} · {line.games:,} games · {speed:,.0f} {unit}/s · {describe(line)}"
            progress.update(bar, completed=done(), state=state)
            if board is not None:
                board.add_line(line)

        def on_evaluation(found: Sequence[Evaluation]) -> None:
            if board is not None:
                board.add_evaluations(found)
            if found:
                print_table(progress.console, _evaluation_table(found))

        yield on_update, on_evaluation


def _evaluation_table(found: Sequence[Evaluation]) -> Table:
    """The evaluations after one update, a line an opponent."""
    from ddz_env.core.errors import plural
    from ddz_training.experiments.experiment import Table

    title = f"After {plural(found[0].update, 'update')}, {plural(found[0].deals, 'duplicate deal')} each"
    lines = [
        (line.opponent, line.interval.both(to="–"), *(f"{100 * share:.1f}" for share in (line.landlord, line.peasants)))
        for line in found
    ]
    return Table(title, ("against", "wins %", "landlord %", "peasants %"), lines)
