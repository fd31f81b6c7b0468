"""``ddz reproduce``: every experiment of the registry as a command; its options are the fields of its dataclass."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any, get_args, get_type_hints

import typer

from ddz_env.core.options import Option
from ddz_training.apps.cli.commands import FriendlyGroup, FriendlyTyper, examples, group, unmarked
from ddz_training.apps.cli.console import show, with_bar
from ddz_training.apps.cli.options import OnRay, OtherCode, Out, Plot
from ddz_training.experiments.experiment import Experiment
from ddz_training.experiments.registry import EXPERIMENTS, load_experiment

_LARGEST = 2**31
"""Bounds beyond it are no help to anybody."""


class ExperimentGroup(FriendlyGroup):
    """The experiments as commands, each made when it is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names, in the order of the registry."""
        return list(EXPERIMENTS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of an experiment; None if there is none."""
        if cmd_name not in EXPERIMENTS:
            return None
        one = FriendlyTyper()
        experiment = load_experiment(cmd_name)
        about = unmarked(inspect.cleandoc(experiment.about))
        plot = " --plot plot.png" if experiment.plot else ""
        example = examples(f"ddz reproduce {cmd_name} --out {experiment.file}.csv{plot}")
        one.command(name=cmd_name, help=about, epilog=example)(_command(experiment))
        return typer.main.get_command(one)


app = group(
    "Repeat experiments of the literature; a run that was cut off resumes where it stopped.",
    (),
    "ddz reproduce mini-census --out mini_census.csv",
    cls=ExperimentGroup,
)


def _command(experiment: Experiment[Any, Any]) -> Callable[..., None]:
    """A function that typer can read: what every experiment takes, then the experiment's own options.

    A field with an underscore behind its name, which would hide something else without it, is an option without one.
    """
    own = {option.name.rstrip("_"): option for option in experiment.options.options()}
    hints = get_type_hints(experiment.options)

    def command(**given: Any) -> None:

        options = experiment.options(**{option.name: _value(given[name]) for name, option in own.items()})
        saved = with_bar(experiment.unit, lambda tell: experiment.run(options, given["out"], tell))
        for table in experiment.tables.values():
            show(table(saved))
        if experiment.plot is not None and given["plot"] is not None:
            experiment.plot(saved, given["plot"])

    parameters = {"out": (Out, None), "allow_other_code": (OtherCode, False)}
    parameters |= {"plot": (Plot, None)} if experiment.plot else {}
    parameters |= {"ray": (OnRay, False)} if "processes" in own else {}
    parameters |= {name: (_annotation(option, hints[option.name]), option.default) for name, option in own.items()}
    # What typer reads instead of the function's own signature.
    command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)
            for name, (hint, default) in parameters.items()
        ]
    )
    command.__annotations__ = {name: hint for name, (hint, _) in parameters.items()}
    return command


def _value(given: Any) -> Any:
    """An option that may be repeated is a tuple; None where it was not given."""
    return (tuple(given) or None) if isinstance(given, list) else given


def _annotation(option: Option, hint: Any) -> Any:
    """An option's type with its help and its range, as typer wants them."""
    repeated = next((part for part in (hint, *get_args(hint)) if getattr(part, "__origin__", None) is tuple), None)
    if repeated is not None:
        hint = list[get_args(repeated)[0]] | None  # type: ignore[misc]  # the element's type is known at run time only
    least, most = (None if bound is None or bound > _LARGEST else bound for bound in option.range[:2])
    return Annotated[hint, typer.Option(help=unmarked(option.meaning), min=least, max=most)]
