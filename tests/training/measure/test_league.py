"""Leagues on disk: nothing is lost or counted twice, whatever is killed, and every table comes from the file."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from ddz_env import Rules
from ddz_training.measure.league.playing import play_league
from ddz_training.measure.league.store import League, LeagueStore
from ddz_training.measure.match import provenance
from ddz_training.measure.match.duplicate import GameRecord
from ddz_training.measure.match.errors import (
    AgentChangedError,
    InvalidArenaError,
    OtherCodeError,
    ResultsFileError,
    SettingsMismatchError,
)
from ddz_training.measure.match.round_robin import Arena
from tests.rooms import pythonpath
from tests.training.apps.terminal import ddz, refused

LEAGUE = Arena(("random", "random-staged", "random"), seed=4, timing=False, names=("one", "two", "three"))
POSIX = pytest.mark.skipif(os.name != "posix", reason="processes are forked and killed in groups")


def play(
    path: Path, deals: int, arena: Arena = LEAGUE, resume: bool = False, processes: int = 1, block: int = 4
) -> None:
    with closing(LeagueStore(path, arena, resume)) as store:
        play_league(store, deals, block=block, processes=processes)


def content(path: Path) -> tuple[list[GameRecord], list[object]]:
    with closing(League(path)) as league:
        return league.games(), [*league.rounds]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A league that nobody disturbed: 12 deals a pair."""
    path = tmp_path_factory.mktemp("league") / "whole.sqlite"
    play(path, 12)
    return path


