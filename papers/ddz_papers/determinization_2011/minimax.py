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

import numpy as np

from ddz_agents.open_cards.errors import NotSolvableError, SearchLimitError
from ddz_agents.worlds.determinize import Reals, Words
from ddz_env.core.engine.layout import LANDLORD, SEAT, STAGE, STAGE_OVER, STAGE_PLAY, WINNER
from ddz_env.core.engine.moves import list_moves
from ddz_env.core.engine.words import U1
from ddz_env.core.notation import Move
from ddz_env.core.rules import Rules
from ddz_env.support.arrays import WritableAfterUnpickling
from ddz_env.support.compiling import inline_kernel, kernel
from ddz_papers import search_stack as at
from ddz_papers.search_stack import SearchStack, look_up, new_stack, new_table, play_stack_move, position_key, store

EPSILON = 1e-3
"""The constant ε of equation (1)."""
NODE_LIMIT = 20_000_000
MAX_PLIES = 256
MAX_MOVES = 1 << 14
"""Legal moves on one line of play, all its positions together."""
RUNNING, TOO_MANY_NODES, TOO_MANY_MOVES = 0, 1, 2


@kernel
def begin_search(stack: SearchStack, row: np.ndarray) -> None:
    """Reset the node count and the start of the stack for a search from a position."""
    stack.counters[at.NODES], stack.counters[at.STOPPED], stack.frames[0].first = 0, RUNNING, 0
    stack.rows[0] = row


@kernel
def list_legal(stack: SearchStack, ply: int, top: int) -> int:
    """Count a visited position and push its legal moves; return the end index, or -1 at a search limit."""
    counters = stack.counters
    counters[at.NODES] += 1
    if counters[at.NODES] > counters[at.LIMIT]:
        counters[at.STOPPED] = TOO_MANY_NODES
        return -1
    stop = top + list_moves(stack.rows[ply], stack.rules, stack.mains[top:], stack.kickers[top:])
    if ply + 1 >= MAX_PLIES or stop > MAX_MOVES:
        counters[at.STOPPED] = TOO_MANY_MOVES
        return -1
    return stop


@kernel
def push_legal_moves(stack: SearchStack, ply: int) -> bool:
    """Push the legal moves of the position at a ply; return False if a search limit is reached."""
    frame = stack.frames[ply]
    frame.stop = list_legal(stack, ply, frame.first)
    frame.cursor, frame.best, frame.total = frame.first, -np.inf, 0.0
    return frame.stop >= 0


@inline_kernel
def credit_move(stack: SearchStack, ply: int, value: float) -> None:
    """Update the best value and the sum of values at a ply with the value of a move."""
    frame = stack.frames[ply]
    frame.best = max(frame.best, value)
    frame.total += value


@inline_kernel
def _value_sign(stack: SearchStack, ply: int) -> float:
    """Return 1 if the seats to act at a ply and at the next one are on the same side, else -1."""
    row, after = stack.rows[ply], stack.rows[ply + 1]
    return 1.0 if (row[SEAT] == row[LANDLORD]) == (after[SEAT] == after[LANDLORD]) else -1.0


@inline_kernel
def _next_child(stack: SearchStack, ply: int, epsilon: float) -> bool:
    """Play the next move that does not end the game, crediting those that do; return False if none is left."""
    frame = stack.frames[ply]
    while frame.cursor < frame.stop and (epsilon != 0.0 or frame.best != 1.0):
        play_stack_move(stack, ply, frame.cursor)
        frame.cursor += 1
        if stack.rows[ply + 1, STAGE] != STAGE_OVER:
            stack.frames[ply + 1].first = frame.stop
            return True
        credit_move(stack, ply, 1.0)
    return False


@inline_kernel
def final_value(stack: SearchStack, ply: int, epsilon: float) -> float:
    """Compute the value of a position by equation (1), once all its moves are credited."""
    frame = stack.frames[ply]
    value: float = frame.best + epsilon * (frame.total / np.float64(frame.stop - frame.first))
    return value


@kernel
def _search_value(stack: SearchStack, base: int, epsilon: float) -> float:
    """Compute the value of the position at a ply; it is meaningless once a limit is reached."""
    ply, value, returning = base, 0.0, False
    while True:
        if not returning:
            returning, value = look_up(stack, ply, position_key(stack.rows[ply], U1))
            if not returning and not push_legal_moves(stack, ply):
                return 0.0
        if returning:
            if ply == base:
                return value
            ply -= 1
            credit_move(stack, ply, _value_sign(stack, ply) * value)
        returning = not _next_child(stack, ply, epsilon)
        if returning:
            value = final_value(stack, ply, epsilon)
            store(stack, ply, value)
        else:
            ply += 1


