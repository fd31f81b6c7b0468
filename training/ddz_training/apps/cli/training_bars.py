"""What a training shows while it learns: a bar, a line of words, and a table of every evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ddz_env.core.errors import plural
from ddz_training.apps.cli.console import share_bar, show
from ddz_training.apps.cli.lazily import lazily
from ddz_training.experiments.experiment import Table

with lazily():
    from ddz_training.learn import loop, strength


def train_under_bar(
    run: loop.Training,
    budget: loop.Budget,
    folder: Path | None,
    tensorboard: Path | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> None:
    """Train under a bar and close the run; the arguments are those of :func:`ddz_training.learn.loop.train`."""
    with training_bar(run, budget) as calls:
        loop.train(run, budget, folder, tensorboard=tensorboard, stop=stop, **calls)
        run.close()


@contextmanager
def training_bar(run: loop.Training, budget: loop.Budget) -> Iterator[dict[str, Any]]:
    """A bar of how much of its budget a training has spent, with a line of what it is doing.

    Args:
        run: The training.
        budget: How long it lasts.

    Yields:
        What is called after an update and after an evaluation, by the names of the parameters.
    """
    counters = run.counters
    decisions, seconds = counters.decisions, counters.seconds
    with share_bar() as progress:
        bar = progress.add_task("training", total=1.0, state="")
        progress.update(bar, completed=budget.share(counters))

        def on_update(line: Any) -> None:
            speed = (counters.decisions - decisions) / max(counters.seconds - seconds, 1e-9)
            progress.update(bar, completed=budget.share(counters), state=f"{line} · {speed:,.0f} decisions/s")

        def on_evaluation(found: Sequence[strength.Evaluation]) -> None:
            if found:
                show(evaluation_table(found), screen=progress.console)

        yield {"on_update": on_update, "on_evaluation": on_evaluation}


def evaluation_table(found: Sequence[strength.Evaluation]) -> Table:
    """The evaluations after one update, a line an opponent."""
    title = f"After {plural(found[0].update, 'update')}, {plural(found[0].deals, 'duplicate deal')} each"
    lines = [
        (line.opponent, line.interval.both(to="–"), *(f"{100 * share:.1f}" for share in (line.landlord, line.peasants)))
        for line in found
    ]
    return Table(title, ("against", "wins %", "landlord %", "peasants %"), lines)
