"""The benchmark: what it fixes stays fixed, ratings are right, and its files can be recomputed and not forged."""

from __future__ import annotations

import dataclasses
import json
import math
import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ddz_env import Move, State, View
from ddz_env.playing.provenance import agent_files
from ddz_env.playing.registry import agent_options, read_agent
from ddz_training.measure.benchmark import field, leaderboard
from ddz_training.measure.benchmark.field import DEALS, FIELD, RULES, Member, check_member, digest
from ddz_training.measure.benchmark.file import Results, read_file, replay, results_of, write_file
from ddz_training.measure.benchmark.play import Contest, against_field, field_contest, play_contest
from ddz_training.measure.league.bradley_terry import Score, fit_ratings
from ddz_training.measure.match.errors import (
    BenchmarkFileError,
    FrozenChangedError,
    InvalidBenchmarkRequestError,
    NotReproducedError,
    SettingsMismatchError,
)
from tests.training.apps.terminal import ddz

WEIGHTS = {"policy": "cea81e728b42ffcb"}
SLOW = ("rlcard-rule", "isuct", "rollout")


class Lowest:
    """Leads its first legal move and follows with its last; breaks down with few cards where it has a choice."""

    name = "lowest"

    def act(self, view: View, rng: np.random.Generator) -> Move:
        legal = view.legal_moves()
        if len(view.hand) <= 3 and len(legal) > 1:
            raise RuntimeError("too few cards")
        return legal[0] if view.on_lead else legal[-1]


class Cheat(Lowest):
    """Asks for the whole state."""

    cheats = True


LOWEST = f"{__name__}:Lowest"


def small(deals: str = "choosing", name: str = "me") -> Contest:
    """The toy against two quick players of the field."""
    whole = against_field(LOWEST, DEALS[deals], name=name, quick=True)
    agents = {one: whole.agents[one] for one in (name, "random", "rules")}
    return Contest(agents, ((name, "random"), (name, "rules")), whole.deals)


def played(contest: Contest, count: int = 4, path: Path | None = None) -> Results:
    store = contest.store(path)
    return results_of(contest, play_contest(contest, count, store=store), store)


@pytest.fixture(scope="module")
def results() -> Results:
    return played(small())


@pytest.fixture
def file(results: Results, tmp_path: Path) -> Path:
    path = tmp_path / "me.json"
    write_file(path, results)
    return path


@pytest.mark.parametrize("name", DEALS)
def test_deals_are_the_committed_ones(name: str) -> None:
    DEALS[name].check()
    with pytest.raises(FrozenChangedError, match="dealing has changed"):
        dataclasses.replace(DEALS[name], seed=1, count=3).check()


def test_deals_for_choosing_are_not_those_for_reporting() -> None:
    first, second = ({field.deal_line(State.new(one.seed, RULES, n)) for n in range(200)} for one in DEALS.values())
    assert len(first) == len(second) == 200
    assert not first & second


@pytest.mark.parametrize("member", FIELD.values(), ids=list(FIELD))
def test_every_option_of_the_field_is_written_out(member: Member) -> None:
    factory, options = read_agent(member.agent)
    declared = getattr(factory, "options_type", None)
    named = agent_options(member.agent.partition(":")[0]) if declared is None else declared.options()
    assert set(options) == {option.name for option in named if option.textual}


@pytest.mark.parametrize("name", WEIGHTS)
def test_the_weights_of_the_field_are_the_committed_ones(name: str) -> None:
    assert list(agent_files(FIELD[name].agent).values()) == [WEIGHTS[name]]


def test_the_sample_asks_where_there_is_a_choice() -> None:
    positions = field.read_positions()
    assert len(set(positions)) == len(positions) == 64
    for position, *chosen in zip(positions, *field.frozen_moves().values(), strict=True):
        state = State.new(field.SAMPLE_SEED, RULES, position.deal)
        for move in position.moves:
            state.step(Move.parse(move))
        legal = {str(move) for move in state.legal_moves()}
        assert len(legal) > 1
        assert legal >= set(chosen)


@pytest.mark.parametrize("name", [pytest.param(one, marks=pytest.mark.long if one in SLOW else ()) for one in FIELD])
def test_the_field_plays_as_it_did(name: str) -> None:
    if name == "rlcard-rule":
        pytest.importorskip("rlcard")
    assert check_member(name) == digest(field.frozen_moves()[name])


def test_a_changed_player_of_the_field_is_noticed_and_nothing_is_played(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FIELD, "random", Member("random", "rules", quick=True))  # type: ignore[index]
    with pytest.raises(FrozenChangedError, match=r"random is not the player .*deal 0 after 0 moves: 34567 instead of"):
        played(small())


