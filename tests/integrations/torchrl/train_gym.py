"""TorchRL, one learner on Gymnasium through GymEnv with two games: PPO with masked actions."""

import torch

from tests.integrations.judge import judge, vector

FRAMES = 20_000

# [shown
from tensordict.nn import TensorDictModule
from torchrl.collectors import Collector
from torchrl.envs import ActionMask, GymEnv, TransformedEnv
from torchrl.modules import MLP, MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss

import ddz_env  # noqa: F401


def make_env():
    form = {"observation": "dict", "dtype": "float32"}
    return GymEnv("ddz_env/DouDizhu-v0", num_envs=2, rules="mini", categorical_action_encoding=True, **form)
# shown]
print(make_env().rollout(3))
