"""Masked PPO: self-play of both seats, in PufferLib's emulation of PettingZoo's parallel API."""

import os

import torch
from pettingzoo.utils.conversions import turn_based_aec_to_parallel
from pufferlib.emulation import PettingZooPufferEnv
from pufferlib.pytorch import nativize_dtype, nativize_tensor
from pufferlib.vector import Serial, make

from ddz_env import dou_dizhu_v0
from tests.integrations.cleanrl.train import NUM_ENVS, learn
from tests.integrations.evaluation import main

STEPS = int(os.environ.get("STEPS", 49_152))  # decisions to learn from


def make_game(buf=None, seed=0):
    return PettingZooPufferEnv(turn_based_aec_to_parallel(dou_dizhu_v0.env(rules="mini")), buf=buf, seed=seed)


def make_games():
    return make(make_game, backend=Serial, num_envs=NUM_ENVS)


PACKED = nativize_dtype(make_games().emulated)


def read(observations, infos):
    """Observations and masks, one row per seat.  A seat that is not to act has an empty mask: action 0 fills it."""
    parts = nativize_tensor(torch.as_tensor(observations).clone(), PACKED)
    parts["action_mask"][~parts["action_mask"].any(1), 0] = 1
    return parts["observation"], parts["action_mask"]


def train(seed):
    torch.manual_seed(seed)
    return learn(make_games(), seed, read, STEPS).act


if __name__ == "__main__":
    main(train)
