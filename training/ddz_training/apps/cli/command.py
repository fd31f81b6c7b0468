"""What commands share: options that several of them have, and what they say of themselves and of each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from ddz_env.core.errors import command_line
from ddz_training.apps.cli.console import bar, tell
from ddz_training.apps.cli.faults import FAILED, CommandLineError

Function = TypeVar("Function", bound=Callable[..., Any])

COUNT, NATURAL = click.IntRange(1), click.IntRange(0)
SECONDS = click.FloatRange(0.001)
PATH = click.Path(path_type=Path)
"""A file that is read, or a name that is checked where it is used."""


def together(*options: Callable[[Function], Function]) -> Callable[[Function], Function]:
    """Several options as one decorator, in the order of the help."""

    def decorate(function: Function) -> Function:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def _allow_other_code(context: click.Context, parameter: click.Parameter, allowed: bool) -> None:
    if allowed:
        from ddz_training.measure.provenance import other_code

        context.with_resource(other_code())


other_code_option = click.option(
    "--allow-other-code",
    is_flag=True,
    expose_value=False,
    callback=_allow_other_code,
    help="Add to a file that other code has written; it then names both.",
)
rules_option = click.option(
    "--rules", default="standard", help="A preset, with options behind it if wanted (ddz show rules)."
)
seed_option = click.option("--seed", type=NATURAL, default=0, help="Seed of deals and agents.")
processes_option = click.option(
    "--processes", type=COUNT, default=2, help="Worker processes; results do not depend on them."
)
ray_option = click.option(
    "--ray",
    is_flag=True,
    help="Play on a Ray cluster (ray start), or on one begun with --processes cores; same results.",
)
parallel_options = together(processes_option, ray_option, other_code_option)
playing_options = together(rules_option, seed_option, parallel_options)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@contextmanager
def working(what: str, processes: int, ray: bool = False) -> Iterator[dict[str, Any]]:
    """A bar of what is done, in processes of this machine or of a cluster.

    Args:
        what: What the bar counts.
        processes: How many.
        ray: Whether on a cluster.

    Yields:
        The arguments of what does it: ``processes`` and ``on_progress``.
    """
    with ExitStack() as leave:
        if ray:
            from ddz_training.measure import ray_cluster

            leave.enter_context(ray_cluster.on_ray())
        yield {"processes": processes, "on_progress": leave.enter_context(bar(what))}


# --- what was typed ----------------------------------------------------------


def is_typed(name: str) -> bool:
    """Whether a parameter of the command was typed."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def spelled(name: str) -> str:
    """How a parameter of the command is typed: ``--deal-file``, or ``POLICY`` for one without a name."""
    [parameter] = [one for one in click.get_current_context().command.params if one.name == name]
    return parameter.opts[0] if isinstance(parameter, click.Option) else name.upper()


def leave_out(why: str, *names: str) -> None:
    """Refuse parameters that would be ignored, their defaults included.

    Args:
        why: What leaves them without effect.
        *names: The parameters.

    Raises:
        CommandLineError: If one of them was typed.
    """
    if refused := [spelled(name) for name in names if is_typed(name)]:
        raise CommandLineError(f"{why}: leave out {' and '.join(refused)}")


def again(**changed: Any) -> list[str]:
    """The words of this command as it was typed, without ``ddz``, with other values for some of its parameters.

    Args:
        **changed: Values by the names of parameters; None leaves one out.
    """
    context = click.get_current_context()
    values = {name: value for name, value in context.params.items() if is_typed(name)} | changed
    arguments: list[str] = []
    options: list[str] = []
    for parameter in context.command.params:
        value = values.get(str(parameter.name))
        if isinstance(value, bool):
            options += (parameter.opts if value else parameter.secondary_opts)[:1]
            continue
        for part in value if isinstance(value, tuple) else () if value is None else (value,):
            if isinstance(parameter, click.Option):
                options += [parameter.opts[0], str(part)]
            else:
                arguments.append(str(part))
    words = context.command_path.split()[1:]
    if any(word.startswith("-") for word in arguments):
        return [*words, *options, "--", *arguments]
    return [*words, *arguments, *options]


# --- what comes next ---------------------------------------------------------


def follow(why: str, *words: object) -> None:
    """Say which command comes next, unless an agent failed: on standard error, for standard output holds the results.

    Args:
        why: What it is for, behind "Next, ".
        *words: The command, without ``ddz``.
    """
    if FAILED in click.get_current_context().meta:
        return
    tell(f"Next, {why}:", err=True, dim=True)
    tell(f"  {command_line('ddz', *words)}", err=True)


def rules_words(rules: str) -> list[str]:
    """``--rules`` as it is typed; nothing for the standard rules."""
    return [] if rules == "standard" else ["--rules", rules]
