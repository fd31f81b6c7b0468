"""The plain loop: one game between agents, every move checked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ddz_env import Move, State
from ddz_env.agent import Agent, observe, reset, sight
from ddz_env.errors import DouDizhuError, IllegalMoveError, InvalidMoveError


class IllegalAgentMoveError(IllegalMoveError):
    """An agent answered with something that is no legal move; the message names the agent.

    Attributes:
        agent: The agent's name.
        seat: Its seat.
    """

    def __init__(self, agent: str, seat: int, reason: str) -> None:
        super().__init__(f"agent {agent!r} on seat {seat}: {reason}")
        self.agent = agent
        self.seat = seat

    def __reduce__(self) -> tuple[object, ...]:  # the default would call the class with the message alone
        return _rebuild, (self.agent, self.seat, str(self))


def _rebuild(agent: str, seat: int, message: str) -> IllegalAgentMoveError:
    error = IllegalAgentMoveError(agent, seat, "")
    error.args = (message,)
    return error


def seat_generators(key: Sequence[int], players: int) -> list[np.random.Generator]:
    """One generator a seat, keyed by what names the game and by the seat: no seat's draws depend on another's.

    Args:
        key: What names the game, such as ``[seed, game]``, or ``[seed, deal, game]`` in an arena.
        players: How many seats.
    """
    return [np.random.default_rng([*key, seat]) for seat in range(players)]


def play_game(state: State, agents: Sequence[Agent], rngs: Sequence[np.random.Generator]) -> State:
    """Play a game from wherever it stands to its end.

    Args:
        state: The game, played on in place.
        agents: One agent a seat; the same object may sit on several seats.
        rngs: One generator a seat (:func:`seat_generators`).

    Returns:
        The finished state (the same object).

    Raises:
        IllegalAgentMoveError: If an agent's answer is no legal move; the state stands where it was asked.
        DouDizhuError: If the number of agents or generators is not that of the seats.

    Example:
        >>> from agents.random import RandomAgent
        >>> play_game(State.new(seed=1), [RandomAgent()] * 3, seat_generators([1, 0], 3)).is_over
        True
    """
    players = state.rules.players
    if len(agents) != players or len(rngs) != players:
        raise DouDizhuError(f"{players} seats need as many agents and generators, not {len(agents)} and {len(rngs)}")
    for seat, agent in enumerate(agents):
        reset(agent, seat, state.rules)
    while not state.is_over:
        play_one(state, agents, rngs)
    return state


def play_one(state: State, agents: Sequence[Agent], rngs: Sequence[np.random.Generator]) -> Move:
    """Ask the seat to act for its move, check it, play it, and tell every agent.

    Raises:
        IllegalAgentMoveError: If the answer is no legal move.
    """
    seat = state.seat
    agent = agents[seat]
    move = agent.act(sight(agent, state), rngs[seat])
    if not isinstance(move, Move):
        raise IllegalAgentMoveError(agent.name, seat, f"act must return a Move, not {move!r}")
    try:
        state.step(move)
    except (IllegalMoveError, InvalidMoveError) as error:
        raise IllegalAgentMoveError(agent.name, seat, str(error)) from error
    for listener in agents:
        observe(listener, seat, move)
    return move
