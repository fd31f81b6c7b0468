"""The strength of the shipped policy: what is played, resuming, and what the columns mean."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from typer.testing import CliRunner

from ddz_env.core.errors import UnknownAgentError
from ddz_training.apps.cli import app
from ddz_training.experiments import strengths
from ddz_training.experiments.strengths import (
    FIRST_DEAL,
    PAIRINGS,
    POLICY_STRENGTH,
    STRENGTH_HEADER,
    StrengthOptions,
    StrengthResult,
    score_interval,
    strength_cells,
    win_interval,
)
from ddz_training.learn.strength import FIRST_DEAL as FIRST_DEAL_OF_TRAINING
from ddz_training.measure.match.duplicate import DealPlayer
from ddz_training.measure.match.errors import InvalidExperimentError, SettingsMismatchError
from ddz_training.measure.match.results import ResultStore, read_results

TINY_SEARCH = "neural-ismcts:iterations=4,trees=1,batch=2"
TINY = StrengthOptions(only=("policy-rules", "search-policy"), deals=2, neural=TINY_SEARCH, processes=1)


class Killed(Exception):
    """Stands for a kill."""


def without_times(path: Path) -> list[tuple[str, ...]]:
    """The lines of a file but for the milliseconds, which no two runs share."""
    rows = read_results(path)[1]
    return [tuple(text for name, text in row.items() if name not in ("ms", "opponent_ms")) for row in rows]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A complete run."""
    path = tmp_path_factory.mktemp("strength") / "strength.csv"
    POLICY_STRENGTH.run(TINY, path)
    return path


# --- What is played ---------------------------------------------------------------------------------------------------


def test_every_pairing_plays_the_same_deals_which_training_never_saw(found: Path) -> None:
    rows = read_results(found)[1]
    pairs = [("policy", "rules"), (TINY_SEARCH, "policy")]
    expected = [(*pair, str(FIRST_DEAL + deal)) for pair in pairs for deal in (0, 1)]
    assert [(row["agent"], row["opponent"], row["deal"]) for row in rows] == expected
    assert FIRST_DEAL > FIRST_DEAL_OF_TRAINING + 1_000_000


def test_without_a_number_every_pairing_plays_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str, int]] = []

    def remember(store: Any, tasks: Any, *arguments: Any) -> list[Any]:
        asked.extend(tasks)
        return []

    monkeypatch.setattr(ResultStore, "fill", remember)
    POLICY_STRENGTH.run(StrengthOptions())
    played = Counter((agent, opponent) for agent, opponent, _ in asked)
    assert list(played.items()) == [
        ((strengths.NEURAL if pairing.searches else "policy", pairing.opponent), pairing.deals)
        for pairing in PAIRINGS.values()
    ]
    assert played["policy", "rlcard-rule"] == 10_000


def test_the_results_are_those_of_the_arena(found: Path) -> None:
    """The same deals by hand: who won, what was at stake, on which side."""
    from ddz_env import Rules

    player = DealPlayer(Rules(), seed=0)
    for row in read_results(found)[1][:2]:
        landlord, peasants = player.play(int(row["deal"]), ("policy", "rules"))
        assert int(row["landlord"]) == (landlord.winner == "landlord")
        assert int(row["peasants"]) == (peasants.winner == "peasants")
        assert float(row["landlord_score"]) == landlord.stake[0]
        assert float(row["peasants_score"]) == peasants.stake[1] + peasants.stake[2] == -peasants.stake[0]
        assert float(row["ms"]) > 0
        assert float(row["opponent_ms"]) > 0


# --- On disk ----------------------------------------------------------------------------------------------------------


def test_a_run_killed_at_any_byte_goes_on_to_the_same_results(found: Path, tmp_path: Path) -> None:
    def kill(done: int, total: int) -> None:
        if done == 3:
            raise Killed

    path = tmp_path / "again.csv"
    with pytest.raises(Killed):
        POLICY_STRENGTH.run(TINY, path, kill)
    assert len(read_results(path)[1]) == 3
    POLICY_STRENGTH.run(TINY, path)
    assert without_times(path) == without_times(found)
    whole = path.read_bytes()
    body = whole.index(b"opponent_ms\n") + len(b"opponent_ms\n")
    for length in random.Random(0).sample(range(body, len(whole)), 3):
        path.write_bytes(whole[:length])
        POLICY_STRENGTH.run(TINY, path)
        assert without_times(path) == without_times(found)


def test_a_complete_file_is_read_without_playing(found: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any, **options: Any) -> None:
        raise AssertionError("a game was begun")

    monkeypatch.setattr(DealPlayer, "play", refuse)
    told: list[tuple[int, int]] = []
    results = POLICY_STRENGTH.run(TINY, found, lambda done, total: told.append((done, total))).results
    assert len(results) == 4
    assert told[-1] == (4, 4)


def test_games_of_other_weights_are_not_mixed_in(found: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strengths, "shipped_fingerprint", lambda: "0123456789abcdef")
    with pytest.raises(SettingsMismatchError):
        POLICY_STRENGTH.run(TINY, found)


