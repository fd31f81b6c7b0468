"""Complexity: random games against exact expectations, stopping rules, counts of deals, and the experiment."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from ddz_env import State
from ddz_env.core.rules import PRESETS
from ddz_papers.experiments.experiment import SavedResults, read_results_file
from ddz_papers.thesis_2020 import complexity as counting
from ddz_papers.thesis_2020 import complexity_experiment
from ddz_papers.thesis_2020.complexity_experiment import COMPLEXITY, DEALS, ComplexityOptions, deal_state

TINY = State.from_hands(["3346", "345", "56"], check_sizes=False)
LOOSE = ComplexityOptions(only=("deal 2",), difference=0.05, processes=1)


def expectation(state: State) -> np.ndarray:
    """The exact mean reward of the landlord, length and sum of choices under uniform play."""
    if state.is_over:
        return np.array([math.copysign(1.0, state.returns("win")[0]), 0.0, 0.0])
    moves, found = state.legal_moves(), np.zeros(3)
    for move in moves:
        after = state.copy()
        after.step(move)
        found += expectation(after) / len(moves)
    return found + np.array([0.0, 1.0, len(moves)])


def test_random_games_have_the_exact_expectations_of_uniform_play() -> None:
    found = counting.play_random_games([TINY], 20_000, seed=1)
    for samples, mean in zip(found, expectation(TINY), strict=True):
        assert abs(samples.mean() - mean) < 4.5 * samples.std() / math.sqrt(20_000)


def test_games_may_be_played_in_pieces() -> None:
    states = [State.new(1, "botzone", deal) for deal in range(3)]
    whole = counting.play_random_games(states, 8, seed=5)
    pieces = counting.play_random_games(states, 5, seed=5), counting.play_random_games(states, 3, seed=5, first=5)
    for name in whole._fields:
        assert np.array_equal(getattr(whole, name), np.concatenate([getattr(piece, name) for piece in pieces]))


def test_the_stopping_rule_is_its_definition() -> None:
    samples = np.random.default_rng(3).normal(2, 1, 600)
    adjacent = counting.adjacent_means_settled(samples, 1e-3)
    for count in (100, 101, 150, 599):
        means = samples[:count].mean(), samples[: count - 1].mean()
        assert adjacent[count - 1] == (abs(means[0] - means[1]) < 1e-3)
    alike = np.ones(200)
    assert counting.first_stop(counting.adjacent_means_settled(alike, 0.1)) == counting.MIN_SAMPLES


def test_counts_are_the_thesis_s() -> None:
    assert round(math.log10(counting.count_deals()), 1) == 26.9
    assert round(math.log10(counting.bound_states())) == 43
    assert round(counting.tree_exponent(15, 72), 1) == 121.0  # the thesis prints 125


@pytest.mark.parametrize(("deal", "moves"), [("deal 1", 166), ("deal 2", 57), ("deal 3", 105)])
def test_the_deals_of_table_4_4_are_whole_decks(deal: str, moves: int) -> None:
    state = deal_state(deal)
    assert [len(hand) for hand in DEALS[deal]] == [20, 17, 17]
    assert tuple(np.sum([state.hand(seat).counts for seat in range(3)], axis=0)) == PRESETS["botzone"].deck
    assert len(state.legal_moves()) == moves


def test_the_columns_of_a_run_mean_what_they_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(complexity_experiment, "_BATCH", 120)
    found = COMPLEXITY.run(LOOSE, tmp_path / "complexity.csv")
    assert len(found.results) == 57
    for one in found.results:
        assert sum(one.lengths) == one.iterations
        shortest = np.repeat(np.arange(len(one.lengths)) * complexity_experiment.LENGTH_BIN, one.lengths).mean()
        assert shortest <= one.depth < shortest + complexity_experiment.LENGTH_BIN
    tables = [
        table(read_results_file(complexity_experiment.FirstMoveResult, found.path))
        for table in COMPLEXITY.tables.values()
    ]
    assert list(tables[0].lines[0]) == ["m", "43", "57"]
    values = [one.value for one in found.results]
    assert tables[1].lines == [("deal 2", "0.270", f"{max(values) - min(values):.3f}")]


def test_reversi_and_awari_are_played_by_openspiel() -> None:
    pytest.importorskip("pyspiel")
    assert [len(complexity_experiment.first_moves(game)) for game in ("othello", "oware")] == [4, 6]
    start = counting.load_board_game("othello").new_initial_state()
    found = counting.play_random_board_games(start, 6, seed=1)
    assert set(found.rewards) <= {-1.0, 0.0, 1.0}
    assert 55 < found.lengths.mean() < 66
    again = counting.play_random_board_games(start, 2, seed=1, first=4)
    assert list(again.lengths) == list(found.lengths[4:])


def test_lengths_and_choices_of_games_are_those_of_the_states() -> None:
    [first] = complexity_experiment.TREE_SIZE.run(
        complexity_experiment.SizeOptions(only=("random, by moves",), blocks=1, processes=1)
    ).results
    states = [State.new(0, "botzone", deal) for deal in range(complexity_experiment.BLOCK)]
    played = counting.play_random_games(states, complexity_experiment.BLOCK, 0)
    assert (first.decisions, first.choices) == (played.lengths.sum(), played.choices.sum())
    lines = {line[0]: line[2] for line in complexity_experiment.size_table(SavedResults([first])).lines}
    assert lines["game tree, the thesis's own figures"] == "10^121.0"
    assert float(lines["random, by moves: mean length"]) == pytest.approx(first.decisions / 100)
