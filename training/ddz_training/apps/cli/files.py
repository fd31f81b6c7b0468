"""``ddz record``, ``replay``, ``export``, ``botzone`` and ``web``: games and agents for others."""

from __future__ import annotations

import errno
import socket
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from ddz_env import Rules
from ddz_env.core.errors import plural
from ddz_env.core.folders import user_folder
from ddz_env.core.whole_file import replace_file
from ddz_env.playing.agent import close
from ddz_env.playing.registry import make_agent
from ddz_training.apps.cli import options
from ddz_training.apps.cli.commands import follow, group, leave_out
from ddz_training.apps.cli.console import quoted, tell, with_bar
from ddz_training.apps.cli.lazily import lazily
from ddz_training.apps.cli.signals import ending

with lazily():
    from ddz_agents.neural import onnx_export
    from ddz_agents.neural import shipped as shipped_policy
    from ddz_agents.neural import weights as neural_weights
    from ddz_env.peers.botzone import games as botzone_games
    from ddz_env.peers.botzone import log as botzone_log
    from ddz_env.peers.botzone import player as botzone_player
    from ddz_training.apps.botzone import bundle as botzone_bundle
    from ddz_training.apps.botzone import match as botzone_match
    from ddz_training.apps.web import games as web_games
    from ddz_training.apps.web import routes, serving
    from ddz_training.apps.web import server as web_server
    from ddz_training.data import dataset
    from ddz_training.data import games as data_games
    from ddz_training.data import recording as data_recording
    from ddz_training.data import table as data_table

OFFERED = ("medium", "easy", "hard", "master", "policy", "rollout:milliseconds=300", "isuct", "random")
"""The levels of play, and agents for those who know them; the first by default."""
ADVISER = "neural-ismcts:milliseconds=500"


def record(
    agents: Annotated[list[str], typer.Argument()],
    out: options.OutputFolder,
    deals: options.Count = 100,
    first_deal: options.Natural = 0,
    visits: bool = False,
    rules: options.Preset = "standard",
    seed: options.Natural = 0,
    processes: options.Count = 2,
    ray: options.OnRay = False,
    allow_other_code: options.OtherCode = False,
) -> None:
    """Record games as a data set: tables of states and actions, and games that replay exactly.

    Options:
        agents: One agent plays itself; two play each deal from both sides; three sit seat by seat.
        out: Folder for games, tables and card; one with fewer deals is completed.
        deals: Deals to play.
        first_deal: Number of the first deal under the seed.
        visits: Record what searches think of every action; all agents must be searches.
        seed: Seed of the deals and the agents.
        processes: Worker processes; the games do not depend on them.

    Example:
        ddz record rules --deals 1000 --out runs/rules-games
        ddz record isuct:iterations=2000 --visits --deals 200 --out visits
        ddz record rules policy --rules bidding --out runs/match --processes 4
    """
    data_table.check_tables()
    recording = data_recording.Recording(tuple(agents), Rules.preset(rules), seed, visits)
    settings: dict[str, Any] = {
        "first_deal": first_deal,
        "processes": processes,
        "store": recording.store(out / data_games.GAMES),
    }
    with_bar("deals", lambda tell: data_recording.record_games(recording, deals, on_progress=tell, **settings))
    made = with_bar("tables", lambda tell: dataset.write_data_set(out, tell))
    tell(f"{quoted(out)}: {plural(made.games, 'game')}, {plural(made.rows, 'row')}")
    follow("to learn from them", "train", "imitate", "--out", "warm.safetensors", "--data", out)


def replay(
    games: Annotated[Path, typer.Argument()],
    context: typer.Context,
    deal: options.OptionalNatural = None,
    game: options.Natural = 0,
) -> None:
    """Check that all games of a data set replay as they were recorded, or print one, to be opened on the page.

    Options:
        games: The data set's folder, or its file of games.
        deal: Print the game of this deal.
        game: With --deal: which of its games.

    Example:
        ddz replay runs/rules-games
        ddz replay runs/rules-games --deal 7
    """
    if deal is None:
        leave_out(context, "games are counted within a --deal", "--game")
    file = data_games.read_games(games)
    chosen = [one for one in file.games if deal is None or (one.deal, one.game) == (deal, game)]
    if not chosen:
        what = "games" if deal is None else f"game {game} of deal {deal}"
        raise data_games.DataSetError(f"{games} has no {what}")
    if deal is not None:
        typer.echo(chosen[0].record(file.rules, file.agents), nl=False)
        return
    for one in chosen:
        one.replay(file.rules)
    tell(f"{plural(len(chosen), 'game')} replay as recorded")


