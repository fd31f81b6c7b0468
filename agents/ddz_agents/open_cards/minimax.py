"""Cheating minimax to the end of the game, with the tie-break of Whitehouse, Powley and Cowling (2011).

Their equation (1) gives a state ``s`` in which one of several actions ``A(s)`` leads to ``f(s, a)`` the value::

    m(s) = max over a of -m(f(s, a))  +  ε × (sum over a of -m(f(s, a))) / |A(s)|                                (1)

The first term is negamax.  The second is ε times the value of a random action: among actions of equal minimax value
the one is better after which the opponent has more ways to err.  The *average over all actions* enters, so nothing can
be pruned; a transposition table does the rest.  A finished game is worth -1 to the side that did not go out.

Here a value is that of the side to act (the peasants are one side), so that the sign changes only where the next to
act is on the other side, and an action is a whole move.  If ``m0`` is the plain minimax value, ``|m - m0|`` is at
most ``(1 + ε) ** d - 1`` at ``d`` plies before the end (by induction), which must stay below one for ``m`` to order
states as ``m0`` does: with ε = 0.001 up to 693 plies.  The longest game of Mini has 28.
"""

# mypy: disable-error-code="arg-type,no-any-return"
# (To Numba NumPy's integers and Python's are one type, to the checker they are two.)

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_env.core.engine.compiling import inline_kernel, kernel
from ddz_env.core.engine.layout import (
    HANDS,
    KEY,
    LANDLORD,
    OWNER,
    PASSES,
    ROW_WORDS,
    SEAT,
    STAGE,
    STAGE_OVER,
    STAGE_PLAY,
    TARGET,
    WINNER,
)
from ddz_env.core.engine.moves import list_moves
from ddz_env.core.engine.random import mix
from ddz_env.core.engine.step import pass_turn, play_lightly
from ddz_env.core.engine.words import U0, U1, U4, U8
from ddz_env.core.errors import DouDizhuError
from ddz_env.core.notation import Move
from ddz_env.core.owned import OwnsArrays
from ddz_env.core.rules import Rules

EPSILON = 1e-3
"""The constant ε of equation (1)."""
NODE_LIMIT = 20_000_000
MAX_PLIES = 256
MAX_MOVES = 1 << 14
"""Legal moves on one line of play, all its positions together."""

NODES, STATUS, LIMIT = 0, 1, 2
RUNNING, TOO_MANY_NODES, TOO_MANY_MOVES = 0, 1, 2
_ROOT_CODE = (np.uint64(1), np.uint64(0))
_SECOND = np.uint64(0xD1B54A32D192ED03)
_GAMMA = np.uint64(0x9E3779B97F4A7C15)


class NotSolvableError(DouDizhuError):
    """Exact search was asked for something it cannot search; the message says what it can."""


class SearchLimitError(DouDizhuError):
    """A game or an information set is too large for exact search; the message names the limit."""


class Table(NamedTuple):
    """Arrays of a transposition table for exact values.

    A position is filed under 128 bits that mix the words it is made of.  The table replaces without asking, and a lost
    entry costs time only.  Two positions that share all 128 bits would be confused; among 2**32 positions that happens
    with a probability below 2**-64.

    Attributes:
        keys: uint64, shape ``[size, 2]``; a first word of zero marks an empty slot.
        values: float64, shape ``[size]``.
    """

    keys: npt.NDArray[np.uint64]
    values: npt.NDArray[np.float64]


def new_table(bits: int) -> Table:
    """An empty table with ``2 ** bits`` slots of 24 bytes."""
    return Table(np.zeros((1 << bits, 2), np.uint64), np.zeros(1 << bits))


