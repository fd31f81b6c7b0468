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
    from ddz_training.learn import board as learn_board
    from ddz_training.learn import curves as learn_curves
    from ddz_training.learn import imitation, strength
    from ddz_training.learn import run as learn_run
    from ddz_training.learn.ppo import selfplay as ppo_selfplay


@contextmanager
def policy_bar(
    run: ppo_selfplay.SelfPlay, budget: learn_run.Budget, tensorboard: Path | None
) -> Iterator[dict[str, Any]]:
    """A bar of how much of its budget a run has spent, with a line of what it is doing.

    Args:
        run: The run.
        budget: How long it trains.
        tensorboard: Where the curves go, too.

    Yields:
        What a training calls after an update and after an evaluation, by the names of its parameters.
    """
    counters = run.counters
    count, seconds = counters.decisions, counters.seconds
    with learn_board.board(tensorboard, counters.update) as curves, share_bar() as progress:
        bar = progress.add_task("training", total=1.0, state="")
        progress.update(bar, completed=budget.share(run))

        def on_update(line: learn_curves.CurveLine) -> None:
            speed = (line.decisions - count) / max(line.seconds - seconds, 1e-9)
            said = f"entropy {line.entropy:.2f} · critic explains {100 * line.explained:.0f} %"
            state = f"update {line.update} · {line.games:,} games · {speed:,.0f} decisions/s · {said}"
            progress.update(bar, completed=budget.share(run), state=state)
            curves.add_line(line)

        def on_evaluation(found: Sequence[strength.Evaluation]) -> None:
            curves.add_evaluations(found)
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


@contextmanager
def learning_steps(
    what: str, total: int, tensorboard: Path | None, describe: Callable[[Any], tuple[int, str]]
) -> Iterator[Callable[[Any], None]]:
    """A bar of what has been learned from; what is yielded is called after each step."""
    with learn_board.board(tensorboard) as curves, share_bar() as progress:
        bar = progress.add_task(what, total=total, state="")

        def on_step(now: Any) -> None:
            completed, state = describe(now)
            progress.update(bar, completed=completed, state=state)
            curves.add_line(now)

        yield on_step


def agreement(now: imitation.ImitationProgress) -> tuple[int, str]:
    """Decisions that were learned from, and how well."""
    return now.decisions, f"agrees in {100 * now.agreement:.0f} %, loss {now.loss:.3f}"
