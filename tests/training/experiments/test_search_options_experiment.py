"""The experiment on search options: budgets of equal time, resuming, and what its columns mean."""

from __future__ import annotations

import random
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from ddz_agents.rules.agent import RulesAgent
from ddz_env import Move, View
from ddz_env.core.errors import UnknownAgentError
from ddz_env.playing.registry import make_agent
from ddz_training.apps.cli import app
from ddz_training.apps.documentation import refreshed
from ddz_training.experiments import search_options
from ddz_training.experiments.experiment import read_saved
from ddz_training.experiments.matches import win_gain, win_interval
from ddz_training.experiments.search_options import (
    SEARCH_OPTIONS,
    VARIANTS,
    WITHOUT_INFERENCE,
    DealResult,
    EqualTime,
    SearchOptions,
    calibrate,
    equal_times,
    option_cells,
    positions,
)
from ddz_training.measure.match.duplicate import DealPlayer
from ddz_training.measure.match.errors import InvalidExperimentError, SettingsMismatchError
from ddz_training.measure.match.results import read_results
from tests.rooms import ROOT

TINY = SearchOptions(only=("plain", "choice by value"), against=("isuct", "rules"), iterations=4, deals=2, processes=1)
PAIRS = 3  # plain v rules, and the other variant v plain and v rules


class Killed(Exception):
    """Stands for a kill."""


