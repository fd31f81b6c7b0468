"""The policy for points: the file by its name, and the experiment that says what it wins."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ddz_agents.neural.shipped import policy_path, shipped_points_path, shipped_policy_path
from ddz_agents.neural.stored_policy import read_policy
from ddz_env import Rules
from ddz_env.core.errors import UnknownAgentError
from ddz_training.experiments.experiment import Saved
from ddz_training.experiments.strengths import (
    POINTS_RULES,
    POINTS_STRENGTH,
    PointsOptions,
    PointsResult,
    points_result,
    points_table,
)
from ddz_training.measure.match.duplicate import DealPlayer
from ddz_training.measure.match.errors import SettingsMismatchError

TINY = PointsOptions(agent="rules", opponent=("random-staged",), deals=3, processes=1)


def test_a_name_or_a_file_says_which_policy_plays() -> None:
    assert policy_path() == shipped_policy_path()
    assert policy_path("points") == policy_path(Path("points")) == shipped_points_path()
    assert policy_path("./points") == Path("./points")
    assert policy_path("mine.onnx") == Path("mine.onnx")


def test_the_policy_for_points_was_trained_for_points() -> None:
    stored = read_policy(shipped_points_path())
    assert stored.objective == "stake"
    assert stored.rules == "bidding,doubling=true"


def test_an_agent_wins_nothing_from_itself() -> None:
    """Each of the six games is played from both sides on the same cards."""
    (result,) = POINTS_STRENGTH.run(replace(TINY, opponent=("rules",), deals=1)).results
    assert result.score == 0


def test_a_deal_is_added_up_from_its_six_games() -> None:
    player = DealPlayer(Rules.preset(POINTS_RULES), 0, timing=False)
    records = player.play(11, ("rules", "random-staged"))
    (result,) = points_result(records)
    seats = [[seat for seat, letter in enumerate(record.seats) if letter == "a"] for record in records]
    scores = [sum(record.stake[seat] for seat in own) for record, own in zip(records, seats, strict=True)]
    assert result.score == pytest.approx(sum(scores) / 6, abs=1e-4)
    assert result.landlord + sum(record.landlord_agent == "random-staged" for record in records) == 6 - result.declined
    assert 0 <= result.won <= result.landlord
    assert result.declined == sum(not record.winner for record in records) > 0


def test_a_run_is_saved_resumed_and_told(tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    whole = POINTS_STRENGTH.run(TINY, path)
    again = POINTS_STRENGTH.run(replace(TINY, deals=2), path)
    assert again.results == whole.results[:2]
    with pytest.raises(SettingsMismatchError):
        POINTS_STRENGTH.run(replace(TINY, seed=1), path)
    (line,) = points_table(whole).lines
    assert line[:2] == ("`random-staged` (`rules`)", "3")


def test_an_unknown_opponent_is_refused_before_anything_is_played(tmp_path: Path) -> None:
    with pytest.raises(UnknownAgentError):
        POINTS_STRENGTH.run(replace(TINY, opponent=("nobody",)), tmp_path / "points.csv")
    assert not list(tmp_path.iterdir())


def test_shares_count_games() -> None:
    own = [PointsResult("rules", "random", deal, 1.0, 3, 2, 1, 0.0, 0.0) for deal in range(2)]
    (line,) = points_table(Saved(own, {"seed": 0, "rules": POINTS_RULES, "weights": "0"})).lines
    assert line[3:6] == ("50.0", "66.7", "16.7")
