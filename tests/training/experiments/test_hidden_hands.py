"""What is known of hidden hands: the scores, the files, and the tables."""

from __future__ import annotations

from dataclasses import replace
from math import comb

import numpy as np
import pytest

from ddz_agents.worlds.inference import draw_hands
from ddz_agents.worlds.particles import Particles
from ddz_agents.worlds.rules_player import FAITHFUL, IMPOSSIBLE, RulesPlayer
from ddz_env import Move, State
from ddz_env.core.engine.layout import HANDS, HIDDEN
from ddz_training.experiments import hidden_hands as hidden
from ddz_training.experiments.hidden_hands import (
    WatchResult,
    hidden_counts,
    inferred_splits,
    log_probability,
    nats_gained,
    plain_splits,
)
from tests.rooms import ROOT

RESULTS = ROOT / "docs" / "results" / "hand_inference.csv"


def belief(hands: np.ndarray) -> Particles:
    return Particles(hands, np.full(len(hands), 1 / len(hands)), float(len(hands)), 1.0)


def started() -> State:
    """The landlord (seat 0) has led, so that the two others see a hand of theirs and one pool for two."""
    state = State.new(seed=9)
    state.step(next(move for move in state.legal_moves() if move.category == "solo"))
    return state


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
    gain = nats_gained([one, two], "rules", "uniform")
    assert (gain.mean, gain.half_width > 0.01) == (pytest.approx(2.0 / 40), True)
    same = [replace(one, game=game) for game in range(3)]
    assert nats_gained(same, "rules", "uniform").half_width == pytest.approx(0)


def test_the_published_results_are_read_without_playing() -> None:
    """The mixture of beliefs gains on every kind of game; the rule agent alone costs on games of the two others."""
    before = RESULTS.read_bytes()
    saved = hidden.HAND_INFERENCE.run(hidden.WatchOptions(), RESULTS)
    assert RESULTS.read_bytes() == before, "nothing was played: the file is whole"
    games = {(result.player, result.game) for result in saved.results}
    assert len(games) == hidden.WatchOptions().games * len(hidden.PLAYERS)
    for player, least in (("rules", 0.25), ("isuct", 0), ("random", 0)):
        seen = [result for result in saved.results if result.player == player]
        assert nats_gained(seen, "default", "uniform").low > least
        assert player == "rules" or nats_gained(seen, "rules", "uniform").high < 0
    assert [line[0] for line in hidden.player_table(saved).lines] == list(hidden.PLAYERS.values())
    assert hidden.player_table(saved).lines[0][1:3] == ("0.371", "0.505 (+0.307, +0.274 to +0.340)")
    assert hidden.stage_table(saved).lines[-1][1] == "0.431 → 0.861 (+0.691, +0.584 to +0.799)"


def test_a_move_that_a_hand_does_not_allow_is_described_as_such() -> None:
    state = State.new(seed=9)
    missing = next(move for move in map(Move.parse, ("BR", "3333", "4444")) if move not in state.legal_moves())
    assert RulesPlayer(FAITHFUL).log_likelihood(state.row[None], state.rules, state.seat, missing) == IMPOSSIBLE
