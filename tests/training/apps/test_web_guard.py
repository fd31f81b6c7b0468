"""``ddz web``: which requests are answered, and how the others are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ddz_training.apps.web.routes import LARGEST
from ddz_training.apps.web.server import Server
from tests.training.apps.web_page import BEGIN, QUESTION, Json, Page, error

HOSTS = ("evil.example", "evil.example:8000", "localhost.evil.example", "localhost:8000@evil.example", "", "[::1")


@pytest.mark.parametrize(
    ("name", "values", "status"),
    [
        ("host", HOSTS, 421),
        ("origin", ("http://evil.example", "http://localhost:9999", "null", "http://["), 403),
        ("sec-fetch-site", ("cross-site", "same-site"), 403),
        ("content-type", ("text/plain", "application/x-www-form-urlencoded", ""), 415),
    ],
)
def test_foreign_requests_are_refused(page: Page, name: str, values: tuple[str, ...], status: int) -> None:
    for value in values:
        answer = page.run(page.ask("games", BEGIN, **{name: value}))
        error(answer, status)
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert not list((page.server.games._folder).glob("*.txt"))


def test_requests_of_the_page_itself_are_answered_and_links_open_the_page_alone(page: Page) -> None:
    for headers in (
        {"origin": "http://localhost:8000", "sec-fetch-site": "same-origin"},
        {"host": "127.0.0.1:8000"},
        {"host": "[::1]:8000"},
        {"host": "LOCALHOST"},
    ):
        assert page.run(page.ask("games", BEGIN, **headers)).status_code == 200
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert page.send("GET", "/", headers=link).status_code == 200
    for path, body in (("choices", None), ("games", BEGIN)):
        error(page.run(page.ask(path, body, **link)), 403)


def test_paths_lead_nowhere_else(page: Page) -> None:
    unknown = f"/api/games/{'a' * 22}"
    for path in (
        *("/../routes.py", "/js/../../routes.py", "/%2e%2e/routes.py", "/..%2froutes.py", "/js/%00", "/none"),
        *("/api/none", "/api", "/api/games/..%2f..%2fx", "/api/games/x/record", "/api/games//moves/0"),
        *(unknown, f"{unknown}/moves/-1", f"{unknown}/moves/{'9' * 6000}"),
    ):
        answer = page.send("GET", path)
        assert "Server" not in answer.text, path
        assert error(answer, answer.status_code), path
        assert 400 <= answer.status_code < 500, path
    error(page.send("DELETE", "/api/choices"), 405)
    error(page.send("POST", "/", b"{}"), 405)


def test_bodies_that_are_no_request(page: Page) -> None:
    texts = (b"", b"{", b"[]", b"null", b"3", b"\xff\xfe")
    long = (b'{"a":' * 50_000, b"[" * 100_000, b"9" * 5000, b'{"puzzle":' + b"9" * 5000 + b"}")
    for content in (*texts, *long):
        error(page.send("POST", "/api/games", content), 400)
    error(page.send("POST", "/api/games", b" " * (LARGEST + 1)), 413)


_JUNK: list[Any] = [None, True, -1, 1.5, 10**30, "", "\ud800\x00", "é" * 300, [], [[]], {"a": 1}, [None]]


def test_wrong_values_in_every_field_are_refused(page: Page) -> None:
    running, watched = page.begin(), page.finish(page.begin(None))["id"]
    done = page.post("games", {"record": page.get(f"games/{watched}/record")["text"]})["id"]
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
        (f"games/{done}/moves/0/thoughts", {"agent": "rules"}),
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
    assert page.get(f"games/{running}")["number"] == 0


def test_records_that_cannot_be_played(page: Page) -> None:
    for line in (
        *("rules: x", "player 0: os:system", "player 0: policy", "cards: given", "seat 0: 3", "junk: 1"),
        *("seed: " + "9" * 5000, "9" * 5000 + " 3", "0 " + "3" * 5000),
    ):
        page.refused("games", {"record": f"Dou Dizhu game 1\nrules: standard\n{line}\n"})


@pytest.mark.parametrize(
    "agent", ["solver:nodes=1", "policy", "tests.training.apps.web_page:Page", "os:system", "rules:x=1", "botzone:sh"]
)
def test_only_offered_agents_play(page: Page, agent: str) -> None:
    assert "not offered" in page.refused("games", {**BEGIN, "agents": ["rules", agent, "rules"]})["error"]
    name = page.begin()
    page.refused(f"games/{name}/hint", {"agent": agent})
    page.refused(f"games/{name}/replace", {"agent": agent, "seat": 1, "moves": 0})


def test_markup_in_a_request_is_answered_as_text(page: Page) -> None:
    """Browsers read no answer as a page, even if it has markup in it."""
    markup = "<img src=x onerror=alert(1)>"
    requests: list[tuple[str, Json]] = [
        ("games", {**BEGIN, "agents": [markup] * 3}),
        ("games", {"record": f"Dou Dizhu game 1\nrules: {markup}\n"}),
        ("ask", {**QUESTION, "hand": markup, "moves": [markup]}),
        (f"games/{page.begin()}/move", {"text": markup, "moves": 0}),
    ]
    answers = [page.run(page.ask(path, body)) for path, body in requests]
    for answer in (*answers, page.send("GET", "/%3Cimg%20src=x%3E")):
        error(answer, answer.status_code)
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "script-src 'self'" in answer.headers["content-security-policy"]


def test_a_fault_of_the_server_is_told_without_its_inside(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Server):
        def choices(self, body: Json) -> Json:
            raise RuntimeError("the inside")

    page = Page(tmp_path, Broken(tmp_path / "games", ["rules"], "rules"))
    assert "inside" not in page.refused("choices", status=500)["error"]
    assert "the inside" in caplog.text
