"""Agents by name that play one side of some games and do not learn.

A frozen agent that offers ``batched`` answers for all games that wait for it in one call, ``random`` is compiled, and
any other chooses game by game.  Agents of many games get no ``reset`` and no ``observe``, as in the environments
(:mod:`ddz_env.envs.opponents`); those that choose game by game find the moves so far in the view.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ddz_env import Move
from ddz_env.core.actions import KICKER_BASE
from ddz_env.core.engine.layout import HISTORY_MOVES, HISTORY_WORDS, LEFT, MOVES, STAGE, STAGE_KICKER
from ddz_env.core.engine.moves import random_move
from ddz_env.core.engine.tables import MASK_WORDS
from ddz_env.core.state import State
from ddz_env.envs.batch import SelfPlayBatch
from ddz_env.envs.games import check_actions, refuse_illegal, restore_state
from ddz_env.envs.opponents import ASKED, STAGED, UNIFORM, Opponent, make_opponent, whole_moves
from ddz_env.envs.stepping import LOG_MOVES
from ddz_env.playing.agent import BatchPlayer, close
from ddz_env.playing.game import call
from ddz_env.support.errors import InvalidOptionError

_MOST = 2**64 - 1


class FrozenAgent:
    """An agent that does not learn, in the games of a batch, stage by stage.

    Args:
        agent: As for :func:`ddz_env.playing.registry.make_agent`.
        batch: The games; it must write observations and masks.
        rng: The agent's only source of randomness.

    Attributes:
        name: The agent's specification.

    Raises:
        UnknownAgentError: If no agent answers to the name.
        InvalidAgentOptionError: If its options are wrong.
    """

    def __init__(self, agent: str, batch: SelfPlayBatch, rng: np.random.Generator) -> None:
        self.name = agent
        self._batch = batch
        self._rng = rng
        self._opponent = make_opponent(agent, batch.num_games, batch.rules)
        self._player: BatchPlayer = self._opponent.batch or _MoveByMove(self._opponent, batch)

    def actions(self, games: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
        """The agent's action in each of the given games; in all of them it is to act.

        Args:
            games: Which of the batch's games, shape ``[k]``, ascending.

        Returns:
            Action ids, shape ``[k]``, int64.

        Raises:
            AgentFaultError: If the agent raises.
            IllegalAgentMoveError: If it answers with an illegal action.
        """
        return call(self.name, int(self._batch.seat[games[0]]), "act", self._checked, games)

    def _checked(self, games: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
        batch = self._batch
        inputs = batch.rows[games], batch.observation[games], batch.mask[games]
        actions = check_actions(self._player.actions(games, *inputs, lambda _: self._rng), len(games))
        refuse_illegal(actions, batch.mask_words[games], lambda wrong: f"game {games[wrong]}")
        return actions

    def close(self) -> None:
        """Release what the agent holds."""
        if self._opponent.agent is not None:
            close(self._opponent.agent)

    def state_dict(self) -> dict[str, Any]:
        """The state for :meth:`load_state_dict`: the moves in progress, and what else is remembered of the games."""
        return {name: array.copy() for name, array in self._memory().items()}

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Continue from :meth:`state_dict`.

        Raises:
            InvalidOptionError: If an array is missing or of another shape.
        """
        for name, array in self._memory().items():
            if name not in saved or saved[name].shape != array.shape:
                raise InvalidOptionError(f"the saved games lack the {name} of {self.name}")
            array[:] = saved[name]

    def _memory(self) -> dict[str, npt.NDArray[np.uint64]]:
        """The arrays that a player must save with its games."""
        return {name: getattr(self._player, name) for name in ("plans", "logs") if hasattr(self._player, name)}


class _MoveByMove:
    """An agent that chooses whole moves: see :class:`ddz_env.playing.agent.BatchPlayer`.

    A batch remembers the last sixteen moves of a game.  The agent moves more often than that, so what it has not
    seen yet is always among them.

    Attributes:
        plans: Main id and kickers of each game's move in progress, shape ``[n, 2]``, uint64.
        logs: The moves of each game when its agent moved last, shape ``[n, LOG_MOVES, 2]``, uint64; empty where
            they are not read.
    """

    def __init__(self, opponent: Opponent, batch: SelfPlayBatch) -> None:
        self._opponent, self._batch = opponent, batch
        self._rule_words = batch.rules.words()
        games = batch.num_games
        self.plans = np.zeros((games, 2), np.uint64)
        self.logs = np.zeros((games if opponent.kind == ASKED else 0, LOG_MOVES, HISTORY_WORDS), np.uint64)

    def actions(
        self,
        games: npt.NDArray[np.intp],
        rows: npt.NDArray[np.uint64],
        observations: npt.NDArray[np.int8],
        masks: npt.NDArray[np.int8],
        rngs: Any,
    ) -> npt.NDArray[np.int64]:
        kind, rng = self._opponent.kind, rngs(0)
        if kind == STAGED:
            order = np.where(masks > 0, rng.random(masks.shape), -1.0)
            chosen: npt.NDArray[np.int64] = order.argmax(axis=1).astype(np.int64)
            return chosen
        begun = games[rows[:, STAGE] != STAGE_KICKER]
        if kind == UNIFORM:
            mask = np.empty(MASK_WORDS, np.uint64)
            for game in begun.tolist():
                bits = rng.integers(_MOST, dtype=np.uint64, endpoint=True)
                self.plans[game] = random_move(self._batch.rows[game], self._rule_words, mask, bits)
        elif len(begun):
            states = [self._state(game) for game in begun.tolist()]
            self.plans[begun] = whole_moves(self._opponent.agent, states, [rng] * len(states))
        return np.array([self._stage(game, row) for game, row in zip(games.tolist(), rows, strict=True)], np.int64)

    def _stage(self, game: int, row: npt.NDArray[np.uint64]) -> int:
        """The action of a game's planned move for its present stage."""
        main, kickers = self.plans[game].tolist()
        if row[STAGE] != STAGE_KICKER:
            return int(main)
        ranks = Move.from_words(main, kickers).kickers
        return KICKER_BASE + ranks[len(ranks) - int(row[LEFT])]

    def _state(self, game: int) -> State:
        """The state of a game, with all its moves."""
        state, log = self._batch.state(game), self.logs[game]
        moves = int(state.row[MOVES])
        for number in range(max(0, moves - HISTORY_MOVES), moves):
            log[number] = state.ring[number % HISTORY_MOVES]
        return restore_state(state.row, state.ring, log, self._batch.rules)


def behind(prefix: str, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """The arrays whose names begin with a prefix, by the rest of their names."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
