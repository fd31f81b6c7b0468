"""``ddz web``: which requests are answered, and how the others are refused."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest

from ddz_play.web import routes
from ddz_play.web.routes import MAX_BODY_BYTES
from ddz_play.web.server import Server
from tests.play.web.web_page import BEGIN, QUESTION, Json, Page, error


@pytest.mark.parametrize(
    ("name", "values", "status"),
    [
        ("host", ("evil.example:8000", "localhost.evil.example", "localhost:8000@evil.example", "", "[::1"), 400),
        ("origin", ("http://evil.example", "http://localhost:9999", "null", "http://["), 403),
        ("content-type", ("text/plain", "application/x-www-form-urlencoded", ""), 415),
    ],
)
def test_foreign_requests_are_refused(page: Page, name: str, values: tuple[str, ...], status: int) -> None:
    for value in values:
        assert page.run(page.ask("games", BEGIN, **{name: value})).status_code == status
    assert not list((page.server.games._folder).glob("*.txt"))


def test_requests_of_the_page_itself_are_answered(page: Page) -> None:
    for headers in ({"origin": "http://localhost:8000"}, {"host": "127.0.0.1:8000"}, {"host": "[::1]:8000"}):
        assert page.run(page.ask("games", BEGIN, **headers)).status_code == 200
    assert page.send("GET", "/").status_code == 200


def test_paths_lead_nowhere_else(page: Page) -> None:
    unknown = f"/api/games/{'a' * 22}"
    for path in (
        *("/../routes.py", "/js/../../routes.py", "/%2e%2e/routes.py", "/..%2froutes.py", "/none"),
        *("/api/none", "/api", "/api/games/..%2f..%2fx", "/api/games/x/record", "/api/games//moves/0"),
        *(unknown, f"{unknown}/moves/-1", f"{unknown}/moves/{'9' * 6000}"),
    ):
        answer = page.send("GET", path)
        assert "Server" not in error(answer, answer.status_code)["error"]
        assert 400 <= answer.status_code < 500, path
    error(page.send("DELETE", "/api/choices"), 405)


def test_bodies_that_are_no_request(page: Page) -> None:
    for content in (b"", b"{", b"[]", b"3", b"\xff\xfe", b'{"a":' * 50_000, b'{"puzzle":' + b"9" * 5000 + b"}"):
        error(page.send("POST", "/api/games", content), 400)
    assert page.send("POST", "/api/games", b" " * (MAX_BODY_BYTES + 1)).status_code == 413


_JUNK: list[Any] = [None, True, -1, 1.5, 10**30, "", "\ud800\x00", "<img src=x onerror=alert(1)>", [], {"a": 1}, [None]]


def test_wrong_values_in_every_field_are_refused(page: Page) -> None:
    running, watched = page.begin(), page.finish(page.begin(None))["id"]
    addresses: list[tuple[str, Json]] = [
        ("games", {**BEGIN, "seed": 1}),
        ("games", {"record": "Dou Dizhu game 1"}),
        ("games", {"puzzle": 1}),
        ("ask", {**QUESTION, "moves": ["3"]}),
        (f"games/{running}/move", {"text": "3", "moves": 0}),
        (f"games/{running}/advance", {"moves": 0}),
        (f"games/{running}/undo", {"moves": 0}),
        (f"games/{running}/replace", {"seat": 1, "agent": "random", "moves": 0}),
        (f"games/{running}/hint", {"agent": "rules"}),
        (f"games/{watched}/moves/0/thoughts", {"agent": "rules"}),
    ]
    may_be_missing = {"seed", "seat", "agent", "moves"}
    for path, body in addresses:
        for name in body:
            for junk in _JUNK:
                if (junk is None and name in may_be_missing) or (name == "moves" and path == "ask" and junk == []):
                    continue
                answer = page.run(page.ask(path, {**body, name: junk}))
                assert 400 <= answer.status_code < 500, (path, name, junk, answer.text)
                assert answer.json()["error"]
    for line in (
        "rules: x",
        "player 0: os:system",
        "cards: given",
        "seat 0: 3",
        "seed: " + "9" * 5000,
        "0 " + "3" * 5000,
    ):
        page.refused("games", {"record": f"Dou Dizhu game 1\nrules: standard\n{line}\n"})
    assert page.get(f"games/{running}")["number"] == 0


@pytest.mark.parametrize("agent", ["policy", "tests.play.web.web_page:Page", "os:system", "rules:x=1", "botzone:sh"])
def test_only_offered_agents_play(page: Page, agent: str) -> None:
    assert "not offered" in page.refused("games", {**BEGIN, "agents": ["rules", agent, "rules"]})["error"]
    name = page.begin()
    page.refused(f"games/{name}/hint", {"agent": agent})
    page.refused(f"games/{name}/replace", {"agent": agent, "seat": 1, "moves": 0})


def test_a_fault_of_the_server_is_told_without_its_inside(tmp_path: Path) -> None:
    class Broken(Server):
        def list_choices(self, body: Json) -> Json:
            raise RuntimeError("the inside")

    page = Page(tmp_path, Broken(tmp_path / "games", ["rules"], "rules"))
    assert "inside" not in page.refused("choices", status=500)["error"]


def test_what_does_not_arrive_is_not_waited_for(
    page: Page, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing, half a header and half a body, or too many headers; behind a request the connection ends at once."""
    monkeypatch.setattr(routes, "REQUEST_SECONDS", 0.3)
    whole = b"GET /api/choices HTTP/1.1\r\nHost: localhost\r\n\r\n"
    post = (
        b"POST /api/games HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
    )

    def long(lines: int) -> bytes:
        return whole[:-2] + b"a: b\r\n" * (lines - whole.count(b"\n") + 1) + b"\r\n"

    async def answered() -> list[bytes]:
        server = routes.new_server(page.app)
        bound = socket.create_server(("127.0.0.1", 0))
        serving = asyncio.create_task(server.serve([bound]))

        async def sent(part: bytes) -> bytes:
            reader, writer = await asyncio.open_connection(*bound.getsockname())
            writer.write(part)
            answer = await asyncio.wait_for(reader.read(), 20)
            writer.close()
            return answer

        async def broken_off() -> None:
            _, writer = await asyncio.open_connection(*bound.getsockname())
            writer.write(post)
            await writer.drain()
            writer.close()

        await broken_off()
        answers = await asyncio.gather(*map(sent, (b"", whole[:20], post, whole + whole[:20], long(99), long(20_000))))
        server.should_exit = True
        await serving
        return answers

    nothing, half, body, second, much, too_much = page.run(answered())
    assert (nothing, half) == (b"", b"")
    assert body.startswith(b"HTTP/1.1 408 ")
    assert second.startswith(b"HTTP/1.1 200 ")
    assert much.startswith(b"HTTP/1.1 200 ")
    assert too_much.startswith(b"HTTP/1.1 431 ")
    assert caplog.text == ""  # a client that leaves is no fault of the server


def test_seeds_are_text_of_64_bits_that_the_game_shows_when_it_is_over(page: Page) -> None:
    largest = str(2**64 - 1)
    name = page.begin(0, seed=largest)  # type: ignore[arg-type]
    assert "seed" not in page.get(f"games/{name}")
    assert page.finish(name)["seed"] == largest
    drawn = [int(page.finish(page.post("games", BEGIN)["id"])["seed"]) for _ in range(3)]
    assert max(drawn) > 2**56
    for wrong in (str(2**64), "-1", "1.5", "seven"):
        page.refused("games", {**BEGIN, "seed": wrong})
