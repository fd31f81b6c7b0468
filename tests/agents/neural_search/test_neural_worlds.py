"""What a search believes, and the policy's likeliest whole moves."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from ddz_agents.neural_search.agent import ModelSearchAgent
from ddz_agents.neural_search.judge import likely_moves
from ddz_env import State
from ddz_env.core.observation import action_mask, observe
from tests.agents.neural_search.test_neural_search import Prefers, Uniform, after


def test_the_likeliest_whole_moves_are_found() -> None:
    """Where the beam holds every move, the probabilities are those of all stages and add up to one."""
    state = State.from_hands(["33345689", "44556677", "8899TTJJ"], check_sizes=False)
    model = Prefers({7, 20, 100, 365}, 5.0)
    lines = likely_moves(model, state.view(), 400)
    assert {line.move for line in lines} == set(state.legal_moves())
    assert sum(math.exp(line.log_prior) for line in lines) == pytest.approx(1.0, abs=1e-4)
    assert all(one.log_prior >= other.log_prior for one, other in itertools.pairwise(lines))
    line = next(line for line in lines if line.move.kickers)
    total, game = 0.0, state.copy()
    for action in line.actions:
        logs, _ = model.evaluate(observe(game)[None], action_mask(game)[None])
        total += float(logs[0, action])
        game.step_action(action)
    assert line.log_prior == pytest.approx(total, abs=1e-5)
    assert [line.move for line in likely_moves(model, state.view(), 3)] == [line.move for line in lines[:3]]


def test_it_believes_what_its_worlds_say() -> None:
    view = after(State.new(5), 12).view()
    told = ModelSearchAgent(Uniform(), 20, particles=30).believe(view, np.random.default_rng(2))
    assert told.chances.shape == (4, 15, 5)