def test_a_league_uses_its_deals_and_leaves_one_file(whole: Path) -> None:
    games, rounds = content(whole)
    assert len(games) == 12 * 3 * 2
    assert len({(game.a, game.b, game.deal, game.seats) for game in games}) == len(games)
    assert [path.name for path in whole.parent.iterdir()] == [whole.name]
    by_pair: dict[tuple[str, str], list[int]] = {}
    for game in games:
        by_pair.setdefault((game.a, game.b), []).append(game.deal)
    assert set(by_pair) == {("one", "three"), ("one", "two"), ("three", "two")}
    assert all(sorted(set(deals)) == list(range(len(deals) // 2)) for deals in by_pair.values())  # the same deals
    assert rounds[:3] == [(1, pair, 0, 4) for pair in by_pair]


@pytest.mark.long
def test_processes_do_not_matter(whole: Path, tmp_path: Path) -> None:
    play(tmp_path / "two.sqlite", 12, processes=2)
    assert content(tmp_path / "two.sqlite") == content(whole)


def test_a_league_goes_on_and_new_agents_join(whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "league.sqlite"
    play(path, 4)
    play(path, 12, resume=True)
    assert content(path) == content(whole)
    before = content(path)[0]
    play(path, 4, Arena(("random", "random-staged"), seed=4, timing=False, names=("four", "two")), resume=True)
    games, _ = content(path)
    assert [game for game in games if "four" not in (game.a, game.b)] == before
    assert {(game.a, game.b) for game in games if "four" in (game.a, game.b)} == {("four", "two")}
    agents = ("random-staged", "random", "random", "random")
    everybody = Arena(agents, seed=4, timing=False, names=("two", "one", "three", "four"))
    play(path, 1, everybody, resume=True)  # everybody has played more than that, but not with everybody
    assert {(game.a, game.b) for game in content(path)[0]} >= {("four", "one"), ("four", "three")}


def test_a_game_is_never_there_twice_and_half_a_deal_is_not_kept(whole: Path, tmp_path: Path) -> None:
    games = content(whole)[0]
    with closing(LeagueStore(tmp_path / "league.sqlite", LEAGUE)) as store:
        with pytest.raises(ResultsFileError, match="UNIQUE"):
            store.add([games[0], games[0]])
        assert store.games() == []
        store.add(games[:2])
        with pytest.raises(ResultsFileError, match="UNIQUE"):
            store.add(games[:2])
        assert store.games() == content(tmp_path / "league.sqlite")[0] == games[:2]  # others read it meanwhile


def killed_after(seconds: float, path: Path) -> int:
    """Play in a process that is killed; how many deals it had reported as done by then."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            with closing(LeagueStore(path, LEAGUE, resume=True)) as store:
                play_league(
                    store, 12, block=4, on_progress=lambda done, total: os.write(writer, bytes([done])) and None
                )
        finally:
            os._exit(0)
    os.close(writer)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with open(reader, "rb") as told:
        return max(told.read(), default=0)


@POSIX
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # a fork of a process with threads
def test_kills_at_random_moments_lose_nothing_that_was_reported_and_repeat_nothing(whole: Path, tmp_path: Path) -> None:
    path, moments = tmp_path / "league.sqlite", random.Random(1)
    kept, seconds, kills = list[GameRecord](), 0.003, 0
    while kills < 20 or not kept:
        reported = killed_after(moments.uniform(seconds, 20 * seconds), path)
        kills, seconds = kills + 1, seconds * 1.1
        if path.exists() and path.stat().st_size:
            with closing(LeagueStore(path, LEAGUE, resume=True)) as store:
                found = store.games()
            assert set(found) >= set(kept)
            assert len(found) % 2 == 0
            assert len(found) >= 2 * reported
            kept = found
    play(path, 12, resume=True)
    assert content(path) == content(whole)


def wait_for_more(path: Path, games: int) -> None:
    """Wait until a file that is being written holds more games than that."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        with contextlib.suppress(ResultsFileError):
            if len(content(path)[0]) > games:
                return
        time.sleep(0.05)
    raise AssertionError("no new games")


@pytest.mark.long
@POSIX
def test_the_command_survives_twenty_kills(tmp_path: Path) -> None:
    specs = ("random", "random-staged", "rules")
    command = [sys.executable, "-m", "ddz_training", "rate", *specs]
    command += ["--no-timing", "--deals", "2000", "--out"]
    moments, kept, path = random.Random(2), set[GameRecord](), tmp_path / "cut.sqlite"
    for number in range(20):
        process = subprocess.Popen(
            [*command, str(path)],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": pythonpath()},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        if number % 4:  # in the middle of playing; else while it starts
            wait_for_more(path, len(kept))
        time.sleep(moments.uniform(0, 2))
        assert process.poll() is None
        if number % 2:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()  # its workers end by themselves
        process.wait()
        if path.exists() and path.stat().st_size:
            found = set(content(path)[0])
            assert found >= kept
            kept = found
    assert len(kept) > 100
    played = Arena(specs, timing=False)
    deals = len(kept) // 6 + 20
    play(path, deals, played, resume=True, processes=2, block=25)
    play(tmp_path / "whole.sqlite", deals, played, processes=2, block=25)
    assert content(path) == content(tmp_path / "whole.sqlite")


def test_other_leagues_and_files_are_refused(whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "league.sqlite"
    path.write_bytes(whole.read_bytes())
    with pytest.raises(ResultsFileError, match="add --resume"):
        LeagueStore(path, LEAGUE)
    for other, message in (
        (replace(LEAGUE, seed=5), "seed: the file has 4, this run 5"),
        (replace(LEAGUE, rules=Rules.preset("bidding")), "rules"),
        (replace(LEAGUE, agents=("rules", "random"), names=("one", "two")), "another agent 'one', 'random'"),
    ):
        with pytest.raises(SettingsMismatchError, match=message):
            LeagueStore(path, other, resume=True)
    (tmp_path / "text.sqlite").write_text("not a database, but long enough to be taken for one by its size" * 20)
    with closing(sqlite3.connect(tmp_path / "other.db")) as database:
        database.execute("CREATE TABLE something (a)")
    for name, message in (
        ("league.csv", r"written as \.sqlite or \.db"),
        ("text.sqlite", "not a database"),
        ("other.db", "other.db"),
    ):
        with pytest.raises(ResultsFileError, match=message):
            LeagueStore(tmp_path / name, LEAGUE, resume=True)
    assert content(path) == content(whole)
    with closing(LeagueStore(path, LEAGUE, resume=True)) as store, pytest.raises(InvalidArenaError, match="block=0"):
        play_league(store, 12, block=0)


def test_other_code_and_replaced_agents_are_refused(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "league.sqlite"
    path.write_bytes(whole.read_bytes())
    monkeypatch.setattr(provenance, "code_stamp", lambda *folders: "9.9 beef")
    play(path, 12, resume=True)  # nothing is added
    with pytest.raises(OtherCodeError, match=r"9\.9 beef"):
        play(path, 13, resume=True)
    with provenance.other_code():
        play(path, 13, resume=True)
    with closing(League(path)) as league:
        assert league.settings["code"][1:] == ["9.9 beef"]
    mine = Arena(("random", "own:Agent"), seed=4, timing=False)
    files = {"own:Agent": {"own.py": "1"}}
    monkeypatch.setattr(provenance, "agent_files", lambda agent: files.get(agent, {}))
    with closing(LeagueStore(tmp_path / "own.sqlite", mine)) as store:
        store.sign()
    files["own:Agent"] = {"own.py": "2"}
    with pytest.raises(AgentChangedError, match=r"own\.py was 1, now it is 2"):
        LeagueStore(tmp_path / "own.sqlite", mine, resume=True)


@pytest.fixture
def short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_tables_of_a_league_come_from_its_file(short: Path) -> None:
    rate = ("rate", "--out", "a.sqlite")
    first = ddz(*rate, "random", "random-staged", "--deals", 6, "--processes", 1, "--table", "a.csv")
    assert first.exit_code == 0, first.output
    again = ddz(*rate, "--table", "b.csv", "--anchor", "random")
    assert again.exit_code == 0, again.output
    assert "12 games · standard rules · seed 0" in first.stdout
    assert "Cross-table" in again.stdout
    assert (short / "a.csv").read_text().splitlines()[0].startswith("agent,overall,overall_low,overall_high,landlord")
    assert "random,0.0,0.0,0.0" in (short / "b.csv").read_text()
    assert ddz(*rate, "--table", "both.json").exit_code == 0
    assert [pair["deals"] for pair in json.loads((short / "both.json").read_text())["pairs"]] == [6, 6]


def test_an_anchor_that_neither_the_file_nor_the_run_knows_is_refused_before_a_game(short: Path) -> None:
    more = ("--deals", 3, "--processes", 1, "--out", "a.sqlite")
    assert ddz("rate", "random", "random-staged", *more).exit_code == 0
    before, anchor = content(short / "a.sqlite"), ("--anchor",)
    assert "choose from random, rules, random-staged" in refused("rate", "random", "rules", *more, *anchor, "nobody")
    assert content(short / "a.sqlite") == before
    joined = ddz("rate", "random", "rules", *more, "--anchor", "random-staged")
    assert joined.exit_code == 0, joined.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("random random-staged --anchor nobody", "anchor"),
        ("--out none.sqlite", "no file"),
        ("random rulse", "rules"),
        ("random rules --out league.csv", ".sqlite or .db"),
    ],
)
def test_bad_requests_are_one_line(arguments: str, message: str, short: Path) -> None:
    result = ddz("rate", *arguments.split())
    assert (result.exit_code, message in result.stderr) == (2, True), result.output
    assert "Traceback" not in result.output
    assert not (short / "league.sqlite").exists()


def test_a_league_that_is_decided_ends(short: Path) -> None:
    result = ddz("rate", "random", "rules", "--deals", 400, "--until-decided", "--processes", 1)
    assert result.exit_code == 0, result.output
    assert 40 <= len(content(short / "league.sqlite")[0]) < 200
    assert "*" in result.stdout
    assert "rules = 0" in result.stdout  # as in the benchmark, if nobody names another anchor
    assert "kept in league.sqlite" in result.stderr
