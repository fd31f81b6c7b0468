"""Stable-Baselines3's ``VecEnv`` on a Gymnasium vector environment that holds all games in one compiled call.

    >>> from ddz_training.learn.sb3.vec_env import MaskedVecEnv, make_games
    >>> env = MaskedVecEnv(make_games(4, "random", rules="mini", threads=1))
    >>> _ = env.seed(1)
    >>> observations = env.reset()
    >>> observations.shape, env.env_method("action_masks").shape
    ((4, 512), (4, 400))

What SB3 asks for game by game it gets in one go: sb3-contrib stacks ``env_method("action_masks")``, and the masks come
as one array.  The only Python that runs once a game and step is the info dict that SB3 wants from each.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices

from ddz_env.core.errors import DouDizhuError, GameOverError
from ddz_env.core.rules import Rules
from ddz_env.envs.gym import DouDizhuVectorEnv

Infos = list[dict[str, Any]]

_MASKS = "action_masks"


class VecEnvUsageError(DouDizhuError):
    """The vector environment was asked for something that games in one compiled call cannot do, or out of order."""


def make_games(
    num_envs: int,
    opponents: Any = "random",
    *,
    rules: str | Rules = "standard",
    role: str = "random",
    scoring: str | None = None,
    threads: int | None = None,
) -> DouDizhuVectorEnv:
    """Games as SB3 wants them: dealt anew in the step that ends them, and illegal actions raise.

    Args:
        num_envs: How many games.
        opponents: As :class:`~ddz_env.gym.DouDizhuVectorEnv`.
        rules: A preset's name or a :class:`~ddz_env.Rules`.
        role: ``"landlord"``, ``"peasant_down"``, ``"peasant_up"`` or ``"random"``.
        scoring: The rules' own by default.
        threads: How many threads step; None for one a core.

    Raises:
        InvalidRulesError: If preset, scoring or role does not exist under the rules.
        InvalidOptionError: If an option is out of range.
        UnknownAgentError: If an opponent does not exist.
    """
    return DouDizhuVectorEnv(
        num_envs, rules, opponents, role, scoring, "raise", autoreset_mode=AutoresetMode.SAME_STEP, threads=threads
    )


class MaskedVecEnv(VecEnv):
    """A Gymnasium vector environment with masks, as SB3 wants it.

    ``step`` returns the next game's first observation where a game has ended; the info of such a game, and of no
    other, holds ``terminal_observation``, ``TimeLimit.truncated`` (False: games end by themselves), ``is_success``
    (the reward was positive) and ``episode``, which is what a ``Monitor`` would have written: the sum of the rewards
    ``r``, the learner's decisions ``l`` and the seconds since this environment was made ``t``.

    Args:
        games: A vector environment with ``action_masks()`` and same-step autoreset (:func:`make_games`).

    Attributes:
        games: The same.
        seconds: What stepping has taken so far, opponents included.
        ended: Games that have ended so far.
        won: Those whose reward was positive.

    Raises:
        VecEnvUsageError: If the environment has no masks or resets at another moment.
    """

    def __init__(self, games: VectorEnv[Any, Any, Any]) -> None:
        if not callable(getattr(games, _MASKS, None)):
            raise VecEnvUsageError(f"{type(games).__name__} has no {_MASKS}(): MaskablePPO could not be masked")
        if games.metadata.get("autoreset_mode") != AutoresetMode.SAME_STEP:
            raise VecEnvUsageError('SB3 needs the last observation with the step that ends a game: use "SameStep"')
        self.games: Any = games
        self.seconds = 0.0
        self.ended = 0
        self.won = 0
        self._began = time.perf_counter()
        self._actions: npt.NDArray[np.int64] | None = None
        self._masks: npt.NDArray[np.bool_] | None = None
        self._returns = np.zeros(games.num_envs, np.float64)
        self._lengths = np.zeros(games.num_envs, np.int64)
        super().__init__(games.num_envs, games.single_observation_space, games.single_action_space)

    def reset(self) -> npt.NDArray[np.int8]:
        """Deal all games, by the seeds of :meth:`seed` if it was called, else the next ones.

        Returns:
            Observations, shape ``[num_envs, 512]``, int8.

        Raises:
            VecEnvUsageError: If ``set_options`` gave the games different options.
        """
        options = self._options[0]
        if any(other != options for other in self._options):
            raise VecEnvUsageError("all games are dealt in one call: they cannot have different options")
        known = any(seed is not None for seed in self._seeds)
        observations, _ = self.games.reset(seed=list(self._seeds) if known else None, options=options or None)
        self._reset_seeds()
        self._reset_options()
        self.reset_infos = [{} for _ in range(self.num_envs)]
        self._returns[:], self._lengths[:] = 0.0, 0
        self._masks = self.games.action_masks()
        return observations  # type: ignore[no-any-return]  # any vector environment

    def step_async(self, actions: npt.NDArray[np.int64]) -> None:
        """Take note of the actions, shape ``[num_envs]``, integers."""
        self._actions = actions

    def step_wait(self) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32], npt.NDArray[np.bool_], Infos]:
        """Play the actions and the opponents' replies.

        Returns:
            Observations ``[num_envs, 512]`` int8, rewards ``[num_envs]`` float32, done ``[num_envs]`` bool, infos.

        Raises:
            VecEnvUsageError: Without :meth:`step_async` before.
            GameOverError: If nothing has been dealt.
            InvalidMoveError: If the actions are not integers of that shape.
            IllegalMoveError: If one is not legal: the policy was not masked.  No game has changed.
        """
        if self._actions is None:
            raise VecEnvUsageError("step_wait finishes what step_async began: call that first")
        if self._masks is None:
            raise GameOverError("no games are running: call reset first")
        began = time.perf_counter()
        actions, self._actions = self._actions, None
        observations, rewards, ended, _, about = self.games.step(actions)
        self._masks = self.games.action_masks()
        self._returns += rewards
        self._lengths += 1
        infos: Infos = [{} for _ in range(self.num_envs)]
        now = time.perf_counter()
        for index in np.flatnonzero(ended).tolist():
            infos[index] = {
                "terminal_observation": about["final_obs"][index],
                "TimeLimit.truncated": False,
                "is_success": bool(self._returns[index] > 0),
                "episode": {
                    "r": round(float(self._returns[index]), 6),
                    "l": int(self._lengths[index]),
                    "t": round(now - self._began, 6),
                },
            }
        self.ended += int(ended.sum())
        self.won += int((self._returns[ended] > 0).sum())
        self._returns[ended], self._lengths[ended] = 0.0, 0
        self.seconds += time.perf_counter() - began
        return observations, rewards.astype(np.float32), ended, infos

    def env_method(
        self, method_name: str, *method_args: Any, indices: VecEnvIndices = None, **method_kwargs: Any
    ) -> Any:
        """The masks of the games: ``env_method("action_masks")``, shape ``[num_envs, 400]``, bool, one array.

        Raises:
            VecEnvUsageError: For any other method: no game has an object of its own.
            GameOverError: If nothing has been dealt.
        """
        if method_name != _MASKS or method_args or method_kwargs:
            raise VecEnvUsageError(
                f'all games are played in one compiled call: env_method answers "{_MASKS}" (without arguments), '
                f"not {method_name!r}"
            )
        if self._masks is None:
            raise GameOverError("no games are running: call reset first")
        return self._masks if indices is None else self._masks[list(self._get_indices(indices))]

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """An attribute of the vector environment, once for each of the games.

        Raises:
            AttributeError: If it has none of that name (SB3 asks in order to find out).
        """
        return [getattr(self.games, attr_name)] * len(self._chosen(indices))

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Set an attribute of the vector environment, for all games.

        Raises:
            VecEnvUsageError: If not all games are meant: they share it.
        """
        if len(set(self._chosen(indices))) < self.num_envs:
            raise VecEnvUsageError(f"all games share one environment: {attr_name} cannot be set for some of them")
        setattr(self.games, attr_name, value)

    def env_is_wrapped(self, wrapper_class: type[Any], indices: VecEnvIndices = None) -> list[bool]:
        """True for ``Monitor``, whose statistics stand in the infos; there are no other wrappers."""
        return [issubclass(wrapper_class, Monitor)] * len(self._chosen(indices))

    def _chosen(self, indices: VecEnvIndices) -> list[int]:
        chosen: Iterable[int] = self._get_indices(indices)
        return list(chosen)

    def get_images(self) -> list[npt.NDArray[np.uint8] | None]:
        """A picture of each game as its learner sees it, if ``render_mode`` is ``rgb_array``."""
        pictures: Any = self.games.render() if self.render_mode == "rgb_array" else None
        return list(pictures) if pictures is not None else [None] * self.num_envs

    def close(self) -> None:
        """Close the opponents."""
        self.games.close()
