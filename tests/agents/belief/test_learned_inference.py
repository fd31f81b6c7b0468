"""Hand inference by a learned policy: it is asked what the hidden seats saw, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from ddz_agents.neural.network import NetworkPolicy
from ddz_agents.neural_search.agent import believed_players
from ddz_agents.worlds import learned_player
from ddz_agents.worlds.inference import infer, inferred_pool
from ddz_agents.worlds.learned_player import LearnedPlayer
from ddz_agents.worlds.player_model import InvalidInferenceOptionError, story_log_likelihoods
from ddz_agents.worlds.rules_player import FAITHFUL, RulesPlayer
from ddz_agents.worlds.story import read_story
from ddz_env import State
from ddz_env.core.engine.layout import HANDS, HIDDEN
from ddz_env.core.observation import action_mask, observe
from tests.agents.neural.test_neural_network import small_networks

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


def true_deal(state: State) -> np.ndarray:
    return np.array([[*(state.row[HANDS + seat] for seat in range(3)), state.row[HIDDEN]]], np.uint64)


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
    model, weighed = LearnedPlayer(policy, UNIFORM), np.ones(len(story.moves), np.bool_)
    found = story_log_likelihoods([model], story, true_deal(state), weighed, state.rules)
    assert found[0, 0] == pytest.approx(expected, abs=1e-4)
    with pytest.raises(InvalidInferenceOptionError, match="uniform=0"):
        LearnedPlayer(policy, uniform=0)


def test_kinds_of_players_are_mixed_whatever_computes_them() -> None:
    """Rule models take the compiled walk, others the protocol; a seat's likelihood is the mean over all of them."""
    policy, state = NetworkPolicy(small_networks()[0]), State.new(2)
    for _ in range(5):
        state.step(state.legal_moves()[-1])
    view, kinds = state.view(), believed_players(policy, "mixed")
    assert [type(kind) for kind in kinds] == [LearnedPlayer, RulesPlayer, RulesPlayer, RulesPlayer]
    assert [type(kind) for kind in believed_players(policy, "policy")] == [LearnedPlayer]
    assert [type(kind) for kind in believed_players(policy, "rules")] == [RulesPlayer] * 3
    known = infer(view, np.random.default_rng(0), particles=30, models=kinds, rounds=0, least_ess=0.0)
    story = read_story(view)
    weighed = story.moves[:, 0] != np.uint64(view.seat)
    logs = [story_log_likelihoods([kind], story, known.hands, weighed, view.rules)[:, 0] for kind in kinds]
    mixed = np.log(np.exp(np.array(logs)).mean(axis=0)).sum(axis=1)
    expected = np.exp(mixed - mixed.max())
    assert known.weights == pytest.approx(expected / expected.sum(), abs=1e-6)
    for seat in range(3):  # the kinds' own chances: Bayes' rule in each deal, then the mean over deals
        each = np.exp([log[:, seat] for log in logs])
        assert known.kinds[:, seat] == pytest.approx((each / each.sum(axis=0)) @ known.weights, abs=1e-6)
    moved = infer(view, np.random.default_rng(0), particles=30, models=kinds, rounds=2)
    assert moved.kinds.sum(axis=0) == pytest.approx(1.0)


def test_the_policy_is_asked_only_where_a_particle_leaves_a_choice() -> None:
    class Watched(NetworkPolicy):
        def evaluate(self, observations: np.ndarray, masks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            assert (masks.sum(axis=1) > 1).all()
            asked.append(len(masks))
            return super().evaluate(observations, masks)

    asked = list[int]()
    state = State.from_hands(["3B", "45", "67"], check_sizes=False)
    state.step("B")
    state.step("pass")
    infer(state.view(2), np.random.default_rng(0), particles=9, models=LearnedPlayer(Watched(small_networks()[0])))
    state.step("pass")
    assert asked  # the landlord led
    story, model = read_story(state.view(0)), LearnedPlayer(Watched(small_networks()[0]))
    passes = np.array([False, True, True])
    assert (story_log_likelihoods([model], story, true_deal(state), passes, state.rules) == 0).all()


def test_many_particles_are_asked_about_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same answers."""
    model, state = LearnedPlayer(NetworkPolicy(small_networks()[0])), State.new(1)
    hands = np.random.default_rng(0)
    state.step(state.legal_moves()[-1])
    known = infer(state.view(), hands, particles=30, models=RulesPlayer(FAITHFUL), rounds=0)
    story = read_story(state.view())
    weighed = np.ones(len(story.moves), np.bool_)
    whole = story_log_likelihoods([model], story, known.hands, weighed, state.rules)
    monkeypatch.setattr(learned_player, "_MOST_AT_ONCE", 7)
    parts = story_log_likelihoods([model], story, known.hands, weighed, state.rules)
    assert parts == pytest.approx(whole, abs=1e-5)
    assert len(np.unique(whole)) > 1


def test_a_pool_of_worlds_is_that_of_the_players_believed_in() -> None:
    policy, state = NetworkPolicy(small_networks()[0]), State.new(1)
    for _ in range(4):
        state.step(state.legal_moves()[-1])
    view, kinds = state.view(), believed_players(policy, "policy")
    pool = inferred_pool(view, np.random.default_rng(0), 40, kinds, 1)
    known = infer(view, np.random.default_rng(0), particles=40, models=kinds, rounds=1)
    assert (pool.hands == known.hands).all()
    assert (pool.cumulative == known.cumulative).all()
    others = inferred_pool(view, np.random.default_rng(0), 40)
    assert pool.cumulative.tobytes() != others.cumulative.tobytes()
