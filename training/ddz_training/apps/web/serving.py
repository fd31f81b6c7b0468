"""The server of an application, and one in a thread of this process: for tests, pictures and measurements."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from starlette.applications import Starlette

from ddz_training.apps.web.punctual import PunctualProtocol
from ddz_training.apps.web.routes import Server, make_app


def new_server(app: Starlette) -> uvicorn.Server:
    """The server of an application: it waits neither for half a request nor, in the end, long for an agent."""
    config = uvicorn.Config(app, http=PunctualProtocol, log_level="warning", timeout_graceful_shutdown=1)
    return uvicorn.Server(config)


@contextmanager
def serving(folder: Path, agents: Sequence[str], adviser: str) -> Iterator[str]:
    """Serve on a free port of this machine.

    Args:
        folder: Where games are kept.
        agents: Agents that may play, the first by default.
        adviser: Who gives hints.

    Yields:
        The address of the page.
    """
    bound = socket.create_server(("127.0.0.1", 0))
    answering = Server(folder, agents, adviser)
    server = new_server(make_app(answering, ["localhost"]))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    yield f"http://localhost:{bound.getsockname()[1]}/"
    server.should_exit = True
    thread.join(10)
    answering.games.close()
