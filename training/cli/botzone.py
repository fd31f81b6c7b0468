"""``ddz botzone-bot``, ``ddz botzone-match``, ``ddz botzone-log`` and ``ddz botzone-bundle``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from training.cli.console import console
from training.cli.outputs import output_file, output_folder

_Agent = Annotated[str, typer.Option("--agent", help="The agent by name (ddz agents), with options.")]
_Seed = Annotated[int, typer.Option(min=0, help="Seed of the agent's draws.")]
_Stay = Annotated[bool, typer.Option("--stay/--no-stay", help="Ask to be kept running between answers.")]


def botzone_bot(agent: _Agent = "rules", seed: _Seed = 0, keep_running: _Stay = False) -> None:
    """Be a bot of Botzone on standard input and output; which game it is, the first message says."""
    from ddz_env.agent import close
    from ddz_env.botzone.serving import serve
    from ddz_env.registry import make_agent

    made = make_agent(agent)
    try:
        serve(made, sys.stdin, lambda line: print(line, flush=True), seed, keep_running)
    finally:
        close(made)


def botzone_bundle(
    agent: _Agent = "rules",
    out: Annotated[Path, typer.Option(help="The archive.", callback=output_file(".zip"))] = Path("bot.zip"),
    seed: _Seed = 0,
    keep_running: _Stay = True,
) -> None:
    """Write an agent as one archive to upload as a Python bot; it needs numpy and numba where it runs."""
    from training.botzone.bundle import write_bundle

    bundle = write_bundle(out, agent, seed, keep_running)
    data = f", of them {', '.join(bundle.data)}" if bundle.data else ""
    console().print(f"{out}: {bundle.size / 1e6:.2f} MB, {bundle.files} files{data}", markup=False, soft_wrap=True)


def botzone_match(
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
    from ddz_env.botzone.games import botzone_game
    from training.botzone.match import play_match

    log = play_match(botzone_game(game), agents, seed)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(str(log), encoding="utf-8")
    console().print(log.record(), markup=False, soft_wrap=True, end="")


def botzone_log(
    log: Annotated[Path, typer.Argument(help="A log: a file, with one match or one a line.")],
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for a data set of these matches, as ddz record writes it.", callback=output_folder),
    ] = None,
) -> None:
    """Print the matches of a log of the platform as readable records, played again move by move."""
    from ddz_env.botzone.log import read_logs
    from training.data.botzone_logs import keep_matches

    matches = read_logs(log)
    if out is None:
        for each in matches:
            console().print(each.record(), markup=False, soft_wrap=True)
        return
    made = keep_matches(out, matches)
    left_out = len(matches) - made.games
    console().print(
        f"{out}: {made.games} games, {made.rows} rows; {left_out} matches that did not end by play are left out",
        markup=False,
        soft_wrap=True,
    )
