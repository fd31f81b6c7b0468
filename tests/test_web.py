"""``ddz web``: what its addresses answer, to whom, and what survives.  In this process, without a browser."""

from __future__ import annotations

import asyncio
import errno
import functools
import gzip
import json
import os
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from ddz_env import Hand, Rules, View, registry
from ddz_env.session import PERSON, Deal, Record
from training.arena.errors import InUseError
from training.cli import app as command_line
from training.web import games as kept
from training.web.errors import NoSuchGameError, WebOptionError
from training.web.guard import LARGEST
from training.web.routes import PAGE, RULES, Server, make_app

Json = dict[str, Any]


class Lowest:
    """Passes where it can, else plays what comes first: games that differ in high cards begin alike."""

    name = "lowest"

    def act(self, view: View, rng: Any) -> Any:
        moves = view.legal_moves()
        return next((move for move in moves if str(move) == "pass"), moves[0])


class Failing:
    """Fails, and tells its hand while it does."""

    name = "failing"

    def act(self, view: View, rng: Any) -> Any:
        raise RuntimeError(f"my secret hand is {view.hand}")


_entry_points = functools.cache(registry._entry_points)
LOWEST, FAILING = "tests.test_web:Lowest", "tests.test_web:Failing"
AGENTS = ("rules", "random", LOWEST, FAILING)


@dataclass
class Answer:
    """What the application sent."""

    status_code: int = 0
    headers: dict[str, str] = field(default_factory=dict)
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

    async def talk(self, method: str, path: str, content: bytes, headers: dict[str, str]) -> Answer:
        sent = {"host": "localhost:8000", "content-type": "application/json", **headers}
        scope = {"type": "http", "method": method, "path": unquote(path), "raw_path": path.encode(), "scheme": "http"}
        scope |= {"headers": [(name.encode(), value.encode()) for name, value in sent.items()], "query_string": b""}
        scope |= {"server": ("localhost", 8000), "client": ("127.0.0.1", 1), "root_path": "", "http_version": "1.1"}
        scope["asgi"] = {"version": "3.0"}
        parts = [content[at : at + 65536] for at in range(0, len(content), 65536)] or [b""]
        answer = Answer()

        async def receive() -> Json:
            if not parts:
                await asyncio.Event().wait()  # the page stays
            body = parts.pop(0)
            return {"type": "http.request", "body": body, "more_body": bool(parts)}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                answer.status_code = message["status"]
                answer.headers = {name.decode(): value.decode() for name, value in message["headers"]}
            else:
                answer.content += message.get("body", b"")

        await self.app(scope, receive, send)
        return answer

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        if content is None:
            content = json.dumps(body or {}).encode() if method == "POST" else b""
        return self.loop.run_until_complete(self.talk(method, path, content, headers or {}))

    def get(self, path: str) -> Json:
        answer = self.send("GET", f"/api/{path}")
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def post(self, path: str, body: Json | None = None) -> Json:
        answer = self.send("POST", f"/api/{path}", body or {})
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def begin(self, seat: int | None = 0, agent: str = "rules", rules: str = "standard", seed: int = 1) -> str:
        agents = [agent] * Rules.preset(rules).players
        return str(self.post("games", {"rules": rules, "seat": seat, "agents": agents, "seed": seed})["id"])

    def finish(self, name: str) -> Json:
        """Play the game to its end, the person by hints."""
        game = self.get(f"games/{name}")
        while not game["over"]:
            at = {"moves": game["number"]}
            if game["turn"] == game["seat"]:
                text = self.post(f"games/{name}/hint")["move"]
                game = self.post(f"games/{name}/move", {"text": text, **at})
            else:
                game = self.post(f"games/{name}/advance", at)
        return game


