"""The table of all commands for the docs: what each does, with an example."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import typer

from ddz_training.apps.cli import app
from ddz_training.apps.documentation import opening
from ddz_training.measure.markdown import markdown_table


def named_commands() -> Iterator[tuple[str, str, Any]]:
    """The heading, the name and the command of all that ``ddz --help`` and its groups list, but for experiments."""
    for name, command in _listed(typer.main.get_command(app)):
        heading = command.rich_help_panel or ""
        if name == "reproduce" or not hasattr(command, "list_commands"):
            yield heading, name, command
        else:
            yield from ((heading, f"{name} {below}", one) for below, one in _listed(command))


def _listed(group: Any) -> Iterator[tuple[str, Any]]:
    context = group.context_class(group)
    commands = ((name, group.get_command(context, name)) for name in group.list_commands(context))
    return ((name, command) for name, command in commands if not command.hidden)


def commands_table() -> str:
    """A line a command, in the order of the help, from its docstring and the examples of its help."""
    rows = []
    for heading, name, command in named_commands():
        [example, *_] = re.findall(r"(?m)^  (ddz .*)$", command.epilog or "")
        about = opening(inspect.getdoc(command.callback) if command.callback else command.help)
        rows.append((heading.lower(), f"`ddz {name}`", about, f"`{example}`"))
    return markdown_table(("", "command", "what it does", "for example"), rows)
