"""The HTTP routes of the server, and the web application that serves them.

==========================================  ==================================================================
``GET api/choices``                         version of this interface; rules, levels and agents that are offered
``POST api/games``                          a new game: ``rules``, ``seat`` (null: only watch), ``agents`` (one a
                                            seat), ``seed``, ``after`` (the ``ID`` of the game before, whose cards
                                            unshuffled rules deal); or ``record``; or ``puzzle``
``GET api/games/ID``                        the game as its person sees it
``POST api/games/ID/choice``                ``readings``: the moves that the cards ``text`` can be played as, or
                                            ``reason``: why there is none
``POST api/games/ID/move``                  ``text``: the person's move
``POST api/games/ID/advance``               the move of the agent whose turn it is
``POST api/games/ID/undo``                  take the person's last decision back
``POST api/games/ID/hint``                  what an agent would do in the person's place
``POST api/games/ID/solution``              of a puzzle: whether the person still wins, and how; it counts as failed,
                                            and a win of this game after it does not count as solved
``POST api/games/ID/replace``               another agent takes an agent's seat, for example of one that failed
``GET api/games/ID/record``                 a file: the whole game when it may be seen, else what the person has seen
``GET api/games/ID/moves/N``                the position after N moves, once the game may be seen as a whole
``GET api/games/ID/moves/N/chance``         ``landlord``: its chance of winning there, by what ``seat`` to act knew;
                                            ``loss``: what the ``move`` that was played lost
                                            to the ``better`` one; ``outcome``: what that does for certain;
                                            ``opponents``: against whom the chance holds
``POST api/games/ID/moves/N/thoughts``      what an agent thinks there
``POST api/games/ID/moves/N/branch``        another game from there, in which the seat to act is the person's
``POST api/ask``                            what an agent would do at a table that the person describes
``GET api/puzzles``                         ``puzzles`` with ``hands`` and ``grade``, the number of the ``daily`` one;
                                            what the person has done: how many were ``tried``, ``first`` (solved at
                                            the first try), ``solved``, ``streak``, ``rating``
``GET api/ready``                           what is not compiled yet, so that it answers late: ``ready``, what is
                                            ``left`` (``opponents``, ``hints``, ``search`` or ``puzzles``), and in about
                                            how many ``seconds`` each is ready
==========================================  ==================================================================

Thoughts are ``agent``, ``seat``, ``move``, ``moves`` (a certain win first, then in the agent's order: ``text``,
``group``, ``chance``, ``points``, ``prior``, ``visits``, ``line``, ``compared``: a word for how it compares with the
first), ``played`` (the move of a replay), ``source`` of the chances or points (``critic``, ``search``, ``solver``,
``payoff`` or null), ``opponents`` against whom chances hold (a level, ``policy`` or null), ``why`` (in the page's
language; in each language: ``whys``), ``beliefs``, and ``better_in``: the seconds until a better adviser and chances
are compiled, or null.  An agent is named by its specification or by its level.

Changes name the number of ``moves`` that the page knows of, so a request that is sent twice acts once.  A failure
is a status of 4xx or 5xx with ``{"error": text}``.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from uvicorn.protocols.http.h11_impl import H11Protocol

from ddz_env.playing.game import AgentFaultError
from ddz_env.support.errors import DouDizhuError, Message, short_repr
from ddz_play.session import HiddenCardsError, NotYourTurnError
from ddz_play.web.games import GameLostError, NoSuchGameError, RequestError, StaleGameError, StoredGame
from ddz_play.web.server import LANGUAGE_HEADER, Server, page_texts
from ddz_play.web.shapes import Json

PAGE = Path(__file__).with_name("page")
REQUEST_SECONDS = 10.0
"""Seconds in which a request's headers must have come, and then its body."""
MAX_BODY_BYTES = 256 * 1024
"""Bytes of a request's body."""
MAX_HEADER_LINES = 100
"""Lines of a request's head; browsers send twenty."""
MAX_THINKING_REQUESTS = 16
"""Requests in which agents think, at the same time; the others wait.  Starlette has threads for 40 requests."""
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Connection": "close",
}
"""Of every answer."""
_log = logging.getLogger(__name__)

