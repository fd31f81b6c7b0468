"""The server in a thread of this process: for tests, pictures and measurements."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from training.web.routes import Server, make_app


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
    app = make_app(Server(folder, agents, adviser), ["localhost"])
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    yield f"http://localhost:{bound.getsockname()[1]}/"
    server.should_exit = True
    thread.join(10)
