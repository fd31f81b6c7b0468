"""``ddz train sb3`` and ``ddz train sb3-aec``: learning with Stable-Baselines3."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ddz_training.apps.cli.console import quoted, remark, stopping, tell
from ddz_training.apps.cli.experiment import OtherCode
from ddz_training.apps.cli.following import again, follow, follow_policy, resuming
from ddz_training.apps.cli.help import RULES, TENSORBOARD
from ddz_training.apps.cli.outputs import output_file, output_folder
from ddz_training.apps.cli.training_bar import training_bar

if TYPE_CHECKING:
    from ddz_training.learn.sb3.config import Sb3Config
    from ddz_training.learn.sb3.run import Sb3Progress, Sb3Run


def sb3(
    context: typer.Context,
    out: Annotated[
        Path, typer.Option(help="Folder for the model, the curves and the evaluations.", callback=output_folder)
    ],
    timesteps: Annotated[
        int, typer.Option(min=1, help="The learner's decisions in total, including those before --resume.")
    ] = 1_000_000,
    opponents: Annotated[
        str | None, typer.Option(help="random (default), rules, self (frozen past selves) or any agent (ddz agents).")
    ] = None,
    num_envs: Annotated[int | None, typer.Option(help="Games side by side; 64 by default.")] = None,
    rules: Annotated[str | None, typer.Option(help=RULES)] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of deals, actions and weights; 0 by default.")] = None,
    evaluate_every: Annotated[
        int | None, typer.Option(help="Steps between two evaluations, 0 for none; 200,000 by default.")
    ] = None,
    evaluate_deals: Annotated[int | None, typer.Option(help="Duplicate deals per baseline; 100 by default.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume from the model in --out.")] = False,
    allow_other_code: OtherCode = False,
    trust: Annotated[
        bool, typer.Option("--trust", help="With --resume: allow the model's zip to run the code in it.")
    ] = False,
    threads: Annotated[int | None, typer.Option(help="Threads of the games and of PyTorch.")] = None,
    tensorboard: Annotated[Path | None, typer.Option(metavar="DIR", help=TENSORBOARD)] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Any other setting, name=value (n_steps=256, role=landlord ...).")
    ] = None,
) -> None:
    """Learn one seat with Stable-Baselines3's MaskablePPO."""
    from ddz_training.learn.run import refuse_to_overwrite
    from ddz_training.learn.sb3.config import Sb3Config
    from ddz_training.learn.sb3.run import MODEL, Sb3Run, load_run
    from ddz_training.measure.match.one_writer import writing
    from ddz_training.measure.match.provenance import other_code

    named = {
        "opponents": opponents,
        "num_envs": num_envs,
        "rules": rules,
        "seed": seed,
        "evaluate_every": evaluate_every,
        "evaluate_deals": evaluate_deals,
    }
    given = Sb3Config.given(named, settings or ())
    with other_code(allow_other_code), writing(out, folder=True):
        if resume:
            run = load_run(out, trust=trust, wanted=given, threads=threads)
        else:
            refuse_to_overwrite(out, MODEL)
            run = Sb3Run(Sb3Config(**given), threads)
        _learn(run, out, timesteps, tensorboard, f"go on with: {resuming(context, trust=True)}")


def _learn(run: Sb3Run, out: Path, timesteps: int, tensorboard: Path | None, advice: str) -> None:
    """Train under a bar; the advice is for a run that was ended early."""
    from ddz_training.learn.board import board
    from ddz_training.learn.sb3.run import MODEL
    from ddz_training.learn.sb3.train import train

    def describe(line: Sb3Progress) -> str:
        rates = f"wins {100 * line.wins:.0f} % · entropy {line.entropy:.2f}"
        return f"{rates} · values explain {100 * line.explained:.0f} %"

    def learned() -> tuple[int, float]:
        return run.timesteps, run.split.total

    with stopping(advice) as asked, board(tensorboard, run.update) as curves:
        bar = training_bar(timesteps, lambda: min(run.timesteps, timesteps), learned, "steps", describe, curves)
        with bar as (on_update, on_evaluation):
            train(run, out, timesteps, on_update=on_update, on_evaluation=on_evaluation, stop=asked)
        run.env.close()
        tell(f"{quoted(out / MODEL)} after {run.timesteps:,} steps")
        tell(f"time {run.split.describe()}")
    remark(_what_was_measured(run.config))
    follow_policy(out / MODEL, run.config.rules, trust=True)


def _what_was_measured(config: Sb3Config) -> str:
    """Why the bar and the evaluations differ, and what to expect of them."""
    seats = "a seat drawn for every game" if config.role == "random" else f"the {config.role.replace('_', ' ')}'s seat"
    bar = (
        f"The bar's win rate is that of the games it learned from: it held {seats}, every other seat played "
        f"{config.opponents!r}, its partner as a peasant too, and its moves were drawn at random from its policy."
    )
    if not config.evaluate_every:
        return f"{bar} Nothing was evaluated; the command below is what to judge by."
    evaluation = (
        f"An evaluation is stricter: duplicate deals against {' and '.join(config.baselines)}, both peasants played by "
        "the policy, always by its most likely move. Judge by it. Against 'rules' expect a few per cent in the first "
        "minutes and slow progress: one seat learns from the end of each game only. 'ddz train selfplay' learns all "
        "roles and is much faster."
    )
    return f"{bar} {evaluation}"


def sb3_aec(
    context: typer.Context,
    timesteps: Annotated[int, typer.Option(min=1, help="The learner's decisions.")] = 40_000,
    deals: Annotated[int, typer.Option(min=1, help="Duplicate deals of the measurement at the end.")] = 100,
    rules: Annotated[str, typer.Option(help=RULES)] = "standard",
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of deals, actions and weights.")] = 0,
    out: Annotated[
        Path | None, typer.Option(help="New file for the model (.zip).", callback=output_file(".zip", new=True))
    ] = None,
) -> None:
    """Learn with MaskablePPO on the PettingZoo environment, as in PettingZoo's tutorial but with correct rewards."""
    from ddz_training.learn.sb3.aec_tutorial import run_tutorial, summary

    found = run_tutorial(timesteps, rules=rules, seed=seed, deals=deals, path=out)
    tell(summary(found, deals))
    if out is not None:
        follow_policy(out, rules, trust=True)
    else:
        follow("to keep the model", *again(context, out="aec.zip"))
