"""The Mini experiments: every deal, and the paper's figures from the committed results."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from ddz_env.core.engine import layout
from ddz_env.core.engine.deal import new_game
from ddz_env.core.notation import word_to_counts
from ddz_papers.determinization_2011 import mini_experiments
from ddz_papers.determinization_2011.mini_experiments import CORRECT, KINDS, list_mini_deals, share_known
from ddz_papers.determinization_2011.mini_uct import UctResult, uct_rate, uct_table
from ddz_papers.experiments.experiment import SavedResults
from tests.papers.experiments import committed


def test_the_census_is_exact_and_that_of_its_file(tmp_path: Path) -> None:
    """8,832 deals, at most 66 states, 70.71 % for player 1."""
    results = mini_experiments.MINI_CENSUS.run(None, tmp_path / "census.csv").results
    assert [deal.number for deal in list_mini_deals()] == list(range(8832))
    assert sum(deal.probability for deal in list_mini_deals()) == pytest.approx(1, abs=1e-12)
    assert [line[2] for line in mini_experiments.census_table(SavedResults(results)).lines][:3] == [
        "8832",
        "66",
        "70.71",
    ]
    assert results == committed(mini_experiments.HandResult, "mini_census")


def test_the_engine_deals_by_the_probabilities_of_the_papers_deals() -> None:
    """Of 20,000 deals the five likeliest, and deals with both jokers in a hand, come as often as they should."""
    chances = {
        tuple(map(int, deal.row[layout.HANDS : layout.HANDS + 2])): deal.probability for deal in list_mini_deals()
    }
    number, row, words = 20_000, np.zeros(layout.ROW_WORDS, np.uint64), mini_experiments.MINI.words()
    seen = Counter[tuple[int, ...]]()
    for seed in range(number):
        new_game(row, np.uint64(seed), words)
        seen[tuple(map(int, row[layout.HANDS : layout.HANDS + 2]))] += 1
    assert set(seen) <= set(chances)
    events = [{deal} for deal in sorted(chances, key=chances.__getitem__)[-5:]]
    events += [{deal for deal in chances if word_to_counts(deal[seat])[13:] == (1, 1)} for seat in (0, 1)]
    for event in events:
        expected = number * sum(chances[deal] for deal in event)
        assert abs(sum(seen[deal] for deal in event) - expected) < 5 * (expected * (1 - expected / number)) ** 0.5


def test_the_committed_pairs_are_those_of_figure_3_and_ordered_as_there() -> None:
    results = committed(mini_experiments.PairResult, "mini_agents")
    assert [(result.player_1, result.player_2) for result in results] == list(dict.fromkeys(mini_experiments.PAIRS))
    figure = {pair for pair in mini_experiments.PAIRS if set(pair) <= set(KINDS)}
    assert figure == {*itertools.product(KINDS, KINDS)} - {(CORRECT, CORRECT)}
    assert all(
        min(mini_experiments.win_rate_differences(results, better, worse)) > 0
        for better, worse in itertools.pairwise(KINDS)
    )


@pytest.mark.long
@pytest.mark.parametrize("pair", [("cheating", "cheating"), ("expectimax", "determinized"), (CORRECT, "expectimax")])
def test_the_committed_results_come_out_again(pair: tuple[str, str]) -> None:
    (result,) = mini_experiments.MINI_AGENTS.run(tasks=[pair]).results
    assert result in committed(mini_experiments.PairResult, "mini_agents")


def test_the_committed_inference_reaches_the_papers_figures() -> None:
    saved = committed(mini_experiments.InferenceResult, "mini_inference")
    for moves, paper in ((mini_experiments.FOURTH_TURN, 48), (None, 74)):
        assert 100 * share_known(saved, 1, moves) == pytest.approx(paper, abs=2)


def test_win_rates_are_weighted_and_their_intervals_count_the_agents_luck_only() -> None:
    sure = uct_rate([UctResult(deal.number, 3, 0) for deal in list_mini_deals()], "isuct", 3)
    assert (sure.mean, sure.half_width) == (pytest.approx(1), 0)
    first, second = (deal.probability for deal in list_mini_deals()[:2])
    lone = uct_rate([UctResult(0, 1, 0), UctResult(1, 0, 0)], "isuct", 1)
    assert (lone.mean, lone.half_width > 0.5) == (pytest.approx(first / (first + second)), True)
    assert uct_rate([UctResult(0, 1, 2)], "isuct", 2).half_width == pytest.approx(1.96 * 0.5, abs=1e-3)
    cells = uct_table(SavedResults([UctResult(0, 2, 0)], {"games": 2})).lines
    assert [(rate, span.partition(";")[0]) for *_, rate, span in cells] == [
        ("100.0", "100.0 to 100.0"),
        ("0.0", "0.0 to 0.0"),
    ]


@pytest.mark.parametrize(("name", "games"), [("uct", 10), ("uct_plain", 2)])
def test_the_committed_uct_results_are_complete(name: str, games: int) -> None:
    saved = committed(UctResult, f"mini_{name}")
    assert sorted(result.deal for result in saved) == list(range(8832))
    better, worse = (uct_rate(saved, kind, games) for kind in ("isuct", "duct"))
    assert better.low > worse.high
    assert name == "uct" or worse.low <= 0.627 <= worse.high, "to the letter, determinized UCT has the paper's figure"
