"""The strength of the shipped policies: what is played, and what the columns mean."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ddz_agents.neural.shipped import policy_path, shipped_points_path, shipped_policy_path
from ddz_agents.neural.weights import load_weights
from ddz_env import Rules
from ddz_env.core.errors import InvalidAgentOptionError
from ddz_env.playing.registry import make_agent
from ddz_training.experiments import strengths as st
from ddz_training.experiments.experiment import Saved
from ddz_training.experiments.matches import win_interval
from ddz_training.experiments.strengths import POINTS_STRENGTH, POLICY_STRENGTH, StrengthResult
from ddz_training.learn.strength import FIRST_DEAL as FIRST_DEAL_OF_TRAINING
from ddz_training.measure.duplicate import DealPlayer
from ddz_training.measure.errors import SettingsMismatchError
from ddz_training.measure.store import ResultStore

pytest.importorskip("torch")

SEARCH = "neural-ismcts:iterations=4,trees=1,batch=2"
TINY = st.StrengthOptions(only=("policy-rules", "search-policy"), deals=2, neural=SEARCH, processes=1)
POINTS = st.PointsOptions(agent="rules", opponent=("random-staged",), deals=3, processes=1)


def test_names_and_files_say_which_policy_plays_and_what_it_was_trained_for() -> None:
    assert policy_path() == shipped_policy_path()
    assert policy_path("points") == policy_path(Path("points")) == shipped_points_path()
    assert policy_path("./points") == Path("./points")
    assert policy_path("mine.onnx") == Path("mine.onnx")
    points = load_weights(shipped_points_path())
    assert (points.rules, points.objective) == ("bidding,doubling=true", "stake")
    with pytest.raises(InvalidAgentOptionError, match="path='douzero': that policy went"):
        make_agent("policy:path=douzero")


def test_every_pairing_plays_the_same_deals_which_training_never_saw(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And no games of other weights are mixed in; searches with other budgets stand side by side."""
    path = tmp_path / "strength.csv"
    results = POLICY_STRENGTH.run(TINY, path).results
    pairs = ("policy", "rules"), (SEARCH, "policy")
    deals = st.FIRST_DEAL, st.FIRST_DEAL + 1
    assert [(one.agent, one.opponent, one.deal) for one in results] == [(*pair, d) for pair in pairs for d in deals]
    assert st.FIRST_DEAL > FIRST_DEAL_OF_TRAINING + 1_000_000
    other = replace(TINY, only=("search-policy",), neural="neural-ismcts:iterations=2,trees=1,batch=2")
    assert {one.agent for one in POLICY_STRENGTH.run(other, path).results} == {other.neural}
    assert POLICY_STRENGTH.run(TINY, path).results == results
    monkeypatch.setattr(st, "shipped_fingerprint", lambda: "0123456789abcdef")
    with pytest.raises(SettingsMismatchError):
        POLICY_STRENGTH.run(TINY, path)


def test_without_a_number_every_pairing_plays_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str, int]] = []

    def remember(store: Any, tasks: Any, *arguments: Any) -> list[Any]:
        asked.extend(tasks)
        return []

    monkeypatch.setattr(ResultStore, "fill", remember)
    POLICY_STRENGTH.run()
    played = Counter((agent, opponent) for agent, opponent, _ in asked)
    agents = [(st.NEURAL if pairing.searches else "policy", pairing.opponent) for pairing in st.PAIRINGS.values()]
    assert list(played) == agents
    assert list(played.values()) == [pairing.deals for pairing in st.PAIRINGS.values()]
    assert played["policy", "rlcard-rule"] == 10_000


def test_the_results_are_those_of_the_arena() -> None:
    """The same deals by hand: who won, what was at stake, on which side."""
    results = POLICY_STRENGTH.run(replace(TINY, only=("policy-rules",))).results
    assert [(one.agent, one.deal) for one in results] == [("policy", st.FIRST_DEAL), ("policy", st.FIRST_DEAL + 1)]
    player = DealPlayer(Rules(), seed=0)
    for one in results:
        landlord, peasants = player.play(one.deal, (one.agent, "rules"))
        assert (one.landlord, one.peasants) == (landlord.winner == "landlord", peasants.winner == "peasants")
        assert one.landlord_score == landlord.stake[0]
        assert one.peasants_score == peasants.stake[1] + peasants.stake[2] == -peasants.stake[0]
        assert min(one.ms, one.opponent_ms) > 0