@inline_kernel
def fold(code: tuple[np.uint64, np.uint64], word: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Mix one more word into a position's 128 bits; the first word is never zero."""
    return mix(code[0] ^ (word + _GAMMA)) | U1, mix((code[1] + word) * _SECOND)


@inline_kernel
def trick_word(row: np.ndarray) -> np.uint64:
    """Everything about the trick in one word: seat, target, key, owner and passes."""
    word = (row[TARGET] << U8) | (row[KEY] << U4) | row[SEAT]
    return (word << U8) | (row[OWNER] << U4) | row[PASSES]


@inline_kernel
def find(table: Table, code: tuple[np.uint64, np.uint64]) -> tuple[bool, float]:
    """Whether the table knows a position, and its value."""
    slot = np.int64(code[1] & np.uint64(table.values.size - 1))
    known = table.keys[slot, 0] == code[0] and table.keys[slot, 1] == code[1]
    return known, table.values[slot]


@inline_kernel
def store(table: Table, code: tuple[np.uint64, np.uint64], value: float) -> None:
    """File a position's value, whatever was in its slot."""
    slot = np.int64(code[1] & np.uint64(table.values.size - 1))
    table.keys[slot, 0] = code[0]
    table.keys[slot, 1] = code[1]
    table.values[slot] = value


class Space(NamedTuple):
    """Where a search works: its line of play, its table and its counters.

    Attributes:
        rows: uint64, shape ``[plies, 32]``: the games on the line.
        mains: uint64, shape ``[moves]``: a stack of legal moves, main groups.
        kickers: uint64, shape ``[moves]``: their kickers.
        rules: The rules array.
        table: The transposition table.
        counters: int64, shape ``[3]``: positions visited, why the search stopped, and how many it may visit.
        cursor: int64, shape ``[plies]``: where on the stack each position's next move lies.
        stop: int64, shape ``[plies]``: where its moves end, and those of the next position begin.
        best: float64, shape ``[plies]``: the best value among the moves so far.
        total: float64, shape ``[plies]``: the sum of their values.
        sign: float64, shape ``[plies]``: what the next position's value is multiplied by.
        codes: uint64, shape ``[plies, 2]``: the table's keys.
    """

    rows: npt.NDArray[np.uint64]
    mains: npt.NDArray[np.uint64]
    kickers: npt.NDArray[np.uint64]
    rules: npt.NDArray[np.uint64]
    table: Table
    counters: npt.NDArray[np.int64]
    cursor: npt.NDArray[np.int64]
    stop: npt.NDArray[np.int64]
    best: npt.NDArray[np.float64]
    total: npt.NDArray[np.float64]
    sign: npt.NDArray[np.float64]
    codes: npt.NDArray[np.uint64]


def new_space(rules: Rules, node_limit: int, table_bits: int) -> Space:
    """Allocate the space of a search.

    Raises:
        NotSolvableError: If the limit of positions is out of range.
    """
    if node_limit < 1:
        raise NotSolvableError(f"node_limit={node_limit!r} must be at least 1")
    rows, codes = np.zeros((MAX_PLIES, ROW_WORDS), np.uint64), np.zeros((MAX_PLIES, 2), np.uint64)
    mains, kickers = np.zeros((2, MAX_MOVES), np.uint64)
    counters, (cursor, stop) = np.array([0, RUNNING, node_limit]), np.zeros((2, MAX_PLIES), np.int64)
    best, total, sign = np.zeros((3, MAX_PLIES))
    return Space(
        rows, mains, kickers, rules.words(), new_table(table_bits), counters, cursor, stop, best, total, sign, codes
    )


@inline_kernel
def _code(row: np.ndarray) -> tuple[np.uint64, np.uint64]:
    """The 128 bits of a position between moves."""
    code = fold(_ROOT_CODE, row[HANDS])
    code = fold(code, row[HANDS + 1])
    code = fold(code, row[HANDS + 2])
    return fold(code, (trick_word(row) << np.uint64(4)) | row[LANDLORD])


@inline_kernel
def step_whole(row: np.ndarray, main: np.uint64, kickers: np.uint64, rules: np.ndarray) -> float:
    """Play a whole move and return the sign of the next value for the mover: 1 on its own side, -1 on the other."""
    by_landlord = row[SEAT] == row[LANDLORD]
    if main == U0:
        pass_turn(row, rules)
    else:
        play_lightly(row, main, kickers, rules)
    return 1.0 if (row[SEAT] == row[LANDLORD]) == by_landlord else -1.0


@inline_kernel
def begin(space: Space, row: np.ndarray) -> None:
    """Start counting, at the position on which the line begins."""
    space.counters[NODES] = 0
    space.counters[STATUS] = RUNNING
    for word in range(ROW_WORDS):
        space.rows[0, word] = row[word]


@kernel
def enter(space: Space, depth: int, top: int) -> int:
    """Count a position and push its legal moves; the number of them, or -1 if a limit is reached."""
    space.counters[NODES] += 1
    if space.counters[NODES] > space.counters[LIMIT]:
        space.counters[STATUS] = TOO_MANY_NODES
        return -1
    if depth + 1 >= MAX_PLIES:
        space.counters[STATUS] = TOO_MANY_MOVES
        return -1
    found = list_moves(space.rows[depth], space.rules, space.mains[top:], space.kickers[top:])
    if top + found > MAX_MOVES:
        space.counters[STATUS] = TOO_MANY_MOVES
        return -1
    return found


@inline_kernel
def look_up(space: Space, depth: int, code: tuple[np.uint64, np.uint64]) -> tuple[bool, float]:
    """Ask the table for the position at a depth, and note its key."""
    space.codes[depth, 0] = code[0]
    space.codes[depth, 1] = code[1]
    return find(space.table, code)


@kernel
def open_position(space: Space, depth: int, top: int) -> bool:
    """Push the moves of the position at a depth; false if a limit is reached."""
    found = enter(space, depth, top)
    space.cursor[depth] = top
    space.stop[depth] = top + found
    space.best[depth] = -np.inf
    space.total[depth] = 0.0
    return found >= 0


@inline_kernel
def _credit(space: Space, depth: int, value: float) -> None:
    """Count the value of one move."""
    space.best[depth] = max(space.best[depth], value)
    space.total[depth] += value


@inline_kernel
def _next_child(space: Space, depth: int, epsilon: float) -> bool:
    """Play the next move that does not end the game (those that do are credited); false if there is none left."""
    row, after = space.rows[depth], space.rows[depth + 1]
    while space.cursor[depth] < space.stop[depth] and (epsilon != 0.0 or space.best[depth] != 1.0):
        index = space.cursor[depth]
        space.cursor[depth] = index + 1
        for word in range(ROW_WORDS):
            after[word] = row[word]
        space.sign[depth] = step_whole(after, space.mains[index], space.kickers[index], space.rules)
        if after[STAGE] != STAGE_OVER:
            return True
        _credit(space, depth, 1.0)
    return False


@inline_kernel
def _close(space: Space, depth: int, top: int, epsilon: float) -> float:
    """Equation (1), once all moves are credited."""
    value = space.best[depth] + epsilon * (space.total[depth] / np.float64(space.stop[depth] - top))
    store(space.table, (space.codes[depth, 0], space.codes[depth, 1]), value)
    return value


@kernel
def _value(space: Space, base: int, base_top: int, epsilon: float) -> float:
    """The value of the position at depth ``base`` of the line; meaningless once a limit is reached.

    The recursion is unrolled by hand: Numba's cache does not load functions that call themselves.
    """
    depth, value, returning = base, 0.0, False
    while True:
        if not returning:
            top = space.stop[depth - 1] if depth > base else base_top
            returning, value = look_up(space, depth, _code(space.rows[depth]))
            if not returning and not open_position(space, depth, top):
                return 0.0
        if returning:
            if depth == base:
                return value
            depth -= 1
            _credit(space, depth, space.sign[depth] * value)
        if _next_child(space, depth, epsilon):
            depth += 1
            returning = False
        else:
            value = _close(space, depth, space.stop[depth - 1] if depth > base else base_top, epsilon)
            returning = True


@kernel
def _move_values(space: Space, row: np.ndarray, epsilon: float, values: np.ndarray) -> int:
    """Write the value of every legal move for the mover; the moves lie at the bottom of the stack."""
    begin(space, row)
    found = enter(space, 0, 0)
    if found < 0:
        return 0
    for index in range(found):
        space.rows[1] = row
        sign = step_whole(space.rows[1], space.mains[index], space.kickers[index], space.rules)
        if space.rows[1][STAGE] == STAGE_OVER:
            values[index] = 1.0
        else:
            values[index] = sign * _value(space, 1, found, epsilon)
        if space.counters[STATUS] != RUNNING:
            return 0
    return found


@kernel
def _position_value(space: Space, row: np.ndarray, epsilon: float) -> float:
    begin(space, row)
    return _value(space, 0, 0, epsilon)


@kernel
def _votes(
    space: Space, rows: np.ndarray, weights: np.ndarray, epsilon: float, values: np.ndarray, votes: np.ndarray
) -> int:
    """Add each state's weight to the vote of its best move (the first in the engine's order among equals)."""
    found = 0
    for state in range(rows.shape[0]):
        found = _move_values(space, rows[state], epsilon, values)
        if space.counters[STATUS] != RUNNING:
            return 0
        best = 0
        for index in range(1, found):
            if values[index] > values[best]:
                best = index
        votes[best] += weights[state]
    return found


class Solver(OwnsArrays):
    """What the two solvers share: positions stay in the table between calls.

    Args:
        rules: The rules.
        node_limit: Positions a call may visit.
        table_bits: The table has ``2 ** table_bits`` slots of 24 bytes.

    Raises:
        NotSolvableError: If the node limit is out of range.
    """

    def __init__(self, rules: Rules, node_limit: int = NODE_LIMIT, table_bits: int = 18) -> None:
        self._space = new_space(rules, node_limit, table_bits)
        self._values = np.zeros(MAX_MOVES)

    @property
    def nodes(self) -> int:
        """Positions that the last call visited (those found in the table not counted)."""
        return int(self._space.counters[NODES])

    def _moves(self, found: int, values: npt.NDArray[np.float64]) -> tuple[list[Move], npt.NDArray[np.float64]]:
        """The moves at the bottom of the stack with their values.

        Raises:
            SearchLimitError: If the search stopped at a limit.
        """
        self._check()
        words = zip(self._space.mains[:found].tolist(), self._space.kickers[:found].tolist(), strict=True)
        return [Move.from_words(main, kickers) for main, kickers in words], values[:found].copy()

    def _check(self) -> None:
        _, status, limit = self._space.counters.tolist()
        if status == TOO_MANY_NODES:
            raise SearchLimitError(f"too large for exact search: more than {limit:,} positions (node_limit)")
        if status == TOO_MANY_MOVES:
            raise SearchLimitError(
                f"too large for exact search: more than {MAX_PLIES} plies or {MAX_MOVES:,} moves on one line"
            )


class MinimaxSolver(Solver):
    """Minimax to the end of the game by equation (1); positions stay in its table between calls.

    Args:
        rules: The rules; the landlord must be known and doubling over in the positions that it is given.
        epsilon: The constant ε; 0 is plain minimax, which stops at the first winning move.
        node_limit: Positions a call may visit.
        table_bits: The table has ``2 ** table_bits`` slots of 24 bytes.

    Raises:
        NotSolvableError: If ε or the node limit is out of range.

    Example:
        >>> from ddz_env import State
        >>> state = State.from_hands(["3 5", "4"], check_sizes=False, rules="mini")
        >>> moves, values = MinimaxSolver(state.rules, epsilon=0).move_values(state.row)
        >>> [(str(move), value) for move, value in zip(moves, values.tolist())]
        [('3', -1.0), ('5', 1.0)]
    """

    def __init__(
        self, rules: Rules, epsilon: float = EPSILON, node_limit: int = NODE_LIMIT, table_bits: int = 18
    ) -> None:
        if not 0 <= epsilon <= 0.01:
            raise NotSolvableError(f"epsilon={epsilon!r} must lie in 0..0.01, or equation (1) may not order by minimax")
        super().__init__(rules, node_limit, table_bits)
        self.epsilon = float(epsilon)

    def value(self, row: npt.NDArray[np.uint64]) -> float:
        """The value of a position for the side to act; ±1 in a finished game, for the landlord.

        Raises:
            NotSolvableError: If the position is not between two moves.
            SearchLimitError: If the game is too large.
        """
        if int(row[STAGE]) == STAGE_OVER:
            return 1.0 if int(row[WINNER]) == int(row[LANDLORD]) + 1 else -1.0
        check_solvable(row)
        value = _position_value(self._space, row, self.epsilon)
        self._check()
        return float(value)

    def move_values(self, row: npt.NDArray[np.uint64]) -> tuple[list[Move], npt.NDArray[np.float64]]:
        """Every legal move in the engine's order, and its value for the side to act, shape ``[moves]``.

        Raises:
            NotSolvableError: If the position is not between two moves.
            SearchLimitError: If the game is too large.
        """
        check_solvable(row)
        return self._moves(_move_values(self._space, row, self.epsilon, self._values), self._values)

    def votes(
        self, rows: npt.NDArray[np.uint64], weights: npt.NDArray[np.float64]
    ) -> tuple[list[Move], npt.NDArray[np.float64]]:
        """Every legal move and the total weight of the states in which minimax chooses it (section III.C).

        Args:
            rows: States of one information set of the seat to act, shape ``[states, 32]``.
            weights: Their probabilities, shape ``[states]``.

        Raises:
            NotSolvableError: If the position is not between two moves.
            SearchLimitError: If a game is too large.
        """
        check_solvable(rows[0])
        votes = np.zeros(MAX_MOVES)
        return self._moves(_votes(self._space, rows, weights, self.epsilon, self._values, votes), votes)


def check_solvable(row: npt.NDArray[np.uint64]) -> None:
    """Raise unless a row is between two moves of a running game."""
    if int(row[STAGE]) != STAGE_PLAY:
        raise NotSolvableError("exact search needs a position between two whole moves of a running game")
