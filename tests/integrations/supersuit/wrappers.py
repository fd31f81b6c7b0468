"""Which of SuperSuit's wrappers take the environments; prints the table of the page.

``.integrations/supersuit/bin/python -m tests.integrations.supersuit.wrappers``

A wrapper takes an environment if it plays five games of random legal moves with it, and plays what it was told.
"""

from __future__ import annotations

import warnings

import gymnasium
import numpy as np
import supersuit
from pettingzoo.utils.env_logger import EnvLogger

from ddz_env import dou_dizhu_v0
from tests.integrations.supersuit.train_aec import flat, flat_space

WRAPPERS = {
    "dtype_v0": lambda game: supersuit.dtype_v0(game, np.dtype("float32")),
    "flatten_v0": supersuit.flatten_v0,
    "normalize_obs_v0": lambda game: supersuit.normalize_obs_v0(supersuit.dtype_v0(game, np.dtype("float32"))),
    "frame_stack_v1": lambda game: supersuit.frame_stack_v1(game, 2),
    "delay_observations_v0": lambda game: supersuit.delay_observations_v0(game, 2),
    "max_observation_v0": lambda game: supersuit.max_observation_v0(game, 2),
    "clip_reward_v0": supersuit.clip_reward_v0,
    "reward_lambda_v0": lambda game: supersuit.reward_lambda_v0(game, lambda reward: 2 * reward),
    "sticky_actions_v0": lambda game: supersuit.sticky_actions_v0(game, 0.5),
    "frame_skip_v0": lambda game: supersuit.frame_skip_v0(game, 2),
    "pad_observations_v0": supersuit.pad_observations_v0,
    "pad_action_space_v0": supersuit.pad_action_space_v0,
    "agent_indicator_v0": supersuit.agent_indicator_v0,
}


class IllegalError(Exception):
    """The wrapper played something else than it was told."""


def play_aec(game):
    """One game of random legal moves."""
    rng = np.random.default_rng(0)
    game.reset()
    for agent in game.agent_iter():
        _, _, over, cut, _ = game.last()
        mask = game.unwrapped.observe(agent)["action_mask"]
        game.step(None if over or cut else int(rng.choice(np.flatnonzero(mask))))


def play_gymnasium(game):
    """One game of random legal moves."""
    rng = np.random.default_rng(0)
    _, info = game.reset()
    over = False
    while not over:
        *_, over, _, info = game.step(int(rng.choice(np.flatnonzero(info["action_mask"]))))
        if info["illegal"]:
            raise IllegalError


def outcome(wrap, make, play):
    """``yes``, or what is wrong."""
    illegal = len(EnvLogger.mqueue)
    try:
        game = wrap(make())
        for _ in range(5):
            play(game)
    except IllegalError:
        return "plays illegal actions"
    except Exception as error:  # whatever it is, it is the finding
        return f"`{type(error).__name__}: {str(error).splitlines()[0]}`"
    return "yes" if len(EnvLogger.mqueue) == illegal else "plays illegal actions"


def main():
    """Print the table."""
    warnings.simplefilter("ignore")
    EnvLogger.suppress_output()
    options = {"rules": "mini"}
    makers = (
        (lambda: dou_dizhu_v0.env(**options), play_aec),
        (lambda: supersuit.observation_lambda_v0(dou_dizhu_v0.env(**options), flat, flat_space), play_aec),
        (lambda: gymnasium.make("ddz_env/DouDizhu-v0", **options), play_gymnasium),
    )
    print('| wrapper | AEC | AEC, flattened by `observation_lambda_v0` | Gymnasium, `observation="vector"` |')
    print("| --- | --- | --- | --- |")
    for name, wrap in WRAPPERS.items():
        print(f"| `{name}` | " + " | ".join(outcome(wrap, make, play) for make, play in makers) + " |")


if __name__ == "__main__":
    main()
