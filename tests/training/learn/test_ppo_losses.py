"""Masking and draws: what is illegal has no probability, and draws follow what has."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from ddz_agents.neural.network import masked_log_probabilities
from ddz_env.core.actions import NUM_ACTIONS
from ddz_training.learn.imitation import soft_cross_entropies
from ddz_training.learn.ppo.games import drawn
from tests.oracles.ppo_reference import chosen_log_probabilities, masked_entropy


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
    logits, masks = random_logits(4)
    logs = masked_log_probabilities(logits, masks).numpy()
    for extreme in (0.0, np.nextafter(1.0, 0.0), 1.0):
        actions, _ = drawn(logs, np.full(len(logs), extreme))
        assert (masks.numpy()[np.arange(len(logs)), actions] == 1).all()
    assert drawn(np.full((1, 3), -np.inf, np.float32), np.zeros(1))[0].tolist() == [-1]
