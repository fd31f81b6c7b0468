"""The compiled loss of the policy and its gradient, against automatic differentiation of the pure functions."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from ddz_agents.neural.network import masked_log_probabilities
from ddz_env.core.actions import NUM_ACTIONS
from ddz_training.learn.ppo.kernels import (
    NONE,
    SURROGATE_SUMS,
    LossWeights,
    SurrogateInputs,
    pick_candidates,
    surrogate_gradient,
)
from tests.oracles.ppo_reference import chosen_log_probabilities, clipped_policy_losses, masked_entropy

CLIP, ENTROPY_WEIGHT, FLOOR = 0.2, 0.03, 0.08


def random_batch(seed: int, rows: int = 100, *, change: float = 0.4, room: int = 4) -> SurrogateInputs:
    """Some policies are sure of themselves, some are not; some decisions have no candidates."""
    rng = np.random.default_rng(seed)
    masks = np.zeros((rows, NUM_ACTIONS), np.int8)
    for row in masks:
        row[rng.choice(NUM_ACTIONS, rng.integers(2, 40), replace=False)] = 1
    before = rng.normal(size=(rows, NUM_ACTIONS)) * rng.choice([0.2, 1.0, 5.0], (rows, 1))
    logits = (before + change * rng.normal(size=before.shape)).astype(np.float32)
    past = masked_log_probabilities(torch.from_numpy(before).float(), torch.from_numpy(masks)).numpy()
    candidates, chances = np.empty((rows, room), np.int16), np.empty((rows, room), np.float32)
    pick_candidates(past, 0.02, candidates, chances)
    actions = np.array([rng.choice(np.flatnonzero(row)) for row in masks])
    foreseen = np.where(candidates == NONE, 0, rng.normal(size=candidates.shape)).astype(np.float32)
    old, advantages = past[np.arange(rows), actions], rng.normal(size=rows).astype(np.float32)
    return SurrogateInputs(
        logits, masks, np.ones(rows, np.float32), actions, old, advantages, candidates, chances, foreseen
    )


def compiled(
    batch: SurrogateInputs, share: float, entropy_weight: float = ENTROPY_WEIGHT
) -> tuple[np.ndarray, np.ndarray]:
    gradient, sums = np.zeros_like(batch.logits), np.zeros(SURROGATE_SUMS)
    surrogate_gradient(batch, LossWeights(share, FLOOR, CLIP, entropy_weight), gradient, sums)
    return gradient, sums


def log_probabilities(batch: SurrogateInputs) -> tuple[Tensor, Tensor]:
    logits = torch.from_numpy(batch.logits).double().requires_grad_()
    return logits, masked_log_probabilities(logits, torch.from_numpy(batch.masks))


def surrogates(batch: SurrogateInputs, logs: Tensor, share: float) -> Tensor:
    """The sum of the two kinds of surrogates in their shares, in float64, by the pure functions."""
    old, advantages, chances, foreseen = (
        torch.from_numpy(array).double() for array in (batch.old, batch.advantages, batch.chances, batch.foreseen)
    )
    chosen = chosen_log_probabilities(logs, torch.from_numpy(batch.actions))
    own = torch.from_numpy(np.where(batch.candidates[:, 0] != NONE, 1 - share, 1.0))
    total = (own * clipped_policy_losses(chosen, old, advantages, CLIP)).sum()
    for place in range(batch.candidates.shape[1]):
        there = torch.from_numpy(batch.candidates[:, place] != NONE)
        considered = torch.from_numpy(batch.candidates[:, place].astype(np.int64))[there]
        new, chance = chosen_log_probabilities(logs[there], considered), chances[there, place]
        weight = torch.where(foreseen[there, place] > 0, chance.clamp(min=FLOOR), chance)
        total = total + share * (weight * clipped_policy_losses(new, chance.log(), foreseen[there, place], CLIP)).sum()
    return total


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("change", [0.0, 0.05, 0.6])
def test_the_gradient_is_that_of_the_pure_functions(share: float, change: float) -> None:
    batch = random_batch(1, change=change)
    logits, logs = log_probabilities(batch)
    loss = surrogates(batch, logs, share) - ENTROPY_WEIGHT * masked_entropy(logs).sum()
    (expected,) = torch.autograd.grad(loss, logits)
    gradient, _ = compiled(batch, share)
    np.testing.assert_allclose(gradient, expected.numpy(), rtol=1e-4, atol=2e-7)
    assert np.abs(gradient[batch.masks == 1]).max() > 0.01


def test_the_magnet_draws_by_the_gradient_of_the_divergence_from_it() -> None:
    batch = random_batch(9)
    magnet = np.random.default_rng(10).normal(size=batch.logits.shape).astype(np.float32)
    magnet[batch.masks == 0] = 1e30  # whatever it says of what is illegal
    logits, logs = log_probabilities(batch)
    drawn_to = masked_log_probabilities(torch.from_numpy(magnet).double(), torch.from_numpy(batch.masks))
    legal = torch.from_numpy(batch.masks == 1)
    divergence = (logs[legal].exp() * (logs[legal] - drawn_to[legal])).sum()
    (expected,) = torch.autograd.grad(0.3 * divergence, logits)
    free, _ = compiled(batch, 0.5)
    drawn = np.zeros_like(free)
    terms = LossWeights(0.5, FLOOR, CLIP, ENTROPY_WEIGHT, 0.3)
    surrogate_gradient(batch._replace(magnet=magnet), terms, drawn, np.zeros(SURROGATE_SUMS))
    np.testing.assert_allclose(drawn - free, expected.numpy(), rtol=1e-4, atol=1e-6)
    assert np.abs(drawn - free).max() > 0.01


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_illegal_actions_have_no_gradient_at_all(share: float) -> None:
    batch = random_batch(2)
    batch.logits[batch.masks == 0] = 1e30  # whatever the network says of them
    gradient, sums = compiled(batch, share)
    assert (gradient[batch.masks == 0] == 0).all()
    assert np.isfinite(gradient).all()
    assert np.isfinite(sums).all()


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_the_sums_are_loss_entropy_divergence_and_clipped_ratios(share: float) -> None:
    batch = random_batch(4)
    with torch.no_grad():
        _, logs = log_probabilities(batch)
        change = chosen_log_probabilities(logs, torch.from_numpy(batch.actions)) - torch.from_numpy(batch.old)
        ratios = change.exp()
        clipped = ((ratios - 1).abs() > CLIP).sum()
        divergence = (ratios - 1 - change).sum()
        expected = [surrogates(batch, logs, share), masked_entropy(logs).sum(), divergence, clipped]
    _, sums = compiled(batch, share)
    assert sums.tolist() == pytest.approx([float(value) for value in expected], rel=1e-5, abs=1e-5)
    assert 20 < sums[3] < 80  # some ratios are clipped and some are not


def test_sums_are_added_to_and_do_not_depend_on_the_entropys_weight() -> None:
    batch = random_batch(5)
    _, sums = compiled(batch, 0.5)
    again = sums.copy()
    surrogate_gradient(batch, LossWeights(0.5, FLOOR, CLIP, 0.0), np.zeros_like(batch.logits), again)
    assert again.tolist() == pytest.approx((2 * sums).tolist())
