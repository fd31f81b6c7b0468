"""AgileRL's PPO on the vector environment: its training loop finds the masks in the infos."""

import os

import gymnasium
import numpy as np
import torch
from agilerl.algorithms import PPO
from agilerl.training.train_on_policy import train_on_policy

from tests.integrations.evaluation import main

GAME = "ddz_env:ddz_env/DouDizhu-v0"
STEPS = int(os.environ.get("STEPS", 61_440))  # decisions to learn from
NUM_ENVS = 16
FORM = {"rules": "mini", "opponents": "random", "dtype": "float32", "illegal_action": "raise"}
NETWORK = {"latent_dim": 128, "encoder_config": {"hidden_size": [128]}, "head_config": {"hidden_size": [128]}}


def make_games():
    return gymnasium.make_vec(GAME, NUM_ENVS, **FORM)


def train(seed):
    np.random.seed(seed)  # noqa: NPY002  # AgileRL draws from it
    torch.manual_seed(seed)
    games = make_games()
    games.reset(seed=seed)
    learning = {"learn_step": 2048, "batch_size": 512, "lr": 1e-3, "gamma": 1.0}
    spaces = games.single_observation_space, games.single_action_space
    agent = PPO(*spaces, net_config=NETWORK, num_envs=NUM_ENVS, **learning)
    train_on_policy(games, "DouDizhu-v0", "PPO", [agent], max_steps=STEPS, evo_steps=max(STEPS // 3, 2048))
    agent.set_training_mode(False)

    def act(observations, masks):
        return agent.get_action(observations, action_mask=masks)[0]

    return act


if __name__ == "__main__":
    main(train, dtype="float32")
