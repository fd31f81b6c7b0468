"""Gradient steps: every decision is described by its own appraisals, and the gradient is that of the losses."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch

from ddz_agents.neural.afterstates import describe_afterstates
from ddz_agents.neural.columns import describe_games
from ddz_agents.neural.network import Critic, PolicyNetwork, masked_log_probabilities, policy_input
from ddz_env.envs.batch import SelfPlayBatch
from ddz_training.learn.ppo.config import SelfPlayConfig
from ddz_training.learn.ppo.games import drawn, evaluate, unpack_masks
from ddz_training.learn.ppo.ppo import Decisions, Learner
from ddz_training.learn.threads import Threads
from tests.oracles.network_policy import NetworkPolicy
from tests.oracles.ppo_reference import chosen_log_probabilities, clipped_policy_losses, masked_entropy, value_losses
from tests.training.learn.test_ppo_rollout import SMALL

CLIP = 0.2
SETTINGS: dict[str, Any] = {"architecture": SMALL, "max_gradient": 1e9, "minibatch": 1000, "clip": CLIP}


def networks(seed: int) -> tuple[PolicyNetwork, Critic]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        policy, critic = PolicyNetwork(SMALL), Critic(SMALL)
        for weight in (*policy.parameters(), *critic.parameters()):
            torch.nn.init.normal_(weight, std=0.2)
    return policy, critic


def decided(policy: PolicyNetwork, games: int = 120) -> Decisions:
    rng = np.random.default_rng(3)
    batch = SelfPlayBatch(games, seed=8, threads=1, concealed=True)
    for _ in range(30):
        batch.step(batch.sample_actions())
    choice = np.flatnonzero(batch.mask.sum(1) > 1)
    observations, masks, concealed = batch.observation[choice], batch.mask[choice], batch.concealed[choice]
    logs, found = evaluate(policy, observations, masks)
    count = len(choice)
    appraisals = np.empty(count, np.object_)
    appraisals[:] = np.split(found, np.cumsum(masks.sum(1, dtype=np.int64))[:-1])
    return Decisions(
        observations,
        batch.mask_words[choice],
        *drawn(logs, rng.random(count)),
        rng.choice([0.0, 1.0, 2.0], count).astype(np.float32),
        appraisals,
        describe_games(observations, concealed, rng.random(count) < 0.5),
        *(rng.normal(size=count).astype(np.float32) for _ in range(2)),
    )


@pytest.fixture(scope="module")
def decisions() -> Decisions:
    return decided(networks(0)[0])


def test_a_policy_is_evaluated_as_agents_evaluate_it() -> None:
    policy, _ = networks(0)
    batch = SelfPlayBatch(50, seed=1, threads=1)
    agent = NetworkPolicy(policy)  # from here on PyTorch has one thread, or sums would be added up in another order
    logs, appraisals = evaluate(policy, batch.observation, batch.mask)
    assert logs.tobytes() == agent.evaluate(batch.observation, batch.mask)[0].tobytes()
    assert (appraisals == describe_afterstates(batch.observation, batch.mask).hand_values).all()


def gradients(decisions: Decisions, threads: int = 1, **settings: Any) -> tuple[list[torch.Tensor], np.ndarray]:
    """What one minibatch of all decisions leaves in the weights of networks that have changed since, and its means."""
    policy, critic = networks(1)
    workers = Threads(threads)
    learner = Learner(policy, critic, SelfPlayConfig(**SETTINGS | settings), workers)
    found = learner.update(decisions, np.random.default_rng(0), 0)
    workers.close()
    return [weight.grad for weight in (*policy.parameters(), *critic.parameters())], np.array(list(found.values()))


def test_a_gradient_step_follows_the_losses(decisions: Decisions) -> None:
    """Clipped surrogates, value losses and entropy: means over the minibatch, by the pure functions."""
    config = SelfPlayConfig(**SETTINGS)
    policy, critic = networks(1)
    masks = unpack_masks(decisions.masks)
    seen, _ = policy_input(decisions.observations, masks, SMALL.history)
    logits, values = policy(*seen)
    worth = critic(torch.from_numpy(decisions.games))
    logs, targets = masked_log_probabilities(logits, torch.from_numpy(masks)), torch.from_numpy(decisions.targets)
    counts, old, advantages = map(
        torch.from_numpy, (decisions.counts, decisions.log_probabilities, decisions.advantages)
    )
    chosen = chosen_log_probabilities(logs, torch.from_numpy(decisions.actions))
    policy_loss = (counts * clipped_policy_losses(chosen, old, advantages, CLIP)).mean()
    value_loss, critic_loss = (counts * value_losses(values, targets)).mean(), value_losses(worth, targets).mean()
    entropy = (counts * masked_entropy(logs)).mean()
    total = policy_loss + config.value_weight * value_loss + critic_loss - config.entropy * entropy
    expected = torch.autograd.grad(total, [*policy.parameters(), *critic.parameters()])
    found, statistics = gradients(decisions)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-3, atol=1e-6)
    change = (chosen - old).detach()
    divergence = (counts * (change.exp() - 1 - change)).mean()
    clipped = (counts * ((change.exp() - 1).abs() > CLIP)).mean()
    means = [policy_loss, value_loss, critic_loss, entropy, divergence, clipped]
    assert statistics.tolist() == pytest.approx([float(mean.detach()) for mean in means], rel=1e-4, abs=1e-5)
    assert 0.2 < clipped < 0.8 * counts.mean()  # some ratios are clipped and some are not


def test_a_gradient_does_not_depend_on_the_threads_and_hardly_on_the_shards(decisions: Decisions) -> None:
    whole, statistics = gradients(decisions)
    one, two = (gradients(decisions, threads, shard=17) for threads in (1, 2))
    assert one[1].tobytes() == two[1].tobytes()
    assert one[1].tolist() == pytest.approx(statistics.tolist(), rel=1e-5, abs=1e-6)
    for first, second, third in zip(one[0], two[0], whole, strict=True):
        assert torch.equal(first, second)
        np.testing.assert_allclose(first.numpy(), third.numpy(), rtol=1e-3, atol=1e-6)


def test_the_critic_learns_where_no_decision_counts(decisions: Decisions) -> None:
    found, _ = gradients(dataclasses.replace(decisions, counts=np.zeros_like(decisions.counts)))
    policies = len(list(networks(0)[0].parameters()))
    assert not any(part.any() for part in found[:policies])
    assert all(part.any() for part in found[policies:])


def test_a_gradient_step_is_computed_where_the_networks_are(decisions: Decisions) -> None:
    """Tensors of PyTorch's meta device have no numbers; operations on tensors of two devices fail."""
    policy, critic = networks(1)
    workers = Threads(1)
    learner = Learner(policy, critic, SelfPlayConfig(**SETTINGS), workers)
    workers.close()
    policy.to("meta"), critic.to("meta")
    loss, statistics = learner._loss(decisions, 0.01)
    gradient = torch.autograd.grad(loss, [*policy.parameters(), *critic.parameters()])
    assert {part.device.type for part in (*gradient, statistics)} == {"meta"}
    with pytest.raises(RuntimeError, match="meta"):
        policy(*policy_input(decisions.observations, unpack_masks(decisions.masks), SMALL.history)[0])
