"""What is known without being seen: hidden hands, chances of winning, best responses."""

from __future__ import annotations

from dataclasses import replace
from math import comb
from statistics import fmean
from typing import Any

import numpy as np
import pytest

from ddz_agents.neural_search.judge import SHIPPED, Calibration, Judge, LogOddsCurve
from ddz_agents.worlds.inference import draw_hands
from ddz_agents.worlds.particles import Particles
from ddz_env import Move, Rules, State
from ddz_env.core.engine.layout import HANDS, HIDDEN
from ddz_env.core.errors import IllegalMoveError
from ddz_training.experiments import hidden_hands as hidden
from ddz_training.experiments import openspiel
from ddz_training.experiments import policy_games as pg
from ddz_training.experiments.hidden_hands import WatchResult, hidden_counts, log_probability, nats_gained, plain_splits
from tests.hidden import permuted
from tests.training.experiments import committed

RNG = np.random.default_rng
AS_GIVEN = Calibration(LogOddsCurve(0.0, 1.0, 0.0), LogOddsCurve(0.0, 1.0, 0.0))
"""Leaves the critic's means alone."""


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
    face_up = started()
    assert hidden_counts(face_up.row, 1).sum() == 19 + 17 - len(face_up.view(1).known_cards)


@pytest.mark.parametrize("seat", [0, 1, 2])
def test_the_truth_alone_loses_nothing_and_blind_draws_score_as_plain_determinization(seat: int) -> None:
    state = started()
    view, truth = state.view(seat), hidden_counts(state.row, seat)
    true = np.array([[*state.row[HANDS : HANDS + 3], state.row[HIDDEN]]], np.uint64)
    plain = log_probability(truth, plain_splits(truth))
    for hands, score, near in ((true, 0.0, 0.02), (draw_hands(view, RNG(0), 5000), plain, 0.5)):
        known = Particles(hands, np.full(len(hands), 1 / len(hands)), float(len(hands)), 1.0)
        assert log_probability(truth, hidden.inferred_splits(truth, view, known)) == pytest.approx(score, abs=near)
    assert plain < -8


def test_the_gain_is_a_mean_over_ranks_and_the_committed_beliefs_gain() -> None:
    """The mixture of beliefs gains on every kind of game; the rule agent alone costs on games of the two others."""
    one = WatchResult("rules", 0, 0, 5, 3, 10, -7.0, -6.0, -5.0, 100.0)
    two = WatchResult("rules", 1, 1, 9, 6, 30, -20.0, -21.0, -20.0, 100.0)
    assert nats_gained([one, two], "rules", "uniform").mean == pytest.approx(2.0 / 40)
    assert nats_gained([replace(one, game=n) for n in range(3)], "rules", "uniform").half_width == pytest.approx(0)
    saved = committed(WatchResult, "hand_inference")
    for player, least in (("rules", 0.25), ("isuct", 0), ("random", 0)):
        seen = [result for result in saved if result.player == player]
        assert nats_gained(seen, "default", "uniform").low > least
        assert player == "rules" or nats_gained(seen, "rules", "uniform").high < 0


def test_chances_are_borne_out_in_every_tenth_and_come_out_again() -> None:
    saved = committed(pg.ChanceResult, "chances")
    assert pg.fit(saved) == SHIPPED  # new weights: `ddz reproduce chances`, then the constants of the judge
    tenths = pg.given_and_won(saved, SHIPPED)
    assert sum(map(len, tenths)) > 1000
    assert all(abs(fmean(told for told, _ in part) - fmean(won for _, won in part)) < 0.05 for part in tenths)
    raw = pg.given_and_won(saved, AS_GIVEN)
    assert any(abs(fmean(t for t, _ in part) - fmean(w for _, w in part)) > 0.05 for part in raw)  # no map: far off
    again = pg.CHANCES.run(pg.ChanceOptions(games=2, processes=1)).results
    kept = [one for one in saved if one.deal in {one.deal for one in again}]
    assert [replace(one, mean=0.0) for one in again] == [replace(one, mean=0.0) for one in kept]
    assert [one.mean for one in again] == pytest.approx([one.mean for one in kept], abs=0.002)


def test_no_chance_depends_on_hidden_cards() -> None:
    judge, rng, state = Judge(worlds=4), RNG(1), State.new(seed=8)
    for _ in range(6):
        twin, moves = permuted(state, state.seat, rng), state.legal_moves()
        assert judge.judge(state.view(), moves[:4], RNG(3)) == judge.judge(twin.view(), moves[:4], RNG(3))
        state.step(moves[-1])
    auction = State.new(1, Rules.preset("bidding"))
    with pytest.raises(IllegalMoveError, match="plays no cards now"):
        judge.judge(auction.view(), auction.legal_moves(), RNG(0))


def test_what_is_forced_is_played_before_the_critic_judges() -> None:
    class Strict:
        """Says nothing of a seat that has no choice, as the critic has learned nothing of it."""

        def value_of_games(self, observations: Any, masks: Any, concealed: Any) -> Any:
            assert (masks.sum(axis=1) > 1).all()
            return np.full(len(masks), 0.5, np.float32)

    # The landlord leads its last card but one, and cannot beat the joker with the last.
    state = State.from_hands(["46", "3T8", "789R"], check_sizes=False)
    state.step("4")
    state.step("pass")
    judge = Judge(Strict(), AS_GIVEN, worlds=3)  # type: ignore[arg-type]
    assert judge.means(state.view(), [Move.parse("R")], RNG(0)).tolist() == [0.75]


def test_no_player_gets_more_than_the_value_and_a_solver_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspiel")
    for game in ("MICRO", "MINI"):
        monkeypatch.setattr(openspiel, game, "python_ddz(rules=micro;hand_size:2)")
    tasks = [("CFR+ 100",), ("random",), ("rules",)]
    solver, random, rules = openspiel.EXPLOITABILITY.run(openspiel.ExploitOptions(samples=2), tasks=tasks).results
    assert 0 <= solver.nash_conv < 0.002
    assert random.nash_conv > rules.nash_conv >= solver.nash_conv
    assert all(max(one.player_1 - solver.player_1, one.player_2 - solver.player_2) <= 0.002 for one in (random, rules))
    before, after = openspiel.MINI_MCCFR.run(openspiel.MccfrOptions(games=80), tasks=[(0,), (200,)]).results
    assert after.wins_1 + after.wins_2 > before.wins_1 + before.wins_2
