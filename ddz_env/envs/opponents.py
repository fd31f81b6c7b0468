"""Opponents: who plays the other seats of a learner's environment.

An opponent is anything that :func:`ddz_env.playing.registry.make_agent` takes: a name with options, ``module:Class``,
or an object.  The names ``random`` and ``random-staged`` run inside the compiled step.  An agent that offers
``batched`` answers for all games that wait for it in one call, with whole moves if it has ``moves``; any other agent
chooses game by game.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.cards import counts_to_word
from ddz_env.core.engine.kickers import may_ride
from ddz_env.core.engine.layout import HANDS, LANDLORD, NO_SEAT, SEAT, STAGE, STAGE_PLAY
from ddz_env.core.engine.legal import legal_mask, marked
from ddz_env.core.engine.tables import MASK_WORDS
from ddz_env.core.engine.words import U0
from ddz_env.core.rules import Rules
from ddz_env.core.state import State
from ddz_env.core.view import ROLES
from ddz_env.envs.games import check_actions, refuse_illegal
from ddz_env.envs.stepping import Slots
from ddz_env.playing.agent import BatchPlayer, act_batch, answers_in_batches, close, sight
from ddz_env.playing.game import call, play_answer, tell
from ddz_env.playing.generators import agent_generator
from ddz_env.playing.registry import make_agent
from ddz_env.support.compiling import pure_kernel
from ddz_env.support.errors import IllegalMoveError, InvalidMoveError, InvalidOptionError
from ddz_env.support.owned import OwnsArrays
from ddz_env.support.threads import run_chunks

ASKED, UNIFORM, STAGED, UNSEEN = range(4)
"""How an opponent plays: as an agent; compiled: uniform over whole moves, uniform over stages; as an agent who reads
the engine's rows, so that the position is not written for it."""

_COMPILED = {"random": UNIFORM, "random-staged": STAGED}


class Opponent(NamedTuple):
    """Who plays a role.

    Attributes:
        kind: ``ASKED``, ``UNIFORM``, ``STAGED`` or ``UNSEEN``.
        agent: Who answers; None where the compiled step plays.
        batch: What answers for the agent in many games at once, if it offers that.
        role: The first role that it plays.
    """

    kind: int
    agent: Any = None
    batch: BatchPlayer | None = None
    role: int = 0


def make_opponent(opponent: Any, count: int, rules: Rules, role: int = 0) -> Opponent:
    """Resolve one opponent.

    Args:
        opponent: As for :func:`ddz_env.playing.registry.make_agent`.
        count: How many games it plays in.
        rules: Their rules.
        role: The first role that it plays.

    Raises:
        UnknownAgentError: If there is no such agent, or what has the name cannot act.
        InvalidAgentOptionError: If its options are wrong.
    """
    kind = _COMPILED.get(opponent.strip(), ASKED) if isinstance(opponent, str) else ASKED
    if kind != ASKED:
        return Opponent(kind)
    agent: Any = make_agent(opponent)
    batch = agent.batched(count, rules) if answers_in_batches(agent) else None
    return Opponent(UNSEEN if hasattr(batch, "moves") else ASKED, agent, batch, role)


def opponents_by_role(opponents: Any, role: str, rules: Rules, count: int) -> list[Opponent]:
    """Resolve the ``opponents`` option.

    Args:
        opponents: One opponent for all seats, or a dict by role.
        role: The learner's role, or ``"random"``.
        rules: The rules.
        count: How many games they play in.

    Returns:
        The opponent of each role; some of them may be the same object.

    Raises:
        InvalidOptionError: If a role is unknown or has no opponent, or they differ where an auction decides on the
            roles.
        UnknownAgentError: If an opponent cannot be found.
    """
    if not isinstance(opponents, Mapping):
        return [make_opponent(opponents, count, rules)] * rules.players
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
        raise InvalidOptionError("who bids has no role yet: with an auction give one opponent for all seats")
    by_key: dict[Any, Opponent] = {}
    by_role = []
    for number, name in enumerate(roles):
        choice = opponents.get(name, "random")  # only the learner plays a role without an opponent
        key = name if isinstance(choice, str) else id(choice)  # a name is an agent of its own for every role
        if key not in by_key:
            by_key[key] = make_opponent(choice, count, rules, number)
        by_role.append(by_key[key])
    return by_role


