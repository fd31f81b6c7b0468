"""Named agents that play one side of some games and do not learn.

They choose whole moves (:mod:`ddz_env.playing.many`), which are played stage by stage beside the learner's actions.
Agents of many games get no ``reset`` and no ``observe``, as in the environments (:mod:`ddz_env.envs.opponents`); those
that choose view by view find the moves so far in the view.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ddz_env.core.actions import KICKER_BASE
from ddz_env.core.engine.layout import CHOSEN, HISTORY_MOVES, HISTORY_WORDS, MOVES, STAGE, STAGE_KICKER
from ddz_env.core.engine.words import PLANE, lowest_bit, remove_hand
from ddz_env.envs.batch import SelfPlayBatch
from ddz_env.envs.stepping import LOG_MOVES
from ddz_env.playing.agent import Agent, close_agent
from ddz_env.playing.many import WaitingGames, has_act_many, request_moves
from ddz_env.playing.registry import make_agent
from ddz_env.support.compiling import pure_kernel
from ddz_env.support.errors import InvalidOptionError


class FrozenAgent:
    """An agent that plays in the games of a batch but does not learn.

    A batch remembers the last sixteen moves of a game.  An agent that chooses view by view moves more often than that,
    so what it has not seen yet is always among them.

    Args:
        agent: As for :func:`ddz_env.playing.registry.make_agent`.
        batch: The games.
        rng: The agent's only source of randomness.

    Attributes:
        name: The agent's specification.
        plans: Main id and kickers of each game's move in progress, shape ``[n, 2]``, uint64.
        logs: The moves of each game when the agent moved last, shape ``[n, LOG_MOVES, 2]``, uint64; empty where it does
            not read them.

    Raises:
        UnknownAgentError: If no agent answers to the name.
        InvalidAgentOptionError: If its options are wrong.
    """

    def __init__(self, agent: str, batch: SelfPlayBatch, rng: np.random.Generator) -> None:
        self.name = agent
        self._batch, self._rng = batch, rng
        self._agent: Agent = make_agent(agent)
        self.plans = np.zeros((batch.num_games, 2), np.uint64)
        reads_moves = not has_act_many(self._agent)
        self.logs = np.zeros((batch.num_games if reads_moves else 0, LOG_MOVES, HISTORY_WORDS), np.uint64)

    def choose_actions(self, games: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
        """Ask the agent for its action in each of the given games, in all of which the agent is to act.

        Args:
            games: Which of the batch's games, shape ``[k]``, ascending.

        Returns:
            Action ids, shape ``[k]``, int64.

        Raises:
            AgentFaultError: If the agent raises.
            IllegalAgentMoveError: If it answers with an illegal move.
        """
        rows = self._batch.rows
        begun = games[rows[games, STAGE] != STAGE_KICKER]
        if len(begun):
            self.plans[begun] = request_moves(self._agent, self._make_waiting_games(begun), name=self.name)
        actions = np.empty(len(games), np.int64)
        _write_planned_actions(rows, games, self.plans, actions)
        return actions

    def _make_waiting_games(self, games: npt.NDArray[np.intp]) -> WaitingGames:
        rows, rings = self._batch.rows[games], self._batch.slots.rings[games]
        for game, row, ring in zip(games.tolist() if len(self.logs) else (), rows, rings, strict=False):
            moves = int(row[MOVES])
            for number in range(max(0, moves - HISTORY_MOVES), moves):
                self.logs[game, number] = ring[number % HISTORY_MOVES]
        logs = self.logs[games] if len(self.logs) else None
        return WaitingGames(rows, rings, self._batch.rules, lambda _: self._rng, logs)

    def close(self) -> None:
        """Close the agent."""
        close_agent(self._agent)

    def state_dict(self) -> dict[str, Any]:
        """Return the state for :meth:`load_state_dict`: moves in progress, and moves the agent has seen."""
        return {"plans": self.plans.copy(), "logs": self.logs.copy()}

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Restore the agent's games from the result of :meth:`state_dict`.

        Raises:
            InvalidOptionError: If an array is missing or of another shape.
        """
        for name, array in (("plans", self.plans), ("logs", self.logs)):
            if name not in saved and not array.size:  # earlier versions did not write it
                continue
            if name not in saved:
                raise InvalidOptionError(f"the saved games lack the {name} of {self.name}: begin a new run")
            if saved[name].shape != array.shape:
                raise InvalidOptionError(
                    f"the {name} of {self.name} has the shape {list(saved[name].shape)} in the saved games, not "
                    f"{list(array.shape)}: begin a new run"
                )
            array[:] = saved[name]


@pure_kernel
def _write_planned_actions(rows: np.ndarray, games: np.ndarray, plans: np.ndarray, actions: np.ndarray) -> None:
    """Write, for each given game, the next action of the move that the agent has planned in it."""
    for index in range(games.size):
        row, plan = rows[games[index]], plans[games[index]]
        if row[STAGE] == STAGE_KICKER:
            actions[index] = KICKER_BASE + np.int64(lowest_bit(remove_hand(plan[1], row[CHOSEN]) & PLANE))
        else:
            actions[index] = np.int64(plan[0])


def with_prefix_removed(prefix: str, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Select the arrays whose names begin with a prefix, and remove the prefix from their names."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
