"""The games that a belief network learns from: every seat is played by an agent drawn for it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_agents.belief.conduct import TALLIES, note_actions
from ddz_agents.belief.layers import Lesson, can_learn, describe_lesson
from ddz_env.core.engine.layout import STAGE, STAGE_PLAY
from ddz_env.envs.batch import SelfPlayBatch
from ddz_training.learn.belief.config import BeliefConfig
from ddz_training.learn.ppo.checkpoint import behind
from ddz_training.learn.ppo.frozen import FrozenAgent

_SEATS = 3


class _Memory(NamedTuple):
    """What is remembered of the games beside the batch.

    Attributes:
        kinds: The player of each seat, an index into the settings' players, shape ``[n, 3]``, int64.
        tallies: How each seat has played, shape ``[n, 3, len(TALLIES)]``, int32.
        tricks: The trick that each game is in, shape ``[n, 3]``, int32.
    """

    kinds: npt.NDArray[np.int64]
    tallies: npt.NDArray[np.int32]
    tricks: npt.NDArray[np.int32]


class MixedGames:
    """Games of mixed players, played side by side.

    Args:
        config: The settings.
        threads: Threads that step the games; results do not depend on it.
    """

    def __init__(self, config: BeliefConfig, threads: int | None = 1) -> None:
        self._config, games = config, config.num_games
        self._batch = SelfPlayBatch(games, config.rules, config.seed, threads, concealed=True)
        self._rng = np.random.default_rng([config.seed, 1])
        self._rngs = [np.random.default_rng([config.seed, 2, place]) for place in range(len(config.players))]
        self._agents = [
            FrozenAgent(name, self._batch, rng) for name, rng in zip(config.players, self._rngs, strict=True)
        ]
        self._memory = _Memory(
            np.zeros((games, _SEATS), np.int64),
            np.zeros((games, _SEATS, len(TALLIES)), np.int32),
            np.zeros((games, 3), np.int32),
        )
        self._begin(np.arange(games))

    def lesson(self) -> Lesson:
        """The positions in which a seat chooses a move, has a choice, and cannot place some cards."""
        batch = self._batch
        hidden = np.empty(batch.num_games, np.bool_)
        can_learn(batch.observation, hidden)
        choosing = (batch.rows[:, STAGE] == STAGE_PLAY) & (np.count_nonzero(batch.mask, axis=1) > 1)
        rows = np.flatnonzero(hidden & choosing)
        return describe_lesson(
            batch.observation[rows], batch.concealed[rows], self._memory.tallies[rows], batch.seat[rows]
        )

    def step(self) -> None:
        """Play an action in every game."""
        batch, memory = self._batch, self._memory
        acting = memory.kinds[np.arange(batch.num_games), batch.seat]
        actions = np.zeros(batch.num_games, np.int64)
        for place, agent in enumerate(self._agents):
            games = np.flatnonzero(acting == place)
            if len(games):
                actions[games] = agent.actions(games)
        note_actions(batch.rows, actions, memory.tallies, memory.tricks)
        batch.step(actions)
        self._begin(np.flatnonzero(batch.done))

    def _begin(self, games: npt.NDArray[np.intp]) -> None:
        """Draw the players of games that begin."""
        config, memory = self._config, self._memory
        shares = np.array(config.shares or [1.0] * len(config.players))
        kinds = self._rng.choice(len(shares), (len(games), _SEATS), p=shares / shares.sum())
        alike = self._rng.random(len(games)) < config.alike
        kinds[alike, 2] = kinds[alike, 1]
        memory.kinds[games], memory.tallies[games], memory.tricks[games] = kinds, 0, 0

    def close(self) -> None:
        """Release what the players hold."""
        for agent in self._agents:
            agent.close()

    def state_dict(self) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        """Arrays and plain values from which :meth:`load_state_dict` continues to the bit."""
        games = self._batch.state_dict()
        arrays = {f"batch.{name}": part for name, part in games.items() if isinstance(part, np.ndarray)}
        arrays |= {f"memory.{name}": part.copy() for name, part in self._memory._asdict().items()}
        for place, agent in enumerate(self._agents):
            arrays |= {f"agent.{place}.{name}": part for name, part in agent.state_dict().items()}
        plain = {name: part for name, part in games.items() if not isinstance(part, np.ndarray)}
        return arrays, {"batch": plain, "generators": [rng.bit_generator.state for rng in (self._rng, *self._rngs)]}

    def load_state_dict(self, arrays: dict[str, npt.NDArray[Any]], plain: dict[str, Any]) -> None:
        """Continue from :meth:`state_dict`.

        Raises:
            InvalidOptionError: If the saved games do not fit.
            KeyError: Or ValueError: if something is missing or does not fit.
        """
        self._batch.load_state_dict(behind("batch.", arrays) | plain["batch"])
        for name, part in self._memory._asdict().items():
            part[:] = arrays[f"memory.{name}"]
        for place, agent in enumerate(self._agents):
            agent.load_state_dict(behind(f"agent.{place}.", arrays))
        for rng, state in zip((self._rng, *self._rngs), plain["generators"], strict=True):
            rng.bit_generator.state = state