def with_partner(partner: Any, opponents: Any, role: str, rules: Rules) -> Any:
    """Opponents of a peasant whose partner is somebody else.

    Args:
        partner: As one of the opponents; None for one of them.
        opponents: One opponent for all other seats.
        role: The learner's role.
        rules: The rules.

    Returns:
        The opponents as :func:`opponents_by_role` takes them.

    Raises:
        InvalidOptionError: If the role is no peasant's who has a partner, or there are opponents by role already.
    """
    if partner is None:
        return opponents
    peasants = ROLES[1 : rules.players]
    if role not in peasants or len(peasants) < 2 or isinstance(opponents, Mapping):
        raise InvalidOptionError("partner needs role='peasant_down' or 'peasant_up' and one opponent: the landlord")
    return {other: partner if other in peasants else opponents for other in ROLES if other != role}


class Opponents(OwnsArrays):
    """The opponents of a table of games, and their answers.

    Args:
        opponents: One opponent for all seats, or a dict by role.
        role: The learner's role, or ``"random"``.
        rules: The rules.
        count: How many games.
        threads: How many threads call a player that is ``parallel``.

    Attributes:
        kinds: How each role is played, shape ``[players]``, int64.
        in_python: Those that answer from Python, each once.
        read_moves: Whether an opponent reads all moves of a game.

    Raises:
        InvalidOptionError: As :func:`opponents_by_role`.
        UnknownAgentError: Likewise.
    """

    def __init__(self, opponents: Any, role: str, rules: Rules, count: int, threads: int = 1) -> None:
        by_role = opponents_by_role(opponents, role, rules, count)
        self.kinds = np.array([opponent.kind for opponent in by_role])
        self.in_python = [player for i, player in enumerate(by_role) if player.agent and player not in by_role[:i]]
        self._by_role = np.array([self.in_python.index(opponent) if opponent.agent else -1 for opponent in by_role])
        self.read_moves = any(opponent.batch is None for opponent in self.in_python)
        self._rules, self._threads = rules, threads
        # Opponents of a single game may follow it; opponents of many games cannot.
        self._listeners = [opponent for opponent in self.in_python if opponent.batch is None] if count == 1 else []
        self._told = 0
        self._rngs: dict[int, tuple[tuple[int, ...], np.random.Generator]] = {}

    def begin(self, chosen: npt.NDArray[np.bool_]) -> None:
        """Prepare for the beginning of the chosen games."""
        self._rngs = {index: entry for index, entry in self._rngs.items() if not chosen[index]}
        self._told = 0
        for opponent in self._listeners:
            tell(opponent.agent, opponent.role, self._rules, ())

    def tell(self, state: Callable[[int], State]) -> None:
        """Tell the opponents of a single game the moves that they have not heard of."""
        if self._listeners:
            history = state(0).history
            for opponent in self._listeners:
                tell(opponent.agent, opponent.role, self._rules, history, self._told)
            self._told = len(history)

    def answer(self, waiting: npt.NDArray[np.intp], slots: Slots, state: Callable[[int], State]) -> None:
        """Write an answer in each of the games that wait.

        Args:
            waiting: The games.
            slots: The arrays of all games; the answers are written into them.
            state: A game as a state of its own.

        Raises:
            AgentFaultError: If an opponent raises.
            IllegalAgentMoveError: If its answer is not a legal move.
        """
        called = self._called(slots.rows[waiting]) if len(self.in_python) > 1 else None

        def rng(game: int) -> np.random.Generator:
            key = int(slots.games["seed"][game]), int(slots.games["number"][game])
            if self._rngs.get(game, ((), None))[0] != key:
                self._rngs[game] = key, agent_generator(key)
            return self._rngs[game][1]

        for number, opponent in enumerate(self.in_python):
            games = waiting if called is None else waiting[called == number]
            if not len(games):
                continue
            if opponent.batch is None:
                states, rngs = [state(game) for game in games.tolist()], [rng(game) for game in games.tolist()]
                mains, kickers = np.array(whole_moves(opponent.agent, states, rngs), np.uint64).T
            elif opponent.kind == UNSEEN:
                mains, kickers = _moves(opponent, games, slots, self._threads).T
            else:
                mains, kickers = _stages(opponent, games, slots, self._threads, rng), 0
            slots.games["main"][games], slots.games["kickers"][games] = mains, kickers

    def _called(self, rows: npt.NDArray[np.uint64]) -> npt.NDArray[np.intp]:
        """For each row, the index in ``in_python`` of the agent that plays the seat to act."""
        players, landlords = np.uint64(self._rules.players), rows[:, LANDLORD]
        roles = np.where(landlords == NO_SEAT, 0, (rows[:, SEAT] + players - landlords) % players)
        numbers: npt.NDArray[np.intp] = self._by_role[roles.astype(np.intp)]
        return numbers

    def close(self) -> None:
        """Close the opponents that can be closed."""
        for opponent in self.in_python:
            call(opponent.agent, opponent.role, "close", close, opponent.agent)


