"""Networks that grow: they compute what the smaller ones do, and then learn on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from ddz_agents.neural.network import Architecture, Critic, PolicyNetwork
from ddz_agents.neural.weights import Weights
from ddz_env.envs.batch import SelfPlayBatch
from ddz_training.learn.errors import InvalidTrainingError
from ddz_training.learn.ppo.games import value_games
from ddz_training.learn.ppo.selfplay import SelfPlay, new_networks
from tests.training.learn.test_ppo_selfplay import small_config

SMALL = Architecture(width=8, blocks=1, rest_width=4, rest_features=4, critic_width=6, critic_blocks=1, history=2)


@pytest.fixture(scope="module")
def start() -> Weights:
    """Weights whose normalizations and outputs are not what they begin with."""
    networks = PolicyNetwork(SMALL), Critic(SMALL)
    with torch.no_grad(), torch.random.fork_rng():
        torch.manual_seed(0)
        for weight in (*networks[0].parameters(), *networks[1].parameters()):
            weight.normal_(0.3, 0.5)
    return Weights(*networks)


def random_games(critic: Critic) -> np.ndarray:
    return np.random.default_rng(0).random((50, critic.trunk[0].in_features), np.float32)


@pytest.mark.parametrize(
    ("grown", "exact"),
    [
        ({}, True),
        ({"width": 16}, True),
        ({"width": 24, "rest_width": 8, "critic_width": 12}, True),
        ({"width": 16, "blocks": 3, "critic_blocks": 2}, False),
    ],
)
def test_a_larger_network_computes_what_the_smaller_does(start: Weights, grown: dict[str, int], exact: bool) -> None:
    policy, critic = new_networks(small_config(architecture=replace(SMALL, **grown)), start)
    batch, games = SelfPlayBatch(16, "standard", 1, 1, concealed=True), random_games(critic)
    with torch.inference_mode():
        old, new = (network.answer(batch.observation, batch.mask)[0].exp() for network in (start.policy, policy))
    assert start.critic is not None
    values = value_games(start.critic, games), value_games(critic, games)
    tolerance = 1e-4 if exact else 0.1
    assert float((old - new).abs().max()) < tolerance
    assert float(np.abs(values[0] - values[1]).max()) < tolerance * (1 + float(np.abs(values[0]).max()))


def test_copies_of_a_unit_learn_different_things(start: Weights) -> None:
    config = small_config(architecture=replace(SMALL, width=16, critic_width=12), opponent_share=0.0, rules_share=0.0)
    run = SelfPlay(config, 1, start)
    run.step()
    run.close()
    for network, width in ((run.learner.policy, 8), (run.learner.critic, 6)):
        weight = network.trunk[0].weight.detach().numpy()
        assert (np.abs(weight[:width] - weight[width:]).max(axis=1) > 0).mean() > 0.5


@pytest.mark.parametrize(
    ("smaller", "message"), [({"width": 12}, r"trunk\.0\.weight .*no multiple"), ({"blocks": 0}, "0 blocks")]
)
def test_what_cannot_grow_is_refused(start: Weights, smaller: dict[str, int], message: str) -> None:
    with pytest.raises(InvalidTrainingError, match=message):
        new_networks(small_config(architecture=replace(SMALL, **smaller)), start)


def test_reduced_precision_is_close_and_gives_float32(start: Weights) -> None:
    policy, critic = new_networks(small_config(architecture=SMALL, precision="bfloat16"), start)
    assert start.critic is not None
    exact, close = (value_games(network, random_games(critic)) for network in (start.critic, critic))
    assert close.dtype == np.float32
    assert 0 < np.abs(exact - close).max() < 0.05 * np.abs(exact).max()
    assert {weight.dtype for weight in policy.parameters()} == {torch.float32}