def test_searches_with_other_budgets_stand_side_by_side(found: Path, tmp_path: Path) -> None:
    path = tmp_path / "both.csv"
    path.write_bytes(found.read_bytes())
    other = "neural-ismcts:iterations=2,trees=1,batch=2"
    results = POLICY_STRENGTH.run(replace(TINY, only=("search-policy",), neural=other), path).results
    assert [result.agent for result in results] == [other, other]
    assert {row["agent"] for row in read_results(path)[1]} == {"policy", TINY_SEARCH, other}


@pytest.mark.parametrize(
    ("wrong", "error"),
    [({"only": ("nothing",)}, InvalidExperimentError), ({"neural": "neural-ismcst"}, UnknownAgentError)],
)
def test_wrong_names_are_refused_before_anything_is_written(
    wrong: dict[str, Any], error: type[Exception], tmp_path: Path
) -> None:
    with pytest.raises(error):
        POLICY_STRENGTH.run(replace(TINY, **wrong), tmp_path / "strength.csv")
    assert not list(tmp_path.iterdir())


# --- Columns ----------------------------------------------------------------------------------------------------------

ONE = StrengthResult("policy", "random", 1, 1, 1, 4.0, 2.0, 0.5, 0.01)
RESULTS = [ONE, replace(ONE, deal=2, peasants=0, peasants_score=-2.0, ms=90.0), replace(ONE, deal=3, ms=0.7)]


def test_rates_and_scores_are_means_over_deals_of_both_sides() -> None:
    assert win_interval(RESULTS).mean == pytest.approx((1 + 0.5 + 1) / 3)
    assert score_interval(RESULTS).mean == pytest.approx((3 + 1 + 3) / 3)
    assert score_interval(RESULTS).half_width == pytest.approx(1.96 * (4 / 3) ** 0.5 / 3**0.5, rel=1e-3)


def test_a_line_by_hand() -> None:
    (line,) = strength_cells(RESULTS)
    named = dict(zip(STRENGTH_HEADER, line, strict=True))
    assert (named["agent"], named["against"], named["deals"]) == ("`policy`", "`random`", "3")
    assert named["win %"] == "83.3 (50.7–100.0)", "the interval ends where rates do"
    assert (named["landlord %"], named["peasants %"], named["score"]) == ("100.0", "66.7", "+2.33 ±1.31")
    assert (named["ms"], named["its ms"]) == ("0.70", "0.01"), "the median deal: compilation in one does not count"
    assert named["target %"] == "98"
    assert "DouZero" in named["others %, from memory"]


def test_a_search_has_the_target_of_its_pairing_whatever_its_budget() -> None:
    lines = strength_cells([replace(ONE, agent=TINY_SEARCH, opponent="policy"), replace(ONE, opponent="policy")])
    assert [dict(zip(STRENGTH_HEADER, line, strict=True))["target %"] for line in lines] == ["55", ""]


def test_a_search_is_compared_with_the_policy_on_the_deals_that_both_have_played() -> None:
    alone = [replace(ONE, deal=deal, peasants=deal % 2) for deal in range(1, 6)]
    search = [replace(ONE, agent=TINY_SEARCH, deal=deal) for deal in (2, 3, 4, 99)]
    lines = [dict(zip(STRENGTH_HEADER, line, strict=True)) for line in strength_cells([*alone, *search])]
    over = {line["agent"]: line["over the policy"] for line in lines}
    assert over["`policy`"] == ""
    assert over[f"`{TINY_SEARCH}`"].startswith("+33.3 ("), "half a point, none, half a point"
    (one,) = strength_cells([replace(ONE, agent=TINY_SEARCH, opponent="isuct")])
    assert dict(zip(STRENGTH_HEADER, one, strict=True))["over the policy"] == ""


def test_lines_stand_in_the_order_of_the_pairings() -> None:
    shuffled = [replace(ONE, agent=TINY_SEARCH, opponent="policy"), replace(ONE, opponent="rlcard-rule"), ONE]
    assert [line[1] for line in strength_cells(shuffled)] == ["`rlcard-rule`", "`random`", "`policy`"]


# --- The command ------------------------------------------------------------------------------------------------------


def test_the_command_plays_saves_and_prints_what_was_asked_for(found: Path, tmp_path: Path) -> None:
    path = tmp_path / "strength.csv"
    command = ["reproduce", "policy-strength", "--out", str(path), "--deals", "2", "--processes", "1"]
    options = ["--only", "search-policy", "--neural", TINY_SEARCH]
    result = CliRunner().invoke(app, [*command, *options], env={"COLUMNS": "250"})
    assert result.exit_code == 0, result.output
    assert "neural-ismcts" in result.output
    assert "rlcard" not in result.output
    assert without_times(path) == without_times(found)[2:]


def test_the_command_refuses_a_pairing_that_does_not_exist() -> None:
    result = CliRunner().invoke(app, ["reproduce", "policy-strength", "--only", "nothing"], env={"COLUMNS": "160"})
    assert result.exit_code == 2
    assert "search-rollout" in " ".join(result.output.split())
