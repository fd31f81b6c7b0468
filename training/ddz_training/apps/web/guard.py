"""Which requests are answered at all: of this page, to this host, and with headers that hold the page together.

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

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_HOST = re.compile(r"([A-Za-z0-9._-]+|\[[0-9a-fA-F:.]+\])(:[0-9]{1,5})?")


class Guard:
    """Refuses foreign hosts and foreign origins.

    Args:
        app: What answers the rest.
        hosts: Names that the server is known by, without ports.
    """

    def __init__(self, app: ASGIApp, hosts: Sequence[str]) -> None:
        self._app, self._hosts = app, frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or say why not."""
        app = self._app
        if scope["type"] == "http" and (refused := self._refused(scope)) is not None:
            status, text = refused
            app = JSONResponse({"error": text}, status)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await app(scope, receive, with_headers)

    def _refused(self, scope: Scope) -> tuple[int, str] | None:
        """The status and text of a refusal."""
        method, headers = scope["method"], Headers(scope=scope)
        host = headers.get("host", "")
        named = _HOST.fullmatch(host)
        if named is None or named[1].lower() not in self._hosts:
            return 421, "this server is not known by that name: see --known-as of ddz web"
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            # A link from elsewhere may open the page itself; nothing else is for others.
            navigates = method == "GET" and headers.get("sec-fetch-mode") == "navigate"
            opens = navigates and not scope["path"].startswith("/api/")
            return None if opens else (403, "requests of other pages are refused")
        if method in ("GET", "HEAD"):
            return None
        if headers.get("origin", f"http://{host}") not in (f"http://{host}", f"https://{host}"):
            return 403, "requests of other pages are refused"
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return 415, "the body of a request is JSON"
        return None