STATUSES = {
    NoSuchGameError: 404,
    StaleGameError: 409,
    NotYourTurnError: 409,
    HiddenCardsError: 403,
    GameLostError: 410,
    AgentFaultError: 502,
    OSError: 507,
}
"""The status of an answer by its error, the first that fits; 400 for any other."""


class _JsonAnswer(JSONResponse):
    """A JSON response in plain ASCII, so that lone surrogates in a message cause no server error."""

    def render(self, content: Any) -> bytes:
        return json.dumps(content, separators=(",", ":")).encode("ascii")


async def _read_request(request: Request) -> Json:
    """Read a request's values from its JSON body and its address; those in the address take precedence."""
    body: Json = {}
    if request.method == "POST":
        _check_origin(request)
        try:
            body = await asyncio.wait_for(request.json(), REQUEST_SECONDS)
        except asyncio.TimeoutError:
            raise HTTPException(408, f"the body did not arrive completely within {REQUEST_SECONDS} s") from None
        except ClientDisconnect:  # nobody reads the answer, and nobody here is to be told
            raise HTTPException(400, "the connection was closed before the whole body arrived") from None
        except (ValueError, RecursionError):
            raise RequestError("the body of a request must be JSON") from None
        if not isinstance(body, dict):
            raise RequestError(f"the body of a request must be a JSON object, not {short_repr(body)}")
    return {**body, **request.path_params, LANGUAGE_HEADER: request.headers.get(LANGUAGE_HEADER, "")}


def _check_origin(request: Request) -> None:
    """Refuse a POST request that is not JSON or comes from a page of another server."""
    host, kind = request.headers["host"], request.headers.get("content-type", "")
    if request.headers.get("origin", f"http://{host}") not in (f"http://{host}", f"https://{host}"):
        raise HTTPException(403, "requests that pages of other sites send are refused")
    if kind.partition(";")[0].strip().lower() != "application/json":
        raise HTTPException(415, f"the Content-Type of a request must be application/json, not {kind[:80]!r}")


async def _answer_failure(request: Request, error: Exception) -> Response:
    """Answer a failed request with the error's status and its message in the language of the page."""
    status = next((code for kind, code in STATUSES.items() if isinstance(error, kind)), 400)
    text: Exception | Message = error
    about = getattr(error, "about", {})
    if isinstance(error, OSError):
        _log.error("a game cannot be kept: %s", error)
        text = Message("the game cannot be kept: {reason}", reason=error.strerror or "the disk failed")
    if isinstance(error, AgentFaultError):  # its text may reveal what the agent saw
        _log.warning("%s", error)
        about = {"failed": error.seat}
        text = Message("{agent} failed; the server's terminal says why", agent=error.agent)
    texts = page_texts({LANGUAGE_HEADER: request.headers.get(LANGUAGE_HEADER, "")})
    return _JsonAnswer({"error": texts.error_text(text), **about}, status)


async def _answer_refusal(_request: Request, error: Exception) -> Response:
    """Answer a refused request, for example to an unknown address, with its status and the reason."""
    assert isinstance(error, HTTPException)
    return _JsonAnswer({"error": error.detail}, error.status_code)


async def _answer_fault(_request: Request, _error: Exception) -> Response:
    """Answer a request that fails unexpectedly; Starlette then shows the traceback in the terminal."""
    return _JsonAnswer({"error": "a fault of the server; its terminal says which"}, 500)


