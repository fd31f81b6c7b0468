"""Errors for people: one red line and exit code 2 instead of a traceback."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from ddz_env.errors import DouDizhuError
from training.cli.console import error_console

EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 130


class FriendlyGroup(TyperGroup):
    """A group of commands that reports named errors in one line, unless ``--debug`` stands anywhere."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take ``--debug`` out of the arguments, wherever it stands."""
        before, separator, after = _split(args)
        ctx.meta["ddz.debug"] = "--debug" in before
        return super().parse_args(ctx, [arg for arg in before if arg != "--debug"] + separator + after)

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except DouDizhuError as error:
            if ctx.meta["ddz.debug"]:
                raise
            error_console().print(f"{type(error).__name__}: {error}", style="bold red", markup=False, soft_wrap=True)
            raise typer.Exit(EXIT_BAD_INPUT) from error
        except KeyboardInterrupt as error:
            if ctx.meta["ddz.debug"]:
                raise
            error_console().print("interrupted", style="bold red")
            raise typer.Exit(EXIT_INTERRUPTED) from error


def _split(args: list[str]) -> tuple[list[str], list[str], list[str]]:
    """The arguments before, at and behind ``--``."""
    if "--" not in args:
        return args, [], []
    place = args.index("--")
    return args[:place], ["--"], args[place + 1 :]
