"""The Mini experiments: every deal, their figures, and their files."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import comb, prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ddz_env.core.engine import layout
from ddz_env.core.engine.deal import new_game
from ddz_env.core.notation import word_to_counts
from ddz_env.core.rules import PRESETS
from ddz_training.experiments import mini
from ddz_training.experiments.experiment import Saved, read_saved
from ddz_training.experiments.mini import CORRECT, KINDS, HandResult, KnownResult, PairResult, mini_deals, share_known
from ddz_training.experiments.mini_uct import UctResult, uct_rate, uct_table
from ddz_training.measure.errors import ResultsFileError, SettingsMismatchError
from ddz_training.measure.store import ResultStore, read_results
from tests.oracles.positions import hands_of
from tests.oracles.reference import Hand, together, without
from tests.rooms import ROOT
from tests.training.apps.terminal import ddz

RESULTS = ROOT / "docs" / "results"


def committed(kind: type[Any], name: str) -> list[Any]:
    return list(read_saved(kind, RESULTS / f"mini_{name}.csv").results)


def test_the_census_is_exact_and_that_of_its_file(tmp_path: Path) -> None:
    """8,832 deals, at most 66 states, 70.71 % for player 1; the second half after a line that was cut off."""
    path = tmp_path / "census.csv"
    hands = list(mini.MINI_CENSUS.tasks(mini.MINI_CENSUS.options()).items())  # type: ignore[union-attr]
    mini.MINI_CENSUS.run(None, path, tasks=dict(hands[:100]))
    path.write_bytes(path.read_bytes()[:-7])
    results = mini.MINI_CENSUS.run(None, path).results
    assert [deal.number for deal in mini_deals()] == list(range(8832))
    assert sum(deal.probability for deal in mini_deals()) == pytest.approx(1, abs=1e-12)
    assert sum(result.probability for result in results) == pytest.approx(1, abs=1e-9)
    assert [line.ours for line in mini.compare_mini_census(results)][:3] == ["8832", "66", "70.71"]
    new, saved = (file.read_bytes().partition(b"\n") for file in (path, RESULTS / "mini_census.csv"))
    assert new[2] == saved[2], "all but the settings, which name the code today"
    printed = ddz("reproduce", "mini-census", "--out", path)
    assert printed.exit_code == 0, printed.output
    assert all(text in printed.output for text in ("8832", "66", "70.7", "70.71"))


def test_the_committed_pairs_are_those_of_figure_3_and_ordered_as_there() -> None:
    results = committed(PairResult, "agents")
    assert [(result.player_1, result.player_2) for result in results] == list(dict.fromkeys(mini.PAIRS))
    assert {pair for pair in mini.PAIRS if set(pair) <= set(KINDS)} == {
        pair for pair in itertools.product(KINDS, KINDS) if pair != (CORRECT, CORRECT)
    }
    for better, worse in itertools.pairwise(KINDS):
        assert min(mini.advantage(results, better, worse)) > 0
    assert len(list(mini.compare_mini_agents(results))) == 7


@pytest.mark.long
@pytest.mark.parametrize("pair", [("cheating", "cheating"), ("expectimax", "determinized"), (CORRECT, "expectimax")])
def test_the_committed_results_come_out_again(pair: tuple[str, str]) -> None:
    (result,) = mini.MINI_AGENTS.run(tasks=[pair]).results
    assert result in committed(PairResult, "agents")


def test_the_committed_inference_comes_out_again_and_reaches_the_papers_figures() -> None:
    saved = committed(KnownResult, "inference")
    assert len(saved) == 2 * 8832
    assert mini.MINI_INFERENCE.run(tasks=[(1, deal) for deal in range(4000, 4010)]).results == saved[4000:4010]
    assert 100 * share_known(saved, 1, mini.FOURTH_TURN) == pytest.approx(48, abs=1)
    assert 100 * share_known(saved, 1, None) == pytest.approx(74, abs=1)
    assert [line.paper for line in mini.compare_mini_inference(saved)] == ["48", "74", "", ""]


def test_win_rates_are_weighted_and_their_intervals_count_the_agents_luck_only() -> None:
    sure = uct_rate([UctResult(deal.number, 3, 0) for deal in mini_deals()], "isuct", 3)
    assert (sure.mean, sure.half_width) == (pytest.approx(1), 0)
    first, second = (deal.probability for deal in mini_deals()[:2])
    lone = uct_rate([UctResult(0, 1, 0), UctResult(1, 0, 0)], "isuct", 1)
    assert lone.mean == pytest.approx(first / (first + second))
    assert lone.half_width > 0.5
    half = uct_rate([UctResult(0, 1, 2)], "isuct", 2)
    assert half.half_width == pytest.approx(1.96 * 0.5, abs=1e-3)
    cells = uct_table(Saved([UctResult(0, 2, 0)], {"games": 2})).lines
    spans = [(rate, span.partition(";")[0]) for *_, rate, span in cells]
    assert spans == [("100.0", "100.0 to 100.0"), ("0.0", "0.0 to 0.0")]


@pytest.mark.parametrize(("name", "games"), [("mini_uct", 10), ("mini_uct_plain", 2)])
def test_the_committed_uct_results_are_complete(name: str, games: int) -> None:
    saved = read_saved(UctResult, RESULTS / f"{name}.csv")
    assert sorted(result.deal for result in saved.results) == list(range(8832))
    assert saved.settings["games"] == games
    better, worse = (uct_rate(saved.results, kind, games) for kind in ("isuct", "duct"))
    assert better.low > worse.high
    assert [line[1] for line in uct_table(saved).lines] == ["67.2", "62.7"]
    if name == "mini_uct_plain":
        assert saved.settings == {"experiment": "mini-uct", "finish": False, "games": 2, "seed": 99}
        assert worse.low <= 0.627 <= worse.high, "determinized UCT has the paper's figure"


@dataclass(frozen=True)
class Line:
    a: str
    b: str


@dataclass(frozen=True)
class Other:
    a: str
    c: str


def store(path: Path, kind: type[Any] = Line, experiment: str = "x") -> ResultStore[Any]:
    return ResultStore(kind, path, {"experiment": experiment}, ("a",))


def test_a_store_refuses_files_that_are_not_its_own(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    store(path).add([Line("1", "2")])
    assert store(path).found == {("1",): [Line("1", "2")]}
    for other in ((Line, "y"), (Other, "x")):
        with pytest.raises(SettingsMismatchError):
            store(path, *other)
    for wrong, message in ((path.read_text() + "1\n", "does not fit"), ("a,b\n1,2\n", "not a results file")):
        path.write_text(wrong)
        with pytest.raises(ResultsFileError, match=message):
            store(path)


def test_a_store_survives_a_cut_anywhere_and_names_with_commas(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    saved = store(path)
    saved.add([Line("one, two", 'three "four"'), Line("3", "4")])
    whole = path.read_bytes()
    for length in range(whole.index(b"a,b\n") + 4, len(whole) + 1):
        path.write_bytes(whole[:length])
        results = store(path).results
        assert results == saved.results[: len(results)]
        assert whole.startswith(path.read_bytes())
    assert len(results) == 2


@pytest.mark.parametrize(("name", "kind"), [("mini_census", HandResult), ("mini_uct_plain", UctResult)])
def test_opening_a_file_leaves_it_as_it_is(name: str, kind: type[Any], tmp_path: Path) -> None:
    """Also where a number was written in another form than it would be today."""
    path, before = tmp_path / f"{name}.csv", (RESULTS / f"{name}.csv").read_bytes()
    path.write_bytes(before)
    ResultStore[Any](kind, path, read_results(path)[0], (next(iter(kind.__dataclass_fields__)),))
    assert path.read_bytes() == before


RULES = PRESETS["mini"]
Deal = tuple[Hand, Hand]
"""Player 1's hand and player 2's; the other four cards are hidden."""


def hands_from(pool: Hand, size: int) -> list[Hand]:
    """Every distinct hand of a size that the pool can give."""
    return [hand for hand in itertools.product(*(range(count + 1) for count in pool)) if sum(hand) == size]


def ways(hand: Hand, pool: Hand) -> int:
    """How many sets of cards of the pool have the ranks of the hand."""
    return prod(comb(have, want) for have, want in zip(pool, hand, strict=True))


@cache
def census() -> dict[Deal, Fraction]:
    """The probability of each deal, uniform over the cards."""
    deck, size = RULES.deck, RULES.hand_size
    all_ways = comb(sum(deck), size) * comb(sum(deck) - size, size)
    return {
        (one, two): Fraction(ways(one, deck) * ways(two, without(deck, one)), all_ways)
        for one in hands_from(deck, size)
        for two in hands_from(without(deck, one), size)
    }


def test_the_engine_deals_by_the_probabilities_of_the_papers_deals() -> None:
    """Of 20,000 deals the five likeliest, and deals with both jokers in a hand, come as often as they should."""
    assert (len(census()), sum(census().values())) == (8_832, 1)
    assert max(Counter(one for one, _ in census()).values()) == 66
    number, seen = 20_000, Counter[Deal]()
    row, words = np.zeros(layout.ROW_WORDS, np.uint64), RULES.words()
    for seed in range(number):
        new_game(row, np.uint64(seed), words)
        one, two = hands_of(row, RULES)
        assert together(one, two, word_to_counts(int(row[layout.HIDDEN]))) == RULES.deck
        seen[one, two] += 1
    assert set(seen) <= set(census())
    events = [{deal} for deal in sorted(census(), key=census().__getitem__)[-5:]]
    events += [{deal for deal in census() if deal[seat][13:] == (1, 1)} for seat in (0, 1)]
    for event in events:
        probability = float(sum(census()[deal] for deal in event))
        spread = (number * probability * (1 - probability)) ** 0.5
        assert abs(sum(seen[deal] for deal in event) - number * probability) < 5 * spread
