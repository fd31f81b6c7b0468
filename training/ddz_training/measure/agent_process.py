"""Agents in separate processes, so that an agent that exceeds its time limit can be killed.

A thread cannot be stopped, and compiled code does not react to signals; a process can always be killed.  The agent's
process gets views and generators, never the game, and answers with moves.  All seats of an agent share one process.
While it compiles, no time is charged: it lets its parent see this in memory that both share.
"""

from __future__ import annotations

import contextlib
import functools
import math
import multiprocessing
import os
import pickle
import time
from collections.abc import Callable, MutableSequence
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from ddz_env import Move, Rules, State, View
from ddz_env.playing.agent import Agent, close_agent, is_cheating
from ddz_env.playing.game import check_is_move, describe_error
from ddz_env.playing.registry import make_agent
from ddz_env.support.errors import DouDizhuError
from ddz_env.support.processes import CLOSE_SECONDS, bind_to_parent, kill_process_group
from ddz_training.measure.clocks import PausingClock, wall_time

START_SECONDS = 60.0
"""Seconds to make an agent, without those in which it compiles."""
COMPILE_SECONDS = 600.0
"""Seconds in which an agent may compile before it answers."""

_POLLS = 50
_SECONDS_COMPILED, _IS_COMPILING = 0, 1
"""What an agent's process shares with its parent: seconds that it has compiled, and whether it does so now."""
_OPTIONAL_METHODS = ("reset", "observe", "close")


class AgentProcessError(DouDizhuError):
    """Raised when an agent's process answers with an error, too late, or not at all."""


def wait_for_answer(pipe: Connection, seconds: float, compiles: Callable[[], bool] = lambda: False) -> bool:
    """Wait for an agent process's answer, and return whether it arrives within a time limit.

    Of a time in which all was stopped (SIGSTOP) little is charged, and nothing of one in which the agent compiles.

    Args:
        pipe: Where the answer comes from.
        seconds: The time limit.
        compiles: Whether the agent compiles now.
    """
    look = seconds / _POLLS
    looks = {False: _POLLS, True: math.ceil(COMPILE_SECONDS / look)}
    while all(looks.values()):
        if pipe.poll(look):
            return True
        looks[bool(compiles())] -= 1
    return False


class AgentProcesses:
    """A manager of agent processes, which starts one process per specification and ends them all.

    Args:
        time_limit: Seconds that an answer may take; None where no agent is made.
        rules: The rules for which agents are compiled when they are made; None compiles nothing in advance.
    """

    def __init__(self, time_limit: float | None, rules: Rules | None = None) -> None:
        self._time_limit, self._rules = time_limit, rules
        self._running: dict[str, _AgentProcess] = {}

    def make(self, spec: str) -> Agent:
        """Make an agent in its specification's process, started if necessary, and return a proxy for the agent.

        Raises:
            AgentProcessError: If it cannot be made.
        """
        process = self._running.get(spec)
        if process is None or not process.is_running:
            process = self._running[spec] = _AgentProcess(spec, self._rules)
        return _RemoteAgent(spec, process, self._time_limit or START_SECONDS)

    def close(self) -> None:
        """End the processes of all agents."""
        for process in self._running.values():
            process.end()
        self._running.clear()


class _AgentProcess:
    """The parent's handle on a process that serves the agents of one specification."""

    def __init__(self, spec: str, rules: Rules | None) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, child_end = context.Pipe()
        lifeline, self._lifeline = context.Pipe(duplex=False)
        self._compiling = context.RawArray("d", 2)
        arguments = spec, rules, child_end, lifeline, self._compiling
        self._process = context.Process(target=_serve, name=f"agent {spec}", args=arguments, daemon=True)
        self._process.start()
        child_end.close()
        lifeline.close()

    @property
    def is_running(self) -> bool:
        return not self._pipe.closed

    def ask(self, seconds: float, method: str, *arguments: Any) -> Any:
        """Call a method of :class:`_AgentServer` in the process and return its answer.

        Raises:
            AgentProcessError: If it raises, or does not answer in time; then the process is ended.
        """
        compiled = self._compiling[_SECONDS_COMPILED]
        try:
            self._pipe.send((method, arguments))
            if not wait_for_answer(self._pipe, seconds, lambda: bool(self._compiling[_IS_COMPILING])):
                self.end()
                raise AgentProcessError(f"no answer within {seconds:g} s; its process was ended")
            answer, reason = self._pipe.recv()
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            self.end()
            raise AgentProcessError(f"its process ended (exit code {self._process.exitcode})") from error
        finally:
            wall_time.exclude(self._compiling[_SECONDS_COMPILED] - compiled)
        if reason is not None:
            raise AgentProcessError(reason)
        return answer

    def end(self) -> None:
        """End the process with its child processes, after giving it a chance to close its agents."""
        self._pipe.close()
        self._lifeline.close()
        self._process.join(2 * CLOSE_SECONDS)
        kill_process_group(self._process.pid)
        self._process.kill()
        self._process.join()


