"""``ddz web``: games survive servers, full disks, many players and failing agents."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest

from ddz_env import State
from ddz_env.playing.registry import make_agent
from ddz_env.table.session import HiddenCardsError, Record, Session, advice
from ddz_training.apps.web import desk, server
from ddz_training.apps.web import games as kept
from ddz_training.apps.web.games import NoSuchGameError
from ddz_training.apps.web.server import Server
from ddz_training.apps.web.serving import serving
from ddz_training.measure.match.errors import InUseError
from tests.rooms import ROOT
from tests.training.apps.web_page import (
    AGENTS,
    BEGIN,
    FAILING,
    HANGING,
    HOLDING,
    LOWEST,
    Answer,
    Hanging,
    Holding,
    Json,
    Page,
    error,
)


def test_a_new_server_goes_on_with_every_game(page: Page, tmp_path: Path) -> None:
    name = page.begin()
    page.post(f"games/{name}/move", {"text": page.post(f"games/{name}/hint")["move"], "moves": 0})
    before = page.get(f"games/{name}")
    folder = page.server.games._folder
    (folder / f".{name}.game.txt.half").write_text("a server that was killed while it wrote")
    page.server.games._claim = None  # as after kill -9
    assert Page(folder).get(f"games/{name}") == before


def test_two_servers_do_not_share_a_folder(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ddz_training.measure.match.one_writer._claims", {})
    with pytest.raises(InUseError):
        Server(page.server.games._folder, AGENTS, "rules")


def test_games_that_are_not_in_memory_go_on(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "IN_MEMORY", 2)
    names = [page.begin(0, LOWEST, "mini", seed) for seed in range(5)]
    games = [page.get(f"games/{name}") for name in names]
    assert [page.get(f"games/{name}") for name in names] == games
    assert len(page.server.games._used) == 2


class Pondering:
    """Thinks until the test lets it."""

    name = "pondering"
    begun, ended = threading.Event(), threading.Event()

    def act(self, view: Any, rng: Any) -> Any:
        self.begun.set()
        assert self.ended.wait(60)
        return view.legal_moves()[0]


@pytest.mark.parametrize("asked", ["hint", "advance"])
def test_a_game_can_be_played_and_looked_at_while_an_agent_thinks(tmp_path: Path, asked: str) -> None:
    pondering = f"{__name__}:Pondering"
    page = Page(tmp_path, Server(tmp_path, [LOWEST, pondering], pondering))
    Pondering.begun.clear()
    Pondering.ended.clear()
    name = page.begin(0, LOWEST if asked == "hint" else pondering)
    path = f"/api/games/{name}"

    async def post(what: str, **body: object) -> Answer:
        return await page.talk("POST", f"{path}/{what}", json.dumps(body).encode(), {})

    async def both() -> tuple[Answer, Answer]:
        lead = {"text": str(State.new(1).legal_moves()[0]), "moves": 0}
        if asked == "advance":
            await post("move", **lead)
        thought = asyncio.create_task(post(asked, moves=1) if asked == "advance" else post(asked))
        while not Pondering.begun.is_set():
            await asyncio.sleep(0.001)
        meanwhile = await (post("undo", moves=1) if asked == "advance" else post("move", **lead))
        assert (await page.talk("GET", path, b"", {})).status_code == 200
        Pondering.ended.set()
        return meanwhile, await thought

    meanwhile, thought = page.loop.run_until_complete(both())
    assert meanwhile.status_code == 200, meanwhile.text
    assert thought.status_code == (200 if asked == "hint" else 409)  # the agent's move came too late
    assert page.get(f"games/{name}")["number"] == (1 if asked == "hint" else 0)


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


def test_games_expire_in_two_steps_and_other_files_stay(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "TIDIED_EVERY", -1.0)
    in_play, asked_for, forgotten = page.begin(), page.begin(), page.begin()
    games = page.server.games
    before = page.get(f"games/{asked_for}")
    for name in (asked_for, forgotten):
        games._used.pop(name)
    (games._folder / "notes.txt").write_text("mine")
    (games._folder / f"{forgotten}.game.txt.tmp").write_text("of a server that was killed")

    def expire() -> None:
        for path in games._folder.glob("*.txt*"):
            os.utime(path, (0, 0))  # as the clock jumps, or as a copy loses its times
        games.expire()

    expire()
    assert page.get(f"games/{asked_for}") == before
    expire()
    assert page.get(f"games/{in_play}")["number"] == 0
    assert page.get(f"games/{asked_for}") == before
    assert "expired" in error(page.send("GET", f"/api/games/{forgotten}"), 404)["error"]
    left = {f"{in_play}.game.txt", f"{asked_for}.game.txt", "notes.txt"}
    assert {path.name for path in games._folder.glob("[!.]*")} == left


@pytest.mark.skipif(os.name != "posix", reason="there are no such files")
def test_a_pipe_in_place_of_a_game_holds_up_nobody(page: Page) -> None:
    name = page.begin()
    page.server.games._used.clear()
    path = page.server.games._folder / f"{name}.game.txt"
    path.unlink()
    os.mkfifo(path)
    error(page.send("GET", f"/api/games/{name}"), 410)
    page.get(f"games/{page.begin()}")


def test_a_game_is_read_while_others_go_on(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    slow, other = page.begin(seed=1), page.begin(seed=2)
    page.server.games._used.clear()
    load, waiting, go_on = Record.load, threading.Event(), threading.Event()

    def wait(path: Path) -> Record:
        if slow in path.name:
            waiting.set()
            go_on.wait(600)
        return load(path)

    monkeypatch.setattr(Record, "load", wait)

    async def both() -> None:
        reading = asyncio.ensure_future(page.talk("GET", f"/api/games/{slow}", b"", {}))
        await asyncio.to_thread(waiting.wait)
        try:
            answer = await asyncio.wait_for(page.talk("GET", f"/api/games/{other}", b"", {}), 60)
            assert answer.status_code == 200
        finally:
            go_on.set()
        assert (await reading).status_code == 200

    page.loop.run_until_complete(both())


@pytest.fixture
def hanging() -> Iterator[type[Hanging]]:
    """The agent that hangs, let go in the end."""
    Hanging.asked.clear()
    Hanging.let_go.clear()
    yield Hanging
    Hanging.let_go.set()


def test_a_game_that_waits_for_its_agent_holds_up_no_other(page: Page, hanging: type[Hanging]) -> None:
    name = page.begin(1, HANGING)

    async def crowd() -> None:
        move = asyncio.ensure_future(page.talk("POST", f"/api/games/{name}/advance", b'{"moves": 0}', {}))
        await asyncio.to_thread(hanging.asked.wait)
        looks = [asyncio.ensure_future(page.talk("GET", f"/api/games/{name}", b"", {})) for _ in range(40)]
        hints = [asyncio.ensure_future(page.talk("POST", f"/api/games/{name}/hint", b"{}", {})) for _ in range(40)]
        await asyncio.sleep(0)
        assert (await asyncio.wait_for(page.talk("GET", "/api/choices", b"", {}), 60)).status_code == 200
        begun = await asyncio.wait_for(page.talk("POST", "/api/games", json.dumps(BEGIN).encode(), {}), 60)
        hint = page.talk("POST", f"/api/games/{begun.json()['id']}/hint", b"{}", {})
        assert (await asyncio.wait_for(hint, 60)).status_code == 200
        looked = await asyncio.wait_for(asyncio.gather(*looks), 60)
        assert {answer.json()["number"] for answer in looked} == {0}
        for left in hints:
            left.cancel()
        hanging.let_go.set()
        assert (await move).json()["number"] == 1

    page.loop.run_until_complete(crowd())


def test_agents_that_hang_in_every_place_hold_up_nobody(
    page: Page, hanging: type[Hanging], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk, "KEPT", 0.2)
    names, other = [page.begin(1, HANGING) for _ in range(server.THINKING)], page.begin()

    async def crowd() -> None:
        paths = [f"/api/games/{name}/advance" for name in names]
        moves = [asyncio.ensure_future(page.talk("POST", path, b'{"moves": 0}', {})) for path in paths]
        while sum(thread.name == "request" for thread in threading.enumerate()) < len(names):
            await asyncio.sleep(0.001)
        hint = page.talk("POST", f"/api/games/{other}/hint", b"{}", {})
        assert (await asyncio.wait_for(hint, 60)).status_code == 200
        hanging.let_go.set()
        assert [(await move).json()["number"] for move in moves] == [1] * len(names)

    page.loop.run_until_complete(crowd())


def test_a_client_that_leaves_gives_its_place_up(page: Page, hanging: type[Hanging]) -> None:
    name = page.begin(1, HANGING)

    async def leave() -> None:
        move = asyncio.ensure_future(page.talk("POST", f"/api/games/{name}/advance", b'{"moves": 0}', {}))
        await asyncio.to_thread(hanging.asked.wait)
        parts: list[Json] = [{"type": "http.request", "body": b"", "more_body": False}, {"type": "http.disconnect"}]
        for sent in (parts, [{"type": "http.disconnect"}]):
            answer = await asyncio.wait_for(page.talk("GET", f"/api/games/{name}", b"", {}, sent), 60)
            assert answer.status_code == 499
        hanging.let_go.set()
        assert (await move).status_code == 200

    page.loop.run_until_complete(leave())


def test_all_games_ask_the_same_advisers(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def count(name: str) -> object:
        made.append(name)
        return make_agent(name)

    monkeypatch.setattr(advice, "make_agent", count)
    names = [page.begin(0, "random", seed=seed) for seed in range(4)]
    first = [page.post(f"games/{name}/hint") for name in names]
    assert [page.post(f"games/{name}/hint") for name in names] == first
    replayed = page.begin(None, "random")
    page.finish(replayed)
    page.post(f"games/{replayed}/moves/0/thoughts")
    assert made == ["rules"]


def test_half_a_request_is_not_waited_for_and_a_client_may_leave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("ddz_training.apps.web.serving.REQUEST_SECONDS", 0.2)
    head = b"POST /api/games HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with serving(tmp_path / "served", ["rules"], "rules") as address:
        place = urlsplit(address)
        for sent in (b"", head, head + b"Content-Length: 100\r\n\r\n{"):
            with socket.create_connection((place.hostname, place.port), timeout=60) as client:
                client.sendall(sent)
                assert client.recv(1) == b""
        with socket.create_connection((place.hostname, place.port), timeout=60) as client:
            client.sendall(head + b"Content-Length: 100\r\n\r\n{")
        assert urlopen(address).status == 200
    assert "Traceback" not in caplog.text


@pytest.mark.skipif(os.name != "posix", reason="signals between processes are those of POSIX")
def test_the_server_ends_while_an_agent_hangs(tmp_path: Path) -> None:
    options = ("--port", "0", "--folder", str(tmp_path), "--adviser", "random", "--agent", "random", "--agent", HANGING)
    command = [sys.executable, "-m", "ddz_training", "web", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT) as server:
        assert server.stdout is not None
        address = server.stdout.readline().split()[0]
        game = post(f"{address}api/games", {**BEGIN, "seat": 1, "agents": [HANGING] * 3})
        threading.Thread(target=post, args=(f"{address}api/games/{game['id']}/advance", {"moves": 0})).start()
        assert server.stdout.readline() == "hanging\n"
        server.send_signal(signal.SIGTERM)
        try:
            _, errors = server.communicate(timeout=60)
        finally:
            server.kill()
    assert server.returncode == 0
    assert "Traceback" not in errors
    assert Record.load(tmp_path / f"{game['id']}.game.txt").moves == ()


def post(address: str, body: Json) -> Json:
    """What a server answers, whatever its status is; nothing if it ends meanwhile."""
    request = Request(address, json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        with urlopen(request, timeout=60) as answer:
            return dict(json.load(answer))
    except HTTPError as error:
        return dict(json.load(error))
    except OSError:
        return {}


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
        error(page.send("POST", "/api/games", BEGIN), 507)
    assert page.get(f"games/{name}") == before
    assert page.post(f"games/{name}/move", move)["number"] == 1


def test_games_that_are_put_away_release_what_their_agents_hold(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program outside would go on running."""
    monkeypatch.setattr(Holding, "open", 0)
    monkeypatch.setattr(kept, "IN_MEMORY", 2)

    def full(self: Record, path: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    games = page.server.games
    name = page.begin(0, HOLDING)
    assert Holding.open == 2
    page.post(f"games/{name}/replace", {"seat": 1, "agent": LOWEST, "moves": 0})
    assert Holding.open == 1
    with monkeypatch.context() as patch:
        patch.setattr(Record, "save", full)
        move = {"text": page.post(f"games/{name}/hint")["move"], "moves": 0}
        error(page.send("POST", f"/api/games/{name}/move", move), 507)  # the game is read anew
        error(page.send("POST", "/api/games", {**BEGIN, "agents": [HOLDING] * 3}), 507)  # there is no such game
    assert Holding.open == 1
    error(page.send("POST", "/api/games", {**BEGIN, "agents": ["rules", HOLDING, "solver"]}), 400)  # who may not play
    with pytest.raises(HiddenCardsError):
        Session(Record(games._used[name].session.record(0).deal, (HOLDING,) * 3))  # who cannot
    assert Holding.open == 1
    for seed in range(3):
        page.begin(0, HOLDING, "mini", seed)
    assert Holding.open == 2  # the other two are not in memory
    page.post(f"games/{page.begin(0, LOWEST)}/hint", {"agent": HOLDING})
    assert Holding.open > 0
    games.close()
    assert Holding.open == 0


def test_a_damaged_file_is_said_to_be_lost(page: Page) -> None:
    name = page.begin()
    page.server.games._used.clear()
    (page.server.games._folder / f"{name}.game.txt").write_text("Dou Dizhu game 1\nrubbish")
    error(page.send("GET", f"/api/games/{name}"), 410)


def test_names_are_not_paths(page: Page) -> None:
    for name in ("", "..", "a/b", "../" + "a" * 19, "a" * 21, "a" * 22 + "\n"):
        with pytest.raises(NoSuchGameError), page.server.games.held(name):
            pass
