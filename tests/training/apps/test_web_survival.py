"""``ddz web``: games survive servers, full disks, many players and failing agents."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from unittest.mock import Mock
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from filelock import FileLock

from ddz_env.playing.registry import make_agent
from ddz_env.table.session import HiddenCardsError, Record, Session, advice
from ddz_training.apps.web import admission
from ddz_training.apps.web import games as kept
from ddz_training.apps.web.server import Server
from ddz_training.measure.errors import InUseError
from tests.rooms import ROOT
from tests.table.test_session import seen_from
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
    found,
)

posix = pytest.mark.skipif(os.name != "posix", reason="pipes, and signals between processes, are those of POSIX")
NO_SPACE = OSError(errno.ENOSPC, "No space left on device")


def test_a_new_server_goes_on_with_every_game(page: Page) -> None:
    before = page.step(page.get(f"games/{page.begin()}"))
    folder, name = page.server.games._folder, before["id"]
    (folder / f".{name}.game.txt.half").write_text("a server that was killed while it wrote")
    page.server.games._claim.release()  # as after kill -9
    assert Page(folder).get(f"games/{name}") == before


def test_two_servers_do_not_share_a_folder(page: Page) -> None:
    page.server.games._claim.release()
    with FileLock(page.server.games._folder / ".lock", is_singleton=False), pytest.raises(InUseError):
        Server(page.server.games._folder, AGENTS, "rules")


def test_games_that_are_not_in_memory_go_on(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "IN_MEMORY", 2)
    names = [page.begin(0, LOWEST, "mini", seed) for seed in range(5)]
    games = [page.get(f"games/{name}") for name in names]
    assert [page.get(f"games/{name}") for name in names] == games
    assert len(page.server.games._used) == 2
    page.refused(f"games/{'a' * 22}", status=404)
    assert list(page.server.games._used) == names[-2:]  # a name without a game puts none away


@pytest.fixture
def hanging() -> Iterator[type[Hanging]]:
    """The agent that hangs, let go in the end."""
    Hanging.called.clear()
    Hanging.let_go.clear()
    yield Hanging
    Hanging.let_go.set()


def while_it_hangs(page: Page, path: str, body: Json, do: Callable[[], Awaitable[None]]) -> Answer:
    """The answer of a request whose agent hangs until something else is done."""

    async def both() -> Answer:
        thought = asyncio.ensure_future(page.ask(path, body))
        await asyncio.to_thread(Hanging.called.wait)
        await asyncio.wait_for(do(), 60)
        Hanging.let_go.set()
        return await thought

    answer: Answer = page.run(both())
    return answer


@pytest.mark.parametrize("asked", ["hint", "advance"])
def test_a_game_can_be_played_and_looked_at_while_an_agent_thinks(
    page: Page, hanging: type[Hanging], asked: str
) -> None:
    path = f"games/{page.begin(0, LOWEST if asked == 'hint' else HANGING)}"
    lead = {"text": page.post(f"{path}/hint")["move"], "moves": 0}
    if asked == "advance":
        page.post(f"{path}/move", lead)

    async def change() -> None:
        request, body = ("undo", {"moves": 1}) if asked == "advance" else ("move", lead)
        changed = found(await page.ask(f"{path}/{request}", body))
        if asked == "hint":  # nor does an opponent wait for it
            changed = found(await page.ask(f"{path}/advance", {"moves": 1}))
        assert found(await page.ask(path))["number"] == changed["number"] == (2 if asked == "hint" else 0)

    thought = while_it_hangs(page, f"{path}/{asked}", {"moves": 1, "agent": HANGING}, change)
    assert thought.status_code == (200 if asked == "hint" else 409)  # the agent's move came too late


def test_a_hundred_games_at_once(page: Page) -> None:
    async def ask(path: str, body: Json | None = None) -> Json:
        return found(await page.ask(path, body))

    async def one(seed: int) -> Json:
        dealt = {"rules": "mini", "agents": [LOWEST] * 2, "seat": seed % 2, "seed": seed}
        path = f"games/{(await ask('games', dealt))['id']}"
        for number in range(2):
            game = await ask(path)
            mine = game["turn"] == game["seat"]
            move = {"text": (await ask(f"{path}/hint", {"agent": LOWEST}))["move"]} if mine else {}
            await ask(f"{path}/{'move' if mine else 'advance'}", {**move, "moves": number})
        return await ask(path)

    async def all_of_them() -> list[Json]:
        return list(await asyncio.gather(*map(one, range(100))))

    games = page.run(all_of_them())
    assert {game["number"] for game in games} == {2}
    assert len({game["id"] for game in games}) == 100


def test_a_request_that_is_sent_twice_acts_once(page: Page) -> None:
    path = f"games/{page.begin(1)}"
    for text in ("3", "33", "334455", "pass"):
        page.refused(f"{path}/move", {"text": text, "moves": 0}, 409)  # an agent's turn
    page.post(f"{path}/advance", {"moves": 0})
    for change in ("advance", "undo", "choice", "move", "replace"):
        page.refused(f"{path}/{change}", {"moves": 0, "text": "pass", "seat": 0, "agent": "rules"}, 409)
    assert page.get(path)["number"] == 1


def test_games_expire_and_other_files_stay(page: Page) -> None:
    in_play, forgotten, games = page.begin(), page.begin(), page.server.games
    games._used.pop(forgotten)
    (games._folder / "notes.txt").write_text("mine")
    (games._folder / f"{forgotten}.game.txt.tmp").write_text("of a server that was killed")
    for path in games._folder.glob("*.txt*"):
        os.utime(path, (0, 0))
    fresh = page.begin()  # which looks for such games
    assert page.get(f"games/{in_play}")["number"] == 0
    assert "expired" in page.refused(f"games/{forgotten}", status=404)["error"]
    left = {f"{in_play}.game.txt", f"{fresh}.game.txt", "notes.txt"}
    assert {path.name for path in games._folder.glob("[!.]*")} == left


def test_a_damaged_file_is_said_to_be_lost(page: Page) -> None:
    name = page.begin()
    page.server.games._used.clear()
    (page.server.games._folder / f"{name}.game.txt").write_text("Dou Dizhu game 1\nrubbish")
    page.refused(f"games/{name}", status=410)


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
        reading = asyncio.ensure_future(page.ask(f"games/{slow}"))
        await asyncio.to_thread(waiting.wait)
        try:
            assert found(await asyncio.wait_for(page.ask(f"games/{other}"), 60))
        finally:
            go_on.set()
        assert found(await reading)

    page.run(both())


def test_a_game_that_waits_for_its_agent_holds_up_no_other(page: Page, hanging: type[Hanging]) -> None:
    path = f"games/{page.begin(1, HANGING)}"

    async def crowd() -> None:
        looks = [asyncio.ensure_future(page.ask(path)) for _ in range(40)]
        hints = [asyncio.ensure_future(page.ask(f"{path}/hint", {})) for _ in range(40)]
        await asyncio.sleep(0)
        assert found(await page.ask("choices"))
        begun = found(await page.ask("games", BEGIN))
        assert found(await page.ask(f"games/{begun['id']}/hint", {}))
        assert {answer.json()["number"] for answer in await asyncio.gather(*looks)} == {0}
        for left in hints:
            left.cancel()

    assert found(while_it_hangs(page, f"{path}/advance", {"moves": 0}, crowd))["number"] == 1


def test_agents_that_hang_in_every_place_hold_up_nobody(
    page: Page, hanging: type[Hanging], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "KEPT", 0.2)
    names, other = [page.begin(1, HANGING) for _ in range(admission.THINKING)], page.begin()

    async def crowd() -> None:
        moves = [asyncio.ensure_future(page.ask(f"games/{name}/advance", {"moves": 0})) for name in names]
        while sum(thread.name == "request" for thread in threading.enumerate()) < len(names):
            await asyncio.sleep(0.001)
        assert found(await asyncio.wait_for(page.ask(f"games/{other}/hint", {}), 60))
        hanging.let_go.set()
        assert [(await move).json()["number"] for move in moves] == [1] * len(names)

    page.run(crowd())


def test_a_client_that_leaves_gives_its_place_up(page: Page, hanging: type[Hanging]) -> None:
    path = f"games/{page.begin(1, HANGING)}"

    async def leave() -> None:
        parts: list[Json] = [{"type": "http.request", "body": b"", "more_body": False}, {"type": "http.disconnect"}]
        for instead in (parts, parts[1:]):
            assert (await page.talk("GET", f"/api/{path}", instead=instead)).status_code == 499

    assert found(while_it_hangs(page, f"{path}/advance", {"moves": 0}, leave))


def test_all_games_ask_the_same_advisers(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    making = Mock(wraps=make_agent)
    monkeypatch.setattr(advice, "make_agent", making)
    names = [page.begin(0, "random", seed=seed) for seed in range(4)]
    first = [page.post(f"games/{name}/hint") for name in names]
    assert [page.post(f"games/{name}/hint") for name in names] == first
    replayed = page.begin(None, "random")
    page.finish(replayed)
    page.post(f"games/{replayed}/moves/0/thoughts")
    making.assert_called_once_with("rules")


@posix
def test_the_server_ends_while_an_agent_hangs(tmp_path: Path) -> None:
    options = ("--port", "0", "--folder", str(tmp_path), "--adviser", "random", "--agent", "random", "--agent", HANGING)
    command = [sys.executable, "-m", "ddz_training", "web", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT) as server:
        assert server.stdout is not None
        address = server.stdout.readline().split()[0]
        game = post(f"{address}api/games", {**BEGIN, "seat": 1, "agents": [HANGING] * 3})
        threading.Thread(target=post, args=(f"{address}api/games/{game['id']}/advance", {"moves": 0})).start()
        assert server.stdout.readline() == "hanging\n"
        server.send_signal(signal.SIGINT)
        try:
            _, errors = server.communicate(timeout=60)
        finally:
            server.kill()
    assert server.returncode == 0
    assert "Traceback" not in errors
    assert Record.load(tmp_path / f"{game['id']}.game.txt").moves == ()


def post(address: str, body: Json) -> Json:
    """What a server answers, with any status; nothing if it ends meanwhile."""
    request = Request(address, json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        with urlopen(request, timeout=60) as answer:
            return dict(json.load(answer))
    except HTTPError as error:
        return dict(json.load(error))
    except OSError:
        return {}


def test_a_failing_agent_tells_no_cards_and_can_be_replaced(page: Page, caplog: pytest.LogCaptureFixture) -> None:
    path, other = f"games/{page.begin(1, FAILING)}", page.begin(0)
    before = page.get(path)
    for seat, asked in ((0, f"{path}/advance"), (None, f"games/{other}/hint")):
        said = page.refused(asked, {"moves": 0, "agent": FAILING}, 502)
        assert "secret" not in str(said)
        assert said.get("failed") == seat
        assert "secret" in caplog.text
        caplog.clear()
    assert page.get(path) == before
    page.refused(f"{path}/replace", {"seat": 1, "agent": "rules", "moves": 0})
    page.post(f"{path}/replace", {"seat": 0, "agent": "rules", "moves": 0})
    assert page.post(f"{path}/advance", {"moves": 0})["number"] == 1


def test_a_full_disk_changes_nothing(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    path = f"games/{page.begin()}"
    before = page.get(path)
    move = {"text": page.post(f"{path}/hint")["move"], "moves": 0}
    with monkeypatch.context() as patch:
        patch.setattr(Record, "save", Mock(side_effect=NO_SPACE))
        assert "No space" in page.refused(f"{path}/move", move, 507)["error"]
        page.refused("games", BEGIN, 507)
    assert page.get(path) == before
    assert page.post(f"{path}/move", move)["number"] == 1


def test_games_that_are_put_away_release_what_their_agents_hold(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program outside would go on running."""
    monkeypatch.setattr(Holding, "open", 0)
    monkeypatch.setattr(kept, "IN_MEMORY", 2)
    games, name = page.server.games, page.begin(0, HOLDING)
    assert Holding.open == 2
    page.post(f"games/{name}/replace", {"seat": 1, "agent": LOWEST, "moves": 0})
    assert Holding.open == 1
    with monkeypatch.context() as patch:
        patch.setattr(Record, "save", Mock(side_effect=NO_SPACE))
        move = {"text": page.post(f"games/{name}/hint")["move"], "moves": 0}
        page.refused(f"games/{name}/move", move, 507)  # the game is read again
        page.refused("games", {**BEGIN, "agents": [HOLDING] * 3}, 507)  # there is no such game
    assert Holding.open == 1
    page.refused("games", {**BEGIN, "agents": ["rules", HOLDING, "solver"]})  # who may not play
    with pytest.raises(HiddenCardsError):
        Session(Record(seen_from(games._used[name].session.record(), 0), (HOLDING,) * 3))  # who cannot
    assert Holding.open == 1
    for seed in range(3):
        page.begin(0, HOLDING, "mini", seed)
    assert Holding.open == 2  # the other two are not in memory
    page.post(f"games/{page.begin(0, LOWEST)}/hint", {"agent": HOLDING})
    assert Holding.open > 0
    games.close()
    assert Holding.open == 0
