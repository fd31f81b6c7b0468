"""Masking and the losses, against what they say on paper."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from ddz_agents.neural.network import masked_log_probabilities
from ddz_training.learn.imitation import soft_cross_entropies
from ddz_training.learn.ppo.kernels import drawn
from tests.oracles.ppo_reference import chosen_log_probabilities, masked_entropy


def random_batch(seed: int, rows: int = 64, actions: int = 400) -> tuple[torch.Tensor, torch.Tensor]:
    rng = np.random.default_rng(seed)
    masks = rng.random((rows, actions)) < rng.random((rows, 1)) * 0.2
    masks[np.arange(rows), rng.integers(0, actions, rows)] = True
    return torch.from_numpy(rng.normal(size=(rows, actions)) * 20).float(), torch.from_numpy(masks.astype(np.int8))


def test_illegal_actions_have_probability_zero_exactly_and_the_others_are_their_softmax() -> None:
    logits, masks = random_batch(0)
    logits[0, masks[0] == 0] = 1e30  # however much the network wants them
    probabilities = masked_log_probabilities(logits, masks).exp()
    assert (probabilities[masks == 0] == 0).all()
    for row in range(len(logits)):
        legal = masks[row].bool()
        torch.testing.assert_close(probabilities[row, legal], torch.softmax(logits[row, legal], 0))


def test_illegal_actions_pass_no_gradient() -> None:
    logits, masks = random_batch(1)
    logits.requires_grad_()
    log_probabilities = masked_log_probabilities(logits, masks)
    loss = chosen_log_probabilities(log_probabilities, masks.argmax(1)).sum() + masked_entropy(log_probabilities).sum()
    (gradient,) = torch.autograd.grad(loss, logits)
    assert gradient.isfinite().all()
    assert (gradient[masks == 0] == 0).all()
    assert (gradient[masks == 1] != 0).any()


def test_imitating_a_distribution_costs_its_entropy_at_best() -> None:
    shares = torch.tensor([[0.5, 0.25, 0.25, 0.0]])
    masks = torch.tensor([[1, 1, 1, 0]])
    entropy = -(0.5 * math.log(0.5) + 2 * 0.25 * math.log(0.25))
    best = soft_cross_entropies(masked_log_probabilities(shares.clamp(min=1e-9).log(), masks), shares)
    assert best.item() == pytest.approx(entropy, abs=1e-6)
    worse = soft_cross_entropies(masked_log_probabilities(torch.zeros(1, 4), masks), shares)
    assert worse.item() == pytest.approx(math.log(3), abs=1e-6)
    logits = torch.zeros(1, 4, requires_grad=True)
    (gradient,) = torch.autograd.grad(
        soft_cross_entropies(masked_log_probabilities(logits, masks), shares).sum(), logits
    )
    np.testing.assert_allclose(gradient[0], [1 / 3 - 0.5, 1 / 3 - 0.25, 1 / 3 - 0.25, 0.0], atol=1e-6)


def draw(log_probabilities: np.ndarray, draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return drawn(log_probabilities.astype(np.float32), draws)


def test_draws_follow_the_probabilities() -> None:
    probabilities = np.array([0.0, 0.5, 0.0, 0.3, 0.2])
    with np.errstate(divide="ignore"):
        row = np.log(probabilities)
    count = 20000
    draws = (np.arange(count) + 0.5) / count
    actions, chosen = draw(np.tile(row, (count, 1)), draws)
    assert (np.abs(np.bincount(actions, minlength=5) / count - probabilities) < 1e-3).all()
    np.testing.assert_allclose(np.exp(chosen), probabilities[actions], rtol=1e-6)


def test_an_illegal_action_is_never_drawn_however_the_rounding_falls() -> None:
    logits, masks = random_batch(4)
    log_probabilities = masked_log_probabilities(logits, masks).numpy()
    for extreme in (0.0, np.nextafter(1.0, 0.0), 1.0):
        actions, _ = draw(log_probabilities, np.full(len(logits), extreme))
        assert (masks.numpy()[np.arange(len(logits)), actions] == 1).all()
    assert draw(np.full((1, 3), -np.inf), np.zeros(1))[0].tolist() == [-1]
