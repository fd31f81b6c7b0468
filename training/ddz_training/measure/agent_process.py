"""Agents in processes of their own, for time limits: an agent that takes too long is ended with its process.

A thread cannot be stopped, and compiled code does not react to signals; a process can always be killed.  The agent's
process gets views and generators, never the game, and answers with moves.  All seats of an agent share one process.
Before the first game it rehearses for a moment, so that compiling, or loading compiled code, does not count as
thinking.
"""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import os
import pickle
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from ddz_env import Move, Rules, State, View
from ddz_env.playing.agent import Agent, cheats, close
from ddz_env.playing.game import read_answer, reason_of, warm_up
from ddz_env.playing.registry import make_agent
from ddz_env.support.errors import DouDizhuError
from ddz_env.support.processes import CLOSE_SECONDS, end_group, serve_parent

START_SECONDS = 60.0
"""Seconds to make an agent and to rehearse; compiling everything takes half a minute."""

_REHEARSAL_SECONDS = 1.0
_LOOKS = 50
_OPTIONAL = ("reset", "observe", "close")


class AgentProcessError(DouDizhuError):
    """An agent's process answered with an error, too late, or not at all."""


def arrives(pipe: Connection, seconds: float) -> bool:
    """Whether an answer comes within a time limit; of a time in which all was stopped (SIGSTOP) little is charged."""
    return any(pipe.poll(seconds / _LOOKS) for _ in range(_LOOKS))


class AgentProcesses:
    """The processes of some agents.

    Args:
        time_limit: Seconds that an answer may take; None where no agent is made.
        rules: The rules that agents rehearse under; None for no rehearsal.
    """

    def __init__(self, time_limit: float | None, rules: Rules | None = None) -> None:
        self._time_limit, self._rules = time_limit, rules
        self._running: dict[str, _AgentProcess] = {}
        self._unrehearsed: set[str] = set()

    def make(self, spec: str) -> Agent:
        """Make an agent in the process of its specification, which is started if it is not running.

        Raises:
            AgentProcessError: If it cannot be made.
        """
        process = self._running.get(spec)
        if process is None or not process.runs:
            process = self._running[spec] = self._started(spec)
        return _DistantAgent(spec, process, self._time_limit or START_SECONDS)

    def _started(self, spec: str) -> _AgentProcess:
        process = _AgentProcess(spec)
        if self._rules is not None and spec not in self._unrehearsed:
            try:
                process.ask(START_SECONDS, "rehearse", self._rules)
            except AgentProcessError:  # the games will report it; no second rehearsal
                self._unrehearsed.add(spec)
                process.end()
                return _AgentProcess(spec)
        return process

    def close(self) -> None:
        """End the processes."""
        for process in self._running.values():
            process.end()
        self._running.clear()


class _AgentProcess:
    """The process that serves the agents of one specification, as its parent sees it."""

    def __init__(self, spec: str) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, child_end = context.Pipe()
        lifeline, self._lifeline = context.Pipe(duplex=False)
        arguments = spec, child_end, lifeline
        self._process = context.Process(target=_serve, name=f"agent {spec}", args=arguments, daemon=True)
        self._process.start()
        child_end.close()
        lifeline.close()

    @property
    def runs(self) -> bool:
        return not self._pipe.closed

    def ask(self, seconds: float, method: str, *arguments: Any) -> Any:
        """Call a method of :class:`_Served` in the process, and return its answer.

        Raises:
            AgentProcessError: If it raises, or does not answer in time; then the process is ended.
        """
        try:
            self._pipe.send((method, arguments))
            if not arrives(self._pipe, seconds):
                self.end()
                raise AgentProcessError(f"no answer within {seconds:g} s; its process was ended")
            answer, reason = self._pipe.recv()
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            self.end()
            raise AgentProcessError(f"its process ended (exit code {self._process.exitcode})") from error
        if reason is not None:
            raise AgentProcessError(reason)
        return answer

    def end(self) -> None:
        """End the process with all that it has started; it may close its agents before."""
        self._pipe.close()
        self._lifeline.close()
        self._process.join(2 * CLOSE_SECONDS)
        end_group(self._process.pid)
        self._process.kill()
        self._process.join()


class _DistantAgent:
    """An agent in another process, as the playing loop sees it."""

    def __init__(self, spec: str, process: _AgentProcess, time_limit: float) -> None:
        self.name = spec
        self._process, self._time_limit = process, time_limit
        self._index, self.cheats, optional_methods = process.ask(START_SECONDS, "make")
        for optional in optional_methods:
            setattr(self, optional, functools.partial(self._tell, optional))
        self._rngs: dict[int, np.random.Generator] = {}

    def act(self, view: View | State, rng: np.random.Generator) -> Move:
        already_sent = self._rngs.get(view.seat) is rng  # the process has it, and has drawn from it
        self._rngs[view.seat] = rng
        move: Move = self._process.ask(self._time_limit, "act", self._index, view, None if already_sent else rng)
        return move

    def _tell(self, method: str, *arguments: Any) -> None:
        if self._process.runs or method != "close":
            self._process.ask(self._time_limit, "tell", self._index, method, *arguments)


class _Served:
    """The agents of one specification, inside the process that serves them."""

    def __init__(self, spec: str) -> None:
        self._spec = spec
        self._agents: list[Agent] = []
        self._rngs: dict[tuple[int, int], np.random.Generator] = {}

    def make(self) -> tuple[int, bool, list[str]]:
        agent = self._new_agent()
        return len(self._agents) - 1, cheats(agent), [method for method in _OPTIONAL if hasattr(agent, method)]

    def _new_agent(self) -> Agent:
        self._agents.append(make_agent(self._spec))
        return self._agents[-1]

    def rehearse(self, rules: Rules) -> None:
        """Play a little of a game that does not count; faults show again in the games."""
        warm_up(self._new_agent, rules, _REHEARSAL_SECONDS)
        self._agents.clear()  # it is closed

    def act(self, index: int, view: View | State, rng: np.random.Generator | None) -> Move:
        if rng is not None:
            self._rngs[index, view.seat] = rng
        return read_answer(self._agents[index].act(view, self._rngs[index, view.seat]))

    def tell(self, index: int, method: str, *arguments: Any) -> None:
        getattr(self._agents[index], method)(*arguments)

    def close(self) -> None:
        """Let all agents release what they hold."""
        for agent in self._agents:
            close(agent)


def _serve(spec: str, pipe: Connection, lifeline: Connection) -> None:
    """Answer until the process ends: the life of an agent's process."""
    served, process = _Served(spec), os.getpid()
    serve_parent(lifeline, served.close)
    with contextlib.suppress(EOFError, OSError):  # where the pipe is closed
        while True:
            method, arguments = pipe.recv()
            answer: tuple[Any, str | None]
            try:
                answer = getattr(served, method)(*arguments), None
            except BaseException as error:
                answer = None, reason_of(error)
            if os.getpid() != process:  # the agent has forked
                os._exit(1)
            pipe.send(answer)
