"""PPO from masks and draws over advantages to gradient steps, against references written from the papers."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
import torch

from ddz_agents.neural.decisions import describe_games
from ddz_agents.neural.network import Critic, PolicyNetwork, encode_policy_input, masked_log_probabilities
from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.observation import CONCEALED, OBSERVATION
from ddz_training.learn.errors import InvalidTrainingError
from ddz_training.learn.imitation import soft_cross_entropy
from ddz_training.learn.input_layers import GpuInputLayer, forward_critic, make_input_layer
from ddz_training.learn.ppo.config import SelfPlayConfig
from ddz_training.learn.ppo.games import share_rewards_by_side
from ddz_training.learn.ppo.ppo import Advantages, PpoLearner, Rollout, compute_seat_gae, sample_actions
from ddz_training.learn.threads import Threads
from tests.oracles.ppo_reference import chosen_log_probabilities, clipped_policy_losses, masked_entropy, value_losses
from tests.training.learn.test_games import AGAINST_RULES, CPU, SMALL, collected, games_of, masks_of


def random_logits(seed: int, rows: int = 100) -> tuple[torch.Tensor, torch.Tensor]:
    """Some policies are sure of themselves, some are not; all of them want what is illegal."""
    rng = np.random.default_rng(seed)
    masks = np.zeros((rows, NUM_ACTIONS), np.int8)
    for row in masks:
        row[rng.choice(NUM_ACTIONS, rng.integers(2, 40), replace=False)] = 1
    logits = (rng.normal(size=(rows, NUM_ACTIONS)) * rng.choice([0.2, 1.0, 5.0], (rows, 1))).astype(np.float32)
    logits[masks == 0] = 1e30
    return torch.from_numpy(logits), torch.from_numpy(masks)


def test_illegal_actions_have_probability_zero_exactly_and_pass_no_gradient() -> None:
    logits, masks = random_logits(0)
    logs = masked_log_probabilities(logits.requires_grad_(), masks)
    assert (logs.exp()[masks == 0] == 0).all()
    for row, legal in enumerate(masks.bool()):
        torch.testing.assert_close(logs.exp()[row, legal], torch.softmax(logits[row, legal], 0))
    loss = chosen_log_probabilities(logs, masks.argmax(1)).sum() + masked_entropy(logs).sum()
    (gradient,) = torch.autograd.grad(loss, logits)
    assert gradient.isfinite().all()
    assert (gradient[masks == 0] == 0).all()


def test_imitating_a_distribution_costs_its_entropy_at_best() -> None:
    shares, masks = torch.tensor([[0.5, 0.25, 0.25, 0.0]]), torch.tensor([[1, 1, 1, 0]])
    best = soft_cross_entropy(masked_log_probabilities(shares.clamp(min=1e-9).log(), masks), shares)
    assert best.item() == pytest.approx(1.5 * math.log(2), abs=1e-6)
    logits = torch.zeros(1, 4, requires_grad=True)
    worse = soft_cross_entropy(masked_log_probabilities(logits, masks), shares)
    assert worse.item() == pytest.approx(math.log(3), abs=1e-6)
    (gradient,) = torch.autograd.grad(worse.sum(), logits)
    np.testing.assert_allclose(gradient[0], [1 / 3 - 0.5, 1 / 3 - 0.25, 1 / 3 - 0.25, 0.0], atol=1e-6)


@pytest.mark.parametrize("settled_share", [1.0, 0.2])
def test_draws_follow_the_probabilities_and_settled_decisions_are_sampled(settled_share: float) -> None:
    """Contested decisions among four actions take turns with settled ones among two; each counts once on average."""
    count, generator = 40_000, torch.Generator().manual_seed(5)
    contested, settled = torch.tensor([0.05, 0.5, 0.25, 0.2]), torch.tensor([0.008, 0.992])
    rows = torch.arange(count).repeat_interleave(torch.tensor([4, 2]).repeat(count // 2))
    logits = torch.cat([contested.log() + 3, settled.log()]).repeat(count // 2)
    choice = sample_actions(logits, rows, count, generator, settled_share)
    for first, chances in ((0, contested), (1, settled)):
        places, logs, counts = (part[first::2] for part in choice)
        np.testing.assert_allclose(logs, chances.log()[places], atol=1e-5)
        shares = torch.bincount(places, minlength=len(chances)) / len(places)
        assert (abs(shares - chances) < 4 * (chances * (1 - chances) / len(places)).sqrt()).all()
        assert set(counts.tolist()) == ({1.0} if first == 0 or settled_share == 1 else {0.0, 5.0})
        assert counts.mean().item() == pytest.approx(1, abs=0.06)  # four standard deviations


def test_a_policy_that_is_sure_draws_what_it_is_sure_of() -> None:
    """However large its logits are. Among equal ones it draws any legal action, and never an illegal one."""
    sizes = torch.arange(1, 101)
    rows, generator = torch.arange(100).repeat_interleave(sizes), torch.Generator().manual_seed(0)
    logits = torch.randn(len(rows), generator=generator) * 1e30
    best = [part.argmax().item() for part in logits.split(sizes.tolist())]
    assert sample_actions(logits, rows, 100, generator).indices.tolist() == best
    for same in (0.0, 1e30, -1e30):
        places = sample_actions(torch.full_like(logits, same), rows, 100, generator).indices
        assert ((places >= 0) & (places < sizes)).all()


Columns = dict[str, np.ndarray]


def random_rollout(seed: int, steps: int = 40, envs: int = 6, seats: int = 3) -> Columns:
    rng = np.random.default_rng(seed)
    done = rng.random((steps, envs)) < 0.12
    rewards = rng.normal(size=(steps, envs, seats)) * done[..., None]
    rewards += rng.normal(size=rewards.shape) * (rng.random(rewards.shape) < 0.1)  # some on the way, too
    return {
        "values": rng.normal(size=(steps, envs)).astype(np.float32),
        "rewards": rewards.astype(np.float32),
        "seats": rng.integers(0, seats, (steps, envs), np.int8),
        "decides": rng.random((steps, envs)) < 0.7,
        "begins": rng.random((steps, envs)) < 0.7,
        "done": done,
    }


def naive_advantages(rollout: Columns, gamma: float, gae_lambda: float) -> tuple[np.ndarray, np.ndarray]:
    """One environment, one game, one seat after the other: first the errors, then their discounted sums."""
    steps, envs = rollout["values"].shape
    advantages, known = np.zeros((steps, envs)), np.zeros((steps, envs), bool)
    for env in range(envs):
        ends = [step for step in range(steps) if rollout["done"][step, env]]
        firsts = [0, *(end + 1 for end in ends)]
        for first, last in zip(firsts, [*ends, None], strict=True):
            game = range(first, steps if last is None else last + 1)
            for seat in range(rollout["rewards"].shape[2]):
                mine = [step for step in game if rollout["seats"][step, env] == seat]
                decisions = [step for step in mine if rollout["decides"][step, env]]
                errors, moves = [], []
                for place, step in enumerate(decisions):
                    value = rollout["values"][step, env]
                    if place + 1 < len(decisions):
                        following = decisions[place + 1]
                        new_move = any(rollout["begins"][s, env] for s in mine if step < s <= following)
                        discount = gamma if new_move else 1.0
                        earned = rollout["rewards"][step:following, env, seat].sum()
                        errors.append(earned + discount * rollout["values"][following, env] - value)
                        moves.append(new_move)
                    elif last is not None:
                        errors.append(rollout["rewards"][step : last + 1, env, seat].sum() - value)
                for place in range(len(errors)):
                    total, weight = 0.0, 1.0
                    for later in range(place, len(errors)):
                        total += weight * errors[later]
                        if later < len(moves):
                            weight *= gamma * gae_lambda if moves[later] else 1.0
                    advantages[decisions[place], env] = total
                    known[decisions[place], env] = True
    return advantages, known


@pytest.mark.parametrize(
    ("gamma", "gae_lambda", "target_lambda"), [(1.0, 0.95, None), (0.9, 0.8, 0.3), (1.0, 0.0, 1.0), (0.97, 1.0, None)]
)
def test_advantages_equal_those_of_a_naive_loop_over_seats(
    gamma: float, gae_lambda: float, target_lambda: float | None
) -> None:
    unknown = 0
    for seed in range(20):
        rollout = random_rollout(seed)
        found = compute_seat_gae(**rollout, gamma=gamma, gae_lambda=gae_lambda, target_lambda=target_lambda)
        advantages, known = naive_advantages(rollout, gamma, gae_lambda)
        changes, _ = naive_advantages(rollout, gamma, gae_lambda if target_lambda is None else target_lambda)
        assert (found.known == known).all()
        np.testing.assert_allclose(found.advantages, advantages, atol=1e-5)
        np.testing.assert_allclose(found.targets, np.where(known, changes + rollout["values"], 0), atol=1e-5)
        unknown += int((rollout["decides"] & ~known).sum())
    assert unknown > 100  # the last decision of every seat whose game goes on


def test_a_move_with_three_kickers_is_one_unit_of_time() -> None:
    """Worked by hand, γ = 0.9, λ = 0.5.

    Seat 0 plays 333444555+6 7 8 (main group and three kickers, values 0.1, 0.2, 0.3, 0.4), seats 1 and 2 pass, which
    was all that they could do, and seat 0 decides on its last move, value 0.8, and wins 1: 1 - 0.8 = 0.2.  The third
    kicker comes before another move, so that both apply: 0.9 * 0.8 - 0.4 + 0.9 * 0.5 * 0.2 = 0.41.  Within the first
    move neither does: 0.1 more for each stage.
    """
    values = np.array([[0.1], [0.2], [0.3], [0.4], [9.0], [9.0], [0.8]])
    seats = np.array([[0], [0], [0], [0], [1], [2], [0]])
    begins, done = np.array([[1], [0], [0], [0], [1], [1], [1]], bool), np.arange(7)[:, None] == 6
    rewards = done[..., None] * np.array([1.0, -1.0, -1.0])
    found = compute_seat_gae(values, rewards, seats, seats == 0, begins, done, gamma=0.9, gae_lambda=0.5)
    np.testing.assert_allclose(found.advantages[:, 0], [0.71, 0.61, 0.51, 0.41, 0, 0, 0.2], atol=1e-6)
    assert found.known[:, 0].tolist() == [True, True, True, True, False, False, True]


def test_peasants_share_what_the_landlord_loses() -> None:
    win = np.array([[-1.0, 0.5, 0.5], [0.5, 0.5, -1.0], [0.0, 0.0, 0.0]])
    assert share_rewards_by_side(win, np.array([0, 2, -1]), 3, "win").tolist() == [[-1, 1, 1], [1, 1, -1], [0, 0, 0]]
    stake = np.array([[6.0, -2.0, -4.0]])  # one peasant has doubled
    assert share_rewards_by_side(stake, np.array([0]), 3, "stake").tolist() == [[3, -3, -3]]
    two = np.array([[1.0, -1.0, 0.0]])
    assert share_rewards_by_side(two, np.array([0]), 2, "stake").tolist() == [[1, -1, 0]]


def test_what_is_out_of_range_has_a_named_error() -> None:
    rollout = random_rollout(1)
    for wrong in ({"gamma": 1.5}, {"gae_lambda": -0.1}, {"target_lambda": 2.0}):
        with pytest.raises(InvalidTrainingError, match=r"must be in 0\.\.1"):
            compute_seat_gae(**rollout, **wrong)  # type: ignore[arg-type]
    rollout["done"] = rollout["done"][:-1]
    with pytest.raises(InvalidTrainingError, match=r"\[steps, envs\]"):
        compute_seat_gae(**rollout)


CLIP = 0.2
SETTINGS: dict[str, Any] = {
    "update_epochs": 1,
    "architecture": SMALL,
    "max_grad_norm": 1e9,
    "minibatch": 1000,
    "clip_coef": CLIP,
}


def networks(seed: int) -> tuple[PolicyNetwork, Critic]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        policy, critic = PolicyNetwork(SMALL), Critic(SMALL)
        for weight in (*policy.parameters(), *critic.parameters()):
            torch.nn.init.normal_(weight, std=0.2)
    return policy, critic


@pytest.fixture(scope="module")
def decisions() -> Rollout:
    """Decisions of another policy in the middle of games; what counts and what they brought is random."""
    rng, games = np.random.default_rng(3), games_of(60)
    for _ in range(30):
        games.batch.step(games.batch.sample_actions())
    rollout = collected(games, 3, sample_actions, networks(0)[0])
    count = len(rollout.seen)
    rollout.seen[:, AGAINST_RULES] = torch.from_numpy(rng.random(count) < 0.5)
    counts = torch.from_numpy(rng.choice([0.0, 1.0, 2.0], count).astype(np.float32))
    advantages, targets = torch.from_numpy(rng.normal(size=(2, count)).astype(np.float32))
    choice = rollout.choice._replace(loss_weights=counts)
    return dataclasses.replace(rollout, choice=choice, advantages=advantages, targets=targets)


def learner_of(threads: Threads, on_device: bool = False, **settings: Any) -> PpoLearner:
    """Networks that have changed since, which read as on a GPU or as on a processor."""
    policy, critic = networks(1)
    input_layer = GpuInputLayer(SMALL, CPU) if on_device else make_input_layer(CPU, policy, critic)
    return PpoLearner(policy, critic, SelfPlayConfig(**SETTINGS | settings), threads, input_layer)


def gradients(decisions: Rollout, threads: int = 1, **settings: Any) -> tuple[list[torch.Tensor], dict[str, float]]:
    """What one minibatch of all decisions leaves in the weights, and its means."""
    workers = Threads(threads)
    learner = learner_of(workers, **settings)
    found = learner.update(decisions, np.arange(len(decisions.seen)), np.random.default_rng(0), 0, 0.0)
    workers.close()
    weights = (*learner.policy.parameters(), *learner.critic.parameters())
    return [weight.grad for weight in weights], found


@pytest.mark.parametrize("on_device", [False, True])
def test_a_gradient_step_follows_the_losses(decisions: Rollout, on_device: bool) -> None:
    """Clipped surrogates, value losses and entropy: means over the minibatch, by the pure functions."""
    config = SelfPlayConfig(**SETTINGS)
    policy, critic = networks(1)
    bytes_seen, masks = decisions.seen.numpy(), masks_of(decisions)
    observations, concealed = bytes_seen[:, : OBSERVATION.size], bytes_seen[:, OBSERVATION.size :][:, : CONCEALED.size]
    actions = decisions.legal_actions[decisions.starts + decisions.choice.indices].long()
    logits, values = policy(*encode_policy_input(observations, masks, SMALL.history))
    worth = critic(torch.from_numpy(describe_games(observations, concealed, bytes_seen[:, AGAINST_RULES] > 0)))
    logs, targets = masked_log_probabilities(logits, torch.from_numpy(masks)), decisions.targets
    counts, old, advantages = decisions.choice.loss_weights, decisions.choice.log_probabilities, decisions.advantages
    chosen = chosen_log_probabilities(logs, actions)
    policy_loss = (counts * clipped_policy_losses(chosen, old, advantages, CLIP)).mean()
    value_loss, critic_loss = (counts * value_losses(values, targets)).mean(), value_losses(worth, targets).mean()
    entropy = (counts * masked_entropy(logs)).mean()
    total = policy_loss + config.vf_coef * value_loss + critic_loss - config.ent_coef * entropy
    expected = torch.autograd.grad(total, [*policy.parameters(), *critic.parameters()])
    found, statistics = gradients(decisions, on_device=on_device)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-3, atol=1e-6)
    change = (chosen - old).detach()
    divergence = (counts * (change.exp() - 1 - change)).mean()
    clipped = (counts * ((change.exp() - 1).abs() > CLIP)).mean()
    means = {"policy_loss": policy_loss, "value_loss": value_loss, "critic_loss": critic_loss, "entropy": entropy}
    means |= {"approx_kl": divergence, "clip_fraction": clipped}
    assert statistics == pytest.approx({name: float(mean.detach()) for name, mean in means.items()}, rel=1e-4, abs=1e-5)
    assert 0.2 < clipped < 0.8 * counts.mean()  # some ratios are clipped and some are not


def test_a_gradient_does_not_depend_on_the_threads_and_hardly_on_the_shards(decisions: Rollout) -> None:
    whole, statistics = gradients(decisions)
    one, two = (gradients(decisions, threads, microbatch=17) for threads in (1, 2))
    assert one[1] == two[1]
    assert one[1] == pytest.approx(statistics, rel=1e-5, abs=1e-6)
    for first, second, third in zip(one[0], two[0], whole, strict=True):
        assert torch.equal(first, second)
        np.testing.assert_allclose(first.numpy(), third.numpy(), rtol=1e-3, atol=1e-6)


def test_the_critic_learns_where_no_decision_counts(decisions: Rollout) -> None:
    nothing = decisions.choice._replace(loss_weights=torch.zeros_like(decisions.choice.loss_weights))
    found, _ = gradients(dataclasses.replace(decisions, choice=nothing))
    policies = len(list(networks(0)[0].parameters()))
    assert not any(part.any() for part in found[:policies])
    assert all(part.any() for part in found[policies:])


@pytest.mark.parametrize(("quantile", "floor"), [(0.0, 0.0), (0.75, 0.01), (0.5, 0.0), (0.0, 0.8), (0.25, 0.8)])
def test_the_policy_learns_from_large_advantages_alone(decisions: Rollout, quantile: float, floor: float) -> None:
    """A large one has enough others below it and is at least the floor; every known decision is the critic's."""
    rng, played = np.random.default_rng(1), decisions.played
    known = played.decides & (rng.random(played.rows.shape) < 0.8)
    advantages, targets = np.where(known, rng.normal(size=(2, *known.shape)), 0.0).astype(np.float32)
    counts, rows = decisions.choice.loss_weights.clone(), played.rows[known]
    sizes = [abs(advantage) for advantage in advantages[known].tolist()]
    for row, size in zip(rows.tolist(), sizes, strict=True):
        if sum(other < size for other in sizes) < quantile * (len(sizes) - 1) or size < floor:
            counts[row] = 0.0
    rollout = dataclasses.replace(
        decisions, choice=decisions.choice._replace(loss_weights=decisions.choice.loss_weights.clone())
    )
    learner = learner_of(Threads(1), advantage_quantile=quantile, advantage_floor=floor)
    usable, _ = learner.store_estimates(
        rollout, np.zeros(len(counts), np.float32), Advantages(advantages, targets, known)
    )
    assert torch.equal(rollout.choice.loss_weights, counts)
    assert usable.tolist() == sorted(rows.tolist())
    assert torch.equal(counts, decisions.choice.loss_weights) == (quantile == floor == 0.0)


