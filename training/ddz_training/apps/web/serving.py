"""The server of an application; one in a thread of this process, and a browser, for tests and measurements."""

from __future__ import annotations

import asyncio
import shutil
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import h11
import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from ddz_training.apps.web.routes import make_app
from ddz_training.apps.web.server import Server

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Playwright


REQUEST_SECONDS = 20.0
"""For a request's head and body; a page sends a few kilobytes."""


class PunctualProtocol(H11Protocol):
    """HTTP/1.1 for clients that send whole requests; of the others the application hears that they have left."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Expect a request."""
        super().connection_made(transport)
        self._expect()

    def data_received(self, data: bytes) -> None:
        """Take a part of a request."""
        super().data_received(data)
        if self.conn.their_state in (h11.IDLE, h11.SEND_BODY):
            self._expect()
        else:
            self._came()

    def connection_lost(self, exc: Exception | None) -> None:
        """Expect nothing any more."""
        self._came()
        super().connection_lost(exc)

    def _expect(self) -> None:
        if self._late is None:
            self._late = self.loop.call_later(REQUEST_SECONDS, self.transport.close)

    def _came(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


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


_NAMES = ("chromium", "chromium-browser", "google-chrome")
_OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def chromium(driver: Playwright) -> Browser:
    """Start the Chromium of this machine, or else Playwright's own.

    Raises:
        playwright.sync_api.Error: If there is neither.
    """
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    return driver.chromium.launch(executable_path=found, args=list(_OPTIONS))
