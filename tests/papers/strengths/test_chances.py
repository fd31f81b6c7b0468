"""Chances of winning that people see: borne out, without a look at hidden cards."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean
from typing import Any

import numpy as np
import pytest

from ddz_agents.neural.agent import ModelAgent
from ddz_agents.neural.loading import load_policy
from ddz_agents.neural_search.leaf_games import new_games
from ddz_agents.neural_search.playouts import play_out_against_rules
from ddz_agents.neural_search.win_probability import (
    CALIBRATIONS,
    RULE_AGENTS,
    STRONG,
    Calibration,
    LogOddsCurve,
    WinProbability,
)
from ddz_env import Move, Rules, State
from ddz_env.playing.registry import make_agent
from ddz_env.support.errors import IllegalMoveError
from ddz_papers.strengths import chances, table_chances
from tests.hidden import permuted
from tests.papers.experiments import committed

RNG = np.random.default_rng
AS_GIVEN = Calibration(*[LogOddsCurve(0.0, 1.0)] * 3)
"""Leaves the critic's means alone."""


def test_chances_are_borne_out_in_every_tenth_and_come_out_again() -> None:
    saved = committed(chances.ChanceResult, "chances")
    assert (
        chances.fit_calibration(saved) == CALIBRATIONS[STRONG]
    )  # new weights: `ddz reproduce chances`, then the constants of the estimator
    tenths = chances.bin_by_chance(saved)
    assert sum(map(len, tenths)) > 1000
    assert all(abs(fmean(told for told, _ in part) - fmean(won for _, won in part)) < 0.05 for part in tenths)
    raw = chances.bin_by_chance(saved, AS_GIVEN)
    assert any(abs(fmean(t for t, _ in part) - fmean(w for _, w in part)) > 0.05 for part in raw)  # no map: far off
    again = chances.CHANCES.run(chances.ChanceOptions(games=2, processes=1)).results
    kept = [one for one in saved if one.deal in {one.deal for one in again}]
    assert [replace(one, mean=0.0) for one in again] == [replace(one, mean=0.0) for one in kept]
    assert [one.mean for one in again] == pytest.approx([one.mean for one in kept], abs=0.002)


@pytest.mark.parametrize("level", table_chances.LEVELS)
def test_chances_hold_at_a_table_of_a_level(level: str) -> None:
    saved = [one for one in committed(table_chances.TableChanceResult, "table_chances") if one.opponents == level]
    assert table_chances.fit_calibrations(saved) == {level: CALIBRATIONS[level]}  # or: `ddz reproduce table-chances`
    told, calibration = saved, CALIBRATIONS[level]
    if level in RULE_AGENTS:
        told, calibration = table_chances.with_shares_as_means(saved), RULE_AGENTS[level].calibration
        assert table_chances.fit_calibrations(told) == {level: calibration}
    found = table_chances.measure_errors(told, calibration, worlds=60)
    assert found.played_out > 580
    assert max(map(abs, found.bias)) < 3
    assert round(found.error, 1) <= 7
    assert table_chances.correlate_gaps(saved, CALIBRATIONS[level]) > 0.5
    others = [CALIBRATIONS[STRONG], *([CALIBRATIONS[level]] if level in RULE_AGENTS else [])]
    assert all(found.brier < table_chances.measure_errors(saved, other, worlds=60).brier for other in others)
    unmapped = table_chances.measure_errors(told, AS_GIVEN, worlds=60)
    assert max(map(abs, unmapped.bias)) > 3  # or this says nothing
    assert found.error < unmapped.error
    again = table_chances.estimate_chances_in_game(
        table_chances.TableChanceOptions(), level, table_chances.FIRST_DEAL + 1
    )[0]
    [kept] = [one for one in saved if one.deal == again.deal]
    assert (again.number, again.role, again.won) == (kept.number, kept.role, kept.won)
    told, before = [[one.mean, one.rival_mean, one.wins, one.rival_wins, one.share] for one in (again, kept)]
    assert told == pytest.approx(before, abs=0.05)  # close decisions of playouts may come out otherwise elsewhere


def test_chances_are_for_who_sits_at_the_table() -> None:
    view = State.new(seed=8).view()
    moves, estimator = view.legal_moves()[:3], WinProbability(worlds=4)
    told = {name: estimator.estimate(view, moves, RNG(3), name)[0].chance for name in CALIBRATIONS}
    assert told["easy"] > told["medium"] > told["hard"] > told[STRONG]  # the landlord's


@pytest.mark.parametrize("opponents", [STRONG, "medium"])
def test_no_chance_depends_on_hidden_cards(opponents: str) -> None:
    estimator, rng, state = WinProbability(worlds=4), RNG(1), State.new(seed=8)
    for _ in range(6):
        twin, moves = permuted(state, state.seat, rng), state.legal_moves()
        told = [estimator.estimate(game.view(), moves[:4], RNG(3), opponents) for game in (state, twin)]
        assert told[0] == told[1]
        state.step(moves[-1])
    auction = State.new(1, Rules.preset("bidding"))
    with pytest.raises(IllegalMoveError, match="no cards"):
        estimator.estimate(auction.view(), auction.legal_moves(), RNG(0))


@pytest.mark.parametrize("level", RULE_AGENTS)
def test_games_that_are_played_out_end_as_those_of_the_level_do(level: str) -> None:
    model = load_policy()
    policy, other, ends = ModelAgent(model), make_agent(level), []
    for deal in range(12):
        state, games = State.new(7, game=deal), new_games(1)
        games.rows[0], games.rings[0] = state.row, state.ring
        [won] = play_out_against_rules(model, games, deal % 3, state.rule_words, RULE_AGENTS[level].weights)
        while not state.is_over:
            state.step((policy if state.seat == deal % 3 else other).act(state.view(), RNG(0)))
        ends.append((bool(won), state.returns()[deal % 3] > 0))
    assert all(won == expected for won, expected in ends)
    assert {won for won, _ in ends} == {True, False}


def test_what_is_forced_is_played_before_the_critic_judges() -> None:
    class Strict:
        """Says nothing of a seat that has no choice, as the critic has learned nothing of it."""

        leaf = "critic"

        def evaluate(self, observations: Any, masks: Any) -> Any:
            logs = np.where(masks, -np.log(masks.sum(axis=1, keepdims=True)), -np.inf)
            return logs.astype(np.float32), np.zeros(len(masks), np.float32)

        def value_of_games(self, observations: Any, masks: Any, concealed: Any) -> Any:
            assert (masks.sum(axis=1) > 1).all()
            return np.full(len(masks), 0.5, np.float32)

    # The landlord leads its last card but one, and cannot beat the joker with the last.
    state = State.from_hands(["46", "3T8", "789R"], check_sizes=False)
    state.step("4")
    state.step("pass")
    estimator = WinProbability(Strict(), worlds=3)  # type: ignore[arg-type]
    assert estimator.critic_means(state.view(), [Move.parse("R")], RNG(0)).tolist() == pytest.approx([0.75])