def make_app(server: Server, hosts: Sequence[str]) -> Starlette:
    """Create the Starlette application that routes requests to a server's methods.

    Args:
        server: What answers.
        hosts: Names that the server is known by: a request under another name may come from a page elsewhere, which
            has given this machine's address a name of its own (DNS rebinding).
    """
    thinking_slots = asyncio.Semaphore(MAX_THINKING_REQUESTS)

    def route(method: str, path: str, do: Callable[[Json], Json], thinking: bool = False) -> Route:
        async def answer(request: Request) -> Response:
            body = await _read_request(request)
            try:
                async with thinking_slots if thinking else nullcontext():
                    return _JsonAnswer(await run_in_threadpool(do, body))
            except asyncio.CancelledError:
                return _JsonAnswer({"error": "the server is ending; the game is kept"}, 503)

        return Route(f"/api/{path}", answer, methods=[method])

    def game_route(
        method: str, path: str, do: Callable[[StoredGame, Json], Json], thinking: bool = False, exclusive: bool = False
    ) -> Route:
        def run(body: Json) -> Json:
            with server.games.hold(body["game"], exclusive=exclusive) as game:
                return do(game, body)

        return route(method, f"games/{{game}}{path}", run, thinking)

    routes = [
        route("GET", "choices", server.list_choices),
        route("GET", "puzzles", server.puzzles),
        route("GET", "ready", server.ready),
        route("POST", "games", server.begin),
        route("POST", "ask", server.ask, thinking=True),
        game_route("GET", "", server.state),
        game_route("GET", "/record", server.record),
        game_route("POST", "/choice", server.explain_choice),
        game_route("POST", "/move", server.move, exclusive=True),
        game_route("POST", "/undo", server.undo, exclusive=True),
        game_route("POST", "/replace", server.replace, exclusive=True),
        game_route("POST", "/advance", server.advance, thinking=True, exclusive=True),
        game_route("POST", "/hint", server.hint, thinking=True),
        game_route("POST", "/solution", server.solution, thinking=True),
        game_route("GET", "/moves/{number}", server.position),
        game_route("GET", "/moves/{number}/chance", server.chance, thinking=True),
        game_route("POST", "/moves/{number}/branch", server.branch),
        game_route("POST", "/moves/{number}/thoughts", server.thoughts, thinking=True),
        Mount("/", StaticFiles(directory=PAGE, html=True)),
    ]
    return Starlette(
        routes=routes,
        middleware=[
            Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False),
            Middleware(GZipMiddleware),
        ],
        exception_handlers={
            DouDizhuError: _answer_failure,
            OSError: _answer_failure,
            HTTPException: _answer_refusal,
            Exception: _answer_fault,
        },
        max_body_size=MAX_BODY_BYTES,
    )


class TimeLimitedProtocol(H11Protocol):
    """An HTTP protocol for uvicorn that closes connections with late requests or overlong request heads.

    uvicorn itself would wait, and read any number of lines as long as they come at once.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the time limit within which a new connection must send its request."""
        super().connection_made(transport)
        self.head_lines = 0
        self.loop.call_later(REQUEST_SECONDS, self._close_without_request)

    def data_received(self, data: bytes) -> None:
        """Count the lines of a request's head, and refuse a head with too many lines before uvicorn reads it."""
        if not self.cycle:
            self.head_lines += data.partition(b"\r\n\r\n")[0].count(b"\n")
        if self.head_lines > MAX_HEADER_LINES:
            self.transport.write(b"HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\n\r\n")
            self.transport.close()
        else:
            super().data_received(data)

    def _close_without_request(self) -> None:
        if not self.cycle:  # made of the headers; a connection has one request
            self.transport.close()


def new_server(app: Starlette) -> uvicorn.Server:
    """Create a uvicorn server for an application, which on shutdown waits one second for running requests."""
    headers = list(HEADERS.items())
    config = uvicorn.Config(
        app, http=TimeLimitedProtocol, log_level="warning", headers=headers, timeout_graceful_shutdown=1
    )
    return uvicorn.Server(config)
