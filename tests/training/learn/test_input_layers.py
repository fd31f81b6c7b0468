"""Decisions as bytes: three ways to the same columns, two ways through the same networks."""

from __future__ import annotations

import copy
import dataclasses
from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor

from ddz_agents.neural import feature_table as kinds
from ddz_agents.neural.decisions import describe_afterstates, describe_games, describe_observations
from ddz_agents.neural.feature_table import CRITIC_INPUTS, REST_INPUTS, FeatureTable, policy_inputs
from ddz_agents.neural.features import CHAINS
from ddz_agents.neural.network import Critic, PolicyNetwork, legal_log_probabilities
from ddz_agents.rules.workspace import new_rule_workspace
from ddz_training.learn.input_layers import (
    GpuInputLayer,
    InputLayer,
    LegalPairs,
    cache_running_sums,
    forward_critic,
    forward_policy,
    make_input_layer,
)
from tests.oracles.columns_reference import hand_left, prospects
from tests.training.learn.test_games import CPU, SMALL, games_of


class Positions(NamedTuple):
    """Positions as environments show them, and the same as decisions."""

    observations: np.ndarray
    concealed: np.ndarray
    masks: np.ndarray
    against_rules: np.ndarray
    seen: np.ndarray
    hand_values: np.ndarray
    actions: np.ndarray
    action_values: np.ndarray

    def tensors(self) -> tuple[Tensor, Tensor, LegalPairs]:
        """The tensors that readings take."""
        rows = torch.from_numpy(np.nonzero(self.masks)[0])
        legal = LegalPairs(rows, torch.from_numpy(self.actions).long(), torch.from_numpy(self.action_values))
        return torch.from_numpy(self.seen), torch.from_numpy(self.hand_values), legal


@pytest.fixture(scope="module", params=["mini", "bidding"])
def positions(request: pytest.FixtureRequest) -> Positions:
    """Thousands, in games at random, some of them against the rule agent."""
    games, scratch, found = games_of(200, request.param, rules_share=0.5), new_rule_workspace(), []
    for _ in range(24):
        games.batch.step(games.batch.sample_actions())
        games.find_decisions(has_past=False)
        games.encode_decisions(0, 77, scratch)
        games.encode_decisions(77, 200, scratch)
        shown = games.batch.observation, games.batch.concealed, games.batch.mask, games.against_rules
        found.append(
            [part.copy() for part in (*(part[games.learner_games] for part in shown), *games.encoded_decisions())]
        )
    return Positions(*map(np.concatenate, zip(*found, strict=True)))


def expanded(table: FeatureTable, seen: np.ndarray, hand_values: np.ndarray) -> np.ndarray:
    """The columns of a table as its rows say, one by one."""
    hands, columns = prospects(hand_values), []
    for kind, source, number in table.columns:
        if kind == kinds.SCALED:
            columns.append(seen[:, source] * np.float32(number))
        elif kind == kinds.AT_LEAST:
            columns.append(seen[:, source] >= number)
        elif kind == kinds.CHAIN:
            columns.append((seen[:, kinds.HAND :][:, :15] >= np.array(CHAINS[source].need)).all(1))
        else:
            columns.append(hands[:, source, int(number)])
    return np.stack(columns, 1).astype(np.float32)


@pytest.mark.parametrize("history", [15, 2])
def test_columns_are_the_same_to_the_bit_however_they_are_made(positions: Positions, history: int) -> None:
    """By the kernels of play, by tensor operations on the bytes of decisions, and one by one by the tables."""
    observations, concealed, masks, by_rules, seen, hand_values, actions, action_values = positions
    assert len(seen) > 1000
    assert 0 < by_rules.mean() < 1
    architecture = dataclasses.replace(SMALL, history=history)
    input_layer, (*bytes_seen, legal) = GpuInputLayer(architecture, CPU), positions.tensors()
    afterstates = describe_afterstates(observations, masks)
    assert (afterstates.actions == actions).all()
    rests = np.array([hand_left(observations[row], action) for row, action in zip(legal.rows, actions, strict=True)])
    for by_kernel, by_tensors, table, source in (
        (describe_observations(observations, history), input_layer.policy(*bytes_seen), policy_inputs(history), seen),
        (describe_games(observations, concealed, by_rules), input_layer.critic(*bytes_seen), CRITIC_INPUTS, seen),
        (afterstates.columns, input_layer.rests(bytes_seen[0], legal), REST_INPUTS, rests),
    ):
        values = action_values[:, None] if source is rests else hand_values
        assert np.array_equal(by_kernel, expanded(table, source, values))
        assert np.array_equal(by_kernel, by_tensors.numpy())
        assert ((by_kernel >= 0) & (by_kernel <= 1)).all()


def answers(positions: Positions, input_layer: InputLayer, policy: PolicyNetwork, critic: Critic) -> list[Tensor]:
    """Logits, the policy's values and the critic's, and the gradients of a function of them."""
    seen, hand_values, legal = positions.tensors()
    logits, values = forward_policy(input_layer, policy, seen, hand_values, legal)
    worth = forward_critic(input_layer, critic, seen, hand_values)
    results = [logits, values, worth]
    if not torch.is_grad_enabled():
        return results
    loss = logits.square().mean() + values.exp().mean() + worth.square().mean()
    return [*results, *torch.autograd.grad(loss, [*policy.parameters(), *critic.parameters()])]


@pytest.mark.parametrize("history", [15, 2])
def test_rows_of_running_sums_are_columns_multiplied(positions: Positions, history: int) -> None:
    architecture = dataclasses.replace(SMALL, history=history)
    torch.manual_seed(0)
    policy, critic = PolicyNetwork(architecture), Critic(architecture)
    for weight in (*policy.parameters(), *critic.parameters()):
        torch.nn.init.normal_(weight, std=0.1)
    networks = copy.deepcopy(policy), copy.deepcopy(critic)
    input_layer = make_input_layer(CPU, *networks)
    found = answers(positions, input_layer, *networks)
    for one, other in zip(found, answers(positions, GpuInputLayer(architecture, CPU), policy, critic), strict=True):
        assert (one - other).abs().max() <= 1e-5 * other.abs().max()
    with torch.no_grad(), cache_running_sums(*networks):
        for one, other in zip(answers(positions, input_layer, *networks), found, strict=False):
            assert (one - other).abs().max() <= 1e-5 * other.abs().max()
    with torch.no_grad():  # as agents evaluate it
        logs, values = policy.evaluate(positions.observations, positions.masks)
    rows = positions.tensors()[2].rows
    torch.testing.assert_close(legal_log_probabilities(found[0], rows, len(values)), logs[positions.masks > 0])
    torch.testing.assert_close(found[1], values)
