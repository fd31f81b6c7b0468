"""The command line ``ddz``.  A file a heading of its help; what the commands do lives below, in :mod:`ddz_training`."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from ddz_env import __version__
from ddz_training.apps.cli.command import Group, Headings, Main
from ddz_training.apps.cli.demo import DemoCommand
from ddz_training.apps.cli.endgames import BiddingCommand, PuzzlesCommand, SolveCommand
from ddz_training.apps.cli.files import ExportCommand, RecordCommand, ReplayCommand, WebCommand, botzone
from ddz_training.apps.cli.info import ActionsCommand, AgentsCommand, DocsCommand, RulesCommand
from ddz_training.apps.cli.lazily import lazily
from ddz_training.apps.cli.measure import ArenaCommand, BenchmarkCommand, RateCommand
from ddz_training.apps.cli.study import reproduce, study
from ddz_training.apps.cli.table import PlayCommand, WatchCommand
from ddz_training.apps.cli.train import train
from ddz_training.measure.markdown import markdown_table

with lazily():
    from ddz_training.apps import documentation

COMMANDS: Headings = {
    "Play": {
        "play": PlayCommand,
        "watch": WatchCommand,
        "puzzles": PuzzlesCommand,
        "solve": SolveCommand,
        "bidding": BiddingCommand,
        "web": WebCommand,
        "rules": RulesCommand,
    },
    "Compare": {"agents": AgentsCommand, "arena": ArenaCommand, "rate": RateCommand, "benchmark": BenchmarkCommand},
    "Train": {"train": train, "demo": DemoCommand, "record": RecordCommand, "replay": ReplayCommand},
    "Study": {"study": study, "reproduce": reproduce},
    "Borders": {"botzone": botzone, "export": ExportCommand, "actions": ActionsCommand},
    "": {"docs": DocsCommand},
}
"""The commands by the headings of the help; what has none is not listed."""

_MATCH_GONE = {
    "--name": "write NAME=AGENT",
    "--resume": "an existing --out is always resumed",
    "--csv": "--table FILE.csv writes the final table",
    "--json": "--table FILE.json writes the final table and the settings",
    "--on-fault": "--debug stops at the first fault of an agent, with its traceback",
}
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
    **{f"{name} {option}": instead for name in ("arena", "rate") for option, instead in _MATCH_GONE.items()},
    "rate --block": "a league schedules 25 deals at a time",
    "rate --cross-csv": "--table FILE.json holds the pairs, too",
    "solve --passed": "write the pass behind the hands: '44668 / 5578 / 3399: pass'",
    "solve --megabytes": "the transposition table has 64 MB",
    "solve --threads": "the moves of --all are searched one after the other",
    "train sb3 --num-envs": "write --set num_envs=VALUE",
    "train sb3 --evaluate-every": "write --set evaluate_every=VALUE",
    "train sb3 --evaluate-deals": "write --set evaluate_deals=VALUE",
}
"""What to do instead of each command and option that went, by the words that called it."""

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


def named_commands() -> Iterator[tuple[str, str, click.Command]]:
    """The heading, the name and the command of all that ``ddz --help`` and its groups list, but for experiments."""
    context = click.Context(app)
    for heading, kinds in COMMANDS.items():
        for name in kinds if heading else ():
            command = app.get_command(context, name)
            if isinstance(command, Group) and name != "reproduce":
                below = command.list_commands(context)
                yield from ((heading, f"{name} {one}", command.get_command(context, one)) for one in below)
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
