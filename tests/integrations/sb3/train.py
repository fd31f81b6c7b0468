"""Stable-Baselines3: sb3-contrib's MaskablePPO on eight games, rewards normalized."""

import os

from sb3_contrib import MaskablePPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecNormalize

from tests.integrations.evaluation import main

GAME = "ddz_env:ddz_env/DouDizhu-v0"
STEPS = int(os.environ.get("STEPS", 40_000))  # decisions to learn from


def make_games(seed):
    options = {"rules": "mini", "opponents": "random", "dtype": "float32", "illegal_action": "raise"}
    return VecNormalize(make_vec_env(GAME, 8, seed=seed, env_kwargs=options), norm_obs=False, gamma=1.0)


def train(seed):
    learning = {"learning_rate": 1e-3, "n_steps": 256, "batch_size": 512, "n_epochs": 4, "gamma": 1.0, "ent_coef": 0.01}
    games, network = make_games(seed), {"net_arch": [128, 128]}
    model = MaskablePPO("MlpPolicy", games, policy_kwargs=network, seed=seed, device="cpu", **learning)
    model.learn(STEPS)

    def act(observations, masks):
        return model.predict(observations, action_masks=masks, deterministic=True)[0]

    return act


if __name__ == "__main__":
    main(train, dtype="float32")