@kernel
def _move_values(stack: SearchStack, row: np.ndarray, epsilon: float, values: np.ndarray) -> int:
    """Compute the value of every legal move for the mover, and write it to ``values``."""
    begin_search(stack, row)
    count = stack.frames[1].first = list_legal(stack, 0, 0)
    for index in range(count):
        play_stack_move(stack, 0, index)
        values[index] = (
            1.0 if stack.rows[1, STAGE] == STAGE_OVER else _value_sign(stack, 0) * _search_value(stack, 1, epsilon)
        )
        if stack.counters[at.STOPPED] != RUNNING:
            return 0
    return max(count, 0)


@kernel
def _position_value(stack: SearchStack, row: np.ndarray, epsilon: float) -> float:
    begin_search(stack, row)
    return _search_value(stack, 0, epsilon)


@kernel
def _count_votes(
    stack: SearchStack, rows: np.ndarray, weights: np.ndarray, epsilon: float, values: np.ndarray, votes: np.ndarray
) -> int:
    """Add each state's weight to the vote for the state's best move, the first among equals."""
    count = 0
    for state in range(rows.shape[0]):
        count = _move_values(stack, rows[state], epsilon, values)
        if stack.counters[at.STOPPED] != RUNNING:
            return 0
        votes[np.argmax(values[:count])] += weights[state]
    return count


class Solver(WritableAfterUnpickling):
    """The base class of the minimax and expectimax solvers, which keep their tables between calls.

    Args:
        rules: The rules.
        node_limit: Positions a call may visit.
        table_bits: The table has ``2 ** table_bits`` slots of 24 bytes.
    """

    def __init__(self, rules: Rules, node_limit: int = NODE_LIMIT, table_bits: int = 18) -> None:
        more = {"total": "f8", "first_state": "i8", "states": "i8"}
        self._stack = new_stack(rules.words(), MAX_PLIES, MAX_MOVES, node_limit, new_table(table_bits), **more)
        self._values = np.zeros(MAX_MOVES)

    def _moves_with_values(self, count: int, values: Reals) -> tuple[list[Move], Reals]:
        """Return the first ``count`` moves of the search stack with their values; raise an error at a limit.

        Raises:
            SearchLimitError: If the search stopped at a limit.
        """
        self._raise_at_limit()
        words = zip(self._stack.mains[:count].tolist(), self._stack.kickers[:count].tolist(), strict=True)
        return [Move.from_words(main, kickers) for main, kickers in words], values[:count].copy()

    def _raise_at_limit(self) -> None:
        _, limit, status = self._stack.counters.tolist()
        if status == TOO_MANY_NODES:
            raise SearchLimitError(f"too large for exact search: more than {limit:,} positions (node_limit)")
        if status == TOO_MANY_MOVES:
            raise SearchLimitError(
                f"too large for exact search: more than {MAX_PLIES} plies or {MAX_MOVES:,} moves on one line"
            )


class MinimaxSolver(Solver):
    """A minimax solver with the tie-break of equation (1), which keeps its transposition table between calls.

    Args:
        rules: The rules; the landlord must be known and doubling over in the positions that it is given.
        epsilon: The constant ε; 0 is plain minimax, which stops at the first winning move.
        node_limit: Positions a call may visit.
        table_bits: The table has ``2 ** table_bits`` slots of 24 bytes.

    Raises:
        NotSolvableError: If ε is out of range.

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

    def value(self, row: Words) -> float:
        """Compute the value of a position for the side to act; in a finished game, ±1 for the landlord.

        Raises:
            NotSolvableError: If the position is not between two moves.
            SearchLimitError: If the game is too large.
        """
        if int(row[STAGE]) == STAGE_OVER:
            return 1.0 if int(row[WINNER]) == int(row[LANDLORD]) + 1 else -1.0
        check_solvable(row)
        value = _position_value(self._stack, row, self.epsilon)
        self._raise_at_limit()
        return float(value)

    def move_values(self, row: Words) -> tuple[list[Move], Reals]:
        """Return the legal moves in the engine's order, and their values for the side to act, shape ``[moves]``.

        Raises:
            NotSolvableError: If the position is not between two moves.
            SearchLimitError: If the game is too large.
        """
        check_solvable(row)
        return self._moves_with_values(_move_values(self._stack, row, self.epsilon, self._values), self._values)

    def votes(self, rows: Words, weights: Reals) -> tuple[list[Move], Reals]:
        """Return the legal moves, and the total weight of states in which minimax chooses each (section III.C).

        Args:
            rows: States of one information set of the seat to act, shape ``[states, 32]``.
            weights: Their probabilities, shape ``[states]``.

        Raises:
            NotSolvableError: If the position is not between two moves.
            SearchLimitError: If a game is too large.
        """
        check_solvable(rows[0])
        votes = np.zeros(MAX_MOVES)
        return self._moves_with_values(
            _count_votes(self._stack, rows, weights, self.epsilon, self._values, votes), votes
        )


def check_solvable(row: Words) -> None:
    """Raise an error unless a state is between two moves of a running game."""
    if int(row[STAGE]) != STAGE_PLAY:
        raise NotSolvableError("exact search needs a position between two whole moves of a running game")
