"""A chain of SuperSuit's wrappers on the Gymnasium environment, and CleanRL's PPO behind it."""

from __future__ import annotations

import torch

from tests.integrations.cleanrl.train import ITERATIONS, NUM_ENVS, NUM_STEPS, greedy, through, train
from tests.integrations.judge import judge

torch.set_num_threads(1)

# [shown
import gymnasium
import numpy as np
from supersuit import dtype_v0, gym_vec_env_v0, normalize_obs_v0

import ddz_env  # noqa: F401  # registers the environment

game = gymnasium.make("ddz_env/DouDizhu-v0", rules="mini", illegal_action="raise")
envs = gym_vec_env_v0(normalize_obs_v0(dtype_v0(game, np.dtype("float32"))), NUM_ENVS)
# shown]

if __name__ == "__main__":
    torch.manual_seed(1)
    # [shown
    agent = train(envs)
    # shown]
    steps = NUM_ENVS * NUM_STEPS * ITERATIONS
    judge("supersuit", greedy(agent), steps=steps, through=through(envs), dtype="float32")
