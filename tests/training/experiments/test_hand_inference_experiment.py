"""What hand inference is worth: the scores, the file, and the fit of the responses."""

from __future__ import annotations

from dataclasses import replace
from math import comb
from pathlib import Path

import numpy as np
import pytest

from ddz_agents.worlds.inference import draw_hands
from ddz_agents.worlds.particles import Particles
from ddz_agents.worlds.rules_player import F_KIND, describe_move
from ddz_env import Move, State
from ddz_env.core.engine.layout import HANDS, HIDDEN
from ddz_training.experiments.experiment import Saved
from ddz_training.experiments.hidden_hands import (
    HAND_INFERENCE,
    PLAYERS,
    WatchOptions,
    WatchResult,
    hidden_counts,
    inferred_splits,
    log_probability,
    measure_cost,
    nats_gained,
    plain_splits,
    player_table,
    plot_hand_inference,
    stage_table,
)
from ddz_training.measure.match.errors import SettingsMismatchError
from ddz_training.measure.plotting import can_plot
from tests.rooms import ROOT

TASKS = [("rules", 0), ("rules", 1)]
RESULTS = ROOT / "docs" / "results" / "hand_inference.csv"


class Killed(Exception):
    """Thrown into a run from its progress report."""


def belief(hands: np.ndarray) -> Particles:
    return Particles(hands, np.full(len(hands), 1 / len(hands)), float(len(hands)), 1.0)


def started() -> State:
    """The landlord (seat 0) has led, so that the two others see a hand of theirs and one pool for two."""
    state = State.new(seed=9)
    state.step(next(move for move in state.legal_moves() if move.category == "solo"))
    return state


# --- Scores -----------------------------------------------------------------------------------------------------------


def test_plain_determinization_splits_a_rank_as_cards_fall_into_places() -> None:
    state = State.from_hands(["3444", "5567", "88"], check_sizes=False)
    truth = hidden_counts(state.row, 2)
    assert truth.sum(axis=1).tolist() == [4, 4, 0, 44]
    splits = plain_splits(truth)
    assert splits[13] == pytest.approx(44 / 52), "the black joker is undealt"
    assert splits[1] == pytest.approx(4 * 44 / comb(52, 4)), "three of the fours with seat 0, one undealt"
    assert splits[5] == pytest.approx(44 * 43 / (52 * 51)), "two of the eights are left and undealt"
    assert log_probability(truth, splits) == pytest.approx(np.log(splits[truth.sum(axis=0) > 0]).sum())


def test_face_up_landlord_cards_are_not_hidden() -> None:
    state = started()
    assert hidden_counts(state.row, 1).sum() == 19 + 17 - len(state.view(1).known_cards)
    assert hidden_counts(state.row, 0).sum() == 34


@pytest.mark.parametrize("seat", [0, 1, 2])
def test_the_truth_alone_loses_nothing_and_blind_draws_score_as_plain_determinization(seat: int) -> None:
    state = started()
    view, truth = state.view(seat), hidden_counts(state.row, seat)
    true = np.array([[*state.row[HANDS : HANDS + 3], state.row[HIDDEN]]], np.uint64)
    assert log_probability(truth, inferred_splits(truth, view, belief(true))) == pytest.approx(0, abs=0.02)
    plain = log_probability(truth, plain_splits(truth))
    assert plain < -8
    drawn = belief(draw_hands(view, np.random.default_rng(0), 5000))
    assert inferred_splits(truth, view, drawn) == pytest.approx(plain_splits(truth), abs=0.03)
    assert log_probability(truth, inferred_splits(truth, view, drawn)) == pytest.approx(plain, abs=0.5)


def test_the_gain_is_a_mean_over_ranks() -> None:
    one = WatchResult("rules", 0, 0, 5, 3, 10, -7.0, -6.0, -5.0, 100.0)
    two = WatchResult("rules", 1, 1, 9, 6, 30, -20.0, -21.0, -20.0, 100.0)
    assert nats_gained([one, two], "default", "uniform").mean == pytest.approx((1.0 - 1.0) / 40)
    assert nats_gained([one, two], "rules", "uniform").mean == pytest.approx(2.0 / 40)
    same = [replace(one, game=game) for game in range(3)]
    assert nats_gained(same, "rules", "uniform").half_width == pytest.approx(0)
    assert nats_gained([one, two], "rules", "uniform").half_width > 0.01


# --- The experiment ---------------------------------------------------------------------------------------------------


def test_a_killed_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    def kill(done: int, total: int) -> None:
        if done == 1 < total:
            raise Killed

    whole, cut = tmp_path / "whole.csv", tmp_path / "cut.csv"
    options = WatchOptions(games=2, particles=50, seed=1)
    results = HAND_INFERENCE.run(options, whole, tasks=TASKS).results
    with pytest.raises(Killed):
        HAND_INFERENCE.run(options, cut, kill, tasks=TASKS)
    cut.write_bytes(cut.read_bytes() + b"rules,1,0")
    assert HAND_INFERENCE.run(options, cut, tasks=TASKS).results == results
    assert cut.read_bytes() == whole.read_bytes()
    assert {result.seat for result in results} == {0, 1, 2}
    assert all(result.decisions > 0 and result.ranks > 0 for result in results)
    with pytest.raises(SettingsMismatchError):
        HAND_INFERENCE.run(replace(options, particles=60), cut, tasks=TASKS)


def test_the_published_results_are_read_without_playing() -> None:
    """The mixture of beliefs gains on every kind of game; the rule agent alone costs on games of the two others."""
    before = RESULTS.read_bytes()
    saved = HAND_INFERENCE.run(WatchOptions(), RESULTS)
    results = saved.results
    assert RESULTS.read_bytes() == before, "nothing was played: the file is whole"
    games = {(result.player, result.game) for result in results}
    assert len(games) == WatchOptions().games * len(PLAYERS)
    seen = {player: [result for result in results if result.player == player] for player in PLAYERS}
    assert nats_gained(seen["rules"], "default", "uniform").low > 0.25
    assert nats_gained(seen["isuct"], "default", "uniform").low > 0
    assert nats_gained(seen["random"], "default", "uniform").low > 0
    assert nats_gained(seen["isuct"], "rules", "uniform").high < 0
    assert nats_gained(seen["random"], "rules", "uniform").high < 0
    assert [line[0] for line in player_table(saved).lines] == list(PLAYERS.values())
    assert player_table(saved).lines[0][1:3] == ("0.371", "0.505 (+0.307, +0.274 to +0.340)")
    assert stage_table(saved).lines[-1][1] == "0.431 → 0.861 (+0.691, +0.584 to +0.799)"


def test_the_cost_is_processor_time_above_zero() -> None:
    cost = measure_cost(moments=1, moves=3)
    assert 0 < cost.decision_us < 1000
    assert cost.look_ms > 0


def test_a_move_that_a_hand_does_not_allow_is_described_as_such() -> None:
    state = State.new(seed=9)
    missing = next(move for move in map(Move.parse, ("BR", "3333", "4444")) if move not in state.legal_moves())
    assert describe_move(state.row, state.rules, missing)[F_KIND] < 0


@pytest.mark.skipif(not can_plot(), reason="matplotlib is not installed")
def test_a_plot_is_drawn(tmp_path: Path) -> None:
    one = WatchResult("rules", 0, 0, 5, 3, 10, -7.0, -6.0, -5.0, 100.0)
    plot_hand_inference(Saved([one, replace(one, player="random", decisions=12)]), tmp_path / "deeper" / "plot.png")
    assert (tmp_path / "deeper" / "plot.png").read_bytes().startswith(b"\x89PNG")
