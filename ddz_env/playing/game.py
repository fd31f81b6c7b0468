"""The loop of one game between agents, with every move checked."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ddz_env import Move, State
from ddz_env.core.rules import Rules
from ddz_env.playing.agent import Agent, agent_input, notify_agent, reset_agent
from ddz_env.playing.generators import make_agent_generator
from ddz_env.support.errors import DouDizhuError, IllegalMoveError, InvalidMoveError, short_repr
from ddz_env.support.folders import PACKAGES

MakeGenerator = Callable[[Sequence[int]], np.random.Generator]
"""Makes a generator of a key."""

_Answer = TypeVar("_Answer")


class AgentFaultError(DouDizhuError):
    """Raised when an agent raises an error or returns no legal move; the message names the agent.

    Attributes:
        agent: The agent's name.
        seat: Its seat.
        phase: What it was to do: ``construction``, ``reset``, ``act``, ``observe`` or ``close``.
        reason: What went wrong.
    """

    def __init__(self, agent: str, seat: int, phase: str, reason: str) -> None:
        super().__init__(f"agent {agent!r} on seat {seat}: failed in {phase}: {reason}")
        self.agent, self.seat, self.phase, self.reason = agent, seat, phase, reason

    def __reduce__(self) -> tuple[object, ...]:  # the default would call the class with the message alone
        return type(self), (self.agent, self.seat, self.phase, self.reason)


class IllegalAgentMoveError(AgentFaultError, IllegalMoveError):
    """Raised when an agent returns something that is not a legal move; the message names the agent."""


def call_agent(agent: Any, seat: int, phase: str, do: Callable[..., _Answer], *arguments: Any) -> _Answer:
    """Call a function that runs an agent's code, and name the agent in any error that it raises.

    ``SystemExit`` is named, too: it would end the program as if all were well.  Where the agent forks and both come
    back, the child ends here: two would play on with the same files.

    Args:
        agent: The agent, or its name.
        seat: Its seat.
        phase: What it is to do (:class:`AgentFaultError`).
        do: What to do.
        arguments: Its arguments.

    Raises:
        IllegalAgentMoveError: If it was an illegal or unreadable move.
        AgentFaultError: If it was anything else.
    """
    process = os.getpid()
    try:
        answer = do(*arguments)
    except (Exception, SystemExit) as error:
        kind = IllegalAgentMoveError if isinstance(error, (IllegalMoveError, InvalidMoveError)) else AgentFaultError
        name = agent if isinstance(agent, str) else getattr(agent, "name", type(agent).__name__)
        raise kind(name, seat, phase, describe_error(error)) from error
    finally:
        if os.getpid() != process:
            os._exit(1)
    return answer


def notify_of_game(
    agent: Any, seat: int, rules: Rules, history: Sequence[tuple[int, Move]], num_known: int | None = None
) -> int:
    """Notify an agent of the game, if new, and of moves that the agent does not know; return the history's length.

    Args:
        agent: The agent.
        seat: Its seat.
        rules: The rules.
        history: The moves so far.
        num_known: How many of them it knows; None if it does not know of the game.

    Returns:
        How many moves it knows now.

    Raises:
        AgentFaultError: If it fails.
    """
    if num_known is None:
        call_agent(agent, seat, "reset", reset_agent, agent, seat, rules)
    for mover, move in history[num_known or 0 :]:
        call_agent(agent, seat, "observe", notify_agent, agent, mover, move)
    return len(history)


def describe_error(error: BaseException) -> str:
    """Describe an error, giving its class and origin if it is not one of this package's own errors."""
    if isinstance(error, DouDizhuError):
        return str(error)
    named = f"{type(error).__name__}{_locate_user_code(error)}"
    return f"{named}: {error}" if str(error) else named


def _locate_user_code(error: BaseException) -> str:
    """Format the place of the innermost user code in an error's traceback, or return an empty string."""
    ours = {*PACKAGES, *sys.stdlib_module_names}
    for frame, line in reversed([*traceback.walk_tb(error.__traceback__)]):
        file = Path(frame.f_code.co_filename)
        module = str(frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] not in ours and "site-packages" not in file.parts:
            return f" ({file.name}, line {line})"
    return ""


def make_seat_generators(
    key: Sequence[int], players: int, make: MakeGenerator = make_agent_generator
) -> list[np.random.Generator]:
    """Make one independent random generator per seat, seeded by the game's key and the seat.

    No seat's draws depend on another's.

    Args:
        key: What names the game, as ``[seed, game]`` or ``[seed, deal, game]``.
        players: How many seats.
        make: :func:`ddz_env.playing.generators.make_agent_generator`, or another that makes a generator of a key.
    """
    return [make([*key, seat]) for seat in range(players)]


def play_game(state: State, agents: Sequence[Agent], rngs: Sequence[np.random.Generator]) -> State:
    """Play a game between agents from any position to its end, and return the finished state.

    Args:
        state: The game, played on in place.
        agents: One agent per seat; the same object may sit on several seats.
        rngs: One generator per seat (:func:`make_seat_generators`).

    Returns:
        The finished state (the same object).

    Raises:
        AgentFaultError: If an agent raises.
        IllegalAgentMoveError: If its answer is not a legal move; the state is that of the question.
        DouDizhuError: If the number of agents or generators is not that of the seats.

    Example:
        >>> from ddz_env.playing.registry import make_agent
        >>> play_game(State.new(seed=1), [make_agent("random")] * 3, make_seat_generators([1, 0], 3)).is_over
        True
    """
    players = state.rules.players
    if len(agents) != players or len(rngs) != players:
        raise DouDizhuError(f"{players} seats need as many agents and generators, not {len(agents)} and {len(rngs)}")
    for seat, agent in enumerate(agents):
        notify_of_game(agent, seat, state.rules, ())
    while not state.is_over:
        play_turn(state, agents, rngs)
    return state


def play_turn(state: State, agents: Sequence[Agent], rngs: Sequence[np.random.Generator]) -> Move:
    """Request the move of the seat to act, check it, play it, and let every agent observe it.

    Raises:
        AgentFaultError: If an agent raises: the one to act, or one that observes.
        IllegalAgentMoveError: If the answer is not a legal move.
    """
    agent, seat = agents[state.seat], state.seat
    return play_and_notify(
        state, agents, call_agent(agent, seat, "act", agent.act, agent_input(agent, state), rngs[seat])
    )


def play_and_notify(state: State, agents: Sequence[Agent], answer: object) -> Move:
    """Check and play the move returned by the agent of the seat to act, then notify every agent.

    Raises:
        AgentFaultError: If an agent that observes raises.
        IllegalAgentMoveError: If the answer is not a legal move.
    """
    seat = state.seat
    move = play_agent_move(state, agents[seat], answer)
    for listening_seat, listener in enumerate(agents):
        call_agent(listener, listening_seat, "observe", notify_agent, listener, seat, move)
    return move


def play_agent_move(state: State, agent: Any, answer: object) -> Move:
    """Check and play the move that an agent returned; any error names the agent.

    Raises:
        IllegalAgentMoveError: If it is not a legal move; the state is unchanged.
    """
    seat = state.seat
    move = call_agent(agent, seat, "act", check_is_move, answer)
    call_agent(agent, seat, "act", state.step, move)
    return move


def check_is_move(answer: object) -> Move:
    """Check that an agent's return value is a :class:`Move`, legal or not, and return it.

    Raises:
        InvalidMoveError: If it is something else.
    """
    if not isinstance(answer, Move):
        raise InvalidMoveError(f"act must return a Move, not {short_repr(answer)}")
    return answer
