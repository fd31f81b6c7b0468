"""Random play through PufferLib's vector environments, for the page's speeds."""

from __future__ import annotations

import torch


def through(envs, read, seats=1):
    """Play legal actions at random.

    Args:
        envs: The vector environment.
        read: Makes observations and masks of what it returns.
        seats: Rows of one game, of which one is to act.
    """
    rows = envs.num_agents

    def some(decisions):
        observations, infos = envs.reset(seed=0)
        done = 0
        while done < decisions:
            _, masks = read(observations, infos)
            observations, *_, infos = envs.step((torch.rand(masks.shape) * masks).argmax(1).numpy())
            done += rows // seats
        return done

    return some
