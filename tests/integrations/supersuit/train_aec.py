"""Self-play of both seats through SuperSuit's chain from the AEC environment to one vector environment."""

from __future__ import annotations

# [shown
import numpy as np
import torch
from gymnasium.spaces import Box
from pettingzoo.utils.conversions import turn_based_aec_to_parallel
from supersuit import concat_vec_envs_v1, dtype_v0, observation_lambda_v0, pettingzoo_env_to_vec_env_v1

from ddz_env import dou_dizhu_v0

# shown]
from tests.integrations.cleanrl.train import ITERATIONS, NUM_ENVS, NUM_STEPS, greedy, train
from tests.integrations.judge import aec, judge


# [shown
def flat(seen, space):
    """One vector: the observation, then the mask."""
    return np.concatenate([seen["observation"], seen["action_mask"]])


def flat_space(space):
    low, high = ({key: getattr(part, bound) for key, part in space.items()} for bound in ("low", "high"))
    return Box(flat(low, space), flat(high, space), dtype=np.int8)


def read(observations, infos):
    """Observations and masks, a row a seat.  Who is not to act has an empty mask, and is let pass."""
    seen, masks = torch.tensor(observations).split([512, 400], dim=1)
    masks[~masks.any(1), 0] = 1
    return seen, masks


game = dtype_v0(observation_lambda_v0(dou_dizhu_v0.env(rules="mini"), flat, flat_space), np.dtype("float32"))
envs = concat_vec_envs_v1(pettingzoo_env_to_vec_env_v1(turn_based_aec_to_parallel(game)), NUM_ENVS)
# shown]


def through(decisions):
    """Random play through the chain."""
    observations, infos = envs.reset(seed=0)
    done = 0
    while done < decisions:
        _, masks = read(observations, infos)
        observations, *_, infos = envs.step((torch.rand(masks.shape) * masks).argmax(1).numpy())
        done += NUM_ENVS
    return done


if __name__ == "__main__":
    torch.manual_seed(1)
    torch.set_num_threads(1)
    # [shown
    agent = train(envs, read)
    # shown]
    steps = NUM_ENVS * NUM_STEPS * ITERATIONS
    judge("supersuit", greedy(agent), steps=steps, through=through, ours=aec)
