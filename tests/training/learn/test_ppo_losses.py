"""Masking, draws and losses: the compiled gradient against automatic differentiation of what stands on paper."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from ddz_agents.neural.network import masked_log_probabilities
from ddz_env.core.actions import NUM_ACTIONS
from ddz_training.learn.imitation import soft_cross_entropies
from ddz_training.learn.ppo.kernels import (
    NONE,
    SURROGATE_SUMS,
    LossWeights,
    SurrogateInputs,
    drawn,
    pick_candidates,
    surrogate_gradient,
)
from tests.oracles.ppo_reference import chosen_log_probabilities, clipped_policy_losses, masked_entropy

CLIP, ENTROPY_WEIGHT, FLOOR = 0.2, 0.03, 0.08


def random_batch(seed: int, rows: int = 100, *, change: float = 0.4, room: int = 4) -> SurrogateInputs:
    """Some policies are sure of themselves, some are not; all of them want what is illegal; not all have candidates."""
    rng = np.random.default_rng(seed)
    masks = np.zeros((rows, NUM_ACTIONS), np.int8)
    for row in masks:
        row[rng.choice(NUM_ACTIONS, rng.integers(2, 40), replace=False)] = 1
    before = rng.normal(size=(rows, NUM_ACTIONS)) * rng.choice([0.2, 1.0, 5.0], (rows, 1))
    logits = (before + change * rng.normal(size=before.shape)).astype(np.float32)
    logits[masks == 0] = 1e30
    past = masked_log_probabilities(torch.from_numpy(before).float(), torch.from_numpy(masks)).numpy()
    candidates, chances = np.empty((rows, room), np.int16), np.empty((rows, room), np.float32)
    pick_candidates(past, 0.02, candidates, chances)
    actions = np.array([rng.choice(np.flatnonzero(row)) for row in masks])
    foreseen = np.where(candidates == NONE, 0, rng.normal(size=candidates.shape)).astype(np.float32)
    old, advantages = past[np.arange(rows), actions], rng.normal(size=rows).astype(np.float32)
    return SurrogateInputs(
        logits, masks, np.ones(rows, np.float32), actions, old, advantages, candidates, chances, foreseen
    )


def test_illegal_actions_have_probability_zero_exactly_and_pass_no_gradient() -> None:
    batch = random_batch(0)
    logits, masks = torch.from_numpy(batch.logits).requires_grad_(), torch.from_numpy(batch.masks)
    logs = masked_log_probabilities(logits, masks)
    assert (logs.exp()[masks == 0] == 0).all()
    for row, legal in enumerate(masks.bool()):
        torch.testing.assert_close(logs.exp()[row, legal], torch.softmax(logits[row, legal], 0))
    loss = chosen_log_probabilities(logs, masks.argmax(1)).sum() + masked_entropy(logs).sum()
    (gradient,) = torch.autograd.grad(loss, logits)
    assert gradient.isfinite().all()
    assert (gradient[masks == 0] == 0).all()


def test_imitating_a_distribution_costs_its_entropy_at_best() -> None:
    shares, masks = torch.tensor([[0.5, 0.25, 0.25, 0.0]]), torch.tensor([[1, 1, 1, 0]])
    best = soft_cross_entropies(masked_log_probabilities(shares.clamp(min=1e-9).log(), masks), shares)
    assert best.item() == pytest.approx(1.5 * math.log(2), abs=1e-6)
    logits = torch.zeros(1, 4, requires_grad=True)
    worse = soft_cross_entropies(masked_log_probabilities(logits, masks), shares)
    assert worse.item() == pytest.approx(math.log(3), abs=1e-6)
    (gradient,) = torch.autograd.grad(worse.sum(), logits)
    np.testing.assert_allclose(gradient[0], [1 / 3 - 0.5, 1 / 3 - 0.25, 1 / 3 - 0.25, 0.0], atol=1e-6)


def test_draws_follow_the_probabilities() -> None:
    probabilities, count = np.array([0.0, 0.5, 0.0, 0.3, 0.2]), 20000
    with np.errstate(divide="ignore"):
        row = np.log(probabilities).astype(np.float32)
    actions, chosen = drawn(np.tile(row, (count, 1)), (np.arange(count) + 0.5) / count)
    assert (np.abs(np.bincount(actions, minlength=5) / count - probabilities) < 1e-3).all()
    np.testing.assert_allclose(np.exp(chosen), probabilities[actions], rtol=1e-6)


def test_an_illegal_action_is_never_drawn_however_the_rounding_falls() -> None:
    batch = random_batch(4)
    logs = masked_log_probabilities(torch.from_numpy(batch.logits), torch.from_numpy(batch.masks)).numpy()
    for extreme in (0.0, np.nextafter(1.0, 0.0), 1.0):
        actions, _ = drawn(logs, np.full(len(logs), extreme))
        assert (batch.masks[np.arange(len(logs)), actions] == 1).all()
    assert drawn(np.full((1, 3), -np.inf, np.float32), np.zeros(1))[0].tolist() == [-1]


def compiled(batch: SurrogateInputs, share: float, magnet: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    gradient, sums = np.zeros_like(batch.logits), np.zeros(SURROGATE_SUMS)
    surrogate_gradient(batch, LossWeights(share, FLOOR, CLIP, ENTROPY_WEIGHT, magnet), gradient, sums)
    return gradient, sums


def log_probabilities(batch: SurrogateInputs) -> tuple[Tensor, Tensor]:
    logits = torch.from_numpy(batch.logits).double().requires_grad_()
    return logits, masked_log_probabilities(logits, torch.from_numpy(batch.masks))


def surrogates(batch: SurrogateInputs, logs: Tensor, share: float) -> Tensor:
    """The two kinds of surrogates of each row in their shares, in float64, by the pure functions."""
    old, advantages, chances, foreseen = (
        torch.from_numpy(array).double() for array in (batch.old, batch.advantages, batch.chances, batch.foreseen)
    )
    chosen = chosen_log_probabilities(logs, torch.from_numpy(batch.actions))
    own = torch.from_numpy(np.where(batch.candidates[:, 0] != NONE, 1 - share, 1.0))
    losses = own * clipped_policy_losses(chosen, old, advantages, CLIP)
    for place in range(batch.candidates.shape[1]):
        (there,) = torch.from_numpy(batch.candidates[:, place] != NONE).nonzero(as_tuple=True)
        considered = torch.from_numpy(batch.candidates[:, place].astype(np.int64))[there]
        new, chance = chosen_log_probabilities(logs[there], considered), chances[there, place]
        weight = torch.where(foreseen[there, place] > 0, chance.clamp(min=FLOOR), chance)
        weighted = weight * clipped_policy_losses(new, chance.log(), foreseen[there, place], CLIP)
        losses = losses.index_add(0, there, share * weighted)
    return losses


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("change", [0.0, 0.05, 0.6])
def test_the_gradient_is_that_of_the_pure_functions(share: float, change: float) -> None:
    batch = random_batch(1, change=change)
    logits, logs = log_probabilities(batch)
    loss = (surrogates(batch, logs, share) - ENTROPY_WEIGHT * masked_entropy(logs)).sum()
    (expected,) = torch.autograd.grad(loss, logits)
    gradient, _ = compiled(batch, share)
    np.testing.assert_allclose(gradient, expected.numpy(), rtol=1e-4, atol=2e-7)
    assert np.abs(gradient[batch.masks == 1]).max() > 0.01
    assert (gradient[batch.masks == 0] == 0).all()


def test_the_magnet_draws_by_the_gradient_of_the_divergence_from_it() -> None:
    batch = random_batch(9)
    magnet = np.random.default_rng(10).normal(size=batch.logits.shape).astype(np.float32)
    magnet[batch.masks == 0] = 1e30  # whatever it says of what is illegal
    logits, logs = log_probabilities(batch)
    drawn_to = masked_log_probabilities(torch.from_numpy(magnet).double(), torch.from_numpy(batch.masks))
    legal = torch.from_numpy(batch.masks == 1)
    divergence = (logs[legal].exp() * (logs[legal] - drawn_to[legal])).sum()
    (expected,) = torch.autograd.grad(0.3 * divergence, logits)
    pull = compiled(batch._replace(magnet=magnet), 0.5, 0.3)[0] - compiled(batch, 0.5)[0]
    np.testing.assert_allclose(pull, expected.numpy(), rtol=1e-4, atol=1e-6)
    assert np.abs(pull).max() > 0.01


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_loss_entropy_divergence_and_clipped_ratios_are_added_to_the_sums(share: float) -> None:
    batch = random_batch(4)
    with torch.no_grad():
        _, logs = log_probabilities(batch)
        change = chosen_log_probabilities(logs, torch.from_numpy(batch.actions)) - torch.from_numpy(batch.old)
        clipped = ((change.exp() - 1).abs() > CLIP).sum()
        divergence = (change.exp() - 1 - change).sum()
        expected = [surrogates(batch, logs, share).sum(), masked_entropy(logs).sum(), divergence, clipped]
    _, sums = compiled(batch, share)
    assert sums.tolist() == pytest.approx([float(value) for value in expected], rel=1e-5, abs=1e-5)
    assert 20 < sums[3] < 80  # some ratios are clipped and some are not
    again = sums.copy()
    surrogate_gradient(batch, LossWeights(share, FLOOR, CLIP, 0.0), np.zeros_like(batch.logits), again)
    assert again.tolist() == pytest.approx((2 * sums).tolist())  # whatever the entropy's weight is