class RulesAsLandlord:
    """Plays well as landlord; as a peasant it passes whenever it may."""

    name = "rules as landlord"

    def act(self, view: View, rng: np.random.Generator) -> Move:
        moves = view.legal_moves()
        return RulesAgent().act(view, rng) if view.role == "landlord" else moves[0]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A complete run; its budgets lie beside it."""
    path = tmp_path_factory.mktemp("options") / "options.csv"
    SEARCH_OPTIONS.run(TINY, path)
    return path


def beside(path: Path) -> Path:
    return path.with_name(f"{path.stem}_budgets.csv")


def with_budgets_of(found: Path, folder: Path, name: str = "again.csv") -> Path:
    """Where another run with the same budgets may be saved."""
    path = folder / name
    shutil.copy(beside(found), beside(path))
    return path


# --- Budgets ----------------------------------------------------------------------------------------------------------


def test_every_variant_is_an_agent_with_its_iterations() -> None:
    for name, spec in VARIANTS.items():
        assert make_agent(spec.format(33)).options.iterations == 33, name  # type: ignore[attr-defined]
    assert len(set(VARIANTS.values())) == len(VARIANTS)


def test_the_positions_that_are_timed_are_decisions_with_a_choice() -> None:
    views = positions(12, seed=7)
    assert len(views) == 12
    assert all(len(view.legal_moves()) > 1 and view.acting_seat == view.seat for view in views)
    assert len({view.role for view in views}) == 3
    assert [view.row.tolist() for view in positions(12, 7)] == [view.row.tolist() for view in views]
    assert [view.row.tolist() for view in positions(12, 8)] != [view.row.tolist() for view in views]


def costing(fixed: float, each: float) -> Any:
    """A clock by which a decision costs so much and so much an iteration."""
    return lambda agent, views: fixed + each * agent.options.iterations


@pytest.mark.parametrize(("fixed", "each"), [(0, 1), (10, 0.02), (900, 0.5), (0, 40)])
def test_calibration_finds_equal_time(fixed: float, each: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_options, "microseconds_a_decision", costing(fixed, each))
    budget = calibrate("plain", 1000.0, [])
    assert abs(budget.microseconds / 1000 - 1) < 0.04
    assert budget.microseconds == fixed + each * budget.iterations


def test_calibration_of_what_costs_too_much_at_any_number_takes_the_fewest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_options, "microseconds_a_decision", costing(5000, 1))
    assert calibrate("plain", 1000.0, []) == EqualTime("plain", 16, 5016)


def test_budgets_are_saved_and_used_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, timed = tmp_path / "budgets.csv", []

    def clock(agent: Any, views: Any) -> float:
        timed.append(agent.options.iterations)
        return 100.0 + agent.options.iterations

    monkeypatch.setattr(search_options, "microseconds_a_decision", clock)
    first = equal_times(path, 500, ["plain", "PUCT"])
    assert first["plain"] == EqualTime("plain", 500, 600.0)
    assert abs(first["PUCT"].microseconds / 600 - 1) < 0.04
    seen = len(timed)
    assert equal_times(path, 500, ["PUCT", "plain"]) == first
    assert len(timed) == seen, "nothing is timed again"
    more = equal_times(path, 500, ["flat"])
    assert {name: more[name] for name in first} == first
    assert len(timed) > seen
    with pytest.raises(SettingsMismatchError):
        equal_times(path, 501, ["plain"])


def test_a_budget_that_was_cut_off_is_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_options, "microseconds_a_decision", costing(100, 1))
    path = tmp_path / "budgets.csv"
    equal_times(path, 500, ["PUCT", "flat"])
    whole = path.read_bytes()
    for length in range(whole.index(b"microseconds\n") + len(b"microseconds\n"), len(whole), 7):
        path.write_bytes(whole[:length])
        equal_times(path, 500, ["PUCT", "flat"])
        assert path.read_bytes() == whole


# --- Playing ----------------------------------------------------------------------------------------------------------


def test_every_pair_plays_every_deal_but_plain_against_itself(found: Path) -> None:
    rows = read_results(found)[1]
    keys = [(row["variant"], row["opponent"], row["deal"]) for row in rows]
    pairs = [("choice by value", "isuct"), ("plain", "rules"), ("choice by value", "rules")]
    assert keys == [(name, other, str(deal)) for name, other in pairs for deal in (20_000, 20_001)]
    assert {row["landlord"] for row in rows} | {row["peasants"] for row in rows} <= {"0", "1"}


def test_results_do_not_depend_on_processes(found: Path, tmp_path: Path) -> None:
    one, two = with_budgets_of(found, tmp_path, "one.csv"), with_budgets_of(found, tmp_path, "two.csv")
    options = replace(TINY, only=("choice by value",), against=("rules",), deals=3)
    results = SEARCH_OPTIONS.run(options, one).results
    assert SEARCH_OPTIONS.run(replace(options, processes=2), two).results == results
    assert two.read_bytes() == one.read_bytes()


def test_a_run_killed_at_any_byte_goes_on_to_the_same_file(found: Path, tmp_path: Path) -> None:
    def kill(done: int, total: int) -> None:
        if done == 3:
            raise Killed

    path = with_budgets_of(found, tmp_path)
    with pytest.raises(Killed):
        SEARCH_OPTIONS.run(TINY, path, kill)
    assert len(read_results(path)[1]) == 3
    SEARCH_OPTIONS.run(TINY, path)
    whole = found.read_bytes()
    assert path.read_bytes() == whole
    body = whole.index(b"peasants\n") + len(b"peasants\n")
    for length in random.Random(0).sample(range(body, len(whole)), 6):
        path.write_bytes(whole[:length])
        SEARCH_OPTIONS.run(TINY, path)
        assert path.read_bytes() == whole


def test_a_complete_file_is_read_without_playing(found: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any, **options: Any) -> None:
        raise AssertionError("a game was begun")

    monkeypatch.setattr(DealPlayer, "play", refuse)
    told: list[tuple[int, int]] = []
    results = SEARCH_OPTIONS.run(TINY, found, lambda done, total: told.append((done, total))).results
    assert len(results) == 2 * PAIRS
    assert told[-1] == (2 * PAIRS, 2 * PAIRS)


def test_progress_counts_every_deal_once(found: Path, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    path = with_budgets_of(found, tmp_path)
    SEARCH_OPTIONS.run(TINY, path, lambda done, total: told.append((done, total)))
    done = [number for number, _ in told]
    assert done == sorted(done)
    assert set(done) >= set(range(1, 2 * PAIRS + 1))
    assert {total for _, total in told} == {2 * PAIRS}


def test_deals_on_both_sides_of_those_played_are_played_once(found: Path, tmp_path: Path) -> None:
    """First the deals in the middle, then all: each is there once, as in a run of all at once."""
    parts, at_once = with_budgets_of(found, tmp_path), with_budgets_of(found, tmp_path, "at_once.csv")
    options = replace(TINY, only=("plain",), against=("rules",), first_deal=10, deals=5)
    SEARCH_OPTIONS.run(replace(options, first_deal=11, deals=2), parts)
    results = SEARCH_OPTIONS.run(options, parts).results
    expected = SEARCH_OPTIONS.run(options, at_once).results
    assert sorted(results, key=lambda result: result.deal) == expected
    assert [result.deal for result in expected] == [10, 11, 12, 13, 14]


def test_what_a_file_holds_besides_is_not_returned(found: Path, tmp_path: Path) -> None:
    path = with_budgets_of(found, tmp_path)
    shutil.copy(found, path)
    one = SEARCH_OPTIONS.run(replace(TINY, only=("choice by value",), against=("rules",)), path).results
    assert {(result.variant, result.opponent) for result in one} == {("choice by value", "rules")}
    assert len(one) == 2
    assert path.read_bytes() == found.read_bytes()


@pytest.mark.parametrize(
    ("wrong", "error"),
    [({"only": ("nothing",)}, InvalidExperimentError), ({"against": ("ruels",)}, UnknownAgentError)],
)
def test_wrong_names_are_refused_before_anything_is_timed(
    wrong: dict[str, Any], error: type[Exception], tmp_path: Path
) -> None:
    with pytest.raises(error):
        SEARCH_OPTIONS.run(replace(TINY, **wrong), tmp_path / "options.csv")
    assert not list(tmp_path.iterdir())


def test_files_of_another_base_or_seed_are_refused(found: Path, tmp_path: Path) -> None:
    path = with_budgets_of(found, tmp_path)
    shutil.copy(found, path)
    with pytest.raises(SettingsMismatchError):
        SEARCH_OPTIONS.run(replace(TINY, seed=1), path)
    with pytest.raises(SettingsMismatchError):
        SEARCH_OPTIONS.run(replace(TINY, iterations=5), path)


def test_the_least_budget_there_is() -> None:
    """One iteration: whatever costs more than that gets its fewest, and all games are played."""
    names = ("plain", "re-determinizing", "duplicate rollouts (planned)")
    options = replace(TINY, only=names, against=("rules",), iterations=1, deals=1)
    results = SEARCH_OPTIONS.run(options).results
    assert [result.variant for result in results] == list(names)


# --- Columns ----------------------------------------------------------------------------------------------------------


def test_the_columns_are_the_sides_of_the_variant(monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that gives up as a peasant wins as landlord only; the rule agent beats random play on both sides."""
    mine = {"plain": VARIANTS["plain"], "one-sided": f"{__name__}:RulesAsLandlord", "rules": "rules"}
    monkeypatch.setattr(search_options, "VARIANTS", mine)
    known = {name: EqualTime(name, 4, 100.0) for name in mine}
    monkeypatch.setattr(search_options, "equal_times", lambda *arguments: known)
    options = replace(TINY, only=("one-sided",), against=("rules",), deals=12)
    results = SEARCH_OPTIONS.run(options).results
    assert sum(result.peasants for result in results) == 0
    assert sum(result.landlord for result in results) >= 3
    even = SEARCH_OPTIONS.run(replace(options, only=("rules",))).results
    assert all(result.landlord + result.peasants == 1 for result in even), "the rule agent against itself"


