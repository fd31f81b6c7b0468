"""The command line ``ddz``.  A file a heading of its help; what the commands do lives below, in :mod:`ddz_training`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import click

from ddz_env import __version__
from ddz_training.apps.cli.command import Group, Headings, Main
from ddz_training.apps.cli.demo import Demo
from ddz_training.apps.cli.endgames import Bidding, Puzzles, Solve
from ddz_training.apps.cli.files import Export, Record, Replay, Web, botzone
from ddz_training.apps.cli.info import Actions, Agents, Docs, ListRules
from ddz_training.apps.cli.lazily import lazily
from ddz_training.apps.cli.measure import Arena, Benchmark, Rate
from ddz_training.apps.cli.study import reproduce, study
from ddz_training.apps.cli.table import Play, Watch
from ddz_training.apps.cli.train import train
from ddz_training.measure.markdown import markdown_table

with lazily():
    from ddz_training.apps import documentation

COMMANDS: Headings = {
    "Play": {
        "play": Play, "watch": Watch, "puzzles": Puzzles, "solve": Solve, "bidding": Bidding, "web": Web,
        "rules": ListRules,
    },
    "Compare": {"agents": Agents, "arena": Arena, "rate": Rate, "benchmark": Benchmark},
    "Train": {"train": train, "demo": Demo, "record": Record, "replay": Replay},
    "Study": {"study": study, "reproduce": reproduce},
    "Borders": {"botzone": botzone, "export": Export, "actions": Actions},
    "": {"docs": Docs},
}  # fmt: skip
"""The commands by the headings of the help; what has none is not listed."""

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

app = Main(
    GONE,
    (),
    "A Dou Dizhu (斗地主) laboratory: play, compare agents, train, study.",
    COMMANDS,
    "ddz play",
    "ddz arena rollout rules --deals 200",
    "ddz agents isuct",
    "ddz arena -h",
)
click.version_option(__version__, prog_name="ddz-env", message="%(prog)s %(version)s")(app)


def named_commands() -> Iterator[tuple[str, str, Any]]:
    """The heading, the name and the command of all that ``ddz --help`` and its groups list, but for experiments."""
    context = click.Context(app)
    for heading, kinds in app.headings.items():
        for name in kinds if heading else ():
            command = app.get_command(context, name)
            if isinstance(command, Group) and name != "reproduce":
                yield from (
                    (heading, f"{name} {below}", command.get_command(context, below))
                    for below in command.list_commands(context)
                )
            else:
                yield heading, name, command


def commands_table() -> str:
    """The table of all commands for the docs, a line each in the order of the help: what it does, with an example."""
    rows = []
    for heading, name, command in named_commands():
        [example, *_] = re.findall(r"(?m)^  (ddz .*)$", command.epilog or "")
        rows.append((heading.lower(), f"`ddz {name}`", documentation.opening(command.help), f"`{example}`"))
    return markdown_table(("", "command", "what it does", "for example"), rows)


def main() -> None:
    """Run ``ddz``."""
    app(prog_name="ddz")
