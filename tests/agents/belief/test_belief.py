"""The belief network: deals that are always right, probabilities that add up, and a training that can be resumed."""

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
from ddz_agents.neural.tensor_file import write_tensor_file
from ddz_agents.neural.weights import module_arrays
from ddz_agents.rules.agent import RulesAgent
from ddz_agents.worlds.inference import infer
from ddz_env import State, View
from ddz_env.core.engine.layout import HANDS, HIDDEN, KNOWN, MOVES
from ddz_env.core.notation import word_to_counts
from ddz_env.core.observation import CONCEALED_WORDS, observe, write_concealed
from ddz_env.envs.batch import SelfPlayBatch
from ddz_training.apps.cli import app
from ddz_training.experiments.hidden_hands import hidden_counts, plain_hand
from ddz_training.learn.belief import BELIEF, BeliefConfig, BeliefTraining
from ddz_training.learn.checkpoint import CHECKPOINT
from ddz_training.learn.errors import CheckpointMismatchError, InvalidTrainingError
from tests.agents.worlds.test_hand_inference import Recorder

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
        hidden = np.zeros(CONCEALED_WORDS, np.uint64)
        write_concealed(state.row, state.rule_words, np.uint64(state.seat), hidden)
        tallies = tallies_of(state.history, state.view().landlord or 0)
        lesson = describe_lesson(
            observe(state)[None], hidden.view(np.int8)[None], tallies[None], np.array([state.seat], np.int8)
        )
        with torch.no_grad():
            [expected] = learned(*map(torch.from_numpy, lesson)).tolist()
        [found] = model.log_probabilities(state.view(), lesson.hands)
        assert found == pytest.approx(expected, abs=1e-4)


def late_view() -> View:
    """A view in which the peasants hold nine cards or fewer."""
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
    assert logs is not None
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
