"""The command line ``ddz``.  One file a command; what they do lives below, in :mod:`ddz_training.measure.match`.

Modules that compile or import much are imported inside the commands, so that ``ddz --help`` answers at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import typer

from ddz_training.apps.cli.advise import advise
from ddz_training.apps.cli.agents import agents
from ddz_training.apps.cli.arena import arena
from ddz_training.apps.cli.benchmark import benchmark
from ddz_training.apps.cli.bidding import bidding
from ddz_training.apps.cli.botzone import app as botzone
from ddz_training.apps.cli.console import FriendlyGroup, FriendlyTyper
from ddz_training.apps.cli.demo import demo
from ddz_training.apps.cli.docs import docs
from ddz_training.apps.cli.export import export
from ddz_training.apps.cli.help import add_commands, describe, examples
from ddz_training.apps.cli.info import actions, rules, show_version
from ddz_training.apps.cli.play import play
from ddz_training.apps.cli.puzzles import puzzles
from ddz_training.apps.cli.rate import rate
from ddz_training.apps.cli.record import record
from ddz_training.apps.cli.renamed import current
from ddz_training.apps.cli.replay import replay
from ddz_training.apps.cli.reproduce import app as reproduce
from ddz_training.apps.cli.solve import solve
from ddz_training.apps.cli.speed import speed
from ddz_training.apps.cli.study import app as study
from ddz_training.apps.cli.train import app as train
from ddz_training.apps.cli.watch import watch
from ddz_training.apps.cli.web import web

__all__ = ["app", "main"]

PLAY, COMPARE, TRAIN, STUDY, BORDERS = "Play", "Compare", "Train", "Study", "Borders"
COMMANDS: Mapping[str, Mapping[Callable[..., None], Sequence[str]]] = {
    PLAY: {
        play: (
            "ddz play",
            "ddz play --agents 'rules;policy' --role peasant-up --lang zh",
            "ddz play --agents rules --rules bidding,doubling=true --seed 7",
            "ddz play --puzzle 12",
            "ddz play --resume",
        ),
        watch: (
            "ddz watch rollout",
            "ddz watch policy rules rules --seed 7 --pause 1 --out game.txt",
            "ddz watch rules --rules bidding --boards --lang zh",
        ),
        advise: (
            "ddz advise",
            "ddz advise --hand 3344567TJQQKA22BR --bottom 359 --role landlord",
            "ddz advise --rules bidding --hand 3344567TJQQKA22BR --opener 2",
            "ddz advise --resume --lang zh",
        ),
        replay: (
            "ddz replay game.txt",
            "ddz replay game.txt --at 12 --seat 0",
            "ddz replay game.txt --all --lang zh",
            "ddz replay game.txt --review rollout --seat 0",
            "ddz replay runs/rules-games",
            "ddz replay runs/rules-games --deal 7",
        ),
        puzzles: ("ddz puzzles", "ddz puzzles 12 --answer", "ddz puzzles --make 20 --deal 9+9 --out mine.txt"),
        solve: (
            "ddz solve 'KK5543 / 225543'",
            "ddz solve 'KK5543 / 225543' --turn 2 --to-beat 4 --all",
            "ddz solve '44668 / 5578 / 3399: 3, 5' --rules rlcard --json",
            "ddz solve --file positions.txt --seconds 10 --stake",
        ),
        bidding: (
            "ddz bidding 3344567TJQQKA22BR",
            "ddz bidding 3344567TJQQKA22BR --bid 1 --convergence",
            "ddz bidding 3344567TJQQKA22BR --bottom 359 --role peasant-up --bid 2 --json",
        ),
        web: (
            "ddz web --open",
            "ddz web --agent rules --agent isuct:iterations=500 --adviser rollout",
            "ddz web --host 0.0.0.0 --known-as table.local --folder games",
        ),
        rules: ("ddz rules", "ddz rules bidding,doubling=true"),
    },
    COMPARE: {
        agents: ("ddz agents", "ddz agents isuct"),
        arena: (
            "ddz arena rollout rules --deals 200",
            "ddz arena isuct:iterations=500 isuct --name short --name long",
            "ddz arena rules random --rules bidding,doubling=true --out games.csv",
            "ddz arena mymodule:MyAgent rules --deals 400 --out games.csv --resume",
            "ddz arena rollout isuct --deal-file deals.csv --tendency none",
        ),
        rate: (
            "ddz rate random random-staged rules rlcard-rule --deals 100",
            "ddz rate rules policy rollout --out my.sqlite --resume --until-decided",
            "ddz rate --out my.sqlite --anchor rules --plot ratings.png",
        ),
        benchmark: (
            "ddz benchmark mymodule:MyAgent",
            "ddz benchmark mymodule:MyAgent --full --out mine.json",
            "ddz benchmark --check mine.json",
            "ddz benchmark --field --full --out runs/field.json",
        ),
    },
    TRAIN: {
        demo: ("ddz demo --minutes 2 --out demo-report",),
        record: (
            "ddz record rules --deals 1000 --out runs/rules-games",
            "ddz record isuct:iterations=2000 --visits --deals 200 --out visits",
            "ddz record rules policy --rules bidding --out runs/match --processes 4",
        ),
    },
    STUDY: {
        speed: ("ddz speed --quick", "ddz speed --only engine,search --json speeds.json"),
    },
    BORDERS: {
        export: (
            "ddz export --out policy.onnx",
            "ddz export runs/first/policy.safetensors --out first.onnx",
            "ddz export --standalone --out standalone.onnx",
            "ddz export student.safetensors --standalone --out standalone.onnx",
            "ddz export policy.safetensors --half --out half.safetensors",
        ),
        actions: ("ddz actions", "ddz actions 333444+57", "ddz actions 42"),
    },
}
"""The commands by the headings of the help, each with examples for its own."""

GROUPS: Mapping[str, Mapping[str, typer.Typer]] = {
    TRAIN: {"train": train},
    STUDY: {"study": study, "reproduce": reproduce},
    BORDERS: {"botzone": botzone},
}
"""Groups of commands by the headings of the help; they come first under each."""


class CommandLine(FriendlyGroup):
    """``ddz``: its commands under headings, old names among what it understands."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take a command's new name for an old one."""
        return super().parse_args(ctx, current(args))

    def list_commands(self, ctx: Any) -> list[str]:
        """The names in the order of the headings; what is not under one comes last."""
        named = {panel: [*GROUPS.get(panel, ()), *(run.__name__ for run in runs)] for panel, runs in COMMANDS.items()}
        order = [name for names in named.values() for name in names]
        return [*order, *(name for name in self.commands if name not in order)]


app = FriendlyTyper(
    cls=CommandLine,
    help="A Dou Dizhu (斗地主) laboratory: play, compare agents, train, study.",
    epilog=examples("ddz play", "ddz arena rollout rules --deals 200", "ddz agents isuct", "ddz arena -h"),
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
)
for panel, commands in COMMANDS.items():
    add_commands(app, commands, panel)
for panel, groups in GROUPS.items():
    for name, group in groups.items():
        app.add_typer(group, name=name, rich_help_panel=panel)
app.command(epilog=examples("ddz docs --check"), hidden=True)(docs)


def _show_version(wanted: bool) -> None:
    if wanted:
        show_version()
        raise typer.Exit


@app.callback()
def _options(
    _: bool = typer.Option(False, "--version", is_eager=True, callback=_show_version, help="Show the version."),
    debug: bool = typer.Option(
        False, "--debug", help="Show the full traceback of an error (works anywhere on the line)."
    ),
) -> None:
    """A Dou Dizhu (斗地主) laboratory: play, compare agents, train, study."""


describe(app)


def main() -> None:
    """Run ``ddz``."""
    app()
