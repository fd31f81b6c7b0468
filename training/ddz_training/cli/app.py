"""The ``ddz`` command line, built with Click from the commands of every installed package.

A package joins with an entry point of the group ``ddz.commands``, whose value is a mapping from headings to commands.
A command is a function: its docstring is the help, its decorators are the options.  What it needs is imported in its
body, so that ``ddz --help`` answers at once and a missing extra stops only the commands that use it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points
from typing import Any

import click

from ddz_env import __version__
from ddz_env.support.processes import exit_at_once
from ddz_training.cli.console import EXIT_INTERRUPTED, print_error, quote_path
from ddz_training.cli.faults import (
    EXIT_AGENT_FAILED,
    EXIT_FAULT,
    EXIT_UNREAD,
    FAILED_AGENTS,
    RESUMABLE_FILE,
    describe_fault,
    report_agent_warnings,
)

GROUP = "ddz.commands"
"""The group of entry points."""
HEADINGS = ("Environment", "Agents", "Train and measure", "Play", "Papers", "Import and export")
"""The headings of ``ddz --help`` in their order; those of other packages follow."""


@functools.cache
def commands() -> Mapping[str, tuple[click.Command, ...]]:
    """Return the commands of all installed packages by heading, sorted by name within each heading."""
    found: dict[str, dict[str, click.Command]] = {heading: {} for heading in HEADINGS}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            headings = point.load()
        except ImportError as error:  # of a package that is not ours: its commands are missing, and no others
            print_error(f"the commands of {point.value} are left out: {error}")
            continue
        for heading, members in headings.items():
            found.setdefault(heading, {}).update({str(member.name): member for member in members})
    return {heading: tuple(named[name] for name in sorted(named)) for heading, named in found.items() if named}


class CommandLine(click.Group):
    """The ``ddz`` command group, whose help has headings and whose commands report every error on one line."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under their headings, each with the first sentence of its help."""
        for heading, members in commands().items():
            with formatter.section(heading):
                formatter.write_dl([(str(command.name), command.get_short_help_str(200)) for command in members])

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command and report an error on one line, unless ``--debug`` is given."""
        try:
            with report_agent_warnings():
                super().invoke(ctx)
        except BrokenPipeError as error:
            raise click.exceptions.Exit(EXIT_UNREAD) from error
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except (Exception, KeyboardInterrupt) as error:
            message, code = describe_fault(error)
            if ctx.params["debug"] and code != EXIT_INTERRUPTED:
                raise
            if code == EXIT_INTERRUPTED and ctx.meta.get(RESUMABLE_FILE):
                message += f"; {quote_path(ctx.meta[RESUMABLE_FILE])} is valid, and the same command resumes it"
            print_error(message)
            raise click.exceptions.Exit(code) from error
        if FAILED_AGENTS in ctx.meta:
            raise click.exceptions.Exit(EXIT_AGENT_FAILED)


@click.group(
    cls=CommandLine,
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


for _members in commands().values():
    for _command in _members:
        app.add_command(_command)


def list_commands() -> Iterator[tuple[str, str, click.Command]]:
    """Yield the heading, name and command of every command that ``ddz --help`` and its groups list."""
    for heading, members in commands().items():
        for command in members:
            if isinstance(command, click.Group) and command.commands:
                yield from ((heading, f"{command.name} {name}", below) for name, below in command.commands.items())
            else:
                yield heading, str(command.name), command


def main() -> None:
    """Run ``ddz`` and exit even if an agent has left a thread or child process behind."""
    try:
        app(prog_name="ddz")
    except SystemExit as ended:
        exit_at_once(ended.code if isinstance(ended.code, int) else EXIT_FAULT)
