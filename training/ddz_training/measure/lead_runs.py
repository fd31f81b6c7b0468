"""Runs that measure agents by recorded games, save the leads game by game, and go on where they were stopped."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ddz_env import Rules
from ddz_env.playing.game import AgentFaultError
from ddz_training.measure.errors import AgentFailedError
from ddz_training.measure.records import (
    Comparison,
    GameLead,
    Positions,
    ReplayableGame,
    compare_with_agent,
    compute_game_leads,
    find_common_rules,
)
from ddz_training.measure.store import OnProgress, ResultStore, ignore_progress
from ddz_training.measure.workers import Worker

FORMAT = "ddz-records-1"
"""The ``format`` of results files with the leads of recorded games."""
_KEY = ("agent", "game")


@dataclass(frozen=True)
class LeadRun:
    """Recorded games, and how agents are measured by them.

    Attributes:
        games: The games.
        first_game: The number of the first of them, among those of its file that somebody won.
        repeats: How often an agent finishes each position.
        seed: Seed of agents that draw their moves.

    Raises:
        InvalidRecordsError: If there are no games, or they are of different rules.
    """

    games: Sequence[ReplayableGame]
    first_game: int = 0
    repeats: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        find_common_rules(self.games)

    @property
    def rules(self) -> Rules:
        """The rules of all games."""
        return self.games[0].start.rules

    def store(
        self, path: Path | None, agents: Sequence[str], settings: Mapping[str, Any] | None = None
    ) -> ResultStore[GameLead]:
        """Create a store for the leads, starting with those of an existing file.

        Args:
            path: The file, ``.csv`` or ``.sqlite``; None keeps the leads in memory only.
            agents: Who is measured.
            settings: What else the leads depend on, such as the file of the games.

        Raises:
            ResultsFileError: If the file cannot be used.
            SettingsMismatchError: If it was written under other settings.
            InUseError: If another process has the file.
            UnknownAgentError: If an agent does not exist.
        """
        about = {"format": FORMAT, "repeats": self.repeats, "seed": self.seed, **(settings or {})}
        return ResultStore(GameLead, path, about, _KEY, per_key=1, agents=agents)

    def compare(self, agent: str, on_progress: OnProgress = ignore_progress) -> Comparison:
        """Compare all games with an agent (:func:`~ddz_training.measure.records.compare_with_agent`)."""
        positions = Positions.of(self.games, self.first_game)
        return compare_with_agent(positions, agent, repeats=self.repeats, seed=self.seed, on_progress=on_progress)

    def measure_one_by_one(
        self, agent: str, store: ResultStore[GameLead], processes: int = 1, on_progress: OnProgress = ignore_progress
    ) -> None:
        """Add an agent's leads to a store, each game as soon as it is done; games that it holds are not played again.

        Args:
            agent: The agent.
            store: That of :meth:`store`.
            processes: Worker processes; results do not depend on them.
            on_progress: Called with how many games are done, and how many there are.

        Raises:
            WorkerDiedError: If a worker process died.
            AgentFailedError: If the agent fails; the message names the game.
        """
        tasks = {(agent, number): number for number in range(self.first_game, self.first_game + len(self.games))}
        store.run_tasks(tasks, functools.partial(LeadWorker, self, agent), processes, on_progress)


class LeadWorker(Worker[int, Sequence[GameLead]]):
    """A worker that measures an agent by one recorded game at a time.

    Args:
        run: The games.
        agent: The agent.
    """

    def __init__(self, run: LeadRun, agent: str) -> None:
        self._run, self._agent = run, agent

    def work(self, number: int) -> Sequence[GameLead]:
        """Measure the agent by the game with a given number.

        Raises:
            AgentFailedError: If the agent fails.
        """
        run = self._run
        one = LeadRun(run.games[number - run.first_game :][:1], number, run.repeats, run.seed)
        try:
            return compute_game_leads(one.compare(self._agent), number)
        except AgentFaultError as fault:
            raise AgentFailedError(
                f"agent {self._agent!r} failed in game {number}, seat {fault.seat}, in {fault.phase}: {fault.reason}"
            ) from fault
