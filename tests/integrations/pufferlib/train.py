"""PufferLib's emulation packs the dict observation into bytes; masked PPO unpacks and learns."""

import os

import gymnasium
import torch
from pufferlib.emulation import GymnasiumPufferEnv
from pufferlib.pytorch import nativize_dtype, nativize_tensor
from pufferlib.vector import Serial, make

from tests.integrations.cleanrl.train import NUM_ENVS, learn
from tests.integrations.evaluation import main

GAME = "ddz_env:ddz_env/DouDizhu-v0"
STEPS = int(os.environ.get("STEPS", 49_152))  # decisions to learn from


def make_games():
    game = {
        "env_creator": gymnasium.make,
        "env_args": [GAME],
        "env_kwargs": {"rules": "mini", "opponents": "random", "observation": "dict", "illegal_action": "raise"},
    }
    return make(GymnasiumPufferEnv, env_kwargs=game, backend=Serial, num_envs=NUM_ENVS)


PACKED = nativize_dtype(make_games().emulated)


def read(observations, infos):
    """The parts of the packed observations; PufferLib writes every step into the same buffer."""
    parts = nativize_tensor(torch.as_tensor(observations).clone(), PACKED)
    return parts["observation"], parts["action_mask"]


def train(seed):
    torch.manual_seed(seed)
    return learn(make_games(), seed, read, STEPS).act


if __name__ == "__main__":
    main(train)