def test_what_cannot_be_played_is_refused() -> None:
    cheating = Contest({"me": f"{__name__}:Cheat", "random": "random"}, (("me", "random"),), DEALS["choosing"])
    for ask, message in (
        (lambda: played(cheating), "looks at every hand"),
        (lambda: play_contest(small(), 2001), r"deals=2001 must be in 1\.\.2000"),
        (lambda: against_field("rules:", DEALS["choosing"], name="rules"), "give your agent another name"),
        (lambda: field.deal_list("chosing"), "did you mean 'choosing'"),
    ):
        with pytest.raises(InvalidBenchmarkRequestError, match=message):
            ask()
    assert "rules #2" in against_field("rules", DEALS["choosing"]).agents


def test_the_quick_field_needs_no_search_and_the_field_plays_itself() -> None:
    quick = against_field(LOWEST, DEALS["choosing"], quick=True)
    assert [b for _, b in quick.pairs] == ["random", "rules", "policy"]
    assert len(against_field(LOWEST, DEALS["reporting"]).pairs) == 6
    assert len(field_contest(DEALS["reporting"]).pairs) == 15
    assert len(field_contest(DEALS["choosing"], quick=True).pairs) == 3


def chance(difference: float) -> float:
    return 1 / (1 + 10 ** (-difference / 400))


def test_three_wins_in_four_are_190_points() -> None:
    games = [Score(deal, "me", "rules", float(deal % 4 > 0)) for deal in range(4000)]
    assert fit_ratings(games, {"rules": 0})["me"].mean == pytest.approx(400 * math.log10(3), abs=1)
    swapped = [Score(deal, b, a, 1 - share) for deal, a, b, share in games]
    assert fit_ratings(swapped, {"rules": 100})["me"].mean == pytest.approx(100 + 400 * math.log10(3), abs=1)


def test_intervals_hold_what_they_promise() -> None:
    """100 simulated agents, strong and weak; deals favour one side so that the games of a deal depend on each other."""
    rng, fixed = np.random.default_rng(5), {"random": -600.0, "rules": 0.0, "strong": 100.0}
    held, errors = 0, []
    for agent in range(100):
        true = (-500, -200, 0, 150)[agent % 4]
        luck = rng.normal(0, 150, 100)
        games = [
            Score(deal, "me", name, float(rng.random() < chance(true + side * luck[deal] - rating)))
            for deal in range(100)
            for side in (1, -1)
            for name, rating in fixed.items()
        ]
        rating = fit_ratings(games, fixed)["me"]
        held += rating.low <= true <= rating.high
        errors.append(rating.mean - true)
    assert 89 <= held <= 99
    assert abs(np.mean(errors)) < 15


def test_unknown_ratings_are_fitted_together_and_losing_everything_is_finite() -> None:
    games = [Score(deal, "a", "rules", float(deal % 4 > 0)) for deal in range(400)]
    games += [Score(deal, "b", "a", float(deal % 4 > 0)) for deal in range(400)]
    games += [Score(deal, "lost", "rules", 0.0) for deal in range(400)]
    ratings = fit_ratings(games, {"rules": 0.0})
    assert ratings["b"].mean == pytest.approx(2 * ratings["a"].mean, rel=0.02)
    assert ratings["b"].half_width > ratings["a"].half_width
    assert -2000 < ratings["lost"].low < ratings["lost"].mean < ratings["lost"].high < -600
    with pytest.raises(InvalidBenchmarkRequestError, match="x, y played nobody whose rating is known"):
        fit_ratings([*games, Score(0, "x", "y", 1.0)], {"rules": 0.0})


