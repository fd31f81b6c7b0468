"""The networks: what they read, what never reaches the policy, and that compiled code answers as they do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ddz_agents.neural import columns as inputs
from ddz_agents.neural.afterstates import _describe_afterstates, describe_afterstates
from ddz_agents.neural.architecture import critic_layers, policy_layers
from ddz_agents.neural.columns import (
    GAME_COLUMNS,
    HEAD,
    POLICY_INPUTS,
    REST_COLUMNS,
    TAIL,
    describe_games,
    describe_observations,
    observation_columns,
)
from ddz_agents.neural.compiled_policy import CompiledPolicy
from ddz_agents.neural.errors import InvalidArchitectureError, InvalidPolicyInputError
from ddz_agents.neural.features import CHAINS, MOVE_BYTES, PLANES, PROSPECTS
from ddz_agents.neural.loading import load_policy
from ddz_agents.neural.model import Bytes, Floats, PolicyModel
from ddz_agents.neural.network import (
    Architecture,
    Critic,
    PolicyNetwork,
    policy_input,
)
from ddz_agents.neural.shipped import shipped_policy_path
from ddz_agents.neural.weights import Weights, load_weights, save_weights
from ddz_agents.rules.scratch import new_rule_scratch
from ddz_env import Rules, State
from ddz_env.core.observation import CONCEALED_WORDS, action_mask, observe, write_concealed
from ddz_env.envs.batch import SelfPlayBatch
from tests.agents.neural.test_compiled_policy import decisions
from tests.hidden import permuted
from tests.oracles import columns_reference as reference
from tests.oracles.network_policy import NetworkPolicy

SMALL = Architecture(width=32, blocks=1, rest_width=16, rest_features=8, critic_width=32, critic_blocks=1, history=6)


def small_networks(seed: int = 0) -> tuple[PolicyNetwork, Critic]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        policy, critic = PolicyNetwork(SMALL), Critic(SMALL)
        for weight in (*policy.parameters(), *critic.parameters()):
            torch.nn.init.normal_(weight, std=0.3)  # not near zero: every input shows in the output
    return policy, critic


def concealed_of(state: State) -> np.ndarray:
    words = np.empty(CONCEALED_WORDS, np.uint64)
    write_concealed(state.row, state.rule_words, np.uint64(state.seat), words)
    return words.view(np.int8)


def positions(rules: str | Rules, games: int, seed: int = 0) -> list[State]:
    rng, found = np.random.default_rng(seed), []
    for game in range(games):
        state = State.new(seed, rules, game)
        while not state.is_over:
            found.append(state.copy())
            state.step_action(int(rng.choice(state.legal_actions())))
    return found


def shown(states: list[State]) -> tuple[Bytes, Bytes]:
    return np.stack([observe(state) for state in states]), np.stack([action_mask(state) for state in states])


@pytest.mark.parametrize("rules", ["standard", "mini", "half-deck"])
def test_concealed_cards_never_reach_the_policy_but_they_do_reach_the_critic(rules: str) -> None:
    policy, critic = small_networks()
    model, rng = NetworkPolicy(policy, critic), np.random.default_rng(3)
    states = positions(rules, 4)
    twins = [permuted(state, state.seat, rng) for state in states]
    moved = np.array([(concealed_of(a) != concealed_of(b)).any() for a, b in zip(states, twins, strict=True)])
    assert moved.mean() > 0.8
    inputs = [shown(side) for side in (states, twins)]
    (here, here_values), (there, there_values) = (model.evaluate(*side) for side in inputs)
    assert here.tobytes() == there.tobytes()
    assert here_values.tobytes() == there_values.tobytes()
    games = [
        model.value_of_games(*side, np.stack([concealed_of(s) for s in group]))
        for side, group in zip(inputs, (states, twins), strict=True)
    ]
    assert ((games[0] != games[1]) == moved).all()


@pytest.mark.parametrize("rules", ["standard", "rlcard", "bidding", "mini", "perfect"])
def test_compiled_columns_are_those_of_the_reference(rules: str) -> None:
    batch, kickers, checked = SelfPlayBatch(100, rules, seed=3, threads=1), 0, set[str]()
    for step in range(60):
        batch.step(batch.sample_actions())
        if step % 3:
            continue
        seen = describe_observations(batch.observation, SMALL.history)
        first = 0
        expected = reference.policy_columns(batch.observation, SMALL.history)
        for name, columns, _ in POLICY_INPUTS.inputs:
            stop = first + (columns or MOVE_BYTES * SMALL.history)
            if name in expected:
                np.testing.assert_allclose(seen[:, first:stop], expected[name], rtol=1e-6, err_msg=name)
                checked.add(name)
            first = stop
        rows, actions, rests, _ = describe_afterstates(batch.observation, batch.mask)
        left = [reference.hand_left(batch.observation[row], action) for row, action in zip(rows, actions, strict=True)]
        assert (rests[:, :PLANES] == reference.thresholds(np.array(left))).all()
        kickers += int(((actions >= 379) & (actions < 394)).sum())
    assert checked == {entry.name for entry in POLICY_INPUTS.inputs} - {"prospects", "signs"}
    assert kickers > 0 or rules == "mini"


def test_every_leaving_is_the_hand_without_the_cards() -> None:
    """A pass leaves all, a main group takes its body, a finished move what it played."""
    checked = 0
    for state in positions("standard", 3):
        observation, mask = observe(state)[None], action_mask(state)[None]
        afterstates = describe_afterstates(observation, mask)
        for action, columns in zip(afterstates.actions.tolist(), afterstates.columns, strict=True):
            counts = columns[:PLANES].reshape(15, 4).sum(1)
            seat, after = state.seat, state.copy()
            after.step_action(action)
            if after.stage != "kicker":  # the move is complete: the engine knows what is left
                assert counts.tolist() == list(after.hand(seat).counts)
                checked += 1
    assert checked > 200


def test_hands_are_described_by_thresholds_and_chains_and_what_actions_leave_of_them_by_prospects() -> None:
    state = State.from_hands(["3334445678", "9", "T"], check_sizes=False)
    own = describe_observations(observe(state)[None], 0)[0]
    hand = own[POLICY_INPUTS.at.hand : POLICY_INPUTS.at.prospects]
    assert hand[: 4 * 3].tolist() == [1, 1, 1, 0, 1, 1, 1, 0, 1, 0, 0, 0]
    held = {chain.name for chain, there in zip(CHAINS, hand[PLANES:], strict=True) if there}
    assert held == {"solo chain 34567", "solo chain 45678", "solo chain 345678", "plane 333444"}
    pass_alone = np.eye(1, 400, dtype=np.int8)  # which leaves the whole hand
    rest = describe_afterstates(observe(state)[None], pass_alone).columns[0]
    assert len(rest) == REST_COLUMNS == PLANES + PROSPECTS
    assert rest[:PLANES].tolist() == hand[:PLANES].tolist()
    assert rest[PLANES:].tolist() == own[POLICY_INPUTS.at.prospects :][:PROSPECTS].tolist()


def test_the_bytes_before_and_behind_the_moves_are_read_and_so_many_moves() -> None:
    """Nothing else depends on how many are shown, and the last columns are the signs, which read all fifteen."""
    observation = SelfPlayBatch(1, seed=3, threads=1).observation.copy()
    observation[0, HEAD:TAIL] = 1  # moves of the observer: no signs
    none, two, all_of_them = (describe_observations(observation, history) for history in (0, 2, 15))
    assert [columns.shape[1] for columns in (none, two, all_of_them)] == [observation_columns(n) for n in (0, 2, 15)]
    assert observation_columns(15) - observation_columns(0) == TAIL - HEAD == 240
    for columns in (two, all_of_them):
        assert (columns[:, :HEAD] == none[:, :HEAD]).all()
        assert (columns[:, HEAD : columns.shape[1] - none.shape[1] + HEAD] > 0).all()
        assert (columns[:, columns.shape[1] - none.shape[1] + HEAD :] == none[:, HEAD:]).all()
    observation[0, HEAD + 2 * 16 : TAIL] = 0
    assert (describe_observations(observation, 2) == two).all()


def test_the_tables_of_inputs_are_the_columns_that_the_kernels_write() -> None:
    """Every column of a row is written, and none behind it: a width that is wrong leaves a gap or hides a column."""
    batch = SelfPlayBatch(4, "bidding", seed=5, threads=1, concealed=True)
    rules, known, mind = Rules().words(), np.zeros(4, np.bool_), new_rule_scratch()
    written = []
    for history in (0, 3, 15):
        out = np.full((4, observation_columns(history) + 9), np.nan, np.float32)
        inputs._describe_observations(batch.observation, history, rules, mind, out)
        written.append((out, observation_columns(history)))
    out = np.full((4, GAME_COLUMNS + 9), np.nan, np.float32)
    inputs._describe_games(batch.observation, batch.concealed, known, rules, mind, out)
    found = describe_afterstates(batch.observation, batch.mask)
    wide = found._replace(columns=np.full((len(found.rows), REST_COLUMNS + 9), np.nan, np.float32))
    _describe_afterstates(batch.observation, batch.mask, True, rules, mind, wide)
    for columns, size in (*written, (out, GAME_COLUMNS), (wide.columns, REST_COLUMNS)):
        assert np.isfinite(columns[:, :size]).all()
        assert np.isnan(columns[:, size:]).all()


def test_columns_lie_between_zero_and_one() -> None:
    batch = SelfPlayBatch(200, "bidding", seed=5, threads=1, concealed=True)
    for _ in range(40):
        batch.step(batch.sample_actions())
        for columns in (
            describe_observations(batch.observation),
            describe_games(batch.observation, batch.concealed),
            describe_afterstates(batch.observation, batch.mask).columns,
        ):
            assert columns.min() >= 0
            assert columns.max() <= 1


def test_probabilities_sum_to_one_over_the_legal_actions_and_are_nearly_uniform_before_training() -> None:
    batch = SelfPlayBatch(50, seed=1, threads=1)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        untrained = NetworkPolicy(PolicyNetwork(Architecture()))
    for model in (untrained, NetworkPolicy(small_networks()[0])):
        assert isinstance(model, PolicyModel)
        log_probabilities, values = model.evaluate(batch.observation, batch.mask)
        assert (np.exp(log_probabilities)[batch.mask == 0] == 0).all()
        np.testing.assert_allclose(np.exp(log_probabilities).sum(1), 1, atol=1e-5)
        assert values.shape == (50,)
    log_probabilities, values = untrained.evaluate(batch.observation, batch.mask)
    assert (np.exp(log_probabilities.max(1)) < 1.5 / batch.mask.sum(1)).all()
    assert (np.abs(values) < 0.1).all()


def test_wrong_inputs_have_a_named_error() -> None:
    model = CompiledPolicy(Weights.of(small_networks()[0]))
    good, mask = np.zeros((2, 512), np.int8), np.ones((2, 400), np.int8)
    for observations, masks, message in (
        (good[:, :511], mask, r"observations must be int8 of shape \[2, 512\]"),
        (good.astype(np.float32), mask, "observations must be int8"),
        (good, mask[:1], r"masks must be int8 of shape \[2, 400\]"),
        (good, np.eye(1, 400, dtype=np.int8).repeat(2, 0) * np.array([[1], [0]], np.int8), "row 1 has no legal action"),
    ):
        with pytest.raises(InvalidPolicyInputError, match=message):
            model.evaluate(observations, masks)
    with pytest.raises(InvalidPolicyInputError, match="hold no critic"):
        model.value_of_games(good, mask, np.zeros((2, 48), np.int8))


def test_architectures_are_read_as_they_are_written_and_wrong_sizes_have_a_named_error() -> None:
    assert Architecture.from_dict(SMALL.as_dict()) == SMALL
    for wrong in (None, {}, SMALL.as_dict() | {"depth": 3}):
        with pytest.raises(InvalidArchitectureError, match="options"):
            Architecture.from_dict(wrong)
    for name, size in (("width", 0), ("blocks", -1), ("history", 16), ("width", 2.5), ("width", True)):
        with pytest.raises(InvalidArchitectureError, match=name):
            Architecture.from_dict(SMALL.as_dict() | {name: size})


def assert_close(ours: CompiledPolicy, theirs: Any, games: tuple[Bytes, Bytes, Bytes], size: Floats) -> None:
    """Within 1e-5 of the row's largest logit, and the same choice but for ties of that size; the same values."""
    observations, masks, _ = games
    (logs, values), (their_logs, their_values) = (model.evaluate(observations, masks) for model in (ours, theirs))
    np.testing.assert_allclose(values, their_values, rtol=0, atol=1e-5)
    np.testing.assert_allclose(*(model.value_of_games(*games) for model in (ours, theirs)), rtol=0, atol=1e-5)
    assert np.isneginf(logs[masks == 0]).all()
    rows = np.arange(len(masks))
    here, there = (np.where(masks == 1, found, np.float32(-1e9)) for found in (logs, their_logs))
    assert (np.abs(here - there).max(axis=1) <= 1e-5 * np.maximum(size, 1.0)).all()
    behind = there.max(axis=1) - there[rows, here.argmax(axis=1)]
    assert (behind <= 1e-5 * np.maximum(size, 1.0)).all()


