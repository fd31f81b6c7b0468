"""A page that talks to ``ddz web`` in this process, and the agents that its tests seat."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from ddz_env import Rules, View
from ddz_play.web.routes import make_app
from ddz_play.web.server import Server

pytest.importorskip("uvicorn")

Json = dict[str, Any]


class Lowest:
    """Passes where it can, else plays what comes first: games that differ in high cards begin alike."""

    name = "lowest"

    def act(self, view: View, rng: Any) -> Any:
        moves = view.legal_moves()
        return next((move for move in moves if str(move) == "pass"), moves[0])


class Failing:
    """Fails with an error that names its hand."""

    name = "failing"

    def act(self, view: View, rng: Any) -> Any:
        raise RuntimeError(f"my secret hand is {view.hand}")


class Hanging:
    """Reports that it was called, and does not answer until it is let go."""

    name = "hanging"
    called, let_go = threading.Event(), threading.Event()

    def act(self, view: View, rng: Any) -> Any:
        print("hanging", flush=True)
        self.called.set()
        self.let_go.wait(600)
        return view.legal_moves()[0]


class Holding(Lowest):
    """Holds something until it is closed, as a program outside does."""

    open = 0

    def __init__(self) -> None:
        Holding.open += 1

    def close(self) -> None:
        Holding.open -= 1


LOWEST, FAILING, HANGING, HOLDING = (f"{__name__}:{name}" for name in ("Lowest", "Failing", "Hanging", "Holding"))
SCRIPTED = "tests.hidden:Scripted"
AGENTS = ("rules", "random", LOWEST, FAILING, HANGING, HOLDING, SCRIPTED)


@dataclass
class Answer:
    """An answer of the application."""

    status_code: int = 0
    content: bytes = b""

    @property
    def text(self) -> str:
        return self.content.decode()

    def json(self) -> Any:
        return json.loads(self.content)


class Page:
    """A page that talks to an application in this process, as a server of the protocol ASGI would."""

    def __init__(self, folder: Path, server: Server | None = None) -> None:
        self.server = server or Server(folder, AGENTS, "rules")
        self.app = make_app(self.server, ["localhost", "127.0.0.1", "[::1]"])
        self.loop = asyncio.new_event_loop()

    async def talk(self, method: str, path: str, content: bytes = b"", sent: Json | None = None) -> Answer:
        """Ask and stay for the answer."""
        headers = {"host": "localhost:8000", "content-type": "application/json", **(sent or {})}
        scope = {"type": "http", "method": method, "path": unquote(path), "raw_path": path.encode(), "scheme": "http"}
        scope |= {"headers": [(name.encode(), value.encode()) for name, value in headers.items()], "query_string": b""}
        scope |= {"server": ("localhost", 8000), "client": ("127.0.0.1", 1), "root_path": "", "http_version": "1.1"}
        scope["asgi"] = {"version": "3.0"}
        answer, messages = Answer(), [{"type": "http.request", "body": content, "more_body": False}]

        async def receive() -> Json:
            if not messages:
                await asyncio.Event().wait()  # the page stays
            return messages.pop()

        async def send(message: Any) -> None:
            answer.status_code = message.get("status", answer.status_code)
            answer.content += message.get("body", b"")

        try:
            await self.app(scope, receive, send)
        except Exception:  # Starlette raises a fault again, behind its answer
            if answer.status_code != 500:
                raise
        return answer

    async def ask(self, path: str, body: Json | None = None, **sent: str) -> Answer:
        """Request data; a request that has a body is a POST."""
        content = b"" if body is None else json.dumps(body).encode()
        return await self.talk("GET" if body is None else "POST", f"/api/{path}", content, sent)

    def send(self, method: str, path: str, content: bytes = b"", headers: Json | None = None) -> Answer:
        return self.run(self.talk(method, path, content, headers))

    def run(self, talking: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(talking)

    def get(self, path: str) -> Json:
        return found(self.run(self.ask(path)))

    def post(self, path: str, body: Json | None = None) -> Json:
        return found(self.run(self.ask(path, body or {})))

    def refused(self, path: str, body: Json | None = None, status: int = 400) -> Json:
        """What is said when something cannot be had, or with a body, done."""
        return error(self.run(self.ask(path, body)), status)

    def begin(self, seat: int | None = 0, agent: str = "rules", rules: str = "standard", seed: int = 1) -> str:
        agents = [agent] * Rules.preset(rules).players
        return str(self.post("games", {"rules": rules, "seat": seat, "agents": agents, "seed": seed})["id"])

    def step(self, game: Json, **asked: str) -> Json:
        """The next move of a game, the person's by a hint."""
        path, at = f"games/{game['id']}", {"moves": game["number"]}
        if game["turn"] != game["seat"]:
            return self.post(f"{path}/advance", at)
        return self.post(f"{path}/move", {"text": self.post(f"{path}/hint", asked)["move"], **at})

    def finish(self, name: str) -> Json:
        """Play the game to its end; at each move, a refresh shows the same game."""
        game = self.get(f"games/{name}")
        while not game["over"]:
            assert self.get(f"games/{name}") == game
            game = self.step(game)
        return game


def found(answer: Answer) -> Json:
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def error(answer: Answer, status: int) -> Json:
    assert answer.status_code == status, answer.text
    said = answer.json()
    assert said["error"]
    assert "Traceback" not in answer.text
    return dict(said)


BEGIN: Json = {"rules": "standard", "seat": 0, "agents": ["rules"] * 3}
QUESTION: Json = {"rules": "standard", "role": "landlord", "hand": "3344567TJQQKA22BR", "landlord_cards": "359"}
QUESTION |= {"moves": [], "agent": "rules"}
