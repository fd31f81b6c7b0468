"""Hand inference by a learned policy: it is asked what the hidden seats saw, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from agents.inference.errors import InvalidInferenceOptionError  # noqa: E402
from agents.inference.learned_model import LearnedModel  # noqa: E402
from agents.inference.model import story_log_likelihoods  # noqa: E402
from agents.inference.sampler import infer  # noqa: E402
from agents.inference.story import read_story  # noqa: E402
from agents.neural.policy import NetworkPolicy  # noqa: E402
from ddz_env import State  # noqa: E402
from ddz_env.engine.layout import HANDS, HIDDEN  # noqa: E402
from ddz_env.observation import action_mask, observe  # noqa: E402
from tests.test_neural_network import small_networks  # noqa: E402

UNIFORM = 0.05


def likelihood_now(state: State, policy: NetworkPolicy, actions: tuple[int, ...]) -> float:
    """The logarithm of the chance that the seat to act takes these actions, stage by stage."""
    state, total = state.copy(), 0.0
    for action in actions:
        mask = action_mask(state)
        log_probabilities, _ = policy.evaluate(observe(state)[None], mask[None])
        chance = float(np.exp(log_probabilities[0, action]))
        total += float(np.log((1 - UNIFORM) * chance + UNIFORM / mask.sum()))
        state.step_action(action)
    return total


@pytest.mark.parametrize("seed", range(4))
def test_the_true_deal_has_the_likelihood_of_what_was_played(seed: int) -> None:
    """Replayed from the history alone, every decision looks to the policy as it did when it was taken."""
    policy, state, rng = NetworkPolicy(small_networks()[0]), State.new(seed), np.random.default_rng(seed)
    expected = np.zeros(3)
    for _ in range(14):
        if state.stage == "over":
            break
        legal = state.legal_moves()
        move = legal[int(rng.integers(len(legal)))]
        expected[state.seat] += likelihood_now(state, policy, move.actions)
        state.step(move)
    story = read_story(state.view())
    truth = np.array([[*(state.row[HANDS + seat] for seat in range(3)), state.row[HIDDEN]]], np.uint64)
    weighed = np.ones(len(story.moves), np.bool_)
    found = story_log_likelihoods([LearnedModel(policy, UNIFORM)], story, truth, weighed, state.rules)
    assert found[0, 0] == pytest.approx(expected, abs=1e-4)


def test_particles_are_weighed_by_it() -> None:
    """The weights are those of the likelihoods."""
    policy, state = NetworkPolicy(small_networks()[0]), State.new(1)
    for _ in range(3):
        state.step(state.legal_moves()[-1])
    view, model = state.view(), LearnedModel(policy)
    known = infer(view, np.random.default_rng(0), particles=40, models=model, rounds=0, least_ess=0.0)
    story = read_story(view)
    weighed = story.moves[:, 0] != np.uint64(view.seat)
    logs = story_log_likelihoods([model], story, known.hands, weighed, view.rules).sum(axis=(1, 2))
    expected = np.exp(logs - logs.max())
    assert known.weights == pytest.approx(expected / expected.sum(), abs=1e-6)


def test_a_share_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidInferenceOptionError, match="uniform=0"):
        LearnedModel(NetworkPolicy(small_networks()[0]), uniform=0)