@pytest.fixture(autouse=True)
def _registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for installed agents once: that takes longer than a request."""
    monkeypatch.setattr(registry, "_entry_points", _entry_points)


@pytest.fixture
def page(tmp_path: Path) -> Page:
    return Page(tmp_path / "games")


def error(answer: Answer, status: int) -> Json:
    assert answer.status_code == status, answer.text
    found = answer.json()
    assert found["error"]
    assert "Traceback" not in answer.text
    return dict(found)


# --- games ---


@pytest.mark.parametrize(
    ("seat", "rules"), [(0, "standard"), (1, "standard"), (2, "bidding,doubling=true"), (1, "mini")]
)
def test_a_game_from_the_deal_to_its_replay(page: Page, seat: int, rules: str) -> None:
    name = page.begin(seat, rules=rules)
    game = page.finish(name)
    assert game["winner"] is not None
    assert game["open"]
    text = page.get(f"games/{name}/record")["text"]
    total = len(Record.parse(text).moves)
    assert total == game["number"]
    first, last = page.get(f"games/{name}/moves/0"), page.get(f"games/{name}/moves/{total}")
    assert last["over"]
    assert not first["over"]
    assert all(len(one["hand"]) == one["size"] for one in first["table"]["seats"])
    thoughts = page.post(f"games/{name}/moves/{total - 1}/thoughts", {"agent": "rules"})
    assert thoughts["seat"] == last["moves"][-1]["seat"]
    assert sum(map(sum, (one["expected"] for one in thoughts["beliefs"]))) > 0
    again = page.post("games", {"record": text})
    assert again["open"]
    assert again["id"] != name
    branch = page.get(f"games/{page.post(f'games/{name}/moves/{total - 1}/branch')['id']}")
    assert branch["turn"] == branch["seat"] == thoughts["seat"]
    assert not branch["open"]


def test_undo_takes_the_persons_decision_back(page: Page) -> None:
    name = page.begin()
    before = page.get(f"games/{name}")
    game = page.post(f"games/{name}/move", {"text": page.post(f"games/{name}/hint")["move"], "moves": 0})
    page.post(f"games/{name}/advance", {"moves": game["number"]})
    assert page.post(f"games/{name}/undo", {"moves": 2}) == before


def test_agents_alone_are_watched(page: Page) -> None:
    name = page.begin(None, "random")
    start = page.get(f"games/{name}/moves/0")
    assert start["running"]
    assert start["total"] == 0
    page.post(f"games/{name}/advance", {"moves": 0})
    assert page.get(f"games/{name}/moves/1")["number"] == 1


def test_bare_cards_that_are_several_moves_are_asked_back(page: Page) -> None:
    rules = Rules.preset("openspiel,bidding=fixed")
    hands = tuple(map(Hand.parse, ("33344455566677778", "8889999TTTTJJJJQQ", "34QQKKKKAAAA2222B")))
    record = Record(Deal(rules, hands=hands, bottom=Hand.parse("56R")), (PERSON, "rules", "rules"))
    name = page.post("games", {"record": str(record)})["id"]
    readings = error(page.send("POST", f"/api/games/{name}/move", {"text": "333444555666", "moves": 0}), 400)[
        "readings"
    ]
    assert len(readings) > 1
    assert page.post(f"games/{name}/move", {"text": readings[0], "exact": True, "moves": 0})["number"] == 1


def test_a_puzzle_has_open_hands(page: Page) -> None:
    grades = page.get("puzzles")["grades"]
    name = page.post("games", {"puzzle": len(grades)})["id"]
    game = page.get(f"games/{name}")
    assert game["puzzle"]
    assert game["turn"] == game["seat"]
    assert all(len(seat["hand"]) == seat["size"] for seat in game["table"]["seats"])
    assert "endgame: yes" in page.get(f"games/{name}/record")["text"]


def test_a_question_about_a_table(page: Page) -> None:
    hand = "3344567TJQQKA22BR"
    table = {"role": "landlord", "hand": hand, "landlord_cards": "359", "moves": [], "agent": "rules"}
    found = page.post("ask", table)
    assert found["moves"][0]["text"] == found["move"]
    assert page.post("ask", {**table, "hand": f"{hand}359"}) == found
    assert "line 1" in error(page.send("POST", "/api/ask", {**table, "moves": ["AAA"]}), 400)["error"]
    later = page.post("ask", {**table, "moves": ["34567", "89TJQ", "pass"], "role": "landlord"})
    assert later["move"]


# --- what is hidden stays hidden ---


@pytest.mark.parametrize("viewer", [0, 1, 2])
def test_games_that_differ_in_hidden_cards_alone_give_the_same_answers(page: Page, viewer: int) -> None:
    base = Deal(Rules(), seed=3).state()
    hands = [list(base.hand(seat).counts) for seat in range(3)]
    hands[0] = [a - b for a, b in zip(hands[0], base.bottom.counts, strict=True)]
    one, other = (seat for seat in range(3) if seat != viewer)
    names = []
    # Of the two hidden hands, one has a high rank that it gives for another one.
    high = max(rank for rank in range(13) if hands[one][rank])
    low = next(rank for rank in range(12, 0, -1) if hands[other][rank] and rank != high)
    for swapped in (False, True):
        if swapped:
            for rank, step in ((high, 1), (low, -1)):
                hands[one][rank] -= step
                hands[other][rank] += step
        deal = Deal(Rules(), hands=tuple(Hand(tuple(counts)) for counts in hands), bottom=base.bottom)
        players = [LOWEST] * 3
        players[viewer] = PERSON
        names.append(page.post("games", {"record": str(Record(deal, tuple(players)))})["id"])
    compared = 0
    for number in range(7):
        answers = [_probed(page, name, number) for name in names]
        if answers[0]["game"]["moves"] != answers[1]["game"]["moves"] or answers[0]["game"]["over"]:
            break
        assert answers[0] == answers[1]
        compared += 1
        game = answers[0]["game"]
        mine = game["turn"] == viewer
        for name in names:
            move = {"text": answers[0]["hint"]["move"], "moves": number} if mine else {"moves": number}
            page.post(f"games/{name}/{'move' if mine else 'advance'}", move)
    assert compared > 4


def _probed(page: Page, name: str, number: int) -> Json:
    """What every address says of a game, refusals included."""
    found: Json = {}
    at = {"moves": number}
    for method, path, body in (
        ("GET", "", None),
        ("GET", "/record", None),
        ("GET", "/moves/0", None),
        ("GET", f"/moves/{number}", None),
        ("POST", f"/moves/{number}/thoughts", {}),
        ("POST", f"/moves/{number}/thoughts", {"agent": "random"}),
        ("POST", f"/moves/{number}/branch", {}),
        ("POST", "/hint", {}),
        ("POST", "/hint", {"agent": "random"}),
        ("POST", "/move", {"text": "BR", **at}),
        ("POST", "/move", {"text": "33344+5", **at}),
        ("POST", "/move", {"text": "nonsense", **at}),
        ("POST", "/move", {"text": "pass", "moves": number + 1}),
        ("POST", "/advance", {"moves": number + 1}),
        ("POST", "/undo", {"moves": number + 1}),
        ("POST", "/replace", {"seat": 0, "agent": "nobody", **at}),
    ):
        answer = page.send(method, f"/api/games/{name}{path}", body)
        assert answer.status_code < 500
        if path.startswith("/moves"):
            assert answer.status_code == 403
        text = answer.text.replace(name, "NAME").replace(name[:6], "NAME")
        assert '"seed"' not in text
        assert "seed:" not in text
        key = {" None": "game", "/hint {}": "hint"}.get(f"{path} {body}", f"{method} {path} {body}")
        found[key] = json.loads(text)
    return found


_SEAT = {"number", "role", "hand", "size", "unseen", "play", "acting", "doubled"}
_TABLE = {"seats", "landlord", "landlord_cards", "landlord_backs", "stake", "spring"}
_GAME = {
    "id",
    "rules",
    "puzzle",
    "number",
    "open",
    "seat",
    "names",
    "table",
    "stage",
    "turn",
    "moves",
    "to_beat",
    "over",
}
_GAME |= {"winner", "result", "may_pass", "may_undo", "words", "question"}


@pytest.mark.parametrize("rules", ["standard", "bidding,doubling=true", "half-deck", "mini"])
def test_every_field_of_a_running_game_is_for_its_viewer(page: Page, rules: str) -> None:
    """A field that is not named here has to be thought about first."""
    for viewer in range(Rules.preset(rules).players):
        name = page.begin(viewer, LOWEST, rules)
        for number in range(5):
            game = page.get(f"games/{name}")
            assert set(game) == _GAME
            assert set(game["table"]) == _TABLE
            public = {(card["rank"], card["suit"]) for card in game["table"]["landlord_cards"]}
            for seat in game["table"]["seats"]:
                assert set(seat) == _SEAT
                if seat["number"] != viewer:
                    assert {(card["rank"], card["suit"]) for card in seat["hand"]} <= public
            file = page.get(f"games/{name}/record")["text"]
            assert not file.startswith("Dou Dizhu game")
            assert set(re.findall(r"^# ([a-z ]+):", file, re.M)) <= {
                "rules",
                "your seat",
                "your hand now",
                "landlord cards",
            }
            if game["stage"] == "bid":
                assert not game["table"]["landlord_cards"]
            if game["over"]:
                break
            if game["turn"] == viewer:
                move = page.post(f"games/{name}/hint", {"agent": LOWEST})["move"]
                page.post(f"games/{name}/move", {"text": move, "moves": number})
            else:
                page.post(f"games/{name}/advance", {"moves": number})


def test_an_agent_that_looks_at_hidden_cards_gives_no_hints(tmp_path: Path) -> None:
    page = Page(tmp_path, Server(tmp_path / "games", ["rules"], "cheating-minimax"))
    name = page.begin()
    assert "hidden" in error(page.send("POST", f"/api/games/{name}/hint"), 403)["error"]


# --- who is answered ---

_BEGIN = {"rules": "standard", "seat": 0, "agents": ["rules"] * 3}


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
    answer = page.send("POST", "/api/games", _BEGIN, headers=headers)
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
        assert page.send("POST", "/api/games", _BEGIN, headers=headers).status_code == 200
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
    table = {"role": "landlord", "hand": "3344567TJQQKA22BR", "landlord_cards": "359", "moves": ["3"], "agent": "rules"}
    addresses: list[tuple[str, Json]] = [
        ("games", {**_BEGIN, "seed": 1}),
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
    "agent", ["solver:nodes=1", "policy", "tests.test_web:Page", "os:system", "rules:x=1", "botzone:sh"]
)
def test_only_offered_agents_play(page: Page, agent: str) -> None:
    assert (
        "not offered"
        in error(page.send("POST", "/api/games", {**_BEGIN, "agents": ["rules", agent, "rules"]}), 400)["error"]
    )
    name = page.begin()
    error(page.send("POST", f"/api/games/{name}/hint", {"agent": agent}), 400)
    error(page.send("POST", f"/api/games/{name}/replace", {"agent": agent, "seat": 1, "moves": 0}), 400)


def test_a_fault_of_the_server_is_told_without_its_inside(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Server):
        def choices(self, body: Json) -> Json:
            raise RuntimeError("the inside")

    page = Page(tmp_path, Broken(tmp_path / "games", ["rules"], "rules"))
    answer = page.send("GET", "/api/choices")
    assert "inside" not in error(answer, 500)["error"]
    assert "the inside" in caplog.text


# --- what survives ---


def test_a_new_server_goes_on_with_every_game(page: Page, tmp_path: Path) -> None:
    name = page.begin()
    page.post(f"games/{name}/move", {"text": page.post(f"games/{name}/hint")["move"], "moves": 0})
    before = page.get(f"games/{name}")
    folder = page.server.games._folder
    (folder / f".{name}.game.txt.half").write_text("a server that was killed while it wrote")
    page.server.games._claim = None  # as after kill -9
    assert Page(folder).get(f"games/{name}") == before


def test_two_servers_do_not_share_a_folder(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("training.arena.one_writer._claims", {})
    with pytest.raises(InUseError):
        Server(page.server.games._folder, AGENTS, "rules")


def test_games_that_are_not_in_memory_go_on(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "IN_MEMORY", 2)
    names = [page.begin(0, LOWEST, "mini", seed) for seed in range(5)]
    games = [page.get(f"games/{name}") for name in names]
    assert [page.get(f"games/{name}") for name in names] == games
    assert len(page.server.games._used) == 2


def test_a_hundred_games_at_once(page: Page) -> None:
    async def ask(method: str, path: str, body: Json | None = None) -> Json:
        answer = await page.talk(method, f"/api/{path}", json.dumps(body).encode(), {})
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    async def one(seed: int) -> Json:
        dealt = {"rules": "mini", "agents": [LOWEST] * 2, "seat": seed % 2, "seed": seed}
        path = f"games/{(await ask('POST', 'games', dealt))['id']}"
        for number in range(2):
            game = await ask("GET", path)
            mine = game["turn"] == game["seat"]
            move = {"text": (await ask("POST", f"{path}/hint", {"agent": LOWEST}))["move"]} if mine else {}
            await ask("POST", f"{path}/{'move' if mine else 'advance'}", {**move, "moves": number})
        return await ask("GET", path)

    async def all_of_them() -> list[Json]:
        return list(await asyncio.gather(*map(one, range(100))))

    games = page.loop.run_until_complete(all_of_them())
    assert {game["number"] for game in games} == {2}
    assert len({game["id"] for game in games}) == 100


def test_a_request_that_is_sent_twice_acts_once(page: Page) -> None:
    name = page.begin(1)
    for text in ("3", "33", "334455", "pass"):
        error(page.send("POST", f"/api/games/{name}/move", {"text": text, "moves": 0}), 409)  # an agent's turn
    page.post(f"games/{name}/advance", {"moves": 0})
    for path in ("advance", "undo", "move", "replace"):
        error(
            page.send("POST", f"/api/games/{name}/{path}", {"moves": 0, "text": "pass", "seat": 0, "agent": "rules"}),
            409,
        )
    assert page.get(f"games/{name}")["number"] == 1


def test_games_expire_and_other_files_stay(page: Page) -> None:
    name, fresh = page.begin(), page.begin()
    folder = page.server.games._folder
    notes = folder / "notes.txt"
    notes.write_text("mine")
    long_ago = 1_000_000_000
    for path in (folder / f"{name}.game.txt", notes):
        os.utime(path, (long_ago, long_ago))
    page.server.games.expire()
    assert "expired" in error(page.send("GET", f"/api/games/{name}"), 404)["error"]
    assert notes.exists()
    page.get(f"games/{fresh}")


def test_a_failing_agent_tells_no_cards_and_can_be_replaced(page: Page, caplog: pytest.LogCaptureFixture) -> None:
    name = page.begin(1, FAILING)
    before = page.get(f"games/{name}")
    answer = page.send("POST", f"/api/games/{name}/advance", {"moves": 0})
    assert error(answer, 502)["failed"] == 0
    assert "secret" not in answer.text
    assert "secret" in caplog.text
    assert page.get(f"games/{name}") == before
    hint = page.send("POST", f"/api/games/{page.begin(0)}/hint", {"agent": FAILING})
    assert "secret" not in hint.text
    assert error(hint, 502)
    error(page.send("POST", f"/api/games/{name}/replace", {"seat": 1, "agent": "rules", "moves": 0}), 400)
    page.post(f"games/{name}/replace", {"seat": 0, "agent": "rules", "moves": 0})
    assert page.post(f"games/{name}/advance", {"moves": 0})["number"] == 1


def test_a_full_disk_changes_nothing(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    name = page.begin()
    before = page.get(f"games/{name}")
    move = {"text": page.post(f"games/{name}/hint")["move"], "moves": 0}

    def full(self: Record, path: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Record, "save", full)
        assert "No space" in error(page.send("POST", f"/api/games/{name}/move", move), 507)["error"]
        error(page.send("POST", "/api/games", _BEGIN), 507)
    assert page.get(f"games/{name}") == before
    assert page.post(f"games/{name}/move", move)["number"] == 1


def test_a_damaged_file_is_said_to_be_lost(page: Page) -> None:
    name = page.begin()
    page.server.games._used.clear()
    (page.server.games._folder / f"{name}.game.txt").write_text("Dou Dizhu game 1\nrubbish")
    error(page.send("GET", f"/api/games/{name}"), 410)


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WebOptionError, match="cannot be kept"):
        Server(tmp_path / "file" / "games", ["rules"], "rules")


def test_names_are_not_paths(page: Page) -> None:
    for name in ("", "..", "a/b", "../" + "a" * 19, "a" * 21, "a" * 22 + "\n"):
        with pytest.raises(NoSuchGameError), page.server.games.held(name):
            pass


# --- the page's own files ---


def test_a_first_game_loads_little() -> None:
    files = [path for path in PAGE.rglob("*") if path.is_file()]
    assert len(files) > 10
    assert sum(len(gzip.compress(path.read_bytes())) for path in files) <= 300_000


def test_the_page_names_nothing_on_other_servers() -> None:
    for path in PAGE.rglob("*.*"):
        text = path.read_text(encoding="utf-8")
        assert not re.findall(
            r"(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}", text.replace("http://www.w3.org/2000/svg", "")
        ), path


def _words() -> dict[str, set[str]]:
    text = (PAGE / "js" / "words.js").read_text(encoding="utf-8")
    parts = re.split(r"^  (en|zh): \{$", text[: text.index("let language")], flags=re.M)
    entry = re.compile(r'(?:^|[,{])\s*(?:"([^"]*)"|([a-z]+)): "', re.M)
    return {parts[at]: {quoted or bare for quoted, bare in entry.findall(parts[at + 1])} for at in (1, 3)}


def test_both_languages_have_every_word() -> None:
    words = _words()
    assert words["en"] == words["zh"]
    used = set()
    for path in (PAGE / "js").glob("*.js"):
        used |= set(re.findall(r'\bword\("([^"]+)"', path.read_text(encoding="utf-8")))
    used |= set(re.findall(r'data-word="([^"]+)"', (PAGE / "index.html").read_text(encoding="utf-8")))
    used |= {f"rules {name}" for name in RULES}
    assert used <= words["en"]


def _luminance(color: str) -> float:
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize(
    ("ink", "ground"),
    [(ink, ground) for ink in ("ink", "soft", "gold") for ground in ("felt", "felt-dark", "panel", "wood", "button")]
    + [("ink", "alarm"), ("red", "paper"), ("black", "paper")],
)
def test_texts_stand_out(ink: str, ground: str) -> None:
    style = (PAGE / "style.css").read_text()
    colors = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", style))
    light, dark = sorted((_luminance(colors[ink]), _luminance(colors[ground])), reverse=True)
    assert (light + 0.05) / (dark + 0.05) >= 4.5  # WCAG 2.2, level AA


# --- the command ---


def test_the_command_names_the_extra_that_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    from typer.testing import CliRunner

    monkeypatch.setitem(sys.modules, "uvicorn", None)
    result = CliRunner().invoke(command_line, ["web"], env={"COLUMNS": "160", "NO_COLOR": "1"})
    assert result.exit_code == 2
    assert "ddz-env[web]" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--agent", "nobody"], "nobody"),
        (["--host", "192.0.2.1"], "cannot listen"),
        (["--folder", "{file}"], "cannot be kept"),
    ],
)
def test_the_command_refuses_what_cannot_be(tmp_path: Path, options: list[str], said: str) -> None:
    from typer.testing import CliRunner

    (tmp_path / "file").write_text("")
    options = [option.format(file=tmp_path / "file") for option in options]
    result = CliRunner().invoke(
        command_line,
        ["web", "--adviser", "rules", "--port", "0", "--agent", "rules", *options],
        env={"COLUMNS": "160", "NO_COLOR": "1"},
    )
    assert result.exit_code == 2, result.output
    assert said in result.stderr
