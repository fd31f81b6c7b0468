"""Tianshou, self-play on the AEC environment through its PettingZooEnv: a masked DQN for each seat."""

import os

import numpy as np
import torch
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.multiagent.marl import MultiAgentOffPolicyAlgorithm
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv, PettingZooEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

from ddz_env import dou_dizhu_v0
from tests.integrations.evaluation import main
from tests.integrations.tianshou.train import policy_of

STEPS = int(os.environ.get("STEPS", 10_000))  # decisions to learn from


def make_env():
    return PettingZooEnv(dou_dizhu_v0.env(rules="mini", dtype="float32"))


def make_learner():
    network = Net(state_shape=512, action_shape=400, hidden_sizes=[128, 128])
    policy = DiscreteQLearningPolicy(model=network, action_space=make_env().action_space, eps_training=0.2)
    # 30 steps reach the end of every game: the reward of one agent comes at the turn of another.
    return DQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-3), gamma=1.0, n_step_return_horizon=30)


def train(seed):
    np.random.seed(seed)  # noqa: NPY002  # Tianshou explores with it
    torch.manual_seed(seed)
    games = DummyVectorEnv([make_env] * 16)
    games.seed(seed)
    learners = MultiAgentOffPolicyAlgorithm(algorithms=[make_learner(), make_learner()], env=make_env())
    collector = Collector(learners, games, VectorReplayBuffer(20_000, buffer_num=16), exploration_noise=True)
    learners.run_training(
        OffPolicyTrainerParams(
            training_collector=collector,
            max_epochs=1,
            epoch_num_steps=STEPS,
            collection_step_num_env_steps=320,
            update_step_num_gradient_steps_per_sample=0.05,
            batch_size=256,
            multi_agent_return_reduction=lambda returns: returns[:, 0],
            show_progress=False,
        )
    )
    return policy_of(learners.get_algorithm("player_0").policy)


if __name__ == "__main__":
    main(train, role="landlord", dtype="float32")
