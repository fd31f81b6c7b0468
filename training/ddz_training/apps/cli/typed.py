"""What was typed: what of it would be ignored, and which command comes next."""

from __future__ import annotations

import click
from click.core import ParameterSource

from ddz_env.core.errors import command_line
from ddz_training.apps.cli.console import tell
from ddz_training.apps.cli.faults import FAILED, CommandLineError


def is_typed(name: str) -> bool:
    """Whether a parameter of the command was typed."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def leave_out(why: str, *names: str) -> None:
    """Refuse parameters that would be ignored, their defaults included.

    Args:
        why: What leaves them without effect.
        *names: The parameters.

    Raises:
        CommandLineError: If one of them was typed.
    """
    parameters = {parameter.name: parameter for parameter in click.get_current_context().command.params}
    if refused := [parameters[name].opts[0] for name in names if is_typed(name)]:
        raise CommandLineError(f"{why}: leave out {' and '.join(refused)}")


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
