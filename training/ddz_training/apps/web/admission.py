"""Which requests are answered at all, and when.

A page of another origin could send requests to a server on this machine (forged requests), or give this machine's
address another name (DNS rebinding).  So the host must be one that the server is known by, and what changes something
must come from a page of that host and be JSON, which no form can send.

A request waits for its game and for a place among those in which agents think, as long as the client does.  Waiting
takes up no thread, so a game whose agent thinks does not hold up the others.  What runs in a thread is not cut off: a
move that an agent has chosen is kept, whether its answer is read or not.  But it keeps its place for a while only, so
agents that hang do not keep others from thinking.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Future
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TypeVar
from weakref import WeakValueDictionary

from anyio import CancelScope, CapacityLimiter, Lock, create_task_group
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
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

THINKING = max(2, os.cpu_count() or 1)
"""Requests in which agents think, at the same time; the others wait."""
_OTHERS = 32
"""Requests without an agent that thinks, at the same time; they take milliseconds."""
KEPT = 60.0
"""Seconds after which a request's place is given to the next one, though it has not been answered yet."""

_Answer = TypeVar("_Answer")


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


class Admission:
    """Lets requests in, a few that think at the same time; it belongs to one event loop."""

    def __init__(self) -> None:
        self._places: dict[bool, CapacityLimiter] = {}
        self._alone: WeakValueDictionary[str, Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def turn(self, receive: Receive, alone: str | None, thinking: bool) -> AsyncIterator[None]:
        """Wait until a request may be answered.

        Args:
            receive: The request's, whose body has been read.
            alone: What only one request at a time may do, if there is such a thing.
            thinking: Whether an agent thinks.

        Raises:
            ClientDisconnect: If the client leaves before.
        """
        lock = Lock() if alone is None else self._alone.setdefault(alone, Lock())
        size, borrower = THINKING if thinking else _OTHERS, object()
        places = self._places.setdefault(thinking, CapacityLimiter(size))

        def leave() -> None:
            with contextlib.suppress(RuntimeError):  # it has left already
                places.release_on_behalf_of(borrower)

        async with AsyncExitStack() as held:
            came = False
            async with create_task_group() as waiting:
                waiting.start_soon(_until_the_client_leaves, receive, waiting.cancel_scope)
                await held.enter_async_context(lock)
                await places.acquire_on_behalf_of(borrower)
                held.callback(leave)
                came = True
                waiting.cancel_scope.cancel()
            if not came:
                raise ClientDisconnect
            held.callback(asyncio.get_running_loop().call_later(KEPT, leave).cancel)
            yield


async def _until_the_client_leaves(receive: Receive, scope: CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


async def in_thread(do: Callable[[], _Answer]) -> _Answer:
    """Do something that takes its time in a thread of its own, which does not keep the process from ending."""
    done: Future[_Answer] = Future()
    done.set_running_or_notify_cancel()

    def work() -> None:
        try:
            done.set_result(do())
        except BaseException as error:  # none that would end the server
            done.set_exception(error if isinstance(error, Exception) else RuntimeError(repr(error)))

    threading.Thread(target=work, name="request", daemon=True).start()
    return await asyncio.wrap_future(done)
