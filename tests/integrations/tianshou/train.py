"""Tianshou, one learner on Gymnasium: DQN with masked actions."""

import os

import gymnasium
import numpy as np
import torch
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Batch, Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

from tests.integrations.evaluation import main

GAME = "ddz_env:ddz_env/DouDizhu-v0"
STEPS = int(os.environ.get("STEPS", 10_000))  # decisions to learn from


def make_env():
    form = {"observation": "dict", "observation_key": "obs", "mask_key": "mask", "dtype": "float32"}
    return gymnasium.make(GAME, rules="mini", opponents="random", illegal_action="raise", **form)


def make_learner():
    network = Net(state_shape=512, action_shape=400, hidden_sizes=[128, 128])
    policy = DiscreteQLearningPolicy(model=network, action_space=make_env().action_space, eps_training=0.2)
    return DQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-3), gamma=1.0, n_step_return_horizon=30)


def train(seed):
    np.random.seed(seed)  # noqa: NPY002  # Tianshou explores with it
    torch.manual_seed(seed)
    games = DummyVectorEnv([make_env] * 16)
    games.seed(seed)
    learner = make_learner()
    collector = Collector(learner, games, VectorReplayBuffer(20_000, buffer_num=16), exploration_noise=True)
    learner.run_training(
        OffPolicyTrainerParams(
            training_collector=collector,
            max_epochs=1,
            epoch_num_steps=STEPS,
            collection_step_num_env_steps=320,
            update_step_num_gradient_steps_per_sample=0.05,
            batch_size=256,
            show_progress=False,
        )
    )
    return policy_of(learner.policy)


def policy_of(policy):
    """The actions of the highest value."""

    @torch.no_grad()
    def act(observations, masks):
        return policy(Batch(obs=Batch(obs=observations, mask=masks.astype(bool)), info=Batch())).act

    return act


if __name__ == "__main__":
    main(train, dtype="float32")
