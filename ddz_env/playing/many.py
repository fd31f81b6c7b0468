"""Requests for an agent's whole moves in many games at once.

Whoever plays many games (environments with opponents, duplicate deals, games side by side, training) asks by
:func:`request_moves`.  An agent that offers ``act_many`` answers for all games in one call, any other view by view.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_env.core.actions import KICKER_BASE, NUM_ACTIONS
from ddz_env.core.engine.kickers import are_kickers_legal
from ddz_env.core.engine.layout import HANDS, MOVES, SEAT, STAGE, STAGE_KICKER, STAGE_PLAY
from ddz_env.core.engine.legal import is_legal_action, write_legal_mask
from ddz_env.core.engine.step import apply_and_record
from ddz_env.core.engine.tables import MAIN_SEGMENT, MASK_WORDS, SEGMENT_KICKER_SIZE
from ddz_env.core.engine.words import U0, U1, add_cards
from ddz_env.core.notation import decode_slot
from ddz_env.core.observation import MASK_BYTE_WORDS, OBSERVATION_WORDS, mask_bytes, write_mask, write_observation
from ddz_env.core.rules import Rules
from ddz_env.core.state import restore_state
from ddz_env.core.view import View, write_view
from ddz_env.playing.agent import agent_input, is_cheating
from ddz_env.playing.game import call_agent, play_agent_move
from ddz_env.support.compiling import kernel, pure_kernel
from ddz_env.support.errors import IllegalMoveError, InvalidMoveError, short_repr
from ddz_env.support.threads import run_chunks

Words = npt.NDArray[np.uint64]
ChooseActions = Callable[
    [npt.NDArray[np.int8], npt.NDArray[np.int8], Callable[[int], np.random.Generator]], npt.NDArray[np.int64]
]
"""Chooses the next action of each of some seats, given what they see, ``[n, OBSERVATION_SIZE]``, their legal actions,
``[n, 400]``, and the generator of each."""

_NO_LOG = np.empty((0, 2), np.uint64)


class WaitingGames(NamedTuple):
    """Games that wait for an agent's move, each at the start of a decision.

    Attributes:
        rows: What the seats to act know (:func:`~ddz_env.core.view.write_view`), the whole games for an agent that
            cheats, shape ``[k, 32]``, uint64.
        rings: The recent moves, shape ``[k, 16, 2]``, uint64.
        rules: The rules.
        rng: The generator of a game, by its place in these arrays.
        logs: All moves so far, shape ``[k, moves, 2]``, uint64; None where nobody keeps them.
    """

    rows: Words
    rings: Words
    rules: Rules
    rng: Callable[[int], np.random.Generator]
    logs: Words | None = None

    @classmethod
    def from_views(cls, views: Sequence[View], rngs: Sequence[np.random.Generator]) -> WaitingGames:
        """Make waiting games from one or more views under the same rules, each with its generator."""
        rows, rings = np.stack([view.row for view in views]), np.stack([view.ring for view in views])
        return cls(rows, rings, views[0].rules, rngs.__getitem__)

    def view(self, index: int) -> View:
        """Return the view of the seat to act in one game, including past moves if a log is kept."""
        row, logs = self.rows[index], _NO_LOG if self.logs is None else self.logs[index]
        history = tuple(decode_slot(cards, packed) for cards, packed in logs[: int(row[MOVES])].tolist())
        return View(row.copy(), self.rules, self.rules.words(), int(row[SEAT]), history, self.rings[index].copy())

    def select(self, games: npt.NDArray[np.intp]) -> WaitingGames:
        """Return copies of the games with the given indices."""
        logs = None if self.logs is None else self.logs[games]
        return WaitingGames(
            self.rows[games], self.rings[games], self.rules, lambda index: self.rng(int(games[index])), logs
        )


def has_act_many(agent: Any) -> bool:
    """Return whether an agent can choose moves for many games in one call (``act_many``).

    A subclass that overrides ``act`` alone does not: what it inherits would choose as its parent does.
    """
    if "act_many" in getattr(agent, "__dict__", {}):
        return True
    for kind in type(agent).__mro__:
        if "act_many" in vars(kind):
            return True
        if "act" in vars(kind):
            return False
    return False


def request_moves(agent: Any, waiting: WaitingGames, threads: int = 1, name: str | None = None) -> Words:
    """Request and check an agent's moves in many waiting games; return them, shape ``[k, 2]``, uint64.

    Args:
        agent: The agent.
        waiting: The games, whole: an agent that does not cheat is given what its seats know.
        threads: How many threads call an agent that is ``parallel``.
        name: What errors call the agent; its own name by default.

    Returns:
        Main ids and kickers as hands, shape ``[k, 2]``, uint64.

    Raises:
        AgentFaultError: If the agent raises.
        IllegalAgentMoveError: If an answer is not a legal move.
    """
    if not has_act_many(agent):
        return _request_one_by_one(agent, waiting, name)
    seen = waiting if is_cheating(agent) else waiting._replace(rows=_make_view_rows(waiting))
    return call_agent(name or agent, int(waiting.rows[0, SEAT]), "act", _request_checked_moves, agent, seen, threads)


def _make_view_rows(waiting: WaitingGames) -> Words:
    views = np.empty_like(waiting.rows)
    _write_view_rows(waiting.rows, waiting.rules.words(), views)
    return views


@pure_kernel
def _write_view_rows(rows: np.ndarray, rules: np.ndarray, views: np.ndarray) -> None:
    """Write what the seat to act knows of each game into game-state arrays."""
    for index in range(rows.shape[0]):
        write_view(rows[index], int(np.int64(rows[index, SEAT])), rules, views[index])


def _request_checked_moves(agent: Any, waiting: WaitingGames, threads: int) -> Words:
    count = len(waiting.rows)
    if threads > 1 and getattr(agent, "parallel", False):
        moves = np.empty((count, 2), np.uint64)

        def work(first: int, stop: int) -> None:
            moves[first:stop] = _call_act_many(agent, waiting.select(np.arange(first, stop)))

        run_chunks(work, count, threads)
    else:
        moves = _call_act_many(agent, waiting)
    wrong = first_illegal_move(waiting.rows, waiting.rules.words(), np.empty(MASK_WORDS, np.uint64), moves)
    if wrong >= 0:
        main, kickers = moves[wrong].tolist()
        raise IllegalMoveError(f"game {wrong}: main id {main} with the kickers {kickers:#x} is not a legal move")
    return moves


def _call_act_many(agent: Any, waiting: WaitingGames) -> Words:
    moves = agent.act_many(waiting)
    if not isinstance(moves, np.ndarray) or moves.shape != (len(waiting.rows), 2) or moves.dtype != np.uint64:
        is_array = isinstance(moves, np.ndarray)
        found = f"{moves.dtype} of shape {list(moves.shape)}" if is_array else short_repr(moves)
        raise InvalidMoveError(f"act_many must return uint64 of shape [{len(waiting.rows)}, 2], not {found}")
    return moves


def _request_one_by_one(agent: Any, waiting: WaitingGames, name: str | None) -> Words:
    """Request moves game by game from an agent without ``act_many``, with past moves if a log is kept."""
    moves = np.empty((len(waiting.rows), 2), np.uint64)
    for index, (row, ring) in enumerate(zip(waiting.rows, waiting.rings, strict=True)):
        log = _NO_LOG if waiting.logs is None else waiting.logs[index]
        state = restore_state(row, ring, log, waiting.rules)
        answer = call_agent(name or agent, state.seat, "act", agent.act, agent_input(agent, state), waiting.rng(index))
        move = play_agent_move(state, name or agent, answer)
        moves[index] = move.words
    return moves


@pure_kernel
def first_illegal_move(rows: np.ndarray, rules: np.ndarray, mask: np.ndarray, moves: np.ndarray) -> int:
    """Return the index of the first game whose whole move is illegal, or -1 if all moves are legal.

    Args:
        rows: The games at the start of a decision, shape ``[k, 32]``, uint64.
        rules: The rules array.
        mask: Memory, shape ``[7]``, uint64.
        moves: Main ids and kickers as hands, shape ``[k, 2]``, uint64.
    """
    for index in range(rows.shape[0]):
        row, main = rows[index], moves[index, 0]
        write_legal_mask(row, rules, mask)
        if main >= np.uint64(NUM_ACTIONS) or not is_legal_action(mask, main):
            return index
        if row[STAGE] == STAGE_PLAY:
            if not are_kickers_legal(row, row[HANDS + np.int64(row[SEAT])], main, moves[index, 1], rules):
                return index
        elif moves[index, 1] != U0:
            return index
    return -1


# --- Moves that are chosen stage by stage -----------------------------------------------------------------------------


def choose_stage_by_stage(waiting: WaitingGames, choose: ChooseActions) -> Words:
    """Build whole moves with a function that chooses single actions: the main group, then each kicker.

    Args:
        waiting: The games.
        choose: Chooses the next action in some of them; it must be legal.

    Returns:
        Main ids and kickers as hands, shape ``[k, 2]``, uint64.
    """
    rows, rings, words = waiting.rows.copy(), waiting.rings.copy(), waiting.rules.words()
    moves, building = np.zeros((len(rows), 2), np.uint64), np.arange(len(rows))
    while len(building):
        seen = np.empty((len(building), OBSERVATION_WORDS), np.uint64)
        legal = np.empty((len(building), MASK_BYTE_WORDS), np.uint64)
        _write_observations(rows, rings, building, words, seen, legal)
        actions = choose(seen.view(np.int8), mask_bytes(legal), waiting.select(building).rng)
        _play_actions(rows, rings, building, words, actions, moves)
        building = building[rows[building, STAGE] == STAGE_KICKER]
    return moves


@kernel
def _write_observations(
    rows: np.ndarray, rings: np.ndarray, games: np.ndarray, rules: np.ndarray, seen: np.ndarray, legal: np.ndarray
) -> None:
    """Write the observations and the masks for the seats to act in the selected games."""
    mask = np.empty(MASK_WORDS, np.uint64)
    for index in range(games.size):
        row = rows[games[index]]
        write_observation(row, rings[games[index]], rules, row[SEAT], seen[index])
        write_mask(row, rules, mask, legal[index])


@kernel
def _play_actions(
    rows: np.ndarray, rings: np.ndarray, games: np.ndarray, rules: np.ndarray, actions: np.ndarray, moves: np.ndarray
) -> None:
    """Play one action in each selected game, and add it to the game's move in progress."""
    for index in range(games.size):
        row, move, action = rows[games[index]], moves[games[index]], np.uint64(actions[index])
        if row[STAGE] == STAGE_KICKER:
            rank = U1 << (action - np.uint64(KICKER_BASE))
            move[1] = add_cards(move[1], rank, SEGMENT_KICKER_SIZE[MAIN_SEGMENT[move[0]]])
        else:
            move[0] = action
        apply_and_record(row, rings[games[index]], action, rules)
