"""Options that several commands have alike."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ddz_env.core.errors import DouDizhuError
from ddz_training.apps.cli.help import RULES, TENSORBOARD
from ddz_training.apps.cli.outputs import input_file


class ContradictingOptionsError(DouDizhuError):
    """An option was given that the rest of the command line leaves without effect; nothing has been done yet."""


def leave_out(context: typer.Context, why: str, *options: str) -> None:
    """Refuse options that would be ignored, whatever their values are: their defaults, too.

    Args:
        context: The command's.
        why: What leaves them without effect.
        *options: As they are typed (``--deals``); an argument by its name (``agents``).

    Raises:
        ContradictingOptionsError: If one of them was given.
    """
    names = {spelling: one.name for one in context.command.params for spelling in (*one.opts, *one.secondary_opts)}
    given = [
        option if option.startswith("-") else f"the {option}"
        for option in options
        if getattr(context.get_parameter_source(names[option] or ""), "name", "") == "COMMANDLINE"
    ]
    if given:
        raise ContradictingOptionsError(f"{why}: leave out {' and '.join(given)}")


Names = Annotated[
    list[str] | None,
    typer.Option(help="A short name for the tables; once for each agent, in order (--name deep --name rules)."),
]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        min=0.001,
        help="Seconds a decision may take; a longer one is cut off and loses the game. No limit by default.",
    ),
]
OnFault = Annotated[
    str, typer.Option(help="What happens when an agent fails: lose (it loses that game) or stop (the match ends).")
]


def _join_cluster(context: typer.Context, wanted: bool) -> bool:
    if wanted:
        from ddz_training.measure.match.ray_cluster import on_ray

        context.with_resource(on_ray())
    return wanted


OnRay = Annotated[
    bool,
    typer.Option(
        "--ray",
        callback=_join_cluster,
        help="Play on a Ray cluster (ray start), or on one begun with --processes cores; results do not depend on it.",
    ),
]
"""For every command that takes ``--processes``; its body needs nothing more."""
Minutes = Annotated[float | None, typer.Option(help="Minutes of training in total, including those before --resume.")]
Updates = Annotated[int | None, typer.Option(help="Updates in total, including those before --resume.")]
Resume = Annotated[bool, typer.Option("--resume", help="Resume from the checkpoint in --out.")]
Init = Annotated[
    Path | None,
    typer.Option(help="Start from these weights: those of imitate, or of an earlier run.", callback=input_file),
]
TrainedRules = Annotated[str | None, typer.Option("--rules", help=RULES)]
Objective = Annotated[str | None, typer.Option(help="win (default) or stake.")]
TrainingSeed = Annotated[int | None, typer.Option("--seed", help="Seed of deals, actions and weights; 0 by default.")]
Device = Annotated[
    str | None, typer.Option(help="cpu (default), or cuda: play and learn on a GPU; see the guide on GPUs.")
]
Threads = Annotated[int | None, typer.Option(help="Threads; results do not depend on them.")]
TensorBoard = Annotated[Path | None, typer.Option(metavar="DIR", help=TENSORBOARD)]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", help="Any other setting, name=value (learning_rate=0.001, architecture.width=512 ...)."),
]
