"""The command line ``ddz``, made with Click.  The work is done below, in :mod:`ddz_training`.

A command is a function: its docstring is the help, its decorators are the options.  What it needs is imported in its
body, so that ``ddz --help`` answers at once and a missing extra stops only the commands that use it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from ddz_env import __version__
from ddz_env.support.processes import leave
from ddz_training.apps.cli import (
    benchmark,
    botzone,
    data,
    demo,
    endgames,
    info,
    measure,
    study,
    table,
    train,
    warmup,
    web,
)
from ddz_training.apps.cli.console import EXIT_INTERRUPTED, complain, quoted
from ddz_training.apps.cli.faults import (
    EXIT_AGENT_FAILED,
    EXIT_FAULT,
    EXIT_UNREAD,
    FAILED,
    RESUMED,
    fault_of,
    noticing_agents,
)

HEADINGS: dict[str, tuple[click.Command, ...]] = {
    "Play": (
        *(table.play, table.watch, table.mcp, endgames.solve, endgames.puzzles),
        *(endgames.bidding, web.web, warmup.warmup),
    ),
    "Compare": (info.agents, measure.arena, measure.rate, benchmark.benchmark),
    "Train": (data.record, data.replay, train.train, demo.demo),
    "Study": (study.study, study.reproduce),
    "Borders": (data.export, botzone.botzone, info.show_group),
}
"""All commands by the headings of ``ddz --help``, in its order."""


class Headings(click.Group):
    """``ddz`` itself: its help has headings, and every error of a command ends in one line."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands with the first sentence of their help, under their headings."""
        for heading, commands in HEADINGS.items():
            with formatter.section(heading):
                formatter.write_dl([(str(command.name), command.get_short_help_str(200)) for command in commands])

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; its error is one line, unless ``--debug`` is given."""
        try:
            with noticing_agents():
                super().invoke(ctx)
        except BrokenPipeError as error:
            raise click.exceptions.Exit(EXIT_UNREAD) from error
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except (Exception, KeyboardInterrupt) as error:
            message, code = fault_of(error)
            if ctx.params["debug"] and code != EXIT_INTERRUPTED:
                raise
            if code == EXIT_INTERRUPTED and ctx.meta.get(RESUMED):
                message += f"; {quoted(ctx.meta[RESUMED])} is valid, and the same command resumes it"
            complain(message)
            raise click.exceptions.Exit(code) from error
        if FAILED in ctx.meta:
            raise click.exceptions.Exit(EXIT_AGENT_FAILED)


@click.group(
    cls=Headings,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True},
)
@click.version_option(__version__, prog_name="ddz-env", message="%(prog)s %(version)s")
@click.option(
    "--debug",
    is_flag=True,
    envvar="DDZ_DEBUG",
    help="Show the full traceback of an error; an agent's first fault ends a match.",
)
def app(debug: bool) -> None:
    """A Dou Dizhu (斗地主) laboratory: play, compare agents, train, study.

    \b
    Examples:
      ddz play
      ddz arena rollout rules --deals 200
      ddz agents isuct
      ddz arena -h
    """


for _commands in HEADINGS.values():
    for _command in _commands:
        app.add_command(_command)


def named_commands() -> Iterator[tuple[str, str, click.Command]]:
    """Heading, name and command of everything that ``ddz --help`` and its groups list."""
    for heading, commands in HEADINGS.items():
        for command in commands:
            if isinstance(command, click.Group) and command.commands:
                yield from ((heading, f"{command.name} {name}", below) for name, below in command.commands.items())
            else:
                yield heading, str(command.name), command


def main() -> None:
    """Run ``ddz``, and end even where an agent has left a thread or a child behind."""
    try:
        app(prog_name="ddz")
    except SystemExit as ended:
        leave(ended.code if isinstance(ended.code, int) else EXIT_FAULT)
