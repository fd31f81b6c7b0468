"""Self-play of both seats: PufferLib's emulation of PettingZoo's parallel API."""

from __future__ import annotations

# [shown
import torch
from pettingzoo.utils.conversions import turn_based_aec_to_parallel
from pufferlib.emulation import PettingZooPufferEnv
from pufferlib.pytorch import nativize_dtype, nativize_tensor
from pufferlib.vector import Serial, make

from ddz_env import dou_dizhu_v0

# shown]
from tests.integrations.cleanrl.train import ITERATIONS, NUM_ENVS, NUM_STEPS, greedy, train
from tests.integrations.judge import aec, judge
from tests.integrations.pufferlib.play import through


# [shown
def make_game(buf=None, seed=0):
    return PettingZooPufferEnv(turn_based_aec_to_parallel(dou_dizhu_v0.env(rules="mini")), buf=buf, seed=seed)


envs = make(make_game, backend=Serial, num_envs=NUM_ENVS)
packed = nativize_dtype(envs.emulated)


def read(observations, infos):
    """The parts of the packed observations, a row a seat.  Who is not to act has an empty mask, and is let pass."""
    parts = nativize_tensor(torch.as_tensor(observations).clone(), packed)
    parts["action_mask"][~parts["action_mask"].any(1), 0] = 1
    return parts["observation"], parts["action_mask"]


# shown]
if __name__ == "__main__":
    torch.manual_seed(1)
    torch.set_num_threads(1)
    # [shown
    agent = train(envs, read)
    # shown]
    steps = NUM_ENVS * NUM_STEPS * ITERATIONS
    judge("pufferlib-core", greedy(agent), steps=steps, through=through(envs, read, seats=2), ours=aec)
