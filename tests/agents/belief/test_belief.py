"""Where the hidden cards are, by networks: the belief network and its training, and what a policy says of moves."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner, Result

from ddz_agents.belief.conduct import TALLIES, note_actions, tallies_of
from ddz_agents.belief.layers import describe_lesson
from ddz_agents.belief.model import (
    BeliefArchitecture,
    BeliefModel,
    StoredBelief,
    load_belief,
    read_belief,
    write_belief,
)
from ddz_agents.belief.network import BeliefNetwork
from ddz_agents.neural.errors import TensorFileMismatchError
from ddz_agents.neural.network import NetworkPolicy
from ddz_agents.neural.tensor_file import write_tensor_file
from ddz_agents.neural.weights import module_arrays
from ddz_agents.neural_search.agent import believed_players
from ddz_agents.rules.agent import RulesAgent
from ddz_agents.worlds import learned_player
from ddz_agents.worlds.inference import infer, inferred_pool
from ddz_agents.worlds.learned_player import LearnedPlayer
from ddz_agents.worlds.player_model import InvalidInferenceOptionError, story_log_likelihoods
from ddz_agents.worlds.rules_player import FAITHFUL, RulesPlayer
from ddz_agents.worlds.story import read_story
from ddz_env import State, View
from ddz_env.core.engine.layout import HANDS, HIDDEN, KNOWN, MOVES
from ddz_env.core.notation import word_to_counts
from ddz_env.core.observation import action_mask, observe
from ddz_env.envs.batch import SelfPlayBatch
from ddz_training.apps.cli import app
from ddz_training.experiments.hidden_hands import hidden_counts, plain_hand
from ddz_training.learn.belief import BELIEF, BeliefConfig, BeliefTraining
from ddz_training.learn.checkpoint import CHECKPOINT
from ddz_training.learn.errors import CheckpointMismatchError, InvalidTrainingError
from tests.agents.neural.test_neural_network import concealed_of, small_networks
from tests.agents.worlds.test_hand_inference import Recorder, true_particle

RNG = np.random.default_rng
SMALL = BeliefArchitecture(width=8, blocks=1, hidden=6)
TINY = BeliefConfig(positions=300, architecture=SMALL, players=("random",), shares=(), num_games=8)


def network(opinion: float, seed: int = 0) -> BeliefNetwork:
    """A small network whose opinions are random, and so strong; with 0 it has none."""
    torch.manual_seed(seed)
    found = BeliefNetwork(SMALL)
    with torch.no_grad():
        found.logits.normal_(0, opinion)
        found.logits_bias.normal_(0, opinion)
    return found


def stored(found: BeliefNetwork) -> StoredBelief:
    return StoredBelief(SMALL, module_arrays(found, ""), "standard", {})


def positions(count: int = 12) -> list[State]:
    """Positions after more and more random moves, seen by landlord and peasants."""
    found, rng = [], RNG(5)
    for seed in range(count):
        state = State.new(seed=seed)
        for _ in range(1 + 3 * seed + seed % 3):
            legal = state.legal_moves()
            state.step(legal[int(rng.integers(len(legal)))])
            if state.is_over:
                break
        else:
            found.append(state)
    assert {state.view().role for state in found} == {"landlord", "peasant_down", "peasant_up"}
    return found


def test_every_world_is_a_deal_of_the_right_cards() -> None:
    model, rng = BeliefModel(stored(network(2.0))), RNG(0)
    for state in positions():
        view, seat = state.view(), state.seat
        pool = model.worlds(view, rng, 50)
        assert pool.hands.shape == (50, 4)
        assert pool.cumulative[-1] == 1.0
        everything = sum(np.array(word_to_counts(int(view.row[word]))) for word in (HIDDEN, KNOWN))
        if view.landlord == seat:
            everything -= np.array(word_to_counts(int(view.row[KNOWN])))
        for deal in pool.hands:
            held = [np.array(word_to_counts(int(hand))) for hand in deal]
            assert [int(hand.sum()) for hand in held[:3]] == list(view.hand_sizes)
            assert int(deal[seat]) == int(view.row[HANDS + seat])
            assert (held[(seat + 1) % 3] + held[(seat + 2) % 3] == everything).all()
            assert (held[view.landlord or 0] >= np.array(view.known_cards.counts)).all()


def test_a_network_without_opinions_deals_cards_as_they_fall() -> None:
    model = BeliefModel(stored(network(0.0)))
    for state in positions():
        truth = hidden_counts(state.row, state.seat)
        [found] = model.log_probabilities(state.view(), truth[[(state.seat + 1) % 3]])
        assert found == pytest.approx(plain_hand(truth, state.seat), abs=1e-4)


def test_the_compiled_network_is_the_one_that_learns() -> None:
    learned = network(1.0)
    model = BeliefModel(stored(learned))
    for state in positions():
        tallies = tallies_of(state.history, state.view().landlord or 0)
        seen = (part[None] for part in (observe(state), concealed_of(state), tallies))
        lesson = describe_lesson(*seen, np.array([state.seat], np.int8))
        with torch.no_grad():
            [expected] = learned(*map(torch.from_numpy, lesson)).tolist()
        [found] = model.log_probabilities(state.view(), lesson.hands)
        assert found == pytest.approx(expected, abs=1e-4)


def late_view() -> View:
    agent, state, rng = RulesAgent(), State.new(seed=2), RNG(0)
    while sum(map(len, map(str, (state.hand(1), state.hand(2))))) > 9:
        state.step(agent.act(state.view(), rng))
    return state.view()


def test_worlds_come_as_often_as_their_probabilities_say() -> None:
    view, model = late_view(), BeliefModel(stored(network(1.0)))
    drawn = Counter(model.worlds(view, RNG(1), 20_000).hands[:, (view.seat + 1) % 3].tolist())
    known = view.known_cards.counts if view.landlord == (view.seat + 1) % 3 else (0,) * 15
    hands = np.array([word_to_counts(hand) for hand in drawn], np.int64) - known
    logs = model.log_probabilities(view, hands)
    assert np.exp(logs).sum() == pytest.approx(1.0, abs=1e-3)
    for count, chance in zip(drawn.values(), np.exp(logs).tolist(), strict=True):
        assert count == pytest.approx(20_000 * chance, abs=5 * (20_000 * chance) ** 0.5 + 3)
    assert len(set(np.round(logs, 3))) > 3  # or this says nothing


def test_weighed_worlds_do_not_depend_on_what_the_network_believes() -> None:
    """A deal that the network draws too often counts the less: what is left is plain dealing and what moves say."""
    view, rng = late_view(), RNG(0)
    following = (view.seat + 1) % 3
    chances: list[Counter[int]] = []
    for opinion in (0.0, 0.4):
        proposal = BeliefModel(stored(network(opinion))).proposal(view, RNG(1), 20_000)
        assert proposal is not None
        known = infer(view, rng, models=(Recorder(),), proposal=proposal)
        assert len(known) == 20_000
        chances.append(Counter())
        for hand, weight in zip(known.hands[:, following].tolist(), known.weights.tolist(), strict=True):
            chances[-1][hand] += weight
    plain, opinionated = chances
    assert max(abs(plain[hand] - opinionated[hand]) for hand in plain | opinionated) < 0.02
    drawn = BeliefModel(stored(network(0.4))).worlds(view, RNG(1), 20_000).hands[:, following]
    assert max(abs((drawn == np.uint64(hand)).mean() - plain[hand]) for hand in plain) > 0.05  # or this says nothing


def test_where_there_is_nothing_to_say_worlds_are_uniform() -> None:
    model, rng = BeliefModel(stored(network(1.0))), RNG(0)
    bare = State.new(seed=1).view()
    bare.row[MOVES] = 3
    views = [State.new(seed=1, rules=preset).view() for preset in ("bidding", "mini", "perfect")]
    for view in [*views, bare]:
        assert len(model.worlds(view, rng, 10).cumulative) == 0
    assert len(model.worlds(State.new(seed=1).view(), rng, 0).cumulative) == 0


def test_conduct_is_counted() -> None:
    state = State.from_hands(["3334567899TT", "45JQ2222", "66778K"], check_sizes=False)
    for move in ("7", "J", "pass", "pass", "4", "6", "8", "pass", "K", "pass", "2222"):
        state.step(move)
    found = [dict(zip(TALLIES, row, strict=True)) for row in tallies_of(state.history, 0).tolist()]
    landlord, down, up = ({name: count for name, count in one.items() if count} for one in found)
    assert landlord == {"leads": 1, "cards": 1, "solos": 1, "answers": 3, "passes": 2, "follows": 1, "jumps": 1}
    assert down["answers"] == 2  # 7, and the 8 of the landlord
    assert down["bombs"] == 1
    assert (down["leads"], down["jumps"]) == (1, 3)
    assert (up["helps"], up["yields"]) == (2, 1)  # let the J pass, beat the 4


def test_conduct_in_many_games_is_that_of_their_moves() -> None:
    batch = SelfPlayBatch(1, seed=4)
    tallies, tricks = np.zeros((1, 3, len(TALLIES)), np.int32), np.zeros((1, 3), np.int32)
    state = State.new(seed=4)
    for _ in range(40):
        actions = batch.sample_actions()
        note_actions(batch.rows, actions, tallies, tricks)
        state.step_action(int(actions[0]))
        if state.is_over:
            break
        batch.step(actions)
        assert (tallies[0] == tallies_of(state.history, 0)).all() or state.stage == "kicker"
    assert tallies.sum() > 20


def test_a_file_says_what_it_is_for(tmp_path: Path) -> None:
    path = tmp_path / "belief.safetensors"
    write_belief(path, stored(network(1.0)))
    view = State.new(seed=2).view()
    worlds = [load_belief(path).worlds(view, RNG(3), 8).hands for _ in range(2)]
    assert (worlds[0] == worlds[1]).all()
    about = {"architecture": SMALL.as_dict(), "conduct": ["manners"], "rules": "standard", "notes": {}}
    for wrong, message in ((about, "manners"), ({}, "does not say")):
        write_tensor_file(path, "ddz-belief", 1, {}, wrong)
        with pytest.raises(TensorFileMismatchError, match=message):
            read_belief(path)


def test_training_learns_and_goes_on_where_it_stopped(tmp_path: Path) -> None:
    whole = BeliefTraining(TINY)
    whole.run(tmp_path / "whole")
    steps, saved, file = itertools.count(1), list[bool](), tmp_path / "parts" / BELIEF
    BeliefTraining(TINY).run(file.parent, lambda _: saved.append(file.exists()), lambda: next(steps) > 20)
    assert all(saved)
    resumed = BeliefTraining.resume(tmp_path / "parts" / CHECKPOINT)
    assert 0 < resumed.positions < whole.positions
    resumed.run(tmp_path / "parts")
    found, expected = (read_belief(tmp_path / name / BELIEF) for name in ("parts", "whole"))
    assert all((found.arrays[name] == expected.arrays[name]).all() for name in expected.arrays)
    assert found.notes["positions"] == expected.notes["positions"] >= TINY.positions
    assert np.abs(expected.arrays["logits"]).max() > 0
    with pytest.raises(CheckpointMismatchError, match="other settings"):
        BeliefTraining.resume(tmp_path / "parts" / CHECKPOINT, None, {"alike": 0.1})


def test_a_lesson_costs_what_the_cards_say_at_first_and_players_have_shares() -> None:
    first = BeliefTraining(TINY).step()
    assert first.positions > 0
    assert first.bits == pytest.approx(first.plain, rel=1e-4)
    assert 10 < first.plain < 40
    with pytest.raises(InvalidTrainingError, match="shares has 2"):
        BeliefConfig(players=("random",), shares=(0.5, 0.5))


def test_the_command_trains_and_resumes(tmp_path: Path) -> None:
    def train(positions: int, *options: str) -> Result:
        out = str(tmp_path / "run")
        return CliRunner().invoke(app, ["train", "belief", "--out", out, "--positions", str(positions), *options])

    settings = ["players=random", "shares=1", "num_games=8", "architecture.width=8", "architecture.hidden=4"]
    begun, resumed = train(60, *(part for one in settings for part in ("--set", one))), train(90, "--resume")
    assert (begun.exit_code, resumed.exit_code) == (0, 0), begun.output + resumed.output
    assert read_belief(tmp_path / "run" / BELIEF).notes["positions"] >= 90
    again = train(90)
    assert again.exit_code != 0
    assert "--resume" in again.output


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
    policy, state, rng = NetworkPolicy(small_networks()[0]), State.new(seed), RNG(seed)
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
    found = story_log_likelihoods([model], story, true_particle(state), weighed, state.rules)
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
    known = infer(view, RNG(0), particles=30, models=kinds, rounds=0, least_ess=0.0)
    story = read_story(view)
    weighed = story.moves[:, 0] != np.uint64(view.seat)
    logs = [story_log_likelihoods([kind], story, known.hands, weighed, view.rules)[:, 0] for kind in kinds]
    mixed = np.log(np.exp(np.array(logs)).mean(axis=0)).sum(axis=1)
    expected = np.exp(mixed - mixed.max())
    assert known.weights == pytest.approx(expected / expected.sum(), abs=1e-6)
    for seat in range(3):  # the kinds' own chances: Bayes' rule in each deal, then the mean over deals
        each = np.exp([log[:, seat] for log in logs])
        assert known.kinds[:, seat] == pytest.approx((each / each.sum(axis=0)) @ known.weights, abs=1e-6)
    moved = infer(view, RNG(0), particles=30, models=kinds, rounds=2)
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
    infer(state.view(2), RNG(0), particles=9, models=LearnedPlayer(Watched(small_networks()[0])))
    state.step("pass")
    assert asked  # the landlord led
    story, model = read_story(state.view(0)), LearnedPlayer(Watched(small_networks()[0]))
    passes = np.array([False, True, True])
    assert (story_log_likelihoods([model], story, true_particle(state), passes, state.rules) == 0).all()


def test_many_particles_are_asked_about_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    model, state = LearnedPlayer(NetworkPolicy(small_networks()[0])), State.new(1)
    hands = RNG(0)
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
    pool = inferred_pool(view, RNG(0), 40, kinds, 1)
    known = infer(view, RNG(0), particles=40, models=kinds, rounds=1)
    assert (pool.hands == known.hands).all()
    assert (pool.cumulative == known.cumulative).all()
    others = inferred_pool(view, RNG(0), 40)
    assert pool.cumulative.tobytes() != others.cumulative.tobytes()