# --- ddz export --------------------------------------------------------------


def export(
    policy: Annotated[Path | None, typer.Argument(callback=options.input_file)] = None,
    out: Annotated[
        Path, typer.Option(help=f"Where to write the file (*{options.ONNX}).", callback=options.output_file())
    ] = Path(f"policy{options.ONNX}"),
    half: Annotated[
        bool,
        typer.Option(
            "--half",
            help=f"Weights (a new *{options.WEIGHTS}) instead, in half precision: half the size, for ddz itself.",
        ),
    ] = False,
) -> None:
    """Write a policy as an ONNX file, for any ONNX runtime and for ddz itself (policy:path=policy.onnx).

    Options:
        policy: Weights; the shipped policy by default.

    Example:
        ddz export --out policy.onnx
        ddz export runs/first/policy.safetensors --out first.onnx
        ddz export policy.safetensors --half --out half.safetensors
    """
    options.check_output(out, (options.WEIGHTS if half else options.ONNX,))
    if half:
        options.check_new(out)
    weights = neural_weights.load_weights(shipped_policy.policy_path(policy))
    if half:
        neural_weights.save_weights(out, weights, half=True)
    else:
        onnx_export.export_onnx(weights, out)
    said = f"{weights.rules} rules, {weights.objective}{', half precision' if half else ''}"
    tell(f"{quoted(out)}: {out.stat().st_size / 1e6:.1f} MB, {said}")
    follow("to play it", "arena", f"policy:path={out}", "rules")


# --- ddz botzone -------------------------------------------------------------


_Agent = Annotated[str, typer.Option("--agent", help="The agent by name (ddz agents), with options.")]
_Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the agent's draws.")]
_Stay = Annotated[bool, typer.Option("--stay/--no-stay", help="Ask to be kept running between answers.")]


def bot(agent: _Agent = "rules", seed: _Seed = 0, keep_running: _Stay = False) -> None:
    """Be a bot of Botzone on standard input and output; which game it is, the first message says.

    Example:
        ddz botzone bot --agent rules
        ddz botzone bot --agent isuct:iterations=500 --stay
    """
    made = make_agent(agent)
    try:
        botzone_player.serve(made, sys.stdin, lambda line: print(line, flush=True), seed, keep_running)
    finally:
        close(made)


def bundle(
    agent: _Agent = "rules",
    out: Annotated[Path, typer.Option(callback=options.output_file(".zip"))] = Path("bot.zip"),
    seed: _Seed = 0,
    keep_running: _Stay = True,
) -> None:
    """Write an agent as one archive to upload as a Python bot; it needs numpy and numba where it runs.

    Options:
        out: The archive.

    Example:
        ddz botzone bundle --agent rules --out bot.zip
    """
    bundle = botzone_bundle.write_bundle(out, agent, seed, keep_running)
    data = f", of them {', '.join(bundle.data)}" if bundle.data else ""
    tell(f"{quoted(out)}: {bundle.size / 1e6:.2f} MB, {bundle.files} files{data}")


def match(
    agents: Annotated[list[str], typer.Argument()],
    game: str = "FightTheLandlord",
    seed: options.Natural = 0,
    out: Annotated[Path | None, typer.Option(callback=options.output_file(new=True))] = None,
) -> None:
    """Play one match in the platform's JSON and print its record, faults and scores.

    Options:
        agents: Three agents, seat by seat; botzone:./bot for a program.
        game: FightTheLandlord (seat 0 is the landlord) or FightTheLandlord2.
        seed: Seed of the deal and of our agents.
        out: Write the log to this new file.

    Example:
        ddz botzone match rules botzone:./bot botzone:./bot
        ddz botzone match rules policy rules --game FightTheLandlord2 --out match.json
    """
    played = botzone_match.play_match(botzone_games.botzone_game(game), agents, seed)
    if out is not None:
        replace_file(out, str(played).encode())
    tell(played.record().removesuffix("\n"))


