"""Rollouts of the policy in common worlds, the final choice, and the same search with the true hands."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

from ddz_agents.belief.model import write_belief
from ddz_agents.neural.model import Bytes, Floats
from ddz_agents.neural_search.agent import ModelSearchAgent, NeuralSearchOptions
from ddz_agents.neural_search.cheating import CheatingNeuralSearchAgent
from ddz_agents.neural_search.forest import Clock
from ddz_agents.neural_search.leaves import Evaluator
from ddz_agents.neural_search.rollouts import Rollouts, likely_moves
from ddz_agents.tree_search.choice import only_move
from ddz_agents.worlds.determinize import uniform
from ddz_env import Move, State
from ddz_env.core.observation import action_mask, observe
from ddz_env.playing.agent import Decision, cheats
from tests.agents.belief.test_belief import network, stored
from tests.agents.neural_search.test_neural_search import Prefers, Silent, Uniform, after


class Eager(Prefers):
    def evaluate(self, observations: Bytes, masks: Bytes) -> tuple[Floats, Floats]:
        logs, values = super().evaluate(observations, masks)
        logs[:, 0] -= np.float32(1.0)
        return logs, values


def to_the_end(model: Uniform, tau: float) -> Rollouts:
    return Rollouts(Evaluator(model, "value", 1.0, 10**9), 16, tau)


def searched(state: State, model: Uniform, tau: float, iterations: int = 40) -> Decision:
    rollouts, lines = to_the_end(model, tau), likely_moves(model, state.view(), 3)
    return rollouts.search(state.view(), uniform(), lines, Clock(iterations, None, 0.0), np.uint64(1))


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


def test_a_sure_win_is_seen_and_a_large_tau_follows_the_policy() -> None:
    """44 leaves one card and the lead; after 3 a peasant goes out with whatever it holds."""
    state = State.from_hands(["344", "7", "9"], check_sizes=False)
    pair, three = Move.parse("44"), Move.parse("3")
    model = Eager({three.main}, 6.0)
    assert searched(state, model, 0.0).move == pair
    assert searched(state, model, 0.05).move == pair
    assert searched(state, model, 5.0).move == three
    chances = searched(state, model, 0.0).values
    assert chances[pair.main] == 1.0
    assert chances[three.main] < 0.2


def test_candidates_meet_in_the_same_worlds_and_the_budget_is_kept() -> None:
    state = after(State.new(3), 9)
    decision = searched(state, Uniform(), 0.05, iterations=60)
    assert 60 <= sum(decision.visits.values()) < 60 + 16
    assert decision.move in state.legal_moves()
    rollouts, line = to_the_end(Uniform(), 0.05), likely_moves(Uniform(), state.view(), 2)[0]
    rollouts.search(state.view(), uniform(), [line, line], Clock(64, None, 0.0), np.uint64(1))
    one, other = rollouts.candidates()
    assert one == other  # the same move, the same luck
    assert one.visits >= 16


def test_the_agent_rolls_out_and_settles() -> None:
    state = after(State.new(5), 12)
    view, rng = state.view(), np.random.default_rng(0)
    agent = ModelSearchAgent(Uniform(0.5), 60, root="rollouts", particles=0, ahead=1, leaf="value")
    assert agent.decide(view, rng).move in state.legal_moves()
    assert sum(one.visits for one in agent.candidates(view)) >= 60
    chosen = state.legal_actions()[0]
    sure = ModelSearchAgent(Prefers({chosen}, 1e6), 60, root="rollouts", particles=0)
    assert sure.decide(view, rng).visits == {chosen: 1}
    assert sure.candidates(view) == []
    alone = State.from_hands(["3", "7", "9"], check_sizes=False)
    assert only_move(alone.row, alone.rule_words) is not None
    assert ModelSearchAgent(Silent(), root="rollouts").act(alone.view(), rng).main


@pytest.mark.parametrize("inference", ["belief", "weighed"])
def test_worlds_come_from_the_belief_network(tmp_path: Path, inference: str) -> None:
    path = tmp_path / "belief.safetensors"
    write_belief(path, stored(network(1.0)))
    view = after(State.new(5), 12).view()
    agent = ModelSearchAgent(Uniform(), 20, inference=inference, belief=path, particles=30)
    rng = np.random.default_rng(2)
    assert agent.decide(view, rng).move in view.legal_moves()
    told = agent.believe(view, rng)
    assert told.chances.shape == (4, 15, 5)
    assert NeuralSearchOptions(inference=inference, belief=path).files()[-1] == path
    assert NeuralSearchOptions(belief=path).files()[-1] == path  # a named file is named, asked or not
    assert len(NeuralSearchOptions(inference="mixed").files()) == len(NeuralSearchOptions(particles=0).files()) == 1


def test_the_gauge_knows_the_hands() -> None:
    """The landlord's last card beats what the next seat holds; only who sees it can know."""
    agent = CheatingNeuralSearchAgent(iterations=20, root="rollouts", settled=1)
    assert cheats(agent)
    state = after(State.new(5), 12)
    agent.act(state, np.random.default_rng(0))
    pool = agent._search._worlds(state.view(), np.random.default_rng(0))[0]
    assert pool.hands[0, :3].tolist() == [int(word) for word in state.row[:3]]
