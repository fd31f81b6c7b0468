"""``ddz web``: a page on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ddz_training.apps.cli.console import tell
from ddz_training.apps.cli.signals import ending

if TYPE_CHECKING:
    import socket

    import uvicorn

OFFERED = ("medium", "easy", "hard", "master", "policy", "rollout:milliseconds=300", "isuct", "random")
"""The levels of play, and agents for those who know them; the first by default."""
ADVISER = "neural-ismcts:milliseconds=500"


def web(
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 8000,
    host: Annotated[
        str, typer.Option(help="The address to listen on; others than this machine's reach it, too.")
    ] = "127.0.0.1",
    known_as: Annotated[
        list[str] | None, typer.Option(help="A name by which browsers call the server, besides this machine's own.")
    ] = None,
    agent: Annotated[
        list[str] | None, typer.Option(help="An agent that may play; may be repeated, the first by default.")
    ] = None,
    adviser: Annotated[
        str,
        typer.Option(
            metavar="AGENT", help="Who gives hints; by default a search that thinks half a second.", show_default=False
        ),
    ] = ADVISER,
    folder: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where games are kept; by default in the user's own data.")
    ] = None,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    """Serve a page to play, replay, analyse and ask on."""
    import errno
    import socket
    import webbrowser

    import uvicorn  # noqa: F401  # a missing extra is said first

    from ddz_env.core.folders import user_folder
    from ddz_env.playing.registry import make_agent
    from ddz_training.apps.web.games import WebOptionError
    from ddz_training.apps.web.routes import make_app
    from ddz_training.apps.web.server import Server
    from ddz_training.apps.web.serving import new_server

    offered = tuple(agent or OFFERED)
    for name in (*(agent or ()), *([] if adviser == ADVISER else [adviser])):
        make_agent(name)  # a wrong name is said now, not to a player
    try:
        bound = socket.create_server((host, port))
    except OSError as error:
        why = error.strerror or str(error)
        if error.errno == errno.EADDRINUSE:
            why = "another program does, perhaps another ddz web; name another --port, or 0 for a free one"
        raise WebOptionError(f"cannot listen on {host}:{port}: {why}") from error
    number = bound.getsockname()[1]
    hosts = {"127.0.0.1", "localhost", "[::1]", f"[{host}]" if ":" in host else host, *(known_as or ())}
    server = Server(folder or user_folder("XDG_DATA_HOME", ".local", "share") / "games", offered, adviser)
    app = make_app(server, sorted(hosts))
    address = f"http://{'localhost' if host in ('127.0.0.1', '::1') else host}:{number}/"
    tell(f"{address}  (Ctrl-C ends; games are kept)")
    server.preparation.start()
    if open_page:
        webbrowser.open(address)
    try:
        _serve(new_server(app), bound)
    finally:
        server.games.close()


def _serve(server: uvicorn.Server, bound: socket.socket) -> None:
    """Answer until Ctrl-C; every game is kept after each of its moves, so there is nothing left to save."""
    import asyncio
    from contextlib import nullcontext

    def stop() -> None:
        server.should_exit = True

    # Our own handlers answer signals: see ddz_training.apps.cli.signals.
    server.capture_signals = nullcontext  # type: ignore[assignment,method-assign]
    with ending(stop):
        asyncio.run(server.serve(sockets=[bound]))
