"""What comes next: every run ends with the command that goes on from it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from ddz_env.core.errors import command_line
from ddz_training.apps.cli.console import error_console, remark, tell


def follow(why: str, *words: str | Path) -> None:
    """Say with which command one goes on: on standard error, so that standard output holds results alone.

    Args:
        why: What it is for, behind "Next, ".
        *words: The command, without ``ddz``.
    """
    screen = error_console()
    remark(f"Next, {why}:", screen=screen)
    tell(f"  {command_line('ddz', *words)}", screen=screen)


def follow_policy(path: Path, rules: str, *, trust: bool = False) -> None:
    """Say with which command a policy that a training has written plays.

    Args:
        path: Its file.
        rules: Those that it was trained under.
        trust: Whether its file is one that is only read with ``trust_file=true``.
    """
    agent = f"policy:path={path}{',trust_file=true' if trust else ''}"
    follow("to see how strong it is", "arena", agent, "rules", *rules_option(rules))


def rules_option(rules: str) -> list[str]:
    """``--rules`` as it is typed; nothing for the standard rules."""
    return [] if rules == "standard" else ["--rules", rules]


def resuming(context: typer.Context, **changed: Any) -> str:
    """The command that goes on with the run of this one.

    Args:
        context: The command's.
        **changed: As for :func:`again`; what only a beginning takes is None.
    """
    return command_line("ddz", *again(context, resume=True, **changed))


def again(context: typer.Context, **changed: Any) -> list[str]:
    """The command line of a command as it was given, with other values for some of its parameters.

    Args:
        context: The command's.
        **changed: Values by the names of parameters; None leaves one out.

    Returns:
        Its words, without ``ddz``.
    """
    arguments: list[str] = []
    options: list[str] = []
    for one in context.command.params:
        (arguments if one.param_type_name == "argument" else options).extend(_words(context, one, changed))
    if any(word.startswith("-") for word in arguments):
        return [*_path(context), *options, "--", *arguments]
    return [*_path(context), *arguments, *options]


def _path(context: Any) -> Iterator[str]:
    """The names that lead to a command, below ``ddz`` itself."""
    if context.parent is not None:
        yield from _path(context.parent)
        yield context.info_name


def _words(context: typer.Context, parameter: Any, changed: dict[str, Any]) -> Iterator[str]:
    """How a parameter was given, or is to be given."""
    given = getattr(context.get_parameter_source(parameter.name), "name", "") == "COMMANDLINE"
    value = changed[parameter.name] if parameter.name in changed else context.params[parameter.name] if given else None
    if value is None:
        return
    values = value if isinstance(value, (list, tuple)) else [value]
    if parameter.param_type_name == "argument":
        yield from map(str, values)
    elif isinstance(value, bool):
        spellings = parameter.opts if value else parameter.secondary_opts
        yield from spellings[-1:]
    else:
        for one in values:
            yield from (parameter.opts[-1], str(one))
