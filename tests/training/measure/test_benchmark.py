"""The benchmark: what it fixes stays fixed, ratings are right, and its files can be recomputed and not forged."""

from __future__ import annotations

import dataclasses
import operator
import shutil
from pathlib import Path

import numpy as np
import pytest

import benchmark_tables
from ddz_env import Move, State, View
from ddz_env.playing.registry import list_agent_options, parse_agent
from ddz_env.support.options import find_options_type
from ddz_training.measure.benchmark import field, leaderboard, play
from ddz_training.measure.benchmark.field import DEALS, FIELD, RULES, FieldMember, check_member
from ddz_training.measure.errors import (
    BenchmarkChangedError,
    BenchmarkFileError,
    InvalidBenchmarkRequestError,
    NotReproducedError,
    ResultsFileError,
    SettingsMismatchError,
)
from ddz_training.measure.provenance import digest_agent_files
from ddz_training.measure.ratings import Score, fit_ratings
from tests.training.cli.terminal import ddz, done

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


def small(deals: str = "choosing", name: str = "me") -> play.BenchmarkContest:
    """The toy against two quick players of the field."""
    whole = play.contest_against_field(LOWEST, DEALS[deals], name=name, quick=True)
    agents = {one: whole.agents[one] for one in (name, "random", "rules")}
    return play.BenchmarkContest(agents, ((name, "random"), (name, "rules")), whole.deals)


def played(contest: play.BenchmarkContest, count: int = 4, path: Path | None = None) -> play.BenchmarkResults:
    store = contest.store(path)
    return play.make_results(contest, play.play_benchmark(contest, count, store=store), store)