ONE = StrengthResult("policy", "random", 1, 1, 1, 4.0, 2.0, 0.5, 0.01)
RESULTS = [ONE, replace(ONE, deal=2, peasants=0, peasants_score=-2.0, ms=90.0), replace(ONE, deal=3, ms=0.7)]


def cells(results: list[StrengthResult]) -> list[dict[str, str]]:
    """The lines of the table by the heads of its columns."""
    return [dict(zip(st.STRENGTH_HEADER, line, strict=True)) for line in st.strength_cells(results)]


def test_a_line_by_hand() -> None:
    assert win_interval(RESULTS).mean == pytest.approx((1 + 0.5 + 1) / 3)
    assert st.score_interval(RESULTS).half_width == pytest.approx(1.96 * (4 / 3) ** 0.5 / 3**0.5, rel=1e-3)
    (named,) = cells(RESULTS)
    assert (named["agent"], named["against"], named["deals"]) == ("`policy`", "`random`", "3")
    assert named["win %"] == "83.3 (50.7–100.0)", "the interval ends where rates do"
    assert (named["landlord %"], named["peasants %"], named["score"]) == ("100.0", "66.7", "+2.33 ±1.31")
    assert (named["ms"], named["its ms"]) == ("0.70", "0.01"), "the median deal: compilation in one does not count"
    assert named["target %"] == "98"
    assert "DouZero" in named["others %, from memory"]


def test_lines_stand_in_the_order_of_the_pairings_whose_targets_hold_for_any_budget() -> None:
    shuffled = [replace(ONE, agent=SEARCH, opponent="policy"), replace(ONE, opponent="rlcard-rule"), ONE]
    lines = cells([*shuffled, replace(ONE, opponent="policy")])
    assert [line["against"] for line in lines] == ["`rlcard-rule`", "`random`", "`policy`", "`policy`"]
    assert [line["target %"] for line in lines] == ["80", "98", "55", ""]


def test_a_search_is_compared_with_the_policy_on_the_deals_that_both_have_played() -> None:
    alone = [replace(ONE, deal=deal, peasants=deal % 2) for deal in range(1, 6)]
    search = [replace(ONE, agent=SEARCH, deal=deal) for deal in (2, 3, 4, 99)]
    over = {line["agent"]: line["over the policy"] for line in cells([*alone, *search])}
    assert over["`policy`"] == ""
    assert over[f"`{SEARCH}`"].startswith("+33.3 ("), "half a point, none, half a point"
    assert cells([replace(ONE, agent=SEARCH, opponent="isuct")])[0]["over the policy"] == ""


def test_an_agent_wins_nothing_from_itself() -> None:
    """Each of the six games is played from both sides on the same cards."""
    (result,) = POINTS_STRENGTH.run(replace(POINTS, opponent=("rules",), deals=1)).results
    assert result.score == 0


def test_a_deal_is_added_up_from_its_six_games() -> None:
    player = DealPlayer(Rules.preset(st.POINTS_RULES), 0, timing=False)
    records = player.play(11, ("rules", "random-staged"))
    (result,) = st.points_result(records)
    seats = [[seat for seat, letter in enumerate(record.seats) if letter == "a"] for record in records]
    scores = [sum(record.stake[seat] for seat in own) for record, own in zip(records, seats, strict=True)]
    assert result.score == pytest.approx(sum(scores) / 6, abs=1e-4)
    assert result.landlord + sum(record.landlord_agent == "random-staged" for record in records) == 6 - result.declined
    assert 0 <= result.won <= result.landlord
    assert result.declined == sum(not record.winner for record in records) > 0


def test_shares_count_games() -> None:
    own = [st.PointsResult("rules", "random-staged", deal, 1.0, 3, 2, 1, 0.0, 0.0) for deal in range(2)]
    (line,) = st.points_table(Saved(own, {"seed": 0, "rules": st.POINTS_RULES, "weights": "0"})).lines
    assert line[:2] == ("`random-staged` (`rules`)", "2")
    assert line[3:6] == ("50.0", "66.7", "16.7")
