"""A Stable-Baselines3 ``VecEnv`` around a Gymnasium vector environment that steps all games in one compiled call.

>>> from ddz_training.learn.sb3.vec_env import MaskedVecEnv, make_games
>>> env = MaskedVecEnv(make_games(4, "random", rules="mini", threads=1))
>>> _ = env.seed(1)
>>> env.reset().shape, env.env_method("action_masks").shape
((4, 512), (4, 400))
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecEnv

from ddz_env.envs.gym import DouDizhuVectorEnv


def make_games(num_envs: int, opponents: Any = "random", **options: Any) -> DouDizhuVectorEnv:
    """Make games as SB3 expects them: a step that ends a game deals the next, and illegal actions raise errors.

    Args:
        num_envs: How many games.
        opponents: As :class:`~ddz_env.gym.DouDizhuVectorEnv`.
        **options: Any other option of it.
    """
    options |= {"opponents": opponents, "illegal_action": "raise", "autoreset_mode": AutoresetMode.SAME_STEP}
    return DouDizhuVectorEnv(num_envs, **options)


class MaskedVecEnv(VecEnv):
    """A Gymnasium vector environment with action masks, in the form that SB3 expects.

    What SB3 requests game by game, it gets in one go.  Only the info of a game that has ended holds
    ``terminal_observation``, ``TimeLimit.truncated``, ``is_success`` and ``episode``, as a ``Monitor`` writes it.

    Args:
        games: With ``action_masks()`` and same-step autoreset (:func:`make_games`).
    """

    def __init__(self, games: VectorEnv[Any, Any, Any]) -> None:
        self.games: Any = games
        self._began = time.perf_counter()
        self._returns, self._lengths = np.zeros(games.num_envs), np.zeros(games.num_envs, np.int64)
        super().__init__(games.num_envs, games.single_observation_space, games.single_action_space)

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Draw a seed for each game's next deal from the run's seed, and return the seeds.

        SB3 gives game i the seed plus i, so that runs with the seeds 0 and 1 share all streams of deals but one.  Here
        the seeds of the games are drawn from the run's (:class:`numpy.random.SeedSequence`).

        Args:
            seed: The seed of the run; a random one if None.

        Returns:
            The seed of each game, 64 bits.
        """
        self._seeds = np.random.SeedSequence(seed).generate_state(self.num_envs, np.uint64).tolist()
        return self._seeds

    def reset(self) -> Any:
        """Deal all games, using the seeds from :meth:`seed` if it was called, and return their observations."""
        observations, _ = self.games.reset(seed=None if self._seeds[0] is None else list(self._seeds))
        self._reset_seeds()
        self._returns[:], self._lengths[:] = 0.0, 0
        return observations

    def step_async(self, actions: Any) -> None:
        """Store the actions, shape ``[num_envs]``, for :meth:`step_wait`."""
        self._actions = actions

    def step_wait(self) -> tuple[Any, Any, Any, list[dict[str, Any]]]:
        """Play the actions and opponents' replies; return observations, rewards, end-of-game flags and infos."""
        observations, rewards, ended, _, about = self.games.step(self._actions)
        self._returns += rewards
        self._lengths += 1
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for index in np.flatnonzero(ended).tolist():
            total, seconds = float(self._returns[index]), time.perf_counter() - self._began
            episode = {"r": total, "l": int(self._lengths[index]), "t": seconds}
            infos[index] = {"terminal_observation": about["final_obs"][index], "is_success": total > 0}
            infos[index] |= {"episode": episode, "TimeLimit.truncated": False}
        self._returns[ended], self._lengths[ended] = 0.0, 0
        return observations, rewards.astype(np.float32), ended, infos

    def env_method(self, method_name: str, *arguments: Any, indices: Any = None, **named: Any) -> Any:
        """Call a method for each game: ``env_method("action_masks")`` returns an array ``[num_envs, 400]``, bool."""
        result = getattr(self.games, method_name)(*arguments, **named)
        return result if indices is None else result[list(self._get_indices(indices))]

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute of the vector environment, repeated for each of the games."""
        return [getattr(self.games, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute of the vector environment that all games share."""
        setattr(self.games, attr_name, value)

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """Return True for ``Monitor``, whose statistics are in the infos; there are no other wrappers."""
        return [issubclass(wrapper_class, Monitor) for _ in self._get_indices(indices)]

    def close(self) -> None:
        """Close the games, and with them the agents that play as opponents."""
        self.games.close()
