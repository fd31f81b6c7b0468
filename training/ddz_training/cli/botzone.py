"""The ``ddz botzone`` commands, which run an agent as a Botzone bot, play matches locally and read match logs."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from click import argument, option

from ddz_training.cli.console import quote_path
from ddz_training.cli.options import NEW, OutputFile

_agent_option = option("--agent", default="rules", help="The agent by name (ddz agents), with options.")
_seed_option = option("--seed", default=0, help="Seed of the agent's draws.")


@click.group()
def botzone() -> None:
    """Run agents as Botzone bots, play Botzone matches locally, and read the platform's logs.

    \b
    Example:
      ddz botzone bundle --agent rules --out bot.zip
    """


@botzone.command()
@_agent_option
@_seed_option
@option("--stay", is_flag=True, help="Stay running between answers.")
def bot(agent: str, seed: int, stay: bool) -> None:
    """Run an agent as a Botzone bot on standard input and output; the first message says which game it is.

    \b
    Examples:
      ddz botzone bot --agent rules
      ddz botzone bot --agent isuct:iterations=500 --stay
    """
    from ddz_env.peers.botzone import player
    from ddz_env.playing.agent import close_agent
    from ddz_env.playing.registry import make_agent

    made = make_agent(agent)
    try:
        player.answer_messages(made, sys.stdin, lambda line: print(line, flush=True), seed, stay)
    finally:
        close_agent(made)


@botzone.command()
@option("--out", type=OutputFile(".zip"), default="bot.zip", help="The archive.")
@_agent_option
@_seed_option
@option("--stay/--no-stay", default=True, help="Stay running between answers.")
def bundle(out: Path, agent: str, seed: int, stay: bool) -> None:
    """Write an agent as one archive to upload as a Python bot; it needs numpy and numba where it runs.

    \b
    Example:
      ddz botzone bundle --agent rules --out bot.zip
    """
    from ddz_training.botzone.bundle import write_bundle

    written = write_bundle(out, agent, seed, stay)
    files = f", of them {', '.join(written.data)}" if written.data else ""
    click.echo(f"{quote_path(out)}: {written.size / 1e6:.2f} MB, {written.files} files{files}")


@botzone.command()
@argument("agents", nargs=-1, required=True, help="Three agents, seat by seat; botzone:./bot for a program.")
@option("--game", default="FightTheLandlord", help="That (seat 0 is the landlord), or FightTheLandlord2.")
@option("--seed", default=0, help="Seed of the deal and of our agents.")
@option("--out", type=NEW, help="Write the log to this new file.")
def match(agents: tuple[str, ...], game: str, seed: int, out: Path | None) -> None:
    """Play one match in the platform's JSON and print its record, faults and scores.

    \b
    Examples:
      ddz botzone match rules botzone:./bot botzone:./bot
      ddz botzone match rules policy rules --game FightTheLandlord2 --out match.json
    """
    from ddz_env.peers.botzone.games import find_botzone_game
    from ddz_env.support.atomic_files import replace_file
    from ddz_training.botzone.match import play_botzone_match

    played = play_botzone_match(find_botzone_game(game), list(agents), seed)
    if out is not None:
        replace_file(out, str(played).encode())
    click.echo(played.to_text().removesuffix("\n"))


@botzone.command()
@argument("log", type=Path, help="A log: a file, with one match or one per line.")
def log(log: Path) -> None:
    """Print the matches in a Botzone log as readable records, replayed move by move.

    Their games become a data set by ddz record --from LOG.

    \b
    Examples:
      ddz botzone log match.json
    """
    from ddz_env.peers.botzone.log import read_logs

    for match in read_logs(log):
        click.echo(match.to_text())
