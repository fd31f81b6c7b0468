"""The addresses of the server, and what each does.

==========================================  ==================================================================
``GET api/choices``                         rules, roles, levels and agents that a form offers
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
``POST api/games/ID/solution``                of a puzzle: whether the person still wins, and how
``POST api/games/ID/replace``               another agent takes an agent's seat, for example of one that failed
``GET api/games/ID/record``                 a file: the whole game when it may be seen, else what the person has seen
``GET api/games/ID/moves/N``                the position after N moves, once the game may be seen as a whole
``GET api/games/ID/moves/N/chance``         ``landlord``: its chance of winning there, by what ``seat`` to act knew;
                                            ``loss``: what the ``move`` that was played lost
``POST api/games/ID/moves/N/thoughts``      what an agent thinks there
``POST api/games/ID/moves/N/branch``        another game from there, in which the seat to act is the person's
``POST api/ask``                            what an agent would do at a table that the person describes
``GET api/puzzles``                         how many puzzles there are, with their grades
``GET api/ready``                           what is not prepared yet, so that it answers late: ``ready``, the steps
                                            ``left`` (``table``, ``opponents``, ``hints``, ``search`` or ``puzzles``)
==========================================  ==================================================================

Thoughts are ``agent``, ``seat``, ``move``, ``moves`` (its own first, then the best: ``text``, ``group``, ``chance``,
``points``, ``prior``, ``visits``, ``line``), ``played`` (the move of a replay), ``source`` of the chances or points
(``critic``, ``search``, ``solver``, ``payoff`` or null), ``why`` (in the page's language) and ``beliefs``.  An agent is
named by its specification or by its level.

Changes name the number of ``moves`` that the page knows of, so a request that is sent twice acts once.  A failure
is a status of 4xx or 5xx with ``{"error": text}``.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from ddz_env.core.errors import DouDizhuError, Message
from ddz_env.playing.game import AgentFaultError
from ddz_env.table.session import HiddenCardsError, NotYourTurnError
from ddz_training.apps.web.admission import Admission, Guard, in_thread
from ddz_training.apps.web.games import GameLostError, NoSuchGameError, RequestError, StaleGameError, StoredGame
from ddz_training.apps.web.server import LANGUAGE, FailedError, Server, language
from ddz_training.apps.web.shapes import Json

PAGE = Path(__file__).with_name("page")
LARGEST = 256 * 1024
"""Bytes of a request's body."""
_log = logging.getLogger(__name__)


_STATUS = {
    NoSuchGameError: 404,
    StaleGameError: 409,
    NotYourTurnError: 409,
    HiddenCardsError: 403,
    GameLostError: 410,
    FailedError: 502,
    AgentFaultError: 502,
    OSError: 507,
}


_SAID = (DouDizhuError, OSError, ClientDisconnect, HTTPException)
"""What is answered by saying why; anything else is a fault of the server."""


class _Answer(JSONResponse):
    """JSON in plain ASCII: half a surrogate pair in a message is not a fault of the server."""

    def render(self, content: Any) -> bytes:
        return json.dumps(content, separators=(",", ":")).encode("ascii")


async def _read(request: Request) -> Json:
    """The body and what the address names; the latter counts."""
    body: Json = {}
    content = b""
    async for part in request.stream():  # for every method: the next message is that the client has left
        content += part
        if len(content) > LARGEST:
            raise HTTPException(413, "that is too large")
    if request.method == "POST":
        try:
            body = json.loads(content)
        except (ValueError, RecursionError):
            raise RequestError("the body is not JSON") from None
        if not isinstance(body, dict):
            raise RequestError("the body is a JSON object")
    return {**body, **request.path_params, LANGUAGE: request.headers.get(LANGUAGE, "")}


async def _failed(request: Request, error: Exception) -> Response:
    """Why a request cannot be answered, in the language of the page."""
    if isinstance(error, ClientDisconnect):
        return Response(status_code=499)  # it is not read
    if isinstance(error, HTTPException):  # no such address, not with this method, or a body that is too large
        return _Answer({"error": error.detail}, error.status_code)
    status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 400)
    text: Exception | Message = error
    if isinstance(error, OSError):
        _log.error("a game cannot be kept: %s", error)
        text = Message("the game cannot be kept: {reason}", reason=error.strerror or "the disk failed")
    if isinstance(error, AgentFaultError):
        _log.warning("%s", error)
        text = Message("{agent} failed; the server's terminal says why", agent=error.agent)
    say = language({LANGUAGE: request.headers.get(LANGUAGE, "")})
    return _Answer({"error": say.complaint(text), **getattr(error, "about", {})}, status)


def make_app(server: Server, hosts: Sequence[str]) -> Starlette:
    """The application.

    Args:
        server: What answers.
        hosts: Names that the server is known by.
    """
    admission = Admission()

    def route(method: str, path: str, do: Callable[[Json], Json], thinking: bool = False) -> Route:
        async def answer(request: Request) -> Response:
            try:
                body, game = await _read(request), request.path_params.get("game")
                # A look, a move or a hint need not wait for another.
                alone = game and (f"{game} {path}" if thinking else game)
                async with admission.turn(request.receive, alone, thinking):
                    return _Answer(await in_thread(partial(do, body)))
            except _SAID:
                raise
            except asyncio.CancelledError:
                return _Answer({"error": "the server is ending; the game is kept"}, 503)
            except Exception:
                _log.exception("%s %s", method, request.url.path)
                return _Answer({"error": "a fault of the server; its terminal says which"}, 500)

        return Route(f"/api/{path}", answer, methods=[method])

    def of_game(method: str, path: str, do: Callable[[StoredGame, Json], Json], thinking: bool = False) -> Route:
        def of_this(body: Json) -> Json:
            with server.games.seen(body["game"]) as game:
                return do(game, body)

        return route(method, f"games/{{game}}{path}", of_this, thinking)

    routes = [
        route("GET", "choices", server.choices),
        route("GET", "puzzles", server.puzzles),
        route("GET", "ready", server.ready),
        route("POST", "games", server.begin),
        route("POST", "ask", server.ask, thinking=True),
        of_game("GET", "", server.look),
        of_game("GET", "/record", server.record),
        of_game("POST", "/choice", server.choice),
        of_game("POST", "/move", server.move),
        of_game("POST", "/undo", server.undo),
        of_game("POST", "/replace", server.replace),
        of_game("POST", "/advance", server.advance, thinking=True),
        of_game("POST", "/hint", server.hint, thinking=True),
        of_game("POST", "/solution", server.solution, thinking=True),
        of_game("GET", "/moves/{number}", server.position),
        of_game("GET", "/moves/{number}/chance", server.chance, thinking=True),
        of_game("POST", "/moves/{number}/branch", server.branch),
        of_game("POST", "/moves/{number}/thoughts", server.thoughts, thinking=True),
        Mount("/", StaticFiles(directory=PAGE, html=True)),
    ]
    return Starlette(
        routes=routes,
        middleware=[Middleware(Guard, hosts=hosts), Middleware(GZipMiddleware)],
        exception_handlers=dict.fromkeys(_SAID, _failed),
    )


def new_server(app: Starlette) -> uvicorn.Server:
    """The server of an application; in the end it does not wait long for an agent."""
    return uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))
