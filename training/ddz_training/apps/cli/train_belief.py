"""``ddz train belief``: where the hidden cards lie."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ddz_training.apps.cli.console import quoted, share_bar, stopping, tell
from ddz_training.apps.cli.experiment import OtherCode
from ddz_training.apps.cli.following import follow, resuming, rules_option
from ddz_training.apps.cli.options import Resume, Settings, TensorBoard, Threads, TrainedRules, TrainingSeed
from ddz_training.apps.cli.outputs import output_folder

if TYPE_CHECKING:
    from ddz_training.learn.belief import BeliefProgress


def belief(
    context: typer.Context,
    out: Annotated[Path, typer.Option(help="Folder for the network and the checkpoint.", callback=output_folder)],
    positions: Annotated[
        int | None, typer.Option(min=1, help="Positions to learn from in total; 3,000,000 by default.")
    ] = None,
    resume: Resume = False,
    allow_other_code: OtherCode = False,
    rules: TrainedRules = None,
    seed: TrainingSeed = None,
    threads: Threads = 1,
    tensorboard: TensorBoard = None,
    settings: Settings = None,
) -> None:
    """Learn where the hidden cards lie, from games of many kinds of players."""
    from ddz_training.learn.belief import BELIEF, BeliefConfig, BeliefTraining
    from ddz_training.learn.board import board
    from ddz_training.learn.run import CHECKPOINT, refuse_to_overwrite
    from ddz_training.measure.match.one_writer import writing
    from ddz_training.measure.match.provenance import other_code

    again = f"go on with: {resuming(context)}"
    given = BeliefConfig.given({"rules": rules, "seed": seed, "positions": positions}, settings or ())
    with other_code(allow_other_code), writing(out, folder=True), stopping(again) as asked:
        if resume:
            run = BeliefTraining.resume(out / CHECKPOINT, threads, given)
        else:
            refuse_to_overwrite(out)
            run = BeliefTraining(BeliefConfig().changed(given), threads)
        with board(tensorboard, run.positions if resume else 0) as curves, share_bar() as progress:
            bar = progress.add_task("learning", total=run.config.positions, state="", completed=run.positions)

            def on_step(now: BeliefProgress) -> None:
                state = f"{now.bits:.2f} bits a hand, plain dealing {now.plain:.2f}"
                progress.update(bar, completed=now.positions, state=state)
                curves.add_line(now)

            run.run(out, on_step, asked)
        tell(f"{quoted(out / BELIEF)} after {run.positions} positions")
    searching = f"neural-ismcts:inference=belief,belief={out / BELIEF}"
    against = ("neural-ismcts", "--deals", "100")
    follow("to search with it", "arena", searching, *against, *rules_option(run.config.rules))