@pytest.mark.parametrize("rules", ["standard", "rlcard", "bidding", "mini"])
def test_the_compiled_policy_answers_as_pytorch_does(rules: str) -> None:
    weights = load_weights(shipped_policy_path())
    ours, theirs = CompiledPolicy(weights), NetworkPolicy(*weights.networks())
    observations, masks, concealed = decisions(rules, 60)
    assert len(masks) > 100
    seen, _ = policy_input(observations, masks, weights.architecture.history)
    with torch.inference_mode():
        logits = theirs.network(*seen)[0].numpy()
    size = np.abs(np.where(masks == 1, logits, 0)).max(axis=1)
    assert_close(ours, theirs, (observations, masks, concealed), size)


@pytest.mark.parametrize("sizes", [{}, {"width": 19, "rest_width": 5, "rest_features": 3, "blocks": 0, "history": 0}])
def test_the_compiled_policy_has_networks_of_every_size(sizes: dict[str, int], tmp_path: Path) -> None:
    architecture = Architecture(**(SMALL.as_dict() | {"critic_width": 21, "critic_blocks": 3} | sizes))
    torch.manual_seed(1)
    policy, critic = PolicyNetwork(architecture), Critic(architecture)
    for weight in (*policy.parameters(), *critic.parameters()):
        torch.nn.init.normal_(weight, std=0.1)
    save_weights(tmp_path / "w", Weights.of(policy, critic, objective="stake", values_trained=False))
    ours, theirs = load_policy(tmp_path / "w"), NetworkPolicy(policy, critic)
    assert isinstance(ours, CompiledPolicy)
    assert (ours.objective, ours.values_trained) == ("stake", False)
    games = decisions("standard", 30)
    assert_close(ours, theirs, games, np.ones(len(games[0]), np.float32))


def test_the_shapes_of_weights_are_those_of_the_networks() -> None:
    for sizes in (Architecture(), Architecture(24, 3, 7, 5, 11, 1, 4), Architecture(blocks=0, critic_blocks=0)):
        for layers, network in ((policy_layers(sizes), PolicyNetwork(sizes)), (critic_layers(sizes), Critic(sizes))):
            assert layers.shapes() == {name: tuple(weight.shape) for name, weight in network.state_dict().items()}