def log(
    log: Annotated[Path, typer.Argument()],
    out: Annotated[Path | None, typer.Option(callback=options.output_folder)] = None,
) -> None:
    """Print the matches of a log of the platform as readable records, played again move by move.

    Options:
        log: A log: a file, with one match or one a line.
        out: Folder for a data set of these matches, as ddz record writes it.

    Example:
        ddz botzone log match.json
        ddz botzone log matches.jsonl --out runs/botzone
    """
    matches = botzone_log.read_logs(log)
    if out is None:
        for each in matches:
            tell(each.record())
        return
    made = data_recording.keep_matches(out, matches)
    left_out = len(matches) - made.games
    kept = f"{plural(made.games, 'game')}, {plural(made.rows, 'row')}"
    tell(f"{quoted(out)}: {kept}; left out, not ended by play: {left_out}")


botzone = group(
    "Botzone: be one of its bots, play its matches here, read its logs.",
    (bot, bundle, match, log),
    "ddz botzone bundle --agent rules --out bot.zip",
    "ddz botzone log match.json",
)


# --- ddz web -----------------------------------------------------------------


def web(
    port: Annotated[int, typer.Option(min=0, max=65535)] = 8000,
    host: str = "127.0.0.1",
    known_as: list[str] | None = None,
    agent: list[str] | None = None,
    adviser: Annotated[str, typer.Option(metavar="AGENT", show_default=False)] = ADVISER,
    folder: Annotated[Path | None, typer.Option(metavar="DIR")] = None,
    open_page: Annotated[bool, typer.Option("--open")] = False,
) -> None:
    """Serve a page to play, replay, analyse and ask on.

    Options:
        port: The port; 0 takes a free one.
        host: The address to listen on; others than this machine's reach it, too.
        known_as: A name by which browsers call the server, besides this machine's own.
        agent: An agent that may play; may be repeated, the first by default.
        adviser: Who gives hints; by default a search that thinks half a second.
        folder: Where games are kept; by default in the user's own data.
        open_page: Open the page in the browser.

    Example:
        ddz web --open
        ddz web --agent rules --agent isuct:iterations=500 --adviser rollout
        ddz web --host 0.0.0.0 --known-as table.local --folder games
    """
    import webbrowser

    import uvicorn  # noqa: F401  # a missing extra is said first

    offered = tuple(agent or OFFERED)
    for name in (*(agent or ()), *([] if adviser == ADVISER else [adviser])):
        make_agent(name)  # a wrong name is said now, not to a player
    try:
        bound = socket.create_server((host, port))
    except OSError as error:
        why = error.strerror or str(error)
        if error.errno == errno.EADDRINUSE:
            why = "another program does, perhaps another ddz web; name another --port, or 0 for a free one"
        raise web_games.WebOptionError(f"cannot listen on {host}:{port}: {why}") from error
    number = bound.getsockname()[1]
    hosts = {"127.0.0.1", "localhost", "[::1]", f"[{host}]" if ":" in host else host, *(known_as or ())}
    server = web_server.Server(folder or user_folder("XDG_DATA_HOME", ".local", "share") / "games", offered, adviser)
    app = routes.make_app(server, sorted(hosts))
    address = f"http://{'localhost' if host in ('127.0.0.1', '::1') else host}:{number}/"
    tell(f"{address}  (Ctrl-C ends; games are kept)")
    server.preparation.start()
    if open_page:
        webbrowser.open(address)
    try:
        _serve(serving.new_server(app), bound)
    finally:
        server.games.close()


def _serve(server: Any, bound: socket.socket) -> None:
    """Answer until Ctrl-C; every game is kept after each of its moves, so there is nothing left to save."""
    import asyncio

    def stop() -> None:
        server.should_exit = True

    # Our own handlers answer signals: see ddz_training.apps.cli.signals.
    server.capture_signals = nullcontext
    with ending(stop):
        asyncio.run(server.serve(sockets=[bound]))
