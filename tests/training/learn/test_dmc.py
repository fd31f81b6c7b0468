"""``ddz train dmc``: values are learned from what the games brought, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ddz_agents.neural.network import PolicyNetwork, policy_input
from ddz_env.envs.batch import SelfPlayBatch
from ddz_training.learn.dmc import DeepMonteCarlo, DmcConfig, epsilon_greedy, outcomes
from ddz_training.learn.errors import CheckpointMismatchError
from ddz_training.learn.ppo.selfplay import SelfPlay
from ddz_training.learn.strength import measure_strength
from tests.oracles.network_policy import NetworkPolicy
from tests.training.learn.test_ppo_rollout import SMALL
from tests.training.learn.test_ppo_selfplay import assert_same, everything


def small_config(**changes: Any) -> DmcConfig:
    settings: dict[str, Any] = {"architecture": SMALL, "num_games": 24, "groups": 3, "steps": 48, "minibatch": 256}
    return DmcConfig(**settings | {"shard": 100, "evaluate_every": 0, "rules": "mini"} | changes)


def test_the_best_action_is_taken_and_any_other_now_and_then() -> None:
    batch, network = SelfPlayBatch(50, seed=1, threads=1), PolicyNetwork(SMALL)
    logs, _ = epsilon_greedy(network, 0.2, batch.observation, batch.mask)
    chances, legal = np.exp(logs), batch.mask.sum(1)
    assert chances.sum(1) == pytest.approx(np.ones(50), abs=1e-5)
    assert (chances[batch.mask == 0] == 0).all()
    seen, _ = policy_input(batch.observation, batch.mask, SMALL.history)
    values = np.where(batch.mask > 0, network(*seen)[0].detach().numpy(), -np.inf)
    assert (chances.argmax(1) == values.argmax(1)).all()
    assert chances.max(1) == pytest.approx(0.8 + 0.2 / legal, abs=1e-5)


def test_steps_count_for_those_whose_game_ends_too_late() -> None:
    """Every length of game and every place in it count as often as they are played."""
    steps, rng = 40, np.random.default_rng(0)
    done = np.zeros((steps, 4000), bool)
    place = np.zeros((steps, 4000), int)
    for game in range(4000):
        length = rng.choice([5, 20])
        at = int(rng.integers(length)) if rng.random() < 5 / 25 or length == 20 else 0
        for step in range(steps):
            place[step, game] = length * 100 + at
            at += 1
            if at == length:
                done[step, game] = True
                length, at = rng.choice([5, 20]), 0
    rewards = np.zeros((steps, 4000, 3), np.float32)
    _, weights = outcomes(rewards, np.zeros((steps, 4000), np.int8), done)
    for where in (500, 504, 2000, 2010):
        chosen = place == where
        assert weights[chosen].mean() == pytest.approx(1, abs=0.1), where


def test_a_run_goes_on_from_a_file_to_the_bit_on_any_number_of_threads(tmp_path: Path) -> None:
    run = DeepMonteCarlo(small_config(), 1)
    line = run.step()
    assert 0 < line.policy_loss < 2
    critic = run.critic.value.weight.detach().clone()
    run.save(tmp_path / "file")
    resumed = DeepMonteCarlo.resume(tmp_path / "file", 2)
    run.step()
    resumed.step()
    assert_same(everything(run), everything(resumed))
    assert torch.equal(run.critic.value.weight, critic)
    with pytest.raises(CheckpointMismatchError, match="epsilon"):
        SelfPlay.resume(tmp_path / "file")


@pytest.mark.long
def test_values_of_mini_are_learned() -> None:
    run = DeepMonteCarlo(small_config(num_games=240, learning_rate=0.003, epsilon=0.05), 1)
    for _ in range(60):
        run.step()
    (result,) = measure_strength(NetworkPolicy(run.policy), ["random"], 300, rules="mini")
    assert result.wins.low > 0.6
    run.close()
