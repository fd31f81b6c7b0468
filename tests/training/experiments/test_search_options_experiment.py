"""The experiment on search options: budgets of equal time, and what its columns mean."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ddz_agents.rules.agent import RulesAgent
from ddz_env import Move, View
from ddz_env.playing.registry import make_agent
from ddz_training.apps.documentation import refreshed
from ddz_training.experiments import search_options as so
from ddz_training.experiments.experiment import grouped, read_saved
from ddz_training.experiments.matches import win_gain, win_interval
from ddz_training.experiments.search_options import SEARCH_OPTIONS, DealResult, EqualTime, equal_times, times_beside
from ddz_training.measure.errors import SettingsMismatchError
from tests.rooms import ROOT

NAMES = ("plain", "4 trees")
TINY = so.SearchOptions(only=NAMES, against=("isuct", "rules"), iterations=4, deals=2, processes=1)


class RulesAsLandlord:
    """Plays well as landlord; as a peasant it passes whenever it may."""

    name = "rules as landlord"

    def act(self, view: View, rng: np.random.Generator) -> Move:
        return RulesAgent().act(view, rng) if view.role == "landlord" else view.legal_moves()[0]


def test_every_variant_is_an_agent_with_its_iterations() -> None:
    for name, spec in so.VARIANTS.items():
        assert make_agent(spec.format(33)).options.iterations == 33, name  # type: ignore[attr-defined]
    assert len(set(so.VARIANTS.values())) == len(so.VARIANTS)


def test_the_positions_that_are_timed_are_decisions_with_a_choice() -> None:
    views = so.positions(12, seed=7)
    assert len(views) == 12
    assert all(len(view.legal_moves()) > 1 and view.acting_seat == view.seat for view in views)
    assert len({view.role for view in views}) == 3
    one, same, other = ([view.row.tolist() for view in so.positions(12, seed)] for seed in (7, 7, 8))
    assert one == same != other


@pytest.mark.parametrize(("fixed", "each"), [(0, 1), (10, 0.02), (900, 0.5), (0, 40), (5000, 1)])
def test_calibration_finds_equal_time_or_takes_the_fewest(
    fixed: float, each: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(so, "microseconds_a_decision", lambda agent, views: fixed + each * agent.options.iterations)
    budget = so.calibrate("plain", 1000.0, [])
    assert abs(budget.microseconds / 1000 - 1) < 0.04 or (fixed > 1000 and budget.iterations == 16)
    assert budget.microseconds == fixed + each * budget.iterations


def test_budgets_are_saved_and_used_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, timed = tmp_path / "budgets.csv", []

    def clock(agent: Any, views: Any) -> float:
        timed.append(agent.options.iterations)
        return 100.0 + agent.options.iterations

    monkeypatch.setattr(so, "microseconds_a_decision", clock)
    first = equal_times(path, 500, ["plain", "4 trees"])
    assert first["plain"] == EqualTime("plain", 500, 600.0)
    assert abs(first["4 trees"].microseconds / 600 - 1) < 0.04
    seen = len(timed)
    assert equal_times(path, 500, ["4 trees", "plain"]) == first
    assert len(timed) == seen, "nothing is timed again"
    more = equal_times(path, 500, ["duplicate rollouts (rules)"])
    assert {name: more[name] for name in first} == first
    assert len(timed) > seen
    whole = path.read_bytes()
    for length in range(whole.index(b"microseconds\n") + len(b"microseconds\n"), len(whole), 7):
        path.write_bytes(whole[:length])
        equal_times(path, 500, ["4 trees", "duplicate rollouts (rules)"])
        assert path.read_bytes() == whole
    with pytest.raises(SettingsMismatchError):
        equal_times(path, 501, ["plain"])


def test_every_pair_plays_every_deal_once_but_plain_never_itself(tmp_path: Path) -> None:
    """Also where a file holds some in the middle already, and more than is asked for."""
    parts, at_once = tmp_path / "parts.csv", tmp_path / "at_once.csv"
    options = replace(TINY, first_deal=10, deals=3)
    expected = SEARCH_OPTIONS.run(options, at_once).results
    pairs = [("4 trees", "isuct"), ("plain", "rules"), ("4 trees", "rules")]
    assert [(one.variant, one.opponent, one.deal) for one in expected] == [
        (*pair, deal) for pair in pairs for deal in (10, 11, 12)
    ]
    shutil.copy(times_beside(at_once), times_beside(parts))
    SEARCH_OPTIONS.run(replace(options, first_deal=11, deals=1), parts)
    assert SEARCH_OPTIONS.run(options, parts).results == expected
    asked = SEARCH_OPTIONS.run(replace(options, only=("4 trees",), against=("rules",)), parts).results
    assert asked == expected[6:]
    with pytest.raises(SettingsMismatchError):
        SEARCH_OPTIONS.run(replace(options, iterations=5), parts)


def test_the_least_budget_there_is() -> None:
    """One iteration: whatever costs more than that gets its fewest, and all games are played."""
    names = ("plain", "4 trees", "duplicate rollouts (rules)")
    results = SEARCH_OPTIONS.run(replace(TINY, only=names, against=("rules",), iterations=1, deals=1)).results
    assert [result.variant for result in results] == list(names)


def test_the_columns_are_the_sides_of_the_variant(monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that gives up as a peasant wins as landlord only; the rule agent beats random play on both sides."""
    mine = {"plain": so.VARIANTS["plain"], "one-sided": f"{__name__}:RulesAsLandlord", "rules": "rules"}
    monkeypatch.setattr(so, "VARIANTS", mine)
    monkeypatch.setattr(so, "equal_times", lambda *arguments: {name: EqualTime(name, 4, 100.0) for name in mine})
    options = replace(TINY, only=("one-sided",), against=("rules",), deals=12)
    results = SEARCH_OPTIONS.run(options).results
    assert sum(result.peasants for result in results) == 0
    assert sum(result.landlord for result in results) >= 3
    even = SEARCH_OPTIONS.run(replace(options, only=("rules",))).results
    assert all(result.landlord + result.peasants == 1 for result in even), "the rule agent against itself"


