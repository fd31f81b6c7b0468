"""The command line ``ddz``.  A file for each heading of its help; the work is done below, in :mod:`ddz_training`."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import click

from ddz_env import __version__
from ddz_training.apps.cli.command import COMMANDS, Group, Headings, Main
from ddz_training.apps.cli.study import reproduce

for _file in ("table", "endgames", "files", "info", "measure", "train", "demo", "study", "warmup"):
    importlib.import_module(f"{__name__}.{_file}")  # its commands enter themselves, in this order

_GROUPS = {
    "train": ("Train policies.", "ddz train selfplay --out runs/first --minutes 10"),
    "study": ("Study agents and deals: what search equals an agent, whom deals favour.", "ddz study equivalent rules"),
    "botzone": (
        "Botzone: be one of its bots, play its matches here, read its logs.",
        "ddz botzone bundle --agent rules --out bot.zip",
    ),
}
"""Commands of two words: the help of the first word, with an example."""


def _headings() -> Headings:
    """The commands by the headings of the help; what has none is not listed."""
    headings: dict[str, dict[str, Any]] = {name: {} for name in ("Play", "Compare", "Train", "Study", "Borders", "")}
    for kind in COMMANDS:
        name, *below = kind.words
        if below:
            about, example = _GROUPS[name]
            group = headings[kind.heading].setdefault(name, Group(name, about, {"Commands": {}}, example))
            group.headings["Commands"][below[0]] = kind
        else:
            headings[kind.heading][name] = kind
    headings["Study"]["reproduce"] = reproduce
    return headings


app = Main(
    "ddz",
    "A Dou Dizhu (斗地主) laboratory: play, compare agents, train, study.",
    _headings(),
    "ddz play",
    "ddz arena rollout rules --deals 200",
    "ddz agents isuct",
    "ddz arena -h",
)
click.version_option(__version__, prog_name="ddz-env", message="%(prog)s %(version)s")(app)


def named_commands() -> Iterator[tuple[str, str, click.Command]]:
    """Heading, name and command of everything that ``ddz --help`` and its groups list, except experiments."""
    context = click.Context(app)
    for heading, kinds in app.headings.items():
        for name in kinds if heading else ():
            command = app.get_command(context, name)
            if isinstance(command, Group) and name != "reproduce":
                below = command.list_commands(context)
                yield from ((heading, f"{name} {one}", command.get_command(context, one)) for one in below)
            else:
                yield heading, name, command


def main() -> None:
    """Run ``ddz``."""
    app(prog_name="ddz")