def whole_moves(agent: Any, states: list[State], rngs: list[np.random.Generator]) -> list[tuple[int, int]]:
    """An agent's whole move in each of some games, checked.

    Args:
        agent: The agent.
        states: The games, in which the moves are played.
        rngs: One generator per game.

    Returns:
        Main id and kickers as a hand, for each game.

    Raises:
        AgentFaultError: If the agent raises.
        IllegalAgentMoveError: If an answer is not a legal move.
    """
    answers = call(agent, states[0].seat, "act", _answers, agent, states, rngs)
    moves = [play_answer(state, agent, answer) for state, answer in zip(states, answers, strict=True)]
    return [(move.main, counts_to_word(move.kicker_counts)) for move in moves]


def _answers(agent: Any, states: list[State], rngs: list[np.random.Generator]) -> list[Any]:
    answers = act_batch(agent, [sight(agent, state) for state in states], rngs)
    if len(answers) != len(states):
        raise InvalidMoveError(f"{len(answers)} moves for {len(states)} games")
    return answers


def _ask(opponent: Opponent, threads: int, answer: Callable[..., Any], *arrays: npt.NDArray[Any]) -> Any:
    """An opponent's answers in some games: in one call, or in parts on several threads if it is ``parallel``."""
    if threads == 1 or not getattr(opponent.batch, "parallel", False):
        return call(opponent.agent, opponent.role, "act", answer, *arrays)
    parts: dict[int, Any] = {}

    def work(first: int, stop: int) -> None:
        parts[first] = answer(*(array[first:stop] for array in arrays))

    call(opponent.agent, opponent.role, "act", run_chunks, work, len(arrays[0]), threads)
    return np.concatenate([parts[first] for first in sorted(parts)])


def _stages(
    opponent: Opponent, games: npt.NDArray[np.intp], slots: Slots, threads: int, rng: Callable[[int], Any]
) -> npt.NDArray[np.int64]:
    """One stage in each of some games, checked."""
    batch: Any = opponent.batch
    arrays = games, slots.rows[games], slots.observations[games], slots.masks[games, :NUM_ACTIONS]
    actions = _ask(opponent, threads, lambda *part: batch.actions(*part, rng), *arrays)
    actions = check_actions(actions, len(games))
    refuse_illegal(actions, slots.bits[games], lambda wrong: f"agent {opponent.agent.name!r} in game {games[wrong]}")
    return actions


def _moves(opponent: Opponent, games: npt.NDArray[np.intp], slots: Slots, threads: int) -> npt.NDArray[np.uint64]:
    """A whole move in each of some games, checked: main ids and kickers as hands, shape ``[k, 2]``."""
    batch: Any = opponent.batch
    rows = slots.rows[games]
    moves: npt.NDArray[np.uint64] = _ask(opponent, threads, batch.moves, rows)
    wrong = first_illegal_move(rows, slots.rules, np.empty(MASK_WORDS, np.uint64), moves)
    if wrong >= 0:
        main, kickers = moves[wrong].tolist()
        problem = f"main id {main} with the kickers {kickers:#x}"
        raise IllegalMoveError(f"agent {opponent.agent.name!r} in game {games[wrong]}: {problem} is not a legal move")
    return moves


@pure_kernel
def first_illegal_move(rows: np.ndarray, rules: np.ndarray, mask: np.ndarray, moves: np.ndarray) -> int:
    """Index of the first whole move that is not legal, -1 if all are.

    Args:
        rows: The games at the start of a decision, shape ``[k, 32]``, uint64.
        rules: The rules array.
        mask: Memory, shape ``[7]``, uint64.
        moves: Main ids and kickers as hands, shape ``[k, 2]``, uint64.
    """
    for index in range(rows.shape[0]):
        row, main = rows[index], moves[index, 0]
        legal_mask(row, rules, mask)
        if main >= np.uint64(NUM_ACTIONS) or not marked(mask, main):
            return index
        if row[STAGE] == STAGE_PLAY:
            if not may_ride(row, row[HANDS + np.int64(row[SEAT])], main, moves[index, 1], rules):
                return index
        elif moves[index, 1] != U0:
            return index
    return -1
