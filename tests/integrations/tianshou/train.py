"""Tianshou, one learner on Gymnasium: DQN with masked actions."""

import numpy as np
import torch

from tests.integrations.judge import judge, single

np.random.seed(0)  # noqa: NPY002  # Tianshou explores with it
torch.manual_seed(0)
STEPS = 10_000

# [shown
import gymnasium
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Batch, Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

import ddz_env  # noqa: F401


def make_env():
    form = {"observation": "dict", "observation_key": "obs", "mask_key": "mask", "dtype": "float32"}
    return gymnasium.make("ddz_env/DouDizhu-v0", rules="mini", illegal_action="raise", **form)


games = DummyVectorEnv([make_env] * 16)
network = Net(state_shape=512, action_shape=400, hidden_sizes=[128, 128])
policy = DiscreteQLearningPolicy(model=network, action_space=games.action_space[0], eps_training=0.2)
dqn = DQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-3), gamma=1.0, n_step_return_horizon=30)
collector = Collector(dqn, games, VectorReplayBuffer(20_000, buffer_num=16), exploration_noise=True)
dqn.run_training(
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
# shown]

random_play = Collector(policy, DummyVectorEnv([make_env] * 16), exploration_noise=True)
random_play.reset()


def act(observations, masks):
    with torch.no_grad():
        return policy(Batch(obs=Batch(obs=observations, mask=masks), info=Batch())).act


def through(decisions):
    policy.set_eps_inference(1.0)
    return random_play.collect(n_step=decisions).n_collected_steps


judge("tianshou", act, steps=STEPS, through=through, ours=single, dtype="float32")
