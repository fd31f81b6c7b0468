"""The command ``ddz web``, which serves a page for playing, replaying, analysing and asking for advice."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click import option

from ddz_env.support.processes import exit_at_once

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from ddz_play.web.server import Server

DEFAULT_AGENTS = ("medium", "easy", "hard", "master", "policy", "rollout:milliseconds=300", "isuct", "random")
"""The levels of play, and agents for those who know them; the first by default."""
ADVISER = "neural-ismcts:milliseconds=500"


@click.command()
@option("--port", type=click.IntRange(0, 65535), default=8000, help="The port; 0 takes a free one.")
@option("--host", default="127.0.0.1", help="The address to listen on; by default this machine's own alone.")
@option("--known-as", multiple=True, help="Another name by which browsers call the server; may be repeated.")
@option("--agent", multiple=True, help="An agent that may play; may be repeated, the first by default.")
@option("--adviser", default=ADVISER, help="Who gives hints.")
@option("--folder", type=Path, help="Where games are kept; by default in the user's own data.")
@option("--open", "opens", is_flag=True, help="Open the page in the browser.")
def web(port: int, host: str, adviser: str, folder: Path | None, opens: bool, **named: tuple[str, ...]) -> None:
    """Serve a web page for playing, replaying, analysing and asking for advice.

    \b
    Examples:
      ddz web --open
      ddz web --agent rules --agent isuct:iterations=500 --adviser rollout
      ddz web --host 0.0.0.0 --known-as table.local --folder games
    """
    import webbrowser

    import uvicorn  # noqa: F401  # a missing extra is said first

    from ddz_env.support.folders import user_folder
    from ddz_play.web import routes
    from ddz_play.web.games import WebOptionError
    from ddz_play.web.server import Server

    for name in (*named["agent"], adviser):
        _check_agent(name)
    try:
        bound = socket.create_server((host, port))
    except OSError as error:
        raise WebOptionError(f"cannot listen on {host}:{port} ({error}): name another --port, or 0 for any") from error
    own = f"[{host}]" if ":" in host else host
    hosts = {"127.0.0.1", "localhost", "[::1]", own, *named["known_as"]}
    games = folder or user_folder("XDG_DATA_HOME", ".local", "share") / "games"
    server = Server(games, named["agent"] or DEFAULT_AGENTS, adviser)
    app = routes.make_app(server, sorted(hosts))
    name = "localhost" if host in ("127.0.0.1", "::1") else host
    address = f"http://{name}:{bound.getsockname()[1]}/"
    click.echo(f"{address}  (Ctrl-C ends; games are kept)")
    if opens:
        webbrowser.open(address)
    server.preparation.start()
    asyncio.run(_serve(app, bound, server))


def _check_agent(name: str) -> None:
    """Check an agent's name, options and files at start-up, before a player could meet an error.

    An agent of ours is not made for it: to read a policy is to ask it, and that may compile for half a minute.
    """
    from ddz_env.playing.registry import estimate_compile_seconds, make_agent
    from ddz_play.web.games import WebOptionError
    from ddz_training.measure.provenance import list_agent_files

    if estimate_compile_seconds(name) is None:
        make_agent(name)
    elif missing := [path for path in list_agent_files(name) if not path.is_file()]:
        raise WebOptionError(f"{name!r}: {missing[0]}: there is no such file")


async def _serve(app: Starlette, bound: socket.socket, server: Server) -> None:
    """Serve requests until Ctrl-C, then exit at once without waiting for agents that hang."""
    from ddz_play.web import routes

    with contextlib.suppress(KeyboardInterrupt):
        await routes.new_server(app).serve(sockets=[bound])
    exit_at_once(0, server.games.close)
