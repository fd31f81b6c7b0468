"""What the help of several commands says alike: what rules are, and how examples look."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import typer
from rich.markup import escape

from ddz_env.core.docstrings import own_docstring

TENSORBOARD = "Write the curves for TensorBoard into this folder, too (needs the extra tensorboard)."
RULES = "Rules: a preset, with options behind it if wanted (ddz rules --help)."


def unmarked(text: str) -> str:
    """A docstring's text without its markup, for the screen."""
    return re.sub(r":\w+:`~?([^`]*)`", r"\1", text).replace("`", "")


def describe(app: typer.Typer) -> None:
    """Give the commands of an application their docstrings back, which are their help, if Python has dropped them."""
    for one in (*app.registered_commands, app.registered_callback):
        if one is not None and one.callback is not None:
            one.callback.__doc__ = one.callback.__doc__ or own_docstring(one.callback)
    for group in app.registered_groups:
        if group.typer_instance is not None:
            describe(group.typer_instance)


def examples(*lines: str) -> str:
    """The end of a command's help: what one may type, a line each.

    Args:
        lines: Whole command lines, beginning with ``ddz``.
    """
    return "\n\n".join(["Examples:" if len(lines) > 1 else "Example:", *(f"  {escape(line)}" for line in lines)])


def add_commands(
    app: typer.Typer, commands: Mapping[Callable[..., None], Sequence[str]], panel: str | None = None
) -> None:
    """Add commands, each with examples for its help.

    Args:
        app: What they are commands of.
        commands: The functions, with their examples.
        panel: Under which heading the help of ``app`` lists them.
    """
    for command, lines in commands.items():
        app.command(epilog=examples(*lines), rich_help_panel=panel)(command)
