"""Opponents: who plays the other seats of a learner's environment.

An opponent is anything that :func:`ddz_env.playing.registry.make_agent` takes: a name with options, ``module:Class``,
or an object.  The names ``random`` and ``random-staged`` run inside the compiled step.  An agent that offers
``batched`` answers for all games that wait for it in one call; any other agent is asked game by game.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_env.core.cards import counts_to_word
from ddz_env.core.engine.compiling import kernel
from ddz_env.core.engine.layout import LANDLORD, NO_SEAT, SEAT
from ddz_env.core.engine.legal import count_legal, legal_mask, nth_legal
from ddz_env.core.engine.moves import all_moves
from ddz_env.core.engine.random import advance, below, mix
from ddz_env.core.engine.tables import KICKER_ID, MAIN_SEGMENT, MASK_WORDS, SEGMENT_KICKER_SIZE
from ddz_env.core.engine.words import PLANE, U0, U1, lowest, remove
from ddz_env.core.errors import InvalidMoveError, InvalidOptionError
from ddz_env.core.observation import mask_bytes
from ddz_env.core.owned import OwnsArrays
from ddz_env.core.rules import Rules
from ddz_env.core.state import State
from ddz_env.core.view import ROLES
from ddz_env.envs.stepping import check_actions, first_illegal, play_action, refuse_action
from ddz_env.playing.agent import BatchPlayer, act_batch, answers_in_batches, close, sight
from ddz_env.playing.game import call, play_answer, tell
from ddz_env.playing.generators import agent_generator
from ddz_env.playing.registry import make_agent

ASKED, UNIFORM, STAGED = 0, 1, 2
"""How a seat is played: by an agent that is asked, or compiled: uniform over whole moves, uniform over each stage."""

_COMPILED = {"random": UNIFORM, "random-staged": STAGED}
_KICKER_ID = np.uint64(KICKER_ID)


@kernel
def random_move(row: np.ndarray, rules: np.ndarray, bits: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Draw a whole move, uniformly over the legal ones.

    Args:
        row: The game at the start of a decision, shape ``[32]``, uint64.
        rules: The rules array.
        bits: 64 random bits.

    Returns:
        The main id and the kickers as a hand.
    """
    mains, kickers = all_moves(row, rules)
    choice = np.int64(below(bits, np.uint64(mains.size)))
    return mains[choice], kickers[choice]


@kernel
def play_whole_move(
    row: np.ndarray, ring: np.ndarray, log: np.ndarray, main: np.uint64, kickers: np.uint64, rules: np.ndarray
) -> None:
    """Play a legal whole move stage by stage.

    Args:
        row: The game, changed in place.
        ring: The recent moves, changed in place.
        log: All moves (:func:`ddz_env.envs.stepping.play_action`).
        main: Action id of the main group, a bid or an answer to doubling.
        kickers: The kickers as a hand, 0 if none.
        rules: The rules array.
    """
    play_action(row, ring, log, main, rules)
    while kickers != U0:
        rank = lowest(kickers & PLANE)
        kickers = remove(kickers, U1 << rank, SEGMENT_KICKER_SIZE[MAIN_SEGMENT[main]])
        play_action(row, ring, log, _KICKER_ID + rank, rules)


@kernel
def play_randomly(
    row: np.ndarray, ring: np.ndarray, log: np.ndarray, rules: np.ndarray, kind: int, state: np.uint64
) -> np.uint64:
    """Play one whole move (``UNIFORM``) or one stage (``STAGED``) at random; returns the generator's new state."""
    state = advance(state)
    if kind == UNIFORM:
        main, kickers = random_move(row, rules, mix(state))
        play_whole_move(row, ring, log, main, kickers, rules)
    else:
        mask = np.empty(MASK_WORDS, np.uint64)
        legal_mask(row, rules, mask)
        play_action(row, ring, log, nth_legal(mask, below(mix(state), count_legal(mask))), rules)
    return state


class Opponent(NamedTuple):
    """Who plays a role.

    Attributes:
        kind: ``ASKED``, ``UNIFORM`` or ``STAGED``.
        agent: Who is asked; None where the compiled step plays.
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
        UnknownAgentError: If no agent answers to the name, or what answers cannot act.
        InvalidAgentOptionError: If its options are wrong.
    """
    kind = _COMPILED.get(opponent.strip(), ASKED) if isinstance(opponent, str) else ASKED
    if kind != ASKED:
        return Opponent(kind)
    agent: Any = make_agent(opponent)
    return Opponent(ASKED, agent, agent.batched(count, rules) if answers_in_batches(agent) else None, role)


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
        InvalidOptionError: If a role is unknown or has no opponent, or an auction would have to know roles.
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
    others = [opponents[name] for name in needed]
    if rules.bidding != "fixed" and any(other is not others[0] and other != others[0] for other in others):
        raise InvalidOptionError("who bids has no role yet: with an auction give one opponent for all seats")
    made: dict[Any, Opponent] = {}
    by_role = []
    for number, name in enumerate(roles):
        given = opponents.get(name, "random")  # nobody but the learner plays a role without an opponent
        key = name if isinstance(given, str) else id(given)  # a name is an agent of its own for every role
        if key not in made:
            made[key] = make_opponent(given, count, rules, number)
        by_role.append(made[key])
    return by_role