def test_a_file_holds_all_that_was_played(results: Results, file: Path) -> None:
    back = read_file(file)
    assert any(record.fault_by for record in results.records)
    kept = operator.attrgetter(
        *["deal", "game", "b", "seats", "landlord", "landlord_agent", "winner", "win", "stake", "moves", "fault_by"]
    )
    assert sorted(map(kept, back.records)) == sorted(map(kept, results.records))
    assert back.milliseconds == results.milliseconds
    assert back.contest == results.contest
    assert str(tuple(file.parent.parts)) not in file.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(format="ddz-benchmark-0"), "format"),
        (lambda d: d.update(format="ddz-benchmark-1"), "of version 1 of the benchmark, whose field had policy-final"),
        (lambda d: d.update(rules="douzero"), "rules"),
        (lambda d: d["deals"].update(sha256="0"), "not the committed ones"),
        (lambda d: d["deals"].update(count=5), "has 4 deals, not 5"),
        (lambda d: d["agents"]["rules"].update(agent="random"), "rules is not the committed player"),
        (lambda d: d["agents"]["random"].update(moves="0"), "random is not the committed player"),
        (lambda d: d["pairs"][0]["games"].__setitem__(1, d["pairs"][0]["games"][0]), "is not deal 1"),
        (lambda d: d["pairs"][0]["games"].__setitem__(0, "0 2/30 0/30"), "is no game"),
        (lambda d: d["pairs"][0]["games"].__setitem__(0, "0 2/30 2/30/a"), "who fails has lost"),
        (lambda d: d["pairs"][1].update(a="you"), "not listed"),
        (lambda d: d["pairs"][1].update(b="random"), "stands twice"),
        (lambda d: d["summary"][0]["wins"].update(mean=0.99), "not what its games add up to"),
        (lambda d: d["pairs"][1]["games"].__setitem__(0, "0 64/30 64/30"), "not what its games add up to"),
        (lambda d: d.pop("pairs"), "no file of the benchmark"),
    ],
)
def test_a_file_that_contradicts_itself_is_refused(file: Path, change: Callable[[Any], object], message: str) -> None:
    document = json.loads(file.read_text(encoding="utf-8"))
    change(document)
    file.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(BenchmarkFileError, match=message):
        read_file(file)


def test_games_are_played_again_and_a_forged_one_is_found(file: Path) -> None:
    rng = np.random.default_rng(0)
    assert replay(read_file(file), 2, rng) == 4
    assert replay(read_file(file), None, rng) == 8
    document = json.loads(file.read_text(encoding="utf-8"))
    games = document["pairs"][1]["games"]
    line = games[3]
    forged = games[3] = line + "1" if line[-1].isdigit() else line.replace("/", "/1", 1)
    file.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(NotReproducedError, match=rf"1 of 8 deals .* me v rules: '{line}', not '{forged}'"):
        replay(read_file(file), None, rng)


def test_a_run_goes_on_where_it_was_cut_off(results: Results, tmp_path: Path) -> None:
    games, known = tmp_path / "me.csv", operator.attrgetter("deal", "b", "moves")
    played(small(), 2, games)
    before = games.read_bytes()
    games.write_bytes(before[:-20])  # killed while writing
    whole = played(small(), 4, games)
    assert games.read_bytes().startswith(before[: before.index(b"\n", 300)])
    assert [*map(known, whole.records)] == [*map(known, results.records)]
    with pytest.raises(SettingsMismatchError):
        played(small("reporting"), 1, games)


def test_the_leaderboard_is_made_from_committed_files(tmp_path: Path) -> None:
    board, cross = (leaderboard.PAGES[name] for name in ("leaderboard", "benchmark-cross"))
    assert "no committed results" in board(tmp_path)
    assert "no committed results" in cross(tmp_path)
    two = {name: FIELD[name].agent for name in ("random", "rules")}
    contests = Contest(two, (("random", "rules"),), DEALS["reporting"]), small("reporting"), small(name="not reported")
    for name, contest in zip(("field", "me", "choosing"), contests, strict=True):
        write_file(tmp_path / "benchmark" / f"{name}.json", played(contest, 3))
    lines = board(tmp_path).splitlines()[2:]
    assert {line.split(" | ")[0] for line in lines} == {"| `rules`", "| `me`", "| `random`"}
    assert lines[0].startswith("| `rules` | 0 | ")
    assert sum("(../results/benchmark/me.json)" in line for line in lines) == 1
    assert cross(tmp_path).splitlines()[2].startswith("| `random` |  | ")


def test_every_player_of_the_field_has_a_rating() -> None:
    ratings = leaderboard.field_ratings().fixed
    assert ratings.keys() == FIELD.keys()
    assert ratings["rules"] == 0
    assert ratings["rlcard-rule"] < ratings["isuct"] < 0 < ratings["rollout"]
    assert ratings["random"] < -300 < 0 < ratings["policy"]


def test_the_command_places_writes_and_checks(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    result = ddz("benchmark", LOWEST, "--name", "mine", "--deals", 1, "--processes", 1, "--out", file)
    assert result.exit_code == 3, result.output  # it failed, and so lost, some of its games
    for told in ("mine: 1 duplicate deal each", "→ mine", "policy", "Not for citing"):
        assert told in result.output
    assert (tmp_path / "mine.csv").is_file()
    assert "mine-full.json" in result.output  # what can be cited is another file
    checked = ddz("benchmark", "--check", file, "--sample", 1, "--processes", 1)
    assert checked.exit_code == 0, checked.output
    assert "3 deals (drawn at random) were played again" in checked.output
    for wrong in ((), (LOWEST, "--field"), ("--field", "--check", file), ("--check", tmp_path / "no.json")):
        assert ddz("benchmark", *wrong).exit_code == 2
