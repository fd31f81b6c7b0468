"""MaskablePPO on a plain ``gymnasium.make`` environment in subprocesses, normalized."""

from __future__ import annotations

import time

import numpy as np
import torch

from tests.integrations.judge import judge

torch.set_num_threads(1)

# [shown
from sb3_contrib import MaskablePPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import SubprocVecEnv, VecNormalize

STEPS = 40_000


def make():
    options = {"rules": "mini", "dtype": "float32", "illegal_action": "raise"}
    games = make_vec_env("ddz_env:ddz_env/DouDizhu-v0", 8, seed=1, env_kwargs=options, vec_env_cls=SubprocVecEnv)
    return VecNormalize(games, norm_obs=False, gamma=1.0)


def train(games):
    learning = {"learning_rate": 1e-3, "n_steps": 256, "batch_size": 512, "n_epochs": 4, "gamma": 1.0, "ent_coef": 0.01}
    model = MaskablePPO("MlpPolicy", games, policy_kwargs={"net_arch": [128, 128]}, seed=1, **learning)
    return model.learn(STEPS)


# shown]


def through(games):
    """Random play in the same environments."""
    rng = np.random.default_rng(0)

    def some(decisions):
        games.reset()
        for _ in range(decisions // games.num_envs):
            masks = np.stack(games.env_method("action_masks"))
            games.step((rng.random(masks.shape) * masks).argmax(1))
        return decisions // games.num_envs * games.num_envs

    return some


if __name__ == "__main__":
    # [shown
    games = make()
    model = train(games)
    # shown]

    def act(observations, masks):
        return model.predict(observations, action_masks=masks, deterministic=True)[0]

    judge(
        "stable-baselines3",
        act,
        steps=model.num_timesteps,
        through=through(games),
        dtype="float32",
        clock=time.perf_counter,
    )
