"""Masked PPO: self-play of both seats, through SuperSuit's chain from the AEC environment to a vector environment."""

import os

import numpy as np
import torch
from gymnasium.spaces import Box
from pettingzoo.utils.conversions import turn_based_aec_to_parallel
from supersuit import concat_vec_envs_v1, dtype_v0, observation_lambda_v0, pettingzoo_env_to_vec_env_v1

from ddz_env import dou_dizhu_v0
from tests.integrations.cleanrl.train import NUM_ENVS, learn
from tests.integrations.evaluation import main

STEPS = int(os.environ.get("STEPS", 49_152))  # decisions to learn from


def flat(seen, space):
    """One vector: the observation, then the mask."""
    return np.concatenate([seen["observation"], seen["action_mask"]])


def flat_space(space):
    low, high = ({key: getattr(part, bound) for key, part in space.items()} for bound in ("low", "high"))
    return Box(flat(low, space), flat(high, space), dtype=np.int8)


def make_games():
    game = dtype_v0(observation_lambda_v0(dou_dizhu_v0.env(rules="mini"), flat, flat_space), np.dtype("float32"))
    return concat_vec_envs_v1(pettingzoo_env_to_vec_env_v1(turn_based_aec_to_parallel(game)), NUM_ENVS)


def read(observations, infos):
    """Observations and masks, one row per seat.  A seat that is not to act has an empty mask: action 0 fills it."""
    seen, masks = torch.tensor(observations).split([512, 400], dim=1)
    masks[~masks.any(1), 0] = 1
    return seen, masks


def train(seed):
    torch.manual_seed(seed)
    return learn(make_games(), seed, read, STEPS).act


if __name__ == "__main__":
    main(train)
