"""PufferLib's emulation packs the dict observation into bytes; CleanRL's PPO unpacks and learns."""

from __future__ import annotations

# [shown
import gymnasium
import torch
from pufferlib.emulation import GymnasiumPufferEnv
from pufferlib.pytorch import nativize_dtype, nativize_tensor
from pufferlib.vector import Serial, make

import ddz_env  # noqa: F401  # registers the environment

# shown]
from tests.integrations.cleanrl.train import ITERATIONS, NUM_ENVS, NUM_STEPS, greedy, train
from tests.integrations.judge import judge
from tests.integrations.pufferlib.play import through

# [shown
game = {
    "env_creator": gymnasium.make,
    "env_args": ["ddz_env/DouDizhu-v0"],
    "env_kwargs": {"rules": "mini", "observation": "dict", "illegal_action": "raise"},
}
envs = make(GymnasiumPufferEnv, env_kwargs=game, backend=Serial, num_envs=NUM_ENVS)
packed = nativize_dtype(envs.emulated)


def read(observations, infos):
    """The parts of the packed observations; PufferLib writes every step into the same buffer."""
    parts = nativize_tensor(torch.as_tensor(observations).clone(), packed)
    return parts["observation"], parts["action_mask"]


# shown]
if __name__ == "__main__":
    torch.manual_seed(1)
    torch.set_num_threads(1)
    # [shown
    agent = train(envs, read)
    # shown]
    steps = NUM_ENVS * NUM_STEPS * ITERATIONS
    judge("pufferlib-core", greedy(agent), steps=steps, through=through(envs, read))
