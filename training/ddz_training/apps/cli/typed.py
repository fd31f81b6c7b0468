"""What was typed: how it is written again, what of it would be ignored, and which command comes next."""

from __future__ import annotations

from typing import Any

import click
from click.core import ParameterSource

from ddz_env.core.errors import command_line
from ddz_training.apps.cli.console import tell
from ddz_training.apps.cli.faults import FAILED, CommandLineError


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
