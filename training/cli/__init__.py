"""The command line ``ddz``.  One file a command; what they do lives below, in :mod:`training.arena`.

Modules that compile or import much are imported inside the commands, so that ``ddz --help`` answers at once.
"""

from __future__ import annotations

from collections.abc import Callable

import typer

from training.cli.advise import advise
from training.cli.arena import arena
from training.cli.bench import bench
from training.cli.benchmark import benchmark
from training.cli.botzone import botzone_bot, botzone_bundle, botzone_log, botzone_match
from training.cli.console import FriendlyGroup
from training.cli.demo import demo
from training.cli.docs import docs
from training.cli.equivalent import equivalent
from training.cli.exploit import exploit
from training.cli.export import export
from training.cli.hand import hand
from training.cli.help import examples
from training.cli.info import actions, agents, rules, version
from training.cli.play import play
from training.cli.puzzles import puzzles
from training.cli.rate import rate
from training.cli.record import record
from training.cli.replay import replay
from training.cli.reproduce import app as reproduce
from training.cli.solve import solve
from training.cli.tendency import tendency
from training.cli.train import app as train
from training.cli.watch import watch
from training.cli.web import web

__all__ = ["app", "main"]

app = typer.Typer(
    cls=FriendlyGroup,
    help="A Dou Dizhu (斗地主) laboratory: play, compare agents, measure speeds.",
    epilog=examples("ddz play", "ddz arena rollout rules --deals 200", "ddz agents isuct", "ddz arena -h"),
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
COMMANDS: dict[Callable[..., None], tuple[str, ...]] = {
    arena: (
        "ddz arena rollout rules --deals 200",
        "ddz arena isuct:iterations=500 isuct --name short --name long",
        "ddz arena rules random --rules bidding,doubling=true --out games.csv",
        "ddz arena mymodule:MyAgent rules --deals 400 --out games.csv --resume",
        "ddz arena rollout isuct --deal-file deals.csv --tendency none",
    ),
    bench: ("ddz bench --quick", "ddz bench --only engine,search --json speeds.json"),
    benchmark: (
        "ddz benchmark mymodule:MyAgent",
        "ddz benchmark mymodule:MyAgent --full --out mine.json",
        "ddz benchmark --check mine.json",
        "ddz benchmark --field --full --out runs/field.json",
    ),
    botzone_bot: ("ddz botzone-bot --agent rules", "ddz botzone-bot --agent isuct:iterations=500 --stay"),
    botzone_bundle: ("ddz botzone-bundle --agent rules --out bot.zip",),
    botzone_log: ("ddz botzone-log match.json", "ddz botzone-log matches.jsonl --out runs/botzone"),
    botzone_match: (
        "ddz botzone-match rules botzone:./bot botzone:./bot",
        "ddz botzone-match rules policy rules --game FightTheLandlord2 --out match.json",
    ),
    demo: ("ddz demo --minutes 2 --out demo-report",),
    equivalent: (
        "ddz equivalent rules",
        "ddz equivalent policy --search rollout --most 10000 --out policy.csv",
        "ddz equivalent rlcard-rule --method binary --upper 100 --deals 100",
    ),
    exploit: (
        "ddz exploit policy --out runs/policy --minutes 60",
        "ddz exploit rules --out runs/rules --side landlord --updates 200",
        "ddz exploit rules --out runs/rules --updates 400 --resume",
        "ddz exploit random --out runs/mini --rules mini --start scratch --minutes 1",
    ),
    hand: (
        "ddz hand 3344567TJQQKA22BR",
        "ddz hand 3344567TJQQKA22BR --bid 1 --convergence",
        "ddz hand 3344567TJQQKA22BR --bottom 359 --role peasant-up --bid 2 --json",
    ),
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
    rate: (
        "ddz rate random random-staged rules rlcard-rule --deals 100",
        "ddz rate rules policy rollout --out my.sqlite --resume --until-decided",
        "ddz rate --out my.sqlite --anchor rules --plot ratings.png",
    ),
    record: (
        "ddz record rules --deals 1000 --out runs/rules-games",
        "ddz record isuct:iterations=2000 --visits --deals 200 --out visits",
        "ddz record rules policy --rules bidding --out runs/match --processes 4",
    ),
    solve: (
        "ddz solve 'KK5543 / 225543'",
        "ddz solve 'KK5543 / 225543' --turn 2 --to-beat 4 --all",
        "ddz solve '44668 / 5578 / 3399: 3, 5' --rules rlcard --json",
        "ddz solve --file positions.txt --seconds 10 --stake",
    ),
    puzzles: ("ddz puzzles", "ddz puzzles 12 --answer", "ddz puzzles --make 20 --deal 9+9 --out mine.txt"),
    rules: ("ddz rules", "ddz rules bidding,doubling=true"),
    actions: ("ddz actions", "ddz actions 333444+57", "ddz actions 42"),
    agents: ("ddz agents", "ddz agents isuct"),
    docs: ("ddz docs --check",),
    export: (
        "ddz export --out policy.onnx",
        "ddz export runs/first/policy.safetensors --out first.onnx",
        "ddz export --standalone --out standalone.onnx",
        "ddz export student.safetensors --standalone --out standalone.onnx",
        "ddz export policy.safetensors --half --out half.safetensors",
    ),
    tendency: (
        "ddz tendency --out deals.csv",
        "ddz tendency --top policy --top rules --bottom random --deals 500",
    ),
    version: ("ddz version",),
    web: (
        "ddz web --open",
        "ddz web --agent rules --agent isuct:iterations=500 --adviser rollout",
        "ddz web --host 0.0.0.0 --known-as table.local --folder games",
    ),
}
"""The commands, each with examples for its help."""

for command, lines in COMMANDS.items():
    app.command(epilog=examples(*lines))(command)
app.add_typer(reproduce, name="reproduce")
app.add_typer(train, name="train")


def _show_version(wanted: bool) -> None:
    if wanted:
        version()
        raise typer.Exit


@app.callback()
def _options(
    _: bool = typer.Option(False, "--version", is_eager=True, callback=_show_version, help="Show the version."),
    debug: bool = typer.Option(
        False, "--debug", help="Show the full traceback of an error (works anywhere on the line)."
    ),
) -> None:
    """A Dou Dizhu (斗地主) laboratory: play, compare agents, measure speeds."""


def main() -> None:
    """Run ``ddz``."""
    app()