RESULTS = [
    DealResult("PUCT", "rules", 1, 1, 1),
    DealResult("PUCT", "rules", 2, 1, 0),
    DealResult("PUCT", "rules", 3, 0, 0),
    DealResult("PUCT", "rules", 4, 1, 0),
    DealResult("flat", "rules", 1, 0, 0),
]


def of(results: Sequence[DealResult], variant: str, opponent: str) -> list[DealResult]:
    return [result for result in results if (result.variant, result.opponent) == (variant, opponent)]


def test_win_rates_are_means_over_deals_of_both_sides() -> None:
    interval = win_interval(of(RESULTS, "PUCT", "rules"))
    shares = np.array([1, 0.5, 0, 0.5])
    assert interval.mean == pytest.approx(0.5)
    half = 1.96 * shares.std(ddof=1) / 2
    assert (interval.high - interval.low) / 2 == pytest.approx(half, rel=0.01)


def test_gains_are_paired_by_the_deals_that_both_have_played() -> None:
    others = (("rules", 2), ("rules", 3), ("isuct", 4))
    other = [DealResult("flat", opponent, deal, 0, 1) for opponent, deal in others]
    gain = win_gain(of(RESULTS, "PUCT", "rules"), of([*RESULTS, *other], "flat", "rules"))
    shares = np.array([1, 0, -0.5])
    assert (gain.count, gain.mean) == (3, pytest.approx(1 / 6))
    assert gain.half_width == pytest.approx(1.96 * shares.std(ddof=1) / np.sqrt(3), rel=0.01)
    assert win_gain(of(RESULTS, "PUCT", "rules"), []).count == 0


