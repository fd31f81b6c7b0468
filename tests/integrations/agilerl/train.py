"""AgileRL's PPO on the vector environment: its training loop finds the masks in the infos."""

from __future__ import annotations

# [shown
import gymnasium
import torch
from agilerl.algorithms import PPO
from agilerl.training.train_on_policy import train_on_policy

import ddz_env  # noqa: F401  # registers the environment

# shown]
from tests.integrations.cleanrl.train import through
from tests.integrations.judge import judge, vector

# [shown
NUM_ENVS, STEPS = 16, 61_440

envs = gymnasium.make_vec("ddz_env/DouDizhu-v0", NUM_ENVS, rules="mini", dtype="float32", illegal_action="raise")
agent = PPO(
    envs.single_observation_space,
    envs.single_action_space,
    net_config={"latent_dim": 128, "encoder_config": {"hidden_size": [128]}, "head_config": {"hidden_size": [128]}},
    num_envs=NUM_ENVS,
    learn_step=2048,
    batch_size=512,
    lr=1e-3,
    gamma=1.0,
)
# shown]

if __name__ == "__main__":
    torch.manual_seed(1)
    torch.set_num_threads(1)
    # [shown
    train_on_policy(envs, "DouDizhu-v0", "PPO", [agent], max_steps=STEPS, evo_steps=STEPS // 3)
    # shown]
    agent.set_training_mode(False)

    def act(observations, masks):
        return agent.get_action(observations, action_mask=masks)[0]

    judge("agilerl", act, steps=STEPS, through=through(envs), ours=vector(NUM_ENVS), dtype="float32")