WINS = ((1, 1), (1, 0), (0, 0), (1, 0))
FOUR = [DealResult("4 trees", "rules", deal, *wins) for deal, wins in enumerate(WINS, 1)]


def test_rates_and_gains_are_means_over_deals_of_both_sides() -> None:
    def half_width(shares: list[float]) -> Any:
        return pytest.approx(1.96 * np.std(shares, ddof=1) / len(shares) ** 0.5, rel=0.01)

    rate = win_interval(FOUR)
    assert (rate.mean, rate.half_width) == (0.5, half_width([1, 0.5, 0, 0.5]))
    cut = [DealResult("inference", "rules", deal, 0, landed) for deal, landed in ((1, 0), (2, 1), (3, 1), (9, 1))]
    gain = win_gain(FOUR, cut)  # over the deals that both have played
    assert (gain.count, gain.mean, gain.half_width) == (3, pytest.approx(1 / 6), half_width([1, 0, -0.5]))
    assert win_gain(FOUR, []).count == 0
    one, other = (line[:6] for line in so.option_cells([*FOUR, *cut[:1]]))
    assert one == ("4 trees", "rules", "4", "75.0", "25.0", "50.0")
    assert other == ("inference", "rules", "1", "0.0", "0.0", "0.0")


def test_a_page_tells_what_inference_gains_where_both_rows_are_there(tmp_path: Path) -> None:
    name, base = "cautious rollouts with inference", "cautious rollouts (rules)"
    budget_lines = ['# {"seed": 7}', "variant,iterations,microseconds", "plain,10000,13717", f"{name},365,13683"]
    lines = ['# {"seed": 3}', "variant,opponent,deal,landlord,peasants", f"{name},isuct,70,1,1", f"{name},isuct,71,1,0"]
    path = tmp_path / "search_options_inference.csv"
    times_beside(path).write_text("\n".join([*budget_lines, f"{base},600,13811", ""]), encoding="utf-8")
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
    by_pair = grouped(read_saved(DealResult, path).results, "variant", "opponent")
    assert win_interval(by_pair["inference", "isuct"]).count == 1000
    assert win_interval(by_pair["inference", "isuct"]).low > 0.5
    variant, base = next(iter(so.WITHOUT_INFERENCE.items()))
    assert win_gain(by_pair[variant, "isuct"], by_pair[base, "isuct"]).high < 0
