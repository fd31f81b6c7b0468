"""Requests come whole in time, or their connection is closed.

uvicorn has a limit for the pause between two requests and none for a request of which a part is missing.
"""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS = 20.0
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
            self._late = self.loop.call_later(SECONDS, self.transport.close)

    def _came(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None