def test_a_page_tells_what_inference_gains_where_both_rows_are_there(tmp_path: Path) -> None:
    name, base = "cautious rollouts with inference", "cautious rollouts (rules)"
    budget_lines = ['# {"seed": 7}', "variant,iterations,microseconds", "plain,10000,13717", f"{name},365,13683"]
    lines = ['# {"seed": 3}', "variant,opponent,deal,landlord,peasants", f"{name},isuct,70,1,1", f"{name},isuct,71,1,0"]
    path = tmp_path / "search_options_inference.csv"
    beside(path).write_text("\n".join([*budget_lines, f"{base},600,13811", ""]), encoding="utf-8")
    page = "<!-- table: search-options-inference -->\n<!-- end -->"
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    alone = refreshed(page, tmp_path)
    assert f"| {name} | isuct | 365 | 13.68 | 2 | 100.0 | 50.0 | 75.0 | 26.0 to 124.0 |" in alone
    assert "from number 70 on under seed 3" in alone
    assert "`plain` has 10,000 iterations and 13.72 ms a decision." in alone
    assert "paired" not in alone
    path.write_text("\n".join([*lines, f"{base},isuct,70,1,1", f"{base},isuct,71,1,1", ""]), encoding="utf-8")
    told = f"Against `isuct`, {name} over {base}: -25.0 points (-74.0 to +24.0), paired by deal."
    assert told in refreshed(page, tmp_path)


def test_the_committed_inference_gains_in_the_tree_and_loses_in_the_rollouts() -> None:
    """What the page on the search says of it, beyond the luck of its 1,000 deals."""
    path = ROOT / "docs" / "results" / "search_options_inference.csv"
    results = read_saved(DealResult, path).results
    assert win_interval(of(results, "inference", "isuct")).count == 1000
    assert win_interval(of(results, "inference", "isuct")).low > 0.5
    variant, base = next(iter(WITHOUT_INFERENCE.items()))
    assert win_gain(of(results, variant, "isuct"), of(results, base, "isuct")).high < 0


def test_lines_of_the_report_by_hand() -> None:
    lines = option_cells(RESULTS)
    assert lines[0][:6] == ("PUCT", "rules", "4", "75.0", "25.0", "50.0")
    assert lines[1][:6] == ("flat", "rules", "1", "0.0", "0.0", "0.0")
    assert len(lines) == 2


# --- The command ------------------------------------------------------------------------------------------------------


def command(*options: str) -> tuple[int, str]:
    """What `ddz reproduce search-options` says of the smallest run there is."""
    small = ("--iterations", "16", "--deals", "2", "--processes", "1")
    result = CliRunner().invoke(app, ["reproduce", "search-options", *small, *options], env={"COLUMNS": "160"})
    return result.exit_code, result.output


def test_the_command_plays_saves_and_prints_what_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "options.csv"
    out = ("--out", str(path), "--against", "rules")
    code, printed = command(*out, "--only", "plain", "--only", "choice by value")
    assert code == 0, printed
    assert len(read_results(path)[1]) == 4
    assert beside(path).exists()
    saved = path.read_bytes()
    code, printed = command(*out, "--only", "plain")
    assert code == 0, printed
    assert "plain" in printed
    assert "choice by value" not in printed
    assert path.read_bytes() == saved


def test_the_command_refuses_a_variant_that_does_not_exist() -> None:
    code, printed = command("--only", "nothing")
    assert code == 2
    assert "choice by value" in " ".join(printed.split())
