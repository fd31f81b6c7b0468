"""Which requests are answered at all: of this page, to this host, small, and with headers that hold the page together.

A page of another origin could send requests to a server on this machine (forged requests), or give this machine's
address another name (DNS rebinding).  So the host must be one that the server is known by, and whatever changes
something must come from a page of that host and be JSON, which no form can send.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST = 256 * 1024
"""Bytes of a request's body."""
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_HOST = re.compile(r"([A-Za-z0-9._-]+|\[[0-9a-fA-F:.]+\])(:[0-9]{1,5})?")


class TooLargeError(Exception):
    """A body is larger than any that the page sends."""


class Guard:
    """Refuses foreign hosts, foreign origins and bodies that are too large.

    Args:
        app: What answers the rest.
        hosts: Names that the server is known by, without ports.
    """

    def __init__(self, app: ASGIApp, hosts: Sequence[str]) -> None:
        self._app, self._hosts = app, frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or say why not."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        reason = self._reason(scope["method"], scope["path"], Headers(scope=scope))
        if reason is not None:
            status, text = reason
            await JSONResponse({"error": text}, status)(scope, receive, _with_headers(send))
            return
        try:
            await self._app(scope, _limited(receive), _with_headers(send))
        except TooLargeError:
            await JSONResponse({"error": "that is too large"}, 413)(scope, receive, _with_headers(send))

    def _reason(self, method: str, path: str, headers: Headers) -> tuple[int, str] | None:
        """The status and text of a refusal."""
        host = headers.get("host", "")
        named = _HOST.fullmatch(host)
        if named is None or named[1].lower() not in self._hosts:
            return 421, "this server is not known by that name: see --known-as of ddz web"
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            # A link from elsewhere may open the page itself; nothing else is for others.
            opens = method == "GET" and headers.get("sec-fetch-mode") == "navigate" and not path.startswith("/api/")
            return None if opens else (403, "requests of other pages are refused")
        if method in ("GET", "HEAD"):
            return None
        origin = headers.get("origin")
        if origin is not None and origin not in (f"http://{host}", f"https://{host}"):
            return 403, "requests of other pages are refused"
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return 415, "the body of a request is JSON"
        return None


def _limited(receive: Receive) -> Receive:
    total = 0

    async def limited() -> Message:
        nonlocal total
        message = await receive()
        total += len(message.get("body", b""))
        if total > LARGEST:
            raise TooLargeError
        return message

    return limited


def _with_headers(send: Send) -> Send:
    async def with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers[name] = value
            headers.setdefault("Cache-Control", "no-store")
        await send(message)

    return with_headers
