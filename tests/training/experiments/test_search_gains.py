"""What the decisions of searches are worth in the deals that are really played."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ddz_agents.neural.agent import ModelAgent
from ddz_env import Move, State
from ddz_env.core.actions import MAIN_GROUPS
from ddz_training.experiments.search_gains import (
    SEARCH_GAINS,
    GainOptions,
    GainResult,
    gain_cells,
    milliseconds,
    predicted,
    worth,
)
from ddz_training.measure.errors import InvalidExperimentError
from tests.agents.neural.test_networks import small_networks
from tests.oracles.network_policy import NetworkPolicy

AGENTS = ("policy", "random")
TINY = GainOptions(agent=AGENTS, games=3, playouts=8, processes=1)


def test_a_move_that_surely_wins_is_worth_one_and_one_that_surely_loses_nothing() -> None:
    """44 leaves one card and the lead.  After 3 and a pass the last peasant wins with 6, or the landlord with 4."""
    model, rng = NetworkPolicy(*small_networks()), np.random.default_rng(0)
    state = State.from_hands(["344", "7", "9"], check_sizes=False)
    assert worth(model, state, Move.parse("44").main, 20, rng) == 1.0
    state = State.from_hands(["34", "5", "6"], check_sizes=False)
    state.step("3")
    state.step("pass")
    assert worth(model, state, Move.parse("6").main, 20, rng) == 1.0
    assert worth(model, state, 0, 20, rng) == 0.0


def test_worth_is_the_share_of_games_that_the_policy_wins() -> None:
    """Of games played move by move by the agent that draws from the policy, up to the luck of 400 of either."""
    model, state = NetworkPolicy(*small_networks()), State.new(3)
    for _ in range(24):
        state.step(state.legal_moves()[-1])
    seat, rng = state.seat, np.random.default_rng(1)
    action = next(action for action in state.legal_actions() if not MAIN_GROUPS[action].kicker_count)
    agent, won = ModelAgent(model, temperature=1.0), []
    for _ in range(400):
        game = state.copy()
        game.step_action(action)
        while not game.is_over:
            game.step(agent.act(game.view(), rng))
        won.append(game.returns("win")[seat] > 0)
    found = worth(model, state, action, 400, rng)
    assert found == pytest.approx(np.mean(won), abs=4 * np.sqrt(0.5 / 400))
    assert 0 < found < 1


def test_the_policy_gains_nothing_over_itself_and_chance_loses() -> None:
    results = SEARCH_GAINS.run(TINY).results
    same, chance = ([result for result in results if result.agent == agent] for agent in AGENTS)
    assert [result.changed for result in same] == [0, 0, 0]
    assert [result.landlord + result.peasants for result in same] == [0.0, 0.0, 0.0]
    assert [result.decisions for result in same] == [result.decisions for result in chance]
    assert sum(result.changed for result in chance) > 5
    assert sum(map(predicted, chance)) < 0
    assert all(abs(result.landlord) + abs(result.peasants) <= result.changed for result in chance)


def test_an_agent_that_is_asked_for_later_sees_the_same_decisions(tmp_path: Path) -> None:
    path, told = tmp_path / "gains.csv", list[tuple[int, int]]()
    SEARCH_GAINS.run(replace(TINY, agent=("random",), games=1), path)
    found = SEARCH_GAINS.run(TINY, path, lambda done, total: told.append((done, total))).results
    later, at_once = ([replace(one, ms=0.0) for one in some] for some in (found, SEARCH_GAINS.run(TINY).results))
    assert later == at_once
    assert [(result.agent, result.game) for result in found] == [(a, g) for a in AGENTS for g in range(3)]
    assert (told[0], told[-1]) == ((0, 3), (3, 3))
    assert SEARCH_GAINS.run(replace(TINY, agent=("policy",), games=1), path).results == [
        result for result in found if result.agent == "policy" and result.game == 0
    ]


def test_searches_are_named_once() -> None:
    for agents, message in (((), "one or more"), (("random", "random"), "each once")):
        with pytest.raises(InvalidExperimentError, match=message):
            replace(TINY, agent=agents)


def test_a_gauge_is_shown_every_hand() -> None:
    """A solver of open hands could not move from a view."""
    gauge = SEARCH_GAINS.run(replace(TINY, agent=("cheating-uct:iterations=50",), games=1)).results
    assert [result.agent for result in gauge] == ["cheating-uct:iterations=50"]


def test_gains_are_told_in_points_of_both_sides_and_against_the_first() -> None:
    one = [GainResult("a", game, 10, 2, 0.1 * game, 0.2, 30.0) for game in range(3)]
    other = [GainResult("b", game, 10, 4, 0.1 * game, 0.4, 60.0) for game in (1, 2)]
    first, second = gain_cells([*one, *other])
    assert first[:7] == ("`a`", "3", "30", "20.0", "3", "+10.0", "+20.0")
    assert first[7].startswith("+15.0 (")
    assert first[8] == ""
    assert second[:7] == ("`b`", "2", "20", "40.0", "6", "+15.0", "+40.0")
    assert second[8] == "+10.0 (+10.0 to +10.0)"
    assert gain_cells([]) == []


def test_a_game_slowed_down_by_others_does_not_count_in_the_time() -> None:
    games = [GainResult("a", 0, 10, 0, 0.0, 0.0, ms) for ms in (20.0, 30.0, 9000.0)]
    nothing = GainResult("a", 3, 0, 0, 0.0, 0.0, 0.0)
    assert milliseconds([*games, nothing]) == 3.0
    assert milliseconds([nothing]) == 0.0