def test_a_gradient_step_is_computed_where_the_networks_are(decisions: Rollout) -> None:
    """Tensors of PyTorch's meta device have no numbers; operations on tensors of two devices fail."""
    policy, critic = (network.to("meta") for network in networks(1))
    workers, input_layer = Threads(1), GpuInputLayer(SMALL, torch.device("meta"))
    learner = PpoLearner(policy, critic, SelfPlayConfig(**SETTINGS), workers, input_layer)
    workers.close()
    names = [each.name for each in dataclasses.fields(decisions)]
    parts: dict[str, Any] = {
        name: part.to("meta") for name in names if isinstance(part := getattr(decisions, name), torch.Tensor)
    }
    parts["choice"] = type(decisions.choice)(*(part.to("meta") for part in decisions.choice))
    there, rows = dataclasses.replace(decisions, **parts), torch.arange(5, device="meta")
    loss, sums = learner.policy_loss(there, rows, 40, 0.01)
    loss = loss + forward_critic(input_layer, critic, there.seen, there.hand_values).sum()
    gradient = torch.autograd.grad(loss, [*policy.parameters(), *critic.parameters()])
    assert {part.device.type for part in (*gradient, *sums.values())} == {"meta"}
    with pytest.raises(RuntimeError, match="meta"):
        learner.policy_loss(decisions, torch.arange(5), int(decisions.sizes[:5].sum()), 0.01)
