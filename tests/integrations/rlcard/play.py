"""RLCard's agents in front of the judge."""

from __future__ import annotations

import numpy as np
from rlcard.agents import RandomAgent


def greedy(agent, read):
    """What an agent of RLCard plays, for the judge."""

    def act(observations, masks):
        print()  # RLCard leaves its last line of progress open
        states = ({"observation": seen, "action_mask": mask} for seen, mask in zip(observations, masks, strict=True))
        return np.array([agent.eval_step(read(state))[0] for state in states])

    return act


def through(game, read):
    """RLCard's random agent in a Gymnasium environment."""
    player = RandomAgent(400)

    def some(decisions):
        over = True
        for _ in range(decisions):
            observation = game.reset()[0] if over else observation  # noqa: F821
            observation, _, over, *_ = game.step(player.step(read(observation)))
        return decisions

    return some
