"""Tuning weights by games: the local searches, the race that values weights, and what is reported of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from ddz_agents.rules.agent import RulesAgent
from ddz_agents.rules.weights import WEIGHTS
from ddz_agents.rules.workspace import new_rule_workspace
from ddz_env import Rules, State
from ddz_papers.textbook_search import tuning as weights_tuning
from ddz_papers.textbook_search import tuning_experiment
from ddz_papers.textbook_search.tuning import (
    METHODS,
    PEASANTS_ALONE,
    STEPS,
    Point,
    RuleWeights,
    Subject,
    deal_keys,
    play_games_of_rule_agents,
)
from ddz_papers.textbook_search.tuning_experiment import POINTS, TUNING, TuningOptions, WeightRace, tuning_table

Floats = npt.NDArray[np.float64]
PEAK = np.array([0.5, -0.5, 0.25])


class Hill(Subject):
    """Wins a deal if a number of that deal is below the height of the point: the nearer to the peak the higher."""

    cost = 1

    def __init__(self) -> None:
        self.start, self.span, self.places = np.zeros(3), np.ones(3), np.arange(3)
        self.played = 0

    def play_games(self, weights: Floats, games: npt.NDArray[np.uint64]) -> Floats:
        self.played += len(games)
        return (games / 2.0**64 < 0.8 - np.square(weights - PEAK).sum()).astype(np.float64)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_climbs_and_spends_what_it_may(method: str) -> None:
    seen: list[float] = []

    def height(point: Point) -> float:
        assert (np.abs(point) <= 1.0).all()
        seen.append(float(np.exp(-np.square(point - PEAK).sum())))
        return seen[-1]

    for _ in range(2):
        METHODS[method](height, 3, 150, np.random.default_rng(1))
    assert len(seen) == 300
    assert seen[:150] == seen[150:]
    assert np.mean(seen[-30:]) > np.mean(seen[:30]) + 0.1
    assert max(seen) > 0.8  # of 1


def test_parents_are_drawn_in_proportion_to_their_fitness(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lecture's example: fitness 24, 23, 20 and 11 gives 31, 29, 26 and 14 %."""
    monkeypatch.setattr(weights_tuning, "POPULATION", 4)
    monkeypatch.setattr(weights_tuning, "MUTATED", 0.0)
    drawn = np.zeros(4)
    for seed in range(1000):
        seen: list[float] = []

        def fitness(point: Point, seen: list[float] = seen) -> float:
            seen.append(float(point[0]))
            return (24, 23, 20, 11)[(len(seen) - 1) % 4] / 28

        METHODS["genetic algorithm"](fitness, 1, 8, np.random.default_rng(seed))  # one number: a child is its mother
        drawn += [seen[4:].count(one) for one in seen[:4]]
    assert (drawn / drawn.sum()).tolist() == pytest.approx([0.31, 0.29, 0.26, 0.14], abs=0.025)


def test_a_beam_keeps_the_best_of_all_children_and_no_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights_tuning, "STEP", 1e-9)
    children: list[float] = []

    def worse_and_worse(point: Point) -> float:
        children.append(float(point[0]))
        return point[0] - len(children) // 16 * 10.0

    METHODS["local beam search"](worse_and_worse, 1, 48, np.random.default_rng(0))
    first, second, third = np.sort(np.reshape(children, (3, 16))).round(6)
    assert len(np.unique(first)) == 4  # children of four random states
    assert np.unique(second).tolist() == np.unique(third).tolist() == [first[-1]]


def test_annealing_crosses_a_valley_while_it_is_warm(monkeypatch: pytest.MonkeyPatch) -> None:
    def highest() -> float:
        seen: list[float] = []

        def height(point: Point) -> float:
            place = abs(float(point[0]))
            seen.append(1.0 if place > 0.95 else -0.004 if place > 0.05 else 0.0)
            return seen[-1]

        METHODS["simulated annealing"](height, 1, 100, np.random.default_rng(0))
        return max(seen)

    monkeypatch.setattr(weights_tuning, "STEP", 0.2)
    assert highest() == 1.0
    monkeypatch.setattr(weights_tuning, "WARMEST", 1e-9)
    monkeypatch.setattr(weights_tuning, "COLDEST", 1e-10)
    assert highest() == 0.0


def test_a_race_drops_losers_early_and_keeps_the_best() -> None:
    hill, games = Hill(), deal_keys(0, 0, 400)
    race = WeightRace(hill, [games[:100], games[100:200], games[200:300], games[300:]])
    assert race(np.array([-1.0, 1.0, -1.0])) < hill.play_games(hill.start, games).mean()
    assert race.curve[-1][0] == 100  # clearly worse after the first batch
    good = race(PEAK)
    assert race.curve[-1][0] == 500
    assert good == pytest.approx(hill.play_games(PEAK, games).mean())
    race(np.zeros(3))
    assert race.curve[-1][1].mean == pytest.approx(good - hill.play_games(hill.start, games).mean())
    assert (race.curve[-1][2] == PEAK).all()
    assert len(race.finalists) == 2  # the peak, and the start


def test_the_points_of_a_run_are_its_deals_and_fresh_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning_experiment, "SUBJECTS", {"hill": Hill})
    options = TuningOptions(evaluations=20, deals=400, batch=100, choice=300, fresh=2000, processes=1)
    saved = TUNING.run(options, tmp_path / "tuning.csv")
    for method in METHODS:
        lines = [result for result in saved.results if result.method == method]
        assert [line.stage for line in lines] == ["search"] * POINTS + ["choice", "fresh"]
        gains = [line.gain for line in lines[:POINTS]]
        assert gains == sorted(gains)
        fresh, weights = lines[-1], np.array(lines[-1].weights)
        height = 100 * (np.square(PEAK).sum() - np.square(weights - PEAK).sum())
        assert abs(fresh.gain - height) <= 2 * fresh.margin
        assert lines[-1].weights == lines[-2].weights
    assert len(tuning_table(saved).lines) == len(METHODS)
    assert TUNING.run(options, tmp_path / "tuning.csv").results == saved.results


@pytest.mark.parametrize("landlord", [True, False])
def test_the_middle_of_the_box_is_the_rule_agent_of_today(landlord: bool) -> None:
    side = RuleWeights(landlord)
    assert (side.weights(np.zeros(side.size)) == WEIGHTS).all()
    low = side.weights(-np.ones(side.size))
    assert (low[list(STEPS)] >= 1).all()
    assert (low == np.rint(low)).all()
    assert (low[list(PEASANTS_ALONE)] == WEIGHTS[list(PEASANTS_ALONE)]).all() == landlord


@pytest.mark.long
def test_batch_games_are_those_that_the_rule_agent_plays() -> None:
    won, workspace, agent = np.zeros(40), new_rule_workspace(), RulesAgent()
    play_games_of_rule_agents(deal_keys(5, 0, 40), Rules().words(), workspace, WEIGHTS, WEIGHTS, won)
    for game, landlord in enumerate(won):
        state = State.new(5, game=game)
        while not state.is_over:
            state.step(agent.act(state.view(), np.random.default_rng(0)))
        assert (state.role(state.winner) == "landlord") == bool(landlord)