class _RemoteAgent:
    """A proxy for an agent in another process, which the playing loop uses like any other agent."""

    def __init__(self, spec: str, process: _AgentProcess, time_limit: float) -> None:
        self.name = spec
        self._process, self._time_limit = process, time_limit
        self._index, self.cheats, optional_methods = process.ask(START_SECONDS, "make")
        for optional in optional_methods:
            setattr(self, optional, functools.partial(self._notify, optional))
        self._rngs: dict[int, np.random.Generator] = {}

    def act(self, view: View | State, rng: np.random.Generator) -> Move:
        already_sent = self._rngs.get(view.seat) is rng  # the process has it, and has drawn from it
        self._rngs[view.seat] = rng
        move: Move = self._process.ask(self._time_limit, "act", self._index, view, None if already_sent else rng)
        return move

    def _notify(self, method: str, *arguments: Any) -> None:
        if self._process.is_running or method != "close":
            self._process.ask(self._time_limit, "notify", self._index, method, *arguments)


class _AgentServer:
    """The agents of one specification in an agent process, with the methods that the parent process calls."""

    def __init__(self, spec: str, rules: Rules | None) -> None:
        self._spec, self._rules = spec, rules
        self._agents: list[Agent] = []
        self._rngs: dict[tuple[int, int], np.random.Generator] = {}

    def make(self) -> tuple[int, bool, list[str]]:
        agent = make_agent(self._spec, self._rules)
        self._agents.append(agent)
        return (
            len(self._agents) - 1,
            is_cheating(agent),
            [method for method in _OPTIONAL_METHODS if hasattr(agent, method)],
        )

    def act(self, index: int, view: View | State, rng: np.random.Generator | None) -> Move:
        if rng is not None:
            self._rngs[index, view.seat] = rng
        return check_is_move(self._agents[index].act(view, self._rngs[index, view.seat]))

    def notify(self, index: int, method: str, *arguments: Any) -> None:
        getattr(self._agents[index], method)(*arguments)

    def close(self) -> None:
        """Let all agents release their resources."""
        for agent in self._agents:
            close_agent(agent)


class _SharedClock(PausingClock):
    """A clock that reports to the parent how long this process has compiled, and whether it is compiling now."""

    def __init__(self, shared: MutableSequence[float]) -> None:
        self._shared = shared
        super().__init__(time.perf_counter)

    def on_start(self, event: Any) -> None:
        super().on_start(event)
        self._shared[_IS_COMPILING] = True

    def on_end(self, event: Any) -> None:
        super().on_end(event)
        self._shared[_SECONDS_COMPILED], self._shared[_IS_COMPILING] = self.stopped, self.is_stopped


def _serve(
    spec: str, rules: Rules | None, pipe: Connection, lifeline: Connection, compiling: MutableSequence[float]
) -> None:
    """Run an agent process, executing the parent's method calls until the parent closes the pipe."""
    served, process = _AgentServer(spec, rules), os.getpid()
    _SharedClock(compiling)
    bind_to_parent(lifeline, served.close)
    with contextlib.suppress(EOFError, OSError):  # where the pipe is closed
        while True:
            method, arguments = pipe.recv()
            answer: tuple[Any, str | None]
            try:
                answer = getattr(served, method)(*arguments), None
            except BaseException as error:
                answer = None, describe_error(error)
            if os.getpid() != process:  # the agent has forked
                os._exit(1)
            pipe.send(answer)
