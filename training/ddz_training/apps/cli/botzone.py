"""``ddz botzone``: our agents among Botzone's bots, and its logs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ddz_env.core.errors import plural
from ddz_env.core.whole_file import replace_file
from ddz_training.apps.cli.console import FriendlyTyper, quoted, tell
from ddz_training.apps.cli.help import add_commands, examples
from ddz_training.apps.cli.outputs import output_file, output_folder

app = FriendlyTyper(
    help="Botzone: be one of its bots, play its matches here, read its logs.",
    epilog=examples("ddz botzone bundle --agent rules --out bot.zip", "ddz botzone log match.json"),
    no_args_is_help=True,
)


@app.callback()
def _options() -> None:
    """Botzone: be one of its bots, play its matches here, read its logs."""


_Agent = Annotated[str, typer.Option("--agent", help="The agent by name (ddz agents), with options.")]
_Seed = Annotated[int, typer.Option(min=0, help="Seed of the agent's draws.")]
_Stay = Annotated[bool, typer.Option("--stay/--no-stay", help="Ask to be kept running between answers.")]


def bot(agent: _Agent = "rules", seed: _Seed = 0, keep_running: _Stay = False) -> None:
    """Be a bot of Botzone on standard input and output; which game it is, the first message says."""
    from ddz_env.peers.botzone.player import serve
    from ddz_env.playing.agent import close
    from ddz_env.playing.registry import make_agent

    made = make_agent(agent)
    try:
        serve(made, sys.stdin, lambda line: print(line, flush=True), seed, keep_running)
    finally:
        close(made)


def bundle(
    agent: _Agent = "rules",
    out: Annotated[Path, typer.Option(help="The archive.", callback=output_file(".zip"))] = Path("bot.zip"),
    seed: _Seed = 0,
    keep_running: _Stay = True,
) -> None:
    """Write an agent as one archive to upload as a Python bot; it needs numpy and numba where it runs."""
    from ddz_training.apps.botzone.bundle import write_bundle

    bundle = write_bundle(out, agent, seed, keep_running)
    data = f", of them {', '.join(bundle.data)}" if bundle.data else ""
    tell(f"{quoted(out)}: {bundle.size / 1e6:.2f} MB, {bundle.files} files{data}")


def match(
    agents: Annotated[list[str], typer.Argument(help="Three agents, seat by seat; botzone:./bot for a program.")],
    game: Annotated[str, typer.Option(help="FightTheLandlord (seat 0 is the landlord) or FightTheLandlord2.")] = (
        "FightTheLandlord"
    ),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the deal and of our agents.")] = 0,
    out: Annotated[
        Path | None, typer.Option(help="Write the log to this new file.", callback=output_file(new=True))
    ] = None,
) -> None:
    """Play one match in the platform's JSON and print its record, faults and scores."""
    from ddz_env.peers.botzone.games import botzone_game
    from ddz_training.apps.botzone.match import play_match

    played = play_match(botzone_game(game), agents, seed)
    if out is not None:
        replace_file(out, str(played).encode())
    tell(played.record().removesuffix("\n"))


def log(
    log: Annotated[Path, typer.Argument(help="A log: a file, with one match or one a line.")],
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for a data set of these matches, as ddz record writes it.", callback=output_folder),
    ] = None,
) -> None:
    """Print the matches of a log of the platform as readable records, played again move by move."""
    from ddz_env.peers.botzone.log import read_logs
    from ddz_training.data.botzone_logs import keep_matches

    matches = read_logs(log)
    if out is None:
        for each in matches:
            tell(each.record())
        return
    made = keep_matches(out, matches)
    left_out = len(matches) - made.games
    kept = f"{plural(made.games, 'game')}, {plural(made.rows, 'row')}"
    tell(f"{quoted(out)}: {kept}; left out, not ended by play: {left_out}")


add_commands(
    app,
    {
        bot: ("ddz botzone bot --agent rules", "ddz botzone bot --agent isuct:iterations=500 --stay"),
        bundle: ("ddz botzone bundle --agent rules --out bot.zip",),
        match: (
            "ddz botzone match rules botzone:./bot botzone:./bot",
            "ddz botzone match rules policy rules --game FightTheLandlord2 --out match.json",
        ),
        log: ("ddz botzone log match.json", "ddz botzone log matches.jsonl --out runs/botzone"),
    },
)
