"""``ddz web``: games survive servers, full disks, many players and failing agents."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock
from urllib.request import Request, urlopen

import pytest
from filelock import FileLock

from ddz_env.saved_games import SavedGame
from ddz_play.web import games as kept
from ddz_play.web.server import Server
from ddz_training.measure.errors import InUseError
from tests.packages import ROOT
from tests.play.web.web_page import AGENTS, BEGIN, FAILING, HANGING, HOLDING, LOWEST, Hanging, Holding, Page, found

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
    monkeypatch.setattr(kept, "MAX_IN_MEMORY", 2)
    names = [page.begin(0, LOWEST, "mini", seed) for seed in range(5)]
    games = [page.get(f"games/{name}") for name in names]
    assert [page.get(f"games/{name}") for name in names] == games
    assert len(page.server.games._loaded) == 2
    page.refused(f"games/{'a' * 22}", status=404)
    assert list(page.server.games._loaded) == names[-2:]  # a name without a game puts none away


@pytest.fixture
def hanging() -> Iterator[type[Hanging]]:
    """The agent that hangs, let go in the end."""
    Hanging.called.clear()
    Hanging.let_go.clear()
    yield Hanging
    Hanging.let_go.set()


@pytest.mark.parametrize("asked", ["hint", "advance"])
def test_a_game_can_be_looked_at_while_its_agent_thinks_and_played_while_a_hint_is_sought(
    page: Page, hanging: type[Hanging], asked: str
) -> None:
    path = f"games/{page.begin(0, LOWEST) if asked == 'hint' else page.begin(1, HANGING)}"
    lead = {"text": "3", "moves": 0}

    async def both() -> tuple[Any, Any]:
        thought = asyncio.ensure_future(page.ask(f"{path}/{asked}", {"moves": 0, "agent": HANGING}))
        await asyncio.to_thread(hanging.called.wait)
        again = asyncio.ensure_future(page.ask(f"{path}/{asked}", {"moves": 0, "agent": LOWEST}))
        assert found(await page.ask(path))["number"] == 0
        assert found(await page.ask("games", BEGIN))
        if asked == "hint":
            assert found(await page.ask(f"{path}/move", lead))["number"] == 1
            assert found(await page.ask(f"{path}/advance", {"moves": 1}))["number"] == 2
        hanging.let_go.set()
        return await thought, await again

    first, second = page.run(both())
    assert first.status_code == 200
    assert second.status_code == (200 if asked == "hint" else 409)  # the agent moves once
    assert page.get(path)["number"] == (2 if asked == "hint" else 1)


def test_many_games_at_once(page: Page) -> None:
    async def one(seed: int) -> str:
        dealt = {"rules": "mini", "agents": [LOWEST] * 2, "seat": seed % 2, "seed": seed}
        path = f"games/{found(await page.ask('games', dealt))['id']}"
        for number in range(2):
            game = found(await page.ask(path))
            mine = game["turn"] == game["seat"]
            hint = found(await page.ask(f"{path}/hint", {"agent": LOWEST})) if mine else {"move": ""}
            asked = {"text": hint["move"], "moves": number}
            assert found(await page.ask(f"{path}/{'move' if mine else 'advance'}", asked))["number"] == number + 1
        return path

    async def all_of_them() -> list[str]:
        return list(await asyncio.gather(*map(one, range(50))))

    assert len(set(page.run(all_of_them()))) == 50


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
    games._loaded.pop(forgotten)
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
    page.server.games._loaded.clear()
    (page.server.games._folder / f"{name}.game.txt").write_text("Dou Dizhu game 1\nrubbish")
    page.refused(f"games/{name}", status=410)


@pytest.mark.skipif(os.name != "posix", reason="pipes, and signals between processes, are those of POSIX")
def test_the_server_ends_while_an_agent_hangs(tmp_path: Path) -> None:
    options = ("--port", "0", "--folder", str(tmp_path), "--adviser", "random", "--agent", "random", "--agent", HANGING)
    command = [sys.executable, "-m", "ddz_training", "web", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT) as server:
        assert server.stdout is not None
        address = server.stdout.readline().split()[0]
        with urlopen(address, timeout=60) as answer:
            assert answer.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
            assert (answer.headers["x-content-type-options"], answer.headers["cache-control"]) == (
                "nosniff",
                "no-store",
            )

        def post(path: str, body: Any) -> Any:
            sent = Request(f"{address}api/{path}", json.dumps(body).encode(), {"Content-Type": "application/json"})
            with urlopen(sent, timeout=60) as answer:
                return json.load(answer)

        def advance() -> None:
            with contextlib.suppress(OSError):  # the server ends meanwhile
                post(f"games/{game['id']}/advance", {"moves": 0})

        game = post("games", {**BEGIN, "seat": 1, "agents": [HANGING] * 3})
        threading.Thread(target=advance).start()
        assert server.stdout.readline() == "hanging\n"
        server.send_signal(signal.SIGINT)
        try:
            _, errors = server.communicate(timeout=60)
        finally:
            server.kill()
    assert server.returncode == 0
    assert "Traceback" not in errors
    assert SavedGame.load(tmp_path / f"{game['id']}.game.txt").moves == ()


def test_a_failing_agent_tells_no_cards_and_can_be_replaced(page: Page, caplog: pytest.LogCaptureFixture) -> None:
    path, other = f"games/{page.begin(1, FAILING)}", page.begin(0)
    before = page.get(path)
    for asked in (f"{path}/advance", f"games/{other}/hint"):
        said = page.refused(asked, {"moves": 0, "agent": FAILING}, 502)
        assert "secret" not in str(said)
        assert said["failed"] == 0
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
        patch.setattr(SavedGame, "save", Mock(side_effect=NO_SPACE))
        assert "No space" in page.refused(f"{path}/move", move, 507)["error"]
        page.refused("games", BEGIN, 507)
    assert page.get(path) == before
    assert page.post(f"{path}/move", move)["number"] == 1


def test_games_that_are_put_away_release_what_their_agents_hold(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program outside would go on running."""
    monkeypatch.setattr(Holding, "open", 0)
    monkeypatch.setattr(kept, "MAX_IN_MEMORY", 2)
    name = page.begin(0, HOLDING)
    assert Holding.open == 2
    page.post(f"games/{name}/replace", {"seat": 1, "agent": LOWEST, "moves": 0})
    assert Holding.open == 1
    page.refused("games", {**BEGIN, "agents": ["rules", HOLDING, "solver"]})  # who may not play
    for seed in range(3):
        page.begin(0, HOLDING, "mini", seed)
    assert Holding.open == 2  # the other two are not in memory
    page.post(f"games/{page.begin(0, LOWEST)}/hint", {"agent": HOLDING})
    assert Holding.open > 0
    page.server.games.close()
    assert Holding.open == 0
