"""The opponents that play the other seats of a learner's environment.

An opponent is anything that :func:`ddz_env.playing.registry.make_agent` takes: a name with options, ``module:Class``,
or an object.  The names ``random`` and ``random-staged`` run inside the compiled step; all others are asked for whole
moves in the games that wait for them (:mod:`ddz_env.playing.many`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_env.core.engine.layout import LANDLORD, NO_SEAT, SEAT
from ddz_env.core.rules import Rules
from ddz_env.core.state import State
from ddz_env.core.view import ROLES
from ddz_env.envs.stepping import Slots
from ddz_env.playing.agent import close_agent, reset_agent
from ddz_env.playing.game import call_agent, notify_of_game
from ddz_env.playing.generators import make_agent_generator
from ddz_env.playing.many import WaitingGames, has_act_many, request_moves
from ddz_env.playing.registry import make_agent
from ddz_env.support.arrays import WritableAfterUnpickling
from ddz_env.support.errors import InvalidOptionError

ASKED, UNIFORM, STAGED = range(3)
"""How an opponent plays: as an agent; compiled: uniform over whole moves, uniform over stages."""

_COMPILED = {"random": UNIFORM, "random-staged": STAGED}


class Opponent(NamedTuple):
    """An opponent: how it plays (in compiled code or as a Python agent), its agent if any, and its role.

    Attributes:
        kind: ``ASKED``, ``UNIFORM`` or ``STAGED``.
        agent: Who answers; None where the compiled step plays.
        role: The first role that it plays.
    """

    kind: int
    agent: Any = None
    role: int = 0


def make_opponent(opponent: Any, role: int = 0) -> Opponent:
    """Make one opponent from a name with options, or from an agent object.

    Args:
        opponent: As for :func:`ddz_env.playing.registry.make_agent`.
        role: The first role that it plays.

    Raises:
        UnknownAgentError: If there is no such agent, or what has the name cannot act.
        InvalidAgentOptionError: If its options are wrong.
    """
    kind = _COMPILED.get(opponent.strip(), ASKED) if isinstance(opponent, str) else ASKED
    return Opponent(kind) if kind != ASKED else Opponent(kind, make_agent(opponent), role)


def make_opponents_by_role(opponents: Any, role: str, rules: Rules) -> list[Opponent]:
    """Make the opponent of each role from the ``opponents`` option of an environment.

    Args:
        opponents: One opponent for all seats, or a dict by role.
        role: The learner's role, or ``"random"``.
        rules: The rules.

    Returns:
        The opponent of each role; some of them may be the same object.

    Raises:
        InvalidOptionError: If a role is unknown or has no opponent, or they differ where an auction decides on the
            roles.
        UnknownAgentError: If an opponent cannot be found.
    """
    if not isinstance(opponents, Mapping):
        return [make_opponent(opponents)] * rules.players
    roles = ROLES[: rules.players]
    unknown = [name for name in opponents if name not in roles]
    needed = [name for name in roles if name != role]
    missing = [name for name in needed if name not in opponents]
    if unknown or missing:
        raise InvalidOptionError(
            f"opponents by role must name {', '.join(needed)}; missing {missing or 'none'}, unknown {unknown or 'none'}"
        )
    choices = [opponents[name] for name in needed]
    if rules.bidding != "fixed" and any(choice is not choices[0] and choice != choices[0] for choice in choices):
        raise InvalidOptionError(
            "with an auction, seats get their roles only after the bids: give one opponent for all seats"
        )
    by_key: dict[Any, Opponent] = {}
    by_role = []
    for number, name in enumerate(roles):
        choice = opponents.get(name, "random")  # only the learner plays a role without an opponent
        key = name if isinstance(choice, str) else id(choice)  # a name is an agent of its own for every role
        if key not in by_key:
            by_key[key] = make_opponent(choice, number)
        by_role.append(by_key[key])
    return by_role


def add_partner(partner: Any, opponents: Any, role: str, rules: Rules) -> Any:
    """Return the opponents by role, with ``partner`` as the learner's fellow peasant if one is given.

    Args:
        partner: As one of the opponents; None for one of them.
        opponents: One opponent for all other seats.
        role: The learner's role.
        rules: The rules.

    Returns:
        The opponents as :func:`make_opponents_by_role` takes them.

    Raises:
        InvalidOptionError: If the rules have one peasant, the role is no peasant's, or there are opponents by role.
    """
    if partner is None:
        return opponents
    peasants = ROLES[1 : rules.players]
    if len(peasants) < 2:
        raise InvalidOptionError(f"partner needs rules with two peasants; {rules.name} has {rules.players} players")
    if role not in peasants:
        raise InvalidOptionError(f"partner needs role='peasant_down' or 'peasant_up', not {role!r}")
    if isinstance(opponents, Mapping):
        raise InvalidOptionError(
            f"partner needs one opponent, not opponents by role ({', '.join(map(str, opponents))}): name the partner "
            "there"
        )
    return {other: partner if other in peasants else opponents for other in ROLES if other != role}


class Opponents(WritableAfterUnpickling):
    """The opponents in a batch of games, which choose the moves of the other seats.

    Args:
        opponents: One opponent for all seats, or a dict by role.
        role: The learner's role, or ``"random"``.
        rules: The rules.
        count: How many games.
        threads: How many threads call an agent that is ``parallel``.

    Attributes:
        kinds: How each role is played, shape ``[players]``, int64.
        in_python: Those that answer from Python, each once.
        read_moves: Whether an opponent reads all moves of a game.

    Raises:
        InvalidOptionError: As :func:`make_opponents_by_role`.
        UnknownAgentError: Likewise.
    """

    def __init__(self, opponents: Any, role: str, rules: Rules, count: int, threads: int = 1) -> None:
        by_role = make_opponents_by_role(opponents, role, rules)
        self.kinds = np.array([opponent.kind for opponent in by_role])
        self.in_python = [player for i, player in enumerate(by_role) if player.agent and player not in by_role[:i]]
        self._by_role = np.array([self.in_python.index(opponent) if opponent.agent else -1 for opponent in by_role])
        self.read_moves = any(not has_act_many(opponent.agent) for opponent in self.in_python)
        self._rules, self._threads = rules, threads
        # Opponents of a single game may follow it; opponents of many games cannot.
        self._followers = [one for one in self.in_python if not has_act_many(one.agent)] if count == 1 else []
        self._num_notified: int | None = None
        self._rngs: dict[int, tuple[tuple[int, ...], np.random.Generator]] = {}

    @property
    def follow_game(self) -> bool:
        """Whether an opponent is told of a single game: when it begins, and of every move."""
        return bool(self._followers)

    def begin(self, chosen: npt.NDArray[np.bool_]) -> None:
        """Prepare opponents for new games by discarding their generators."""
        self._rngs = {index: entry for index, entry in self._rngs.items() if not chosen[index]}
        self._num_notified = None

    def notify_of_moves(self, state: Callable[[int], State], learner_seat: int) -> None:
        """Notify the opponents in a single game of the moves since the last call, and of the game itself if new.

        Args:
            state: Returns the state of a game by its index.
            learner_seat: The seat that no opponent plays.
        """
        if not self._followers:
            return
        game = state(0)
        for opponent in self._followers:
            seats = self._seats_of(opponent, game, learner_seat)
            if self._num_notified is None:
                for seat in seats:
                    call_agent(opponent.agent, seat, "reset", reset_agent, opponent.agent, seat, self._rules)
            if seats:  # the learner may have the only role of an opponent in this game
                notify_of_game(opponent.agent, seats[0], self._rules, game.history, self._num_notified or 0)
        self._num_notified = len(game.history)

    def _seats_of(self, opponent: Opponent, game: State, learner_seat: int) -> list[int]:
        """Return the seats that an opponent plays; before there is a landlord, one opponent plays all but one."""
        players, number = self._rules.players, self.in_python.index(opponent)
        seats = [(learner_seat + place) % players for place in range(1, players)]
        roles = {seat: game.role(seat) for seat in seats}
        return [seat for seat, role in roles.items() if role is None or self._by_role[ROLES.index(role)] == number]

    def choose_moves(self, waiting: npt.NDArray[np.intp], slots: Slots) -> None:
        """Choose a move in each game that waits for an opponent, and write the moves into the games' arrays.

        Args:
            waiting: The games.
            slots: The arrays of all games; the answers are written into them.

        Raises:
            AgentFaultError: If an opponent raises.
            IllegalAgentMoveError: If its answer is not a legal move.
        """
        called = self._agents_to_act(slots.rows[waiting]) if len(self.in_python) > 1 else None
        for number, opponent in enumerate(self.in_python):
            games = waiting if called is None else waiting[called == number]
            if len(games):
                moves = request_moves(opponent.agent, self._select_waiting(games, slots), self._threads)
                slots.games["main"][games], slots.games["kickers"][games] = moves.T

    def _select_waiting(self, games: npt.NDArray[np.intp], slots: Slots) -> WaitingGames:
        def rng(index: int) -> np.random.Generator:
            game = int(games[index])
            key = int(slots.games["seed"][game]), int(slots.games["number"][game])
            if self._rngs.get(game, ((), None))[0] != key:
                self._rngs[game] = key, make_agent_generator(key)
            return self._rngs[game][1]

        logs = slots.logs[games] if self.read_moves else None
        return WaitingGames(slots.rows[games], slots.rings[games], self._rules, rng, logs)

    def _agents_to_act(self, rows: npt.NDArray[np.uint64]) -> npt.NDArray[np.intp]:
        """Return, for each game-state array, the index in ``in_python`` of the agent whose turn it is."""
        players, landlords = np.uint64(self._rules.players), rows[:, LANDLORD]
        roles = np.where(landlords == NO_SEAT, 0, (rows[:, SEAT] + players - landlords) % players)
        numbers: npt.NDArray[np.intp] = self._by_role[roles.astype(np.intp)]
        return numbers

    def close(self) -> None:
        """Close all opponents that have a ``close`` method."""
        for opponent in self.in_python:
            call_agent(opponent.agent, opponent.role, "close", close_agent, opponent.agent)