class Opponents(OwnsArrays):
    """The opponents of a table of games, and their answers.

    Args:
        opponents: One opponent for all seats, or a dict by role.
        role: The learner's role, or ``"random"``.
        rules: The rules.
        count: How many games.

    Attributes:
        kinds: How each role is played, shape ``[players]``, int64.
        asked: Those who are asked, each once.
        read_moves: Whether anybody wants to know all moves of a game.

    Raises:
        InvalidOptionError: As :func:`opponents_by_role`.
        UnknownAgentError: Likewise.
    """

    def __init__(self, opponents: Any, role: str, rules: Rules, count: int) -> None:
        by_role = opponents_by_role(opponents, role, rules, count)
        self.kinds = np.array([one.kind for one in by_role])
        self.asked = [one for number, one in enumerate(by_role) if one.agent and one not in by_role[:number]]
        self._by_role = np.array([self.asked.index(one) if one.agent else -1 for one in by_role])
        self.read_moves = any(one.batch is None for one in self.asked)
        self._rules = rules
        # Opponents of a single game may follow it; in a table of many they must not care.
        self._listeners = [one for one in self.asked if one.batch is None] if count == 1 else []
        self._told = 0
        self._rngs: dict[int, np.random.Generator] = {}

    def begin(self, chosen: npt.NDArray[np.bool_]) -> None:
        """Some games are about to be dealt."""
        self._rngs = {index: rng for index, rng in self._rngs.items() if not chosen[index]}
        self._told = 0
        for one in self._listeners:
            tell(one.agent, one.role, self._rules, ())

    def tell(self, state: Callable[[int], State]) -> None:
        """Tell the opponents of a single game the moves that they have not heard of."""
        history = state(0).history if self._listeners else []
        for one in self._listeners:
            tell(one.agent, one.role, self._rules, history, self._told)
        self._told = len(history)

    def answer(
        self, waiting: npt.NDArray[np.intp], tables: Any, state: Callable[[int], State], answers: npt.NDArray[np.uint64]
    ) -> None:
        """Ask for an answer in each of the games that wait.

        Args:
            waiting: The games.
            tables: The arrays of all games (:class:`ddz_env.envs.learner_games.LearnerSlots`).
            state: A game as a state of its own.
            answers: Output: main id and kickers, or the action id of a single stage and 0, shape ``[n, 2]``, uint64.

        Raises:
            AgentFaultError: If an opponent raises.
            IllegalAgentMoveError: If its answer is no legal move.
        """
        rows, players = tables.rows[waiting], np.uint64(self._rules.players)
        landlords = rows[:, LANDLORD]
        roles = np.where(landlords == np.uint64(NO_SEAT), U0, (rows[:, SEAT] + players - landlords) % players)
        asked = self._by_role[roles.astype(np.intp)]

        def rng(game: int) -> np.random.Generator:
            if game not in self._rngs:
                self._rngs[game] = agent_generator([tables.seeds[game], tables.episodes[game]])
            return self._rngs[game]

        for number, one in enumerate(self.asked):
            games = waiting[asked == number]
            if not len(games):
                continue
            if one.batch is None:
                answers[games] = whole_moves(
                    one.agent, [state(game) for game in games.tolist()], list(map(rng, games.tolist()))
                )
            else:
                answers[games, 0], answers[games, 1] = _stages(one, games, tables, rng), 0

    def close(self) -> None:
        """Close those that can be closed."""
        for one in self.asked:
            call(one.agent, one.role, "close", close, one.agent)


def whole_moves(agent: Any, states: list[State], rngs: list[np.random.Generator]) -> list[tuple[int, int]]:
    """An agent's whole move in each of some games, checked.

    Args:
        agent: The agent.
        states: The games, in which the moves are played.
        rngs: A generator a game.

    Returns:
        Main id and kickers as a hand, for each game.

    Raises:
        AgentFaultError: If the agent raises.
        IllegalAgentMoveError: If an answer is no legal move.
    """
    answers = call(agent, states[0].seat, "act", _answers, agent, states, rngs)
    moves = [play_answer(state, agent, answer) for state, answer in zip(states, answers, strict=True)]
    return [(move.main, counts_to_word(move.kicker_counts)) for move in moves]


def _answers(agent: Any, states: list[State], rngs: list[np.random.Generator]) -> list[Any]:
    answers = act_batch(agent, [sight(agent, state) for state in states], rngs)
    if len(answers) != len(states):
        raise InvalidMoveError(f"{len(answers)} moves for {len(states)} games")
    return answers


def _stages(
    one: Opponent, games: npt.NDArray[np.intp], tables: Any, rng: Callable[[int], Any]
) -> npt.NDArray[np.int64]:
    """One stage in each of some games, checked, in one call."""
    assert one.batch is not None
    masks = mask_bytes(tables.masks[games])
    seen = tables.observations[games].view(np.int8)
    actions = call(one.agent, one.role, "act", one.batch.actions, games, tables.rows[games], seen, masks, rng)
    actions = check_actions(actions, len(games))
    wrong = int(first_illegal(actions, tables.bits[games]))
    if wrong >= 0:
        where = f"agent {one.agent.name!r} in game {games[wrong]}"
        refuse_action(where, int(actions[wrong]), np.flatnonzero(masks[wrong]).tolist())
    return actions