@pytest.fixture(scope="module")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of four deals per pair."""
    path = tmp_path_factory.mktemp("benchmark") / "me.csv"
    played(small(), path=path)
    return path


@pytest.fixture
def file(committed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(committed, tmp_path))


@pytest.mark.parametrize("name", DEALS)
def test_deals_are_the_committed_ones(name: str) -> None:
    DEALS[name].check()
    with pytest.raises(BenchmarkChangedError, match="dealing has changed"):
        dataclasses.replace(DEALS[name], seed=1, count=3).check()


@pytest.mark.parametrize("member", FIELD.values(), ids=list(FIELD))
def test_every_option_of_the_field_is_written_out(member: FieldMember) -> None:
    factory, options = parse_agent(member.agent)
    declared = find_options_type(factory)
    named = list_agent_options(member.agent.partition(":")[0]) if declared is None else declared.options()
    own = {"selection", "worlds"}  # added since: functions of a user's own, or else what the field has always played
    assert set(options) == {option.name for option in named if option.is_textual} - own
    if member.name == "policy-v1":
        assert list(digest_agent_files(member.agent).values()) == ["cfd085c33437f77a"]


def test_the_sample_asks_where_there_is_a_choice() -> None:
    positions = field.read_positions()
    assert len(set(positions)) == len(positions) == 64
    for position, *chosen in zip(positions, *field.read_committed_moves().values(), strict=True):
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
    check_member(FIELD[name])


def test_a_changed_player_of_the_field_is_noticed_and_nothing_is_played(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FIELD, "random", FieldMember("random", "rules", quick=True))  # type: ignore[index]
    with pytest.raises(
        BenchmarkChangedError, match=r"random is not the player .*deal 0 after 0 moves: 34567 instead of"
    ):
        played(small())


def test_what_cannot_be_played_is_refused() -> None:
    cheating = play.BenchmarkContest(
        {"me": f"{__name__}:Cheat", "random": "random"}, (("me", "random"),), DEALS["choosing"]
    )
    for ask, message in (
        (lambda: played(cheating), "looks at every hand"),
        (lambda: play.play_benchmark(small(), 2001), r"deals=2001 must be in 1\.\.2000"),
        (lambda: play.contest_against_field("rules:", DEALS["choosing"], name="rules"), "give your agent another name"),
        (lambda: field.find_deal_list("chosing"), "did you mean 'choosing'"),
    ):
        with pytest.raises(InvalidBenchmarkRequestError, match=message):
            ask()
    assert "rules #2" in play.contest_against_field("rules", DEALS["choosing"]).agents


def chance(difference: float) -> float:
    return 1 / (1 + 10 ** (-difference / 400))


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
    with pytest.raises(InvalidBenchmarkRequestError, match="x, y met no agent with a known rating"):
        fit_ratings([*games, Score(0, "x", "y", 1.0)], {"rules": 0.0})


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"format": "ddz-benchmark-2"', '"format": "ddz-benchmark-0"', "is of the format 'ddz-benchmark-0'"),
        ('"rules": "standard"', '"rules": "douzero"', "its rules are not the committed ones"),
        ('"list": "choosing"', '"list": "chosing"', "did you mean 'choosing'"),
        ('"random": "random"', '"random": "rules"', "its agents are not the committed ones"),
        ('"code"', '"coda"', "'code'"),
        ("\n1,me,rules,1,", "\n1,me,rules,0,", "must have every game of the"),
    ],
)
def test_a_file_that_contradicts_itself_is_refused(file: Path, old: str, new: str, message: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(BenchmarkFileError if "format" not in message else ResultsFileError, match=message):
        play.read_benchmark_file(file)


def test_games_are_played_again_and_a_forged_one_is_found(file: Path) -> None:
    rng = np.random.default_rng(0)
    assert play.replay_sample(play.read_benchmark_file(file), 2, rng) == 4
    assert play.replay_sample(play.read_benchmark_file(file), None, rng) == 8
    honest = play.read_benchmark_file(file)
    forged = [
        dataclasses.replace(one, moves=one.moves + 1) if (one.deal, one.b, one.game) == (3, "rules", 1) else one
        for one in honest.records
    ]
    with pytest.raises(NotReproducedError, match=r"1 games .*me\.csv says: me v rules, deal 3"):
        play.replay_sample(dataclasses.replace(honest, records=forged), None, rng)


def test_a_run_goes_on_with_the_same_contest_only(committed: Path, tmp_path: Path) -> None:
    path = tmp_path / "me.csv"
    played(small(), 2, path)
    assert len(played(small(), 4, path).records) == 16
    assert play.read_benchmark_file(path).contest == small()
    ended = operator.attrgetter("deal", "b", "moves", "stake", "fault_by")
    assert sorted(map(ended, play.read_benchmark_file(path).records)) == sorted(
        map(ended, play.read_benchmark_file(committed).records)
    )
    with pytest.raises(SettingsMismatchError):
        played(small("reporting"), 1, path)


def test_the_leaderboard_is_made_from_files_of_the_reporting_list(tmp_path: Path) -> None:
    assert "no committed results" in benchmark_tables.leaderboard(tmp_path)
    two = {name: FIELD[name].agent for name in ("random", "rules")}
    field_of_two = play.BenchmarkContest(two, (("random", "rules"),), DEALS["reporting"])
    for name, contest in (("field", field_of_two), ("me", small("reporting")), ("no", small(name="not reported"))):
        played(contest, 3, tmp_path / f"{name}.csv")
    lines = benchmark_tables.leaderboard(tmp_path).splitlines()[2:]
    assert {line.split(" | ")[0] for line in lines} == {"| `rules`", "| `me`", "| `random`"}
    assert lines[0].startswith("| `rules` | 0 | ")
    assert benchmark_tables.cross(tmp_path).splitlines()[2].startswith("| `random` |  | ")


def test_every_player_of_the_field_has_a_rating() -> None:
    ratings = leaderboard.read_field_ratings().fixed
    assert {*ratings} == {*FIELD}
    assert ratings["random"] < ratings["rules"] == 0 < ratings["policy-v1"]


def test_the_command_places_writes_and_checks(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    result = ddz("benchmark", "run", LOWEST, "--name", "mine", "--deals", 1, "--processes", 1, "--out", file)
    assert result.exit_code == 3, result.output  # it failed, and so lost, some of its games
    for told in ("mine: 1 duplicate deal each", "→ mine", "Not for citing", "mine-full.csv"):
        assert told in result.output
    checked = done("benchmark", "check", file, "--sample", 1, "--processes", 1)
    assert "3 deals (drawn at random) were played again" in checked.output
