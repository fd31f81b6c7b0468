"""``ddz web``: which requests are answered, and how the others are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ddz_training.apps.web.guard import LARGEST
from ddz_training.apps.web.server import Server
from tests.training.apps.web_page import BEGIN, Json, Page, error


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": "evil.example:8000"}, 421),
        ({"host": "localhost.evil.example"}, 421),
        ({"host": "localhost:8000@evil.example"}, 421),
        ({"host": ""}, 421),
        ({"host": "[::1"}, 421),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "http://localhost:9999"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://["}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, 403),
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/x-www-form-urlencoded"}, 415),
        ({"content-type": ""}, 415),
    ],
)
def test_foreign_requests_are_refused(page: Page, headers: dict[str, str], status: int) -> None:
    answer = page.send("POST", "/api/games", BEGIN, headers=headers)
    error(answer, status)
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert not list((page.server.games._folder).glob("*.txt"))


def test_requests_of_the_page_itself_are_answered(page: Page) -> None:
    for headers in (
        {"origin": "http://localhost:8000", "sec-fetch-site": "same-origin"},
        {"host": "127.0.0.1:8000"},
        {"host": "[::1]:8000"},
        {"host": "LOCALHOST"},
    ):
        assert page.send("POST", "/api/games", BEGIN, headers=headers).status_code == 200
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert page.send("GET", "/", headers=link).status_code == 200
    error(page.send("GET", "/api/choices", headers=link), 403)


@pytest.mark.parametrize(
    "path",
    [
        "/../routes.py",
        "/js/../../routes.py",
        "/%2e%2e/routes.py",
        "/..%2froutes.py",
        "/js/%00",
        "/none",
        "/api/none",
        "/api",
        "/api/games/..%2f..%2fx",
        "/api/games/" + "a" * 22,
        "/api/games/x/record",
        "/api/games//moves/0",
        f"/api/games/{'a' * 22}/moves/-1",
        f"/api/games/{'a' * 22}/moves/{'9' * 6000}",
    ],
)
def test_paths_lead_nowhere_else(page: Page, path: str) -> None:
    answer = page.send("GET", path)
    assert "Server" not in answer.text
    assert error(answer, answer.status_code)
    assert 400 <= answer.status_code < 500


def test_a_method_that_an_address_does_not_know(page: Page) -> None:
    error(page.send("DELETE", "/api/choices"), 405)
    error(page.send("POST", "/", {}), 405)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"3",
        b"\xff\xfe",
        b'{"a":' * 50_000,
        b"[" * 100_000,
        b"9" * 5000,
        b'{"puzzle":' + b"9" * 5000 + b"}",
        b" " * (LARGEST + 1),
    ],
)
def test_bodies_that_are_no_request(page: Page, content: bytes) -> None:
    answer = page.send("POST", "/api/games", content=content)
    error(answer, 413 if len(content) > LARGEST else 400)


_JUNK: list[Any] = [None, True, -1, 1.5, 10**30, "", "\ud800\x00", "é" * 300, [], [[]], {"a": 1}, [None]]


def test_wrong_values_in_every_field_are_refused(page: Page) -> None:
    running, done = (
        page.begin(),
        page.post("games", {"record": page.get(f"games/{page.finish(page.begin(None))['id']}/record")["text"]})["id"],
    )
    table = {
        "rules": "standard",
        "role": "landlord",
        "hand": "3344567TJQQKA22BR",
        "landlord_cards": "359",
        "moves": ["3"],
        "agent": "rules",
    }
    addresses: list[tuple[str, Json]] = [
        ("games", {**BEGIN, "seed": 1}),
        ("games", {"record": "Dou Dizhu game 1"}),
        ("games", {"puzzle": 1}),
        ("ask", table),
        (f"games/{running}/move", {"text": "3", "moves": 0}),
        (f"games/{running}/advance", {"moves": 0}),
        (f"games/{running}/undo", {"moves": 0}),
        (f"games/{running}/replace", {"seat": 1, "agent": "random", "moves": 0}),
        (f"games/{running}/hint", {"agent": "rules"}),
        (f"games/{done}/moves/0/thoughts", {"agent": "rules"}),
    ]
    may_be_missing = {"seed", "seat", "agent", "moves"}
    for path, body in addresses:
        for name in body:
            for junk in _JUNK:
                if (junk is None and name in may_be_missing) or (name == "moves" and path == "ask" and junk == []):
                    continue
                answer = page.send("POST", f"/api/{path}", {**body, name: junk})
                assert 400 <= answer.status_code < 500, (path, name, junk, answer.text)
                assert answer.json()["error"]
    assert page.get(f"games/{running}")["number"] == 0


@pytest.mark.parametrize(
    "line",
    [
        "seed: " + "9" * 5000,
        "rules: x",
        "player 0: os:system",
        "player 0: policy",
        "cards: given",
        "seat 0: 3",
        "junk: 1",
        "9" * 5000 + " 3",
        "0 " + "3" * 5000,
    ],
)
def test_records_that_cannot_be_played(page: Page, line: str) -> None:
    error(page.send("POST", "/api/games", {"record": f"Dou Dizhu game 1\nrules: standard\n{line}\n"}), 400)


@pytest.mark.parametrize(
    "agent", ["solver:nodes=1", "policy", "tests.training.apps.web_page:Page", "os:system", "rules:x=1", "botzone:sh"]
)
def test_only_offered_agents_play(page: Page, agent: str) -> None:
    assert (
        "not offered"
        in error(page.send("POST", "/api/games", {**BEGIN, "agents": ["rules", agent, "rules"]}), 400)["error"]
    )
    name = page.begin()
    error(page.send("POST", f"/api/games/{name}/hint", {"agent": agent}), 400)
    error(page.send("POST", f"/api/games/{name}/replace", {"agent": agent, "seat": 1, "moves": 0}), 400)


def test_markup_in_a_request_is_answered_as_text(page: Page) -> None:
    """Browsers read no answer as a page, whatever stands in it."""
    markup = "<img src=x onerror=alert(1)>"
    record = f"Dou Dizhu game 1\nrules: {markup}\n"
    hand = {"rules": "standard", "role": "landlord", "hand": markup, "landlord_cards": "359", "moves": [markup]}
    for answer in (
        page.send("POST", "/api/games", {**BEGIN, "agents": [markup] * 3}),
        page.send("POST", "/api/games", {"record": record}),
        page.send("POST", "/api/ask", hand),
        page.send("POST", f"/api/games/{page.begin()}/move", {"text": markup, "moves": 0}),
        page.send("GET", "/%3Cimg%20src=x%3E"),
    ):
        error(answer, answer.status_code)
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "script-src 'self'" in answer.headers["content-security-policy"]


def test_a_fault_of_the_server_is_told_without_its_inside(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Server):
        def choices(self, body: Json) -> Json:
            raise RuntimeError("the inside")

    page = Page(tmp_path, Broken(tmp_path / "games", ["rules"], "rules"))
    answer = page.send("GET", "/api/choices")
    assert "inside" not in error(answer, 500)["error"]
    assert "the inside" in caplog.text
