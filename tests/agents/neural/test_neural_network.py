"""The networks: what they read, and what never reaches the policy."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ddz_agents.neural import columns as inputs
from ddz_agents.neural.afterstates import _describe_afterstates, describe_afterstates, describe_prospects
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
from ddz_agents.neural.errors import InvalidArchitectureError, InvalidPolicyInputError
from ddz_agents.neural.features import CHAINS, PLANES, PROSPECTS, SIGNS
from ddz_agents.neural.model import PolicyModel
from ddz_agents.neural.network import (
    Architecture,
    Critic,
    NetworkPolicy,
    PolicyNetwork,
    masked_log_probabilities,
    policy_input,
)
from ddz_agents.neural.onnx_export import ExportedPolicy
from ddz_agents.neural.tensor_columns import thresholds
from ddz_agents.rules.scratch import new_rule_scratch
from ddz_env import Rules, State
from ddz_env.core.observation import CONCEALED_WORDS, action_mask, observe, write_concealed
from ddz_env.envs.batch import SelfPlayBatch
from tests.hidden import permuted

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
    """Positions at every stage of random games."""
    rng, found = np.random.default_rng(seed), []
    for game in range(games):
        state = State.new(seed, rules, game)
        while not state.is_over:
            found.append(state.copy())
            state.step_action(int(rng.choice(state.legal_actions())))
    return found


@pytest.mark.parametrize("rules", ["standard", "mini", "half-deck"])
def test_concealed_cards_never_reach_the_policy_but_they_do_reach_the_critic(rules: str) -> None:
    policy, critic = small_networks()
    model, rng = NetworkPolicy(policy, critic), np.random.default_rng(3)
    states = positions(rules, 4)
    twins = [permuted(state, state.seat, rng) for state in states]
    moved = np.array([(concealed_of(a) != concealed_of(b)).any() for a, b in zip(states, twins, strict=True)])
    assert moved.mean() > 0.8
    inputs = [
        (np.stack([observe(s) for s in side]), np.stack([action_mask(s) for s in side])) for side in (states, twins)
    ]
    (here, here_values), (there, there_values) = (model.evaluate(*side) for side in inputs)
    assert here.tobytes() == there.tobytes()
    assert here_values.tobytes() == there_values.tobytes()
    games = [
        model.value_of_games(*side, np.stack([concealed_of(s) for s in group]))
        for side, group in zip(inputs, (states, twins), strict=True)
    ]
    assert ((games[0] != games[1]) == moved).all()


@pytest.mark.parametrize("rules", ["standard", "rlcard", "bidding", "mini", "perfect"])
def test_compiled_columns_equal_the_tensor_operations(rules: str) -> None:
    batch = SelfPlayBatch(100, rules, seed=3, threads=1)
    network = PolicyNetwork(SMALL)
    exported = ExportedPolicy(network)
    kickers = 0
    for step in range(60):
        batch.step(batch.sample_actions())
        if step % 3:
            continue
        seen, _ = policy_input(batch.observation, batch.mask, SMALL.history)
        kickers += int(((seen.actions >= 379) & (seen.actions < 394)).sum())
        observations, masks = torch.from_numpy(batch.observation), torch.from_numpy(batch.mask)
        with torch.inference_mode():
            prospects = [torch.from_numpy(part) for part in describe_prospects(batch.observation, batch.mask)]
            assert torch.equal(exported.describe(observations, prospects[0]), seen.columns)
            rests = exported.reader.leave(observations, seen.rows, seen.actions)
            assert torch.equal(thresholds(rests), seen.rests[:, :PLANES])
            logits, values = network(*seen)
            log_probabilities, twin_values = exported(observations, masks, *prospects)
            assert torch.equal(log_probabilities, masked_log_probabilities(logits, masks))
            assert torch.equal(twin_values, values)
    assert kickers > 0 or rules in ("mini",)


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


def test_the_own_hand_is_described_by_its_thresholds_and_chains() -> None:
    state = State.from_hands(["3334445678", "9", "T"], check_sizes=False)
    hand = describe_observations(observe(state)[None], 0)[0, POLICY_INPUTS.at.hand : POLICY_INPUTS.at.prospects]
    assert hand[: 4 * 3].tolist() == [1, 1, 1, 0, 1, 1, 1, 0, 1, 0, 0, 0]
    held = {chain.name for chain, there in zip(CHAINS, hand[PLANES:], strict=True) if there}
    assert held == {"solo chain 34567", "solo chain 45678", "solo chain 345678", "plane 333444"}


def test_a_hand_that_an_action_leaves_is_described_by_its_thresholds_and_prospects() -> None:
    """Whether it holds chains is said by its prospects well enough."""
    state = State.from_hands(["3334445678", "9", "T"], check_sizes=False)
    pass_alone = np.eye(1, 400, dtype=np.int8)  # whose hand is the whole hand
    rest = describe_afterstates(observe(state)[None], pass_alone).columns[0]
    own = describe_observations(observe(state)[None], 0)[0]
    assert len(rest) == REST_COLUMNS == PLANES + PROSPECTS
    assert rest[:PLANES].tolist() == own[POLICY_INPUTS.at.hand :][:PLANES].tolist()
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


@pytest.mark.parametrize("history", [0, 2, 15])
def test_a_pass_long_ago_is_among_the_signs_however_few_moves_are_shown(history: int) -> None:
    state = State.from_hands(["3456789TJ", "334455", "66778899"], check_sizes=False)
    for move in ("3", "pass", "pass", "4", "5", "6", "7", "pass", "pass", "8", "pass", "pass"):
        state.step(move)
    signs = describe_observations(observe(state)[None], history)[0, -SIGNS:].reshape(2, 2, 15)
    assert signs[:, 0, 0].tolist() == [1, 1]  # both let the 3 pass, eleven moves ago; since then only 7 and 8


def test_the_tables_of_inputs_are_the_columns_that_the_kernels_write() -> None:
    """Every column of a row is written, and none behind it: a width that is wrong leaves a gap or hides a column."""
    batch = SelfPlayBatch(4, "bidding", seed=5, threads=1, concealed=True)
    rules, known = Rules().words(), np.zeros(4, np.bool_)
    for history in (0, 3, 15):
        size = observation_columns(history)
        out = np.full((4, size + 9), np.nan, np.float32)
        inputs._describe_observations(batch.observation, history, rules, new_rule_scratch(), out)
        assert np.isfinite(out[:, :size]).all()
        assert np.isnan(out[:, size:]).all()
    out = np.full((4, GAME_COLUMNS + 9), np.nan, np.float32)
    inputs._describe_games(batch.observation, batch.concealed, known, rules, new_rule_scratch(), out)
    assert np.isfinite(out[:, :GAME_COLUMNS]).all()
    assert np.isnan(out[:, GAME_COLUMNS:]).all()
    found = describe_afterstates(batch.observation, batch.mask)
    wide = found._replace(columns=np.full((len(found.rows), REST_COLUMNS + 9), np.nan, np.float32))
    _describe_afterstates(batch.observation, batch.mask, True, rules, new_rule_scratch(), wide)
    assert np.isfinite(wide.columns[:, :REST_COLUMNS]).all()
    assert np.isnan(wide.columns[:, REST_COLUMNS:]).all()


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


def test_the_model_answers_with_probabilities_that_sum_to_one_over_the_legal_actions() -> None:
    policy, _ = small_networks()
    model = NetworkPolicy(policy)
    assert isinstance(model, PolicyModel)
    batch = SelfPlayBatch(50, seed=1, threads=1)
    log_probabilities, values = model.evaluate(batch.observation, batch.mask)
    assert (np.exp(log_probabilities)[batch.mask == 0] == 0).all()
    np.testing.assert_allclose(np.exp(log_probabilities).sum(1), 1, atol=1e-5)
    assert values.shape == (50,)


def test_an_untrained_policy_is_nearly_uniform() -> None:
    batch = SelfPlayBatch(50, seed=1, threads=1)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = NetworkPolicy(PolicyNetwork(Architecture()))
    log_probabilities, values = model.evaluate(batch.observation, batch.mask)
    uniform = 1 / batch.mask.sum(1)
    assert (np.exp(log_probabilities.max(1)) < 1.5 * uniform).all()
    assert (np.abs(values) < 0.1).all()


def test_wrong_inputs_have_a_named_error() -> None:
    policy, _ = small_networks()
    model = NetworkPolicy(policy)
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


@pytest.mark.parametrize("wrong", [{"width": 0}, {"blocks": -1}, {"history": 16}, {"width": 2.5}, {"width": True}])
def test_sizes_out_of_range_have_a_named_error(wrong: dict[str, int]) -> None:
    with pytest.raises(InvalidArchitectureError, match=next(iter(wrong))):
        Architecture(**wrong)


def test_architectures_are_read_as_they_are_written() -> None:
    assert Architecture.from_dict(SMALL.as_dict()) == SMALL
    for wrong in (None, {}, SMALL.as_dict() | {"depth": 3}):
        with pytest.raises(InvalidArchitectureError, match="options"):
            Architecture.from_dict(wrong)
