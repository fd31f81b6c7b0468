"""A pool that makes agents from specifications, reuses them from game to game, and finally closes them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from contextlib import closing
from typing import TypeVar

from ddz_env import Rules
from ddz_env.playing.agent import Agent, close_agent, is_cheating
from ddz_env.playing.game import AgentFaultError, call_agent, describe_error
from ddz_env.playing.many import has_act_many
from ddz_env.playing.registry import make_agent, max_cards_of_agent
from ddz_env.support.errors import DouDizhuError
from ddz_training.measure.agent_process import AgentProcessError, AgentProcesses
from ddz_training.measure.errors import AgentFailedError, AgentFaultWarning, InvalidArenaError

_Result = TypeVar("_Result")


def can_play_many_games(agent: Agent) -> bool:
    """Return whether an agent can play games in batches: it moves as in single games, and needs no history.

    Games side by side keep no history, which an agent that cheats would find missing in its states.
    """
    alike = has_act_many(agent) and getattr(agent, "same_in_batches", False)
    return bool(alike) and not (is_cheating(agent) or hasattr(agent, "reset") or hasattr(agent, "observe"))


class AgentPool:
    """A pool that makes one agent per specification and seat, and reuses it from game to game.

    Args:
        maker: Makes an agent from a specification.
        processes: Where agents are made instead, each in a process that ends with its time limit.
    """

    def __init__(self, maker: Callable[[str], Agent] = make_agent, processes: AgentProcesses | None = None) -> None:
        self._maker, self._processes = maker if processes is None else processes.make, processes
        self._made: dict[tuple[str, int], Agent] = {}

    def get(self, spec: str, seat: int = 0) -> Agent:
        """Return the pool's agent for a specification and a seat, making it on first use."""
        if (spec, seat) not in self._made:
            self._made[spec, seat] = self._maker(spec)
        return self._made[spec, seat]

    @property
    def specs(self) -> set[str]:
        """The specifications of the agents that the pool holds."""
        return {spec for spec, _ in self._made}

    def release(self, spec: str) -> None:
        """Close a specification's agents in all seats; the pool makes them again when they are next needed."""
        for key in [key for key in self._made if key[0] == spec]:
            close_or_warn(self._made.pop(key), spec)

    def close(self) -> None:
        """Close all agents with their programs and processes, even if closing one of them fails."""
        for spec in self.specs:
            self.release(spec)
        if self._processes is not None:
            self._processes.close()


def close_or_warn(agent: Agent, name: str) -> None:
    """Close an agent after its games, turning a failure into an :class:`AgentFaultWarning`."""
    try:
        call_agent(name, 0, "close", close_agent, agent)
    except AgentFaultError as error:
        warnings.warn(f"agent {name!r} failed in close: {error.reason}", AgentFaultWarning, stacklevel=2)


def query_agent(spec: str, question: Callable[[Agent], _Result]) -> _Result:
    """Make an agent, return the result of a function called with it, and close the agent.

    Args:
        spec: Its specification.
        question: Gets the agent, and returns the answer.

    Raises:
        UnknownAgentError: If it does not exist.
    """
    agent = make_agent(spec)
    try:
        return question(agent)
    finally:
        close_or_warn(agent, spec)


def check_agents(specs: Iterable[str], time_limit: float | None = None, rules: Rules | None = None) -> bool:
    """Make and close agents, so that a wrong name or option is reported before any game is played.

    Args:
        specs: The agents.
        time_limit: As for :class:`DealPlayer`.
        rules: The rules, if agents are to be compiled for them, and refused where they search whole games and these are
            too long.

    Returns:
        Whether all may play many games at once (:func:`can_play_many_games`).

    Raises:
        UnknownAgentError: If an agent does not exist.
        InvalidArenaError: If the deck has more cards than its ``max_cards_of_agent``.
        AgentFailedError: If it cannot be made, for a reason in its own code.
    """
    together = True
    with closing(AgentProcesses(time_limit, rules)) as processes:
        for spec in dict.fromkeys(specs):
            try:
                agent = make_agent(spec, rules) if time_limit is None else processes.make(spec)
                together = can_play_many_games(agent) and together
            except (Exception, SystemExit) as error:
                if isinstance(error, (DouDizhuError, ImportError)) and not isinstance(error, AgentProcessError):
                    raise
                raise AgentFailedError(f"agent {spec!r} failed in construction: {describe_error(error)}") from error
            close_or_warn(agent, spec)
            most = max_cards_of_agent(spec)
            if rules is not None and most is not None and sum(rules.deck) > most:
                raise InvalidArenaError(f"{spec!r} searches whole games, of at most {most} cards: add --rules mini")
    return together
