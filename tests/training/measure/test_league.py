"""Leagues: nothing is lost or counted twice when a process is killed, and every table comes from the file."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from ddz_env import Rules
from ddz_training.measure import errors
from ddz_training.measure.contest import Arena
from ddz_training.measure.duplicate import GameResult
from ddz_training.measure.league import LeagueStore, play_league, read_league, schedule_rounds
from ddz_training.measure.summaries import group_by
from tests.training.cli.terminal import ddz, done, refused

LEAGUE = Arena(("random", "random-staged", "random"), seed=4, timing=False, names=("one", "two", "three"))


def play(
    path: Path, deals: int, arena: Arena = LEAGUE, resume: bool = False, processes: int = 1, block: int = 4
) -> None:
    play_league(LeagueStore(path, arena, resume), deals, block=block, processes=processes)


def content(path: Path) -> tuple[list[GameResult], list[object]]:
    settings, games = read_league(path)
    return games, settings["rounds"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A league that nothing disturbed: 12 deals per pair."""
    path = tmp_path_factory.mktemp("league") / "whole.sqlite"
    play(path, 12)
    return path


def test_a_league_uses_its_deals_and_leaves_one_file(whole: Path) -> None:
    games, rounds = content(whole)
    assert len(games) == 12 * 3 * 2
    assert len({(game.a, game.b, game.deal, game.seats) for game in games}) == len(games)
    assert [path.name for path in whole.parent.iterdir()] == [whole.name]
    by_pair = group_by(games, lambda game: (game.a, game.b))
    assert set(by_pair) == {("one", "three"), ("one", "two"), ("three", "two")}
    assert all(sorted({game.deal for game in own}) == list(range(len(own) // 2)) for own in by_pair.values())
    assert rounds[:3] == [[1, *pair, 0, 4] for pair in by_pair]
    with closing(sqlite3.connect(whole)) as database:  # as the page says
        query = "select a, b, count(*), avg(winner = 'landlord') from results group by a, b"
        counted = [pair[:3] for pair in database.execute(query)]
    assert counted == [(*pair, len(own)) for pair, own in by_pair.items()]


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
    assert set(read_league(path)[0]["agents"]) == {"one", "two", "three", "four"}


def test_a_round_is_wanted_until_it_is_complete(whole: Path, tmp_path: Path) -> None:
    """The schedule is a function of what the store holds: half a round changes nothing, a whole one gives the next."""
    played, planned = LeagueStore(whole, LEAGUE, resume=True).units, content(whole)[1]
    store, schedule, seen = LeagueStore(tmp_path / "league.sqlite", LEAGUE), schedule_rounds(LEAGUE, 12, 4), 0
    with store.open():
        while missing := schedule(store).matches.keys() - store.units.keys():
            due, seen = schedule(store), seen + 1
            assert due.total == 36
            assert [list(line) for line in due.notes["rounds"]] == [line for line in planned if line[0] <= seen]
            store.update_settings(**due.notes)
            for key in missing:
                assert schedule(store).matches == due.matches
                store.add(played[key])
    assert store.units.keys() == played.keys()
    assert seen == planned[-1][0] > 2


def test_other_leagues_and_files_are_refused(whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "league.sqlite"
    path.write_bytes(whole.read_bytes())
    for other in (
        replace(LEAGUE, seed=5),
        replace(LEAGUE, rules=Rules.preset("bidding")),
        replace(LEAGUE, agents=("rules", "random"), names=("one", "two")),
    ):
        with pytest.raises(errors.SettingsMismatchError):
            LeagueStore(path, other, resume=True)
    LEAGUE.store(tmp_path / "arena.sqlite").update_settings()
    for name in ("none.sqlite", "arena.sqlite"):
        with pytest.raises(errors.ResultsFileError):
            read_league(tmp_path / name)
    assert content(path) == content(whole)


@pytest.fixture
def short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_tables_of_a_league_come_from_its_file(short: Path) -> None:
    rate = ("rate", "--out", "a.sqlite")
    first = done(*rate, "random", "random-staged", "--deals", 6, "--processes", 1, "--table", "a.csv")
    again = ddz(*rate, "--table", "b.csv", "--anchor", "random")
    assert again.exit_code == 0, again.output
    assert "12 games · standard rules · seed 0" in first.stdout
    assert "Cross-table" in again.stdout
    assert (short / "a.csv").read_text().splitlines()[0].startswith("agent,overall,overall_low,overall_high,landlord")
    assert "random,0.0,0.0,0.0" in (short / "b.csv").read_text()
    done(*rate, "--table", "both.json")
    assert [pair["deals"] for pair in json.loads((short / "both.json").read_text())["pairs"]] == [6, 6]


def test_bad_requests_are_refused_before_a_game(short: Path) -> None:
    for arguments, message in (
        ("random rules --anchor ghost", "choose from random, rules"),
        ("--out none.sqlite", "no file"),
        ("random rules --out league.csv", ".sqlite or .db"),
    ):
        assert message in refused("rate", *arguments.split())
    assert not (short / "league.sqlite").exists()


def test_a_league_that_is_decided_ends(short: Path) -> None:
    result = done("rate", "random", "rules", "--deals", 400, "--until-decided", "--processes", 1)
    assert 40 <= len(content(short / "league.sqlite")[0]) < 200
    assert "*" in result.stdout
    assert "rules = 0" in result.stdout  # as in the benchmark, unless another anchor is named
    assert "kept in league.sqlite" in result.stderr
