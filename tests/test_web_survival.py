"""``ddz web``: games survive servers, full disks, many players and failing agents."""

from __future__ import annotations

import asyncio
import errno
import json
import os
from pathlib import Path

import pytest

from ddz_env.session import Record
from tests.web_page import AGENTS, BEGIN, FAILING, LOWEST, Json, Page, error
from training.arena.errors import InUseError
from training.web import games as kept
from training.web.errors import NoSuchGameError, WebOptionError
from training.web.routes import Server


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
        error(page.send("POST", "/api/games", BEGIN), 507)
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
