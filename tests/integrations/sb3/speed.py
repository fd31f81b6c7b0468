"""Random play in the games of the program: eight, behind SB3's wrappers."""

import numpy as np

from tests.integrations.speed import single


def through(program):
    """Steps of all games together."""
    games, rng = program.make_games(0), np.random.default_rng(0)

    def some(decisions):
        games.reset()
        for _ in range(steps := -(-decisions // games.num_envs)):
            masks = np.stack(games.env_method("action_masks"))
            games.step((rng.random(masks.shape) * masks).argmax(1))
        return steps * games.num_envs

    return some


PLAYS = {"sb3": (through, single)}
