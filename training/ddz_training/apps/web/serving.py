"""The server of an application, which waits for no half request."""

from __future__ import annotations

import asyncio

import h11
import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

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
