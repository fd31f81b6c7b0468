"""The command line ``ddz``.  A file a heading of its help; what the commands do lives below, in :mod:`ddz_training`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import typer

from ddz_env import __version__
from ddz_training.apps.cli.commands import EXIT_BAD_INPUT, FriendlyGroup, FriendlyTyper, examples
from ddz_training.apps.cli.console import complain
from ddz_training.apps.cli.demo import demo
from ddz_training.apps.cli.endgames import bidding, puzzles, solve
from ddz_training.apps.cli.files import botzone, export, record, replay, web
from ddz_training.apps.cli.info import actions, agents, docs, rules
from ddz_training.apps.cli.lazily import lazily
from ddz_training.apps.cli.measure import arena, benchmark, rate
from ddz_training.apps.cli.reproduce import app as reproduce
from ddz_training.apps.cli.study import app as study
from ddz_training.apps.cli.table import play, watch
from ddz_training.apps.cli.train import app as train
from ddz_training.measure.markdown import markdown_table

with lazily():
    from ddz_training.apps import documentation

COMMANDS: Mapping[str, Sequence[Callable[..., None]]] = {
    "Play": (play, watch, puzzles, solve, bidding, web, rules),
    "Compare": (agents, arena, rate, benchmark),
    "Train": (demo, record, replay),
    "Study": (),
    "Borders": (export, actions),
}
"""The commands by the headings of the help."""

GROUPS: Mapping[str, Mapping[str, typer.Typer]] = {
    "Train": {"train": train},
    "Study": {"study": study, "reproduce": reproduce},
    "Borders": {"botzone": botzone},
}
"""Groups of commands by the headings of the help; they come first under each."""

GONE = {
    "advise": "ask on the page (ddz web)",
    "bench": "make bench in a checkout",
    "botzone-bot": "ddz botzone bot",
    "botzone-bundle": "ddz botzone bundle",
    "botzone-log": "ddz botzone log",
    "botzone-match": "ddz botzone match",
    "equivalent": "ddz study equivalent",
    "exploit": "ddz train selfplay --set frozen=AGENT --set frozen_share=1",
    "hand": "ddz bidding",
    "speed": "make bench in a checkout",
    "study exploit": "ddz train selfplay --set frozen=AGENT --set frozen_share=1",
    "tendency": "ddz study tendency",
    "train distil": "the shipped policy, which needs no PyTorch, or ddz export",
    "train expert": "ddz train selfplay",
    "version": "ddz --version",
}
"""What to do instead of each command that went, by its one or two words."""


class CommandLine(FriendlyGroup):
    """``ddz``: its commands under headings."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse a command that went.

        Raises:
            Exit: If there is one.
        """
        words = [word for word in args if not word.startswith("-")]
        for name in (" ".join(words[:2]), *words[:1]):
            if name in GONE:
                complain(f"{name} went: {GONE[name]} instead")
                raise typer.Exit(EXIT_BAD_INPUT)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:
        """The names in the order of the headings; what is not under one comes last."""
        named = [(*GROUPS.get(panel, ()), *(run.__name__ for run in runs)) for panel, runs in COMMANDS.items()]
        order = [name for names in named for name in names]
        return [*order, *(name for name in self.commands if name not in order)]


app = FriendlyTyper(
    cls=CommandLine,
    help="A Dou Dizhu (斗地主) laboratory: play, compare agents, train, study.",
    epilog=examples("ddz play", "ddz arena rollout rules --deals 200", "ddz agents isuct", "ddz arena -h"),
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
)
for panel, commands in COMMANDS.items():
    for command in commands:
        app.command(rich_help_panel=panel)(command)
for panel, groups in GROUPS.items():
    for name, group in groups.items():
        app.add_typer(group, name=name, rich_help_panel=panel)
app.command(hidden=True)(docs)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ddz-env {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    _: bool = typer.Option(False, "--version", is_eager=True, callback=_show_version, help="Show the version."),
    debug: bool = typer.Option(
        False, "--debug", help="Show the full traceback of an error (works anywhere on the line)."
    ),
) -> None:
    """A Dou Dizhu (斗地主) laboratory: play, compare agents, train, study."""


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
    """The table of all commands for the docs, a line each in the order of the help: what it does, with an example."""
    rows = []
    for heading, name, command in named_commands():
        [example, *_] = re.findall(r"(?m)^  (ddz .*)$", command.epilog or "")
        rows.append((heading.lower(), f"`ddz {name}`", documentation.opening(command.help), f"`{example}`"))
    return markdown_table(("", "command", "what it does", "for example"), rows)


def main() -> None:
    """Run ``ddz``."""
    app()
