"""Agents that are asked for advice.  They hear a game when they are asked about it, so one serves many games."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ddz_env.core.errors import DouDizhuError
from ddz_env.playing.agent import Agent, close
from ddz_env.playing.game import call
from ddz_env.playing.registry import make_agent


class Advisers:
    """Agents by name, each lent to one question at a time.

    There are as many of a name as were ever asked at the same time, however many games share them.
    """

    def __init__(self) -> None:
        self._idle: dict[str, list[Agent]] = {}
        self._lock = threading.Lock()

    @contextmanager
    def lent(self, name: str) -> Iterator[Agent]:
        """An agent that nobody else asks meanwhile; one that fails is not asked again.

        Raises:
            UnknownAgentError: If there is no such agent.
            InvalidAgentOptionError: If it has no such option.
        """
        with self._lock:
            idle = self._idle.setdefault(name, [])
            agent = idle.pop() if idle else None
        if agent is None:
            agent = make_agent(name)
        try:
            yield agent
        except BaseException:
            with contextlib.suppress(DouDizhuError):
                call(agent, 0, "close", close, agent)
            raise
        with self._lock:
            self._idle.setdefault(name, []).append(agent)

    def close(self) -> None:
        """Release what the agents hold; nobody asks one any more."""
        with self._lock:
            agents = [agent for idle in self._idle.values() for agent in idle]
            self._idle.clear()
        for agent in agents:
            close(agent)
