"""``ddz train expert``: what a search chooses is taught to the policy that it searched with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ddz_training.apps.cli.console import quoted, share_bar, tell
from ddz_training.apps.cli.experiment import OtherCode
from ddz_training.apps.cli.following import follow_policy
from ddz_training.apps.cli.options import OnRay, Settings, Threads, TrainedRules, TrainingSeed
from ddz_training.apps.cli.outputs import input_file, output_folder

if TYPE_CHECKING:
    from ddz_training.learn.imitation import ImitationProgress


def expert(
    out: Annotated[
        Path,
        typer.Option(
            help="Folder for the rounds' games and policies; an unfinished one is completed.", callback=output_folder
        ),
    ],
    rounds: Annotated[int, typer.Option(min=1, help="Rounds in total, those in --out included.")] = 1,
    deals: Annotated[int | None, typer.Option(min=1, help="Deals of a round; 1,000 by default.")] = None,
    search: Annotated[
        str | None, typer.Option(help="The search, without path; neural-ismcts with 300 rollouts by default.")
    ] = None,
    init: Annotated[
        Path | None, typer.Option(help="The first policy; the shipped one by default.", callback=input_file)
    ] = None,
    allow_other_code: OtherCode = False,
    rules: TrainedRules = None,
    seed: TrainingSeed = None,
    processes: Annotated[int, typer.Option(min=1, help="Processes that play; results do not depend on them.")] = 2,
    ray: OnRay = False,
    threads: Threads = None,
    settings: Settings = None,
) -> None:
    """Expert iteration: a search with the policy plays, and the policy learns what it found."""
    from ddz_training.learn.expert import ExpertConfig, iterate
    from ddz_training.measure.match.one_writer import writing
    from ddz_training.measure.match.provenance import other_code

    named = {"rules": rules, "seed": seed, "deals": deals, "search": search}
    config = ExpertConfig().changed(ExpertConfig.given(named, settings or ()))
    with other_code(allow_other_code), writing(out, folder=True):
        with share_bar() as progress:
            playing = progress.add_task("playing", total=None, state="")
            learning = progress.add_task("learning", total=None, state="")

            def on_games(done: int, total: int) -> None:
                progress.update(playing, completed=done, total=total, state=f"{done} of {total} deals")

            def on_step(now: ImitationProgress) -> None:
                state = f"{now.decisions} decisions, agrees in {100 * now.agreement:.0f} %, loss {now.loss:.3f}"
                progress.update(learning, state=state)

            done = iterate(
                config, rounds, out, init, processes=processes, threads=threads, on_games=on_games, on_step=on_step
            )
        for number, path, divergences in done:
            gained = f"divergence {divergences[0]:.4f} before, {min(divergences):.4f} after"
            tell(f"{quoted(path)}: round {number}, {gained}")
    if done:
        follow_policy(done[-1][1], config.rules)
