"""Information-set expectimax (Whitehouse, Powley and Cowling 2011, section III.E), in compiled code.

The tree of information sets is seen from the root player ``j`` alone.  With ``[s]`` the information set of a state for
``j``, and ``p`` the probabilities of its states::

    v([s]) = max over a in A([s]) of v([f(s, a)])                                  where j acts
    v([s]) = sum over s' in [s] of p(s') × min over a in A(s') of v([f(s', a)])    where the opponent acts

An opponent's node is a chance node over the states, followed by a decision *with perfect information*: in every state
the opponent chooses what is worst for ``j``.  What it then chooses is measured by the value of the information set
that ``j`` sees next, which holds *every* state in which the move was legal: nothing is inferred inside the tree.  With
three players a partner maximises where an opponent minimises.  Terminal information sets are worth ±1.

``p`` is uniform over deals of cards in every information set: when a seat that holds ``n`` cards of a rank plays ``k``
of them, the state's weight is multiplied by ``C(n, k)``, the ways to choose the cards.  Without inference an
information set is therefore a function of the observer's hand, the cards played and the hand sizes, and the
transposition table serves every root of the game.  With inference the root's probabilities are given; they then
belong to the table's key.
"""

# mypy: disable-error-code="arg-type,no-any-return"
# (To Numba NumPy's integers and Python's are one type, to the checker they are two.)

from __future__ import annotations

import hashlib
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_agents.open_cards.minimax import (
    MAX_PLIES,
    NODE_LIMIT,
    RUNNING,
    STATUS,
    TOO_MANY_NODES,
    NotSolvableError,
    Solver,
    Space,
    begin,
    check_solvable,
    enter,
    fold,
    look_up,
    open_position,
    store,
    trick_word,
)
from ddz_env.core.engine.compiling import inline_kernel, kernel
from ddz_env.core.engine.layout import HANDS, KNOWN, LANDLORD, PLAYED, SEAT, STAGE, STAGE_OVER, WINNER
from ddz_env.core.engine.step import main_cards, play_move
from ddz_env.core.engine.words import U0, U1, U4, U8, add_hand, count_of, lowest, popcount, remove_hand
from ddz_env.core.notation import Move
from ddz_env.core.rules import Rules

MAX_SET_STATES = 1 << 20
"""States on one line of information sets, all its sets together."""

_U15 = np.uint64(15)
_PLANE = np.uint64(0x7FFF)


class Sets(NamedTuple):
    """The information sets on the line of a search: stacks that grow with the depth.

    Attributes:
        hands: uint64, shape ``[states, 3]``: every seat's hand.
        weights: float64, shape ``[states]``: probabilities up to a factor.
        best: float64, shape ``[states]``: at another seat's node, the best value found for that seat in each state.
        first: int64, shape ``[plies]``: where each depth's states begin.
        size: int64, shape ``[plies]``: how many there are; a node of the observer shares them with its children.
    """

    hands: npt.NDArray[np.uint64]
    weights: npt.NDArray[np.float64]
    best: npt.NDArray[np.float64]
    first: npt.NDArray[np.int64]
    size: npt.NDArray[np.int64]


@inline_kernel
def _code(row: np.ndarray, seat: np.uint64, root: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The 128 bits of an information set: without inference (root 0) who played the cards does not matter."""
    code = fold((U1, root), row[HANDS + np.int64(seat)])
    if root == U0:
        sizes = popcount(row[HANDS]) | (popcount(row[HANDS + 1]) << U8) | (popcount(row[HANDS + 2]) << (U8 + U8))
        code = fold(code, add_hand(add_hand(row[PLAYED], row[PLAYED + 1]), row[PLAYED + 2]))
        code = fold(fold(code, row[KNOWN]), sizes)
    else:
        code = fold(fold(fold(code, row[PLAYED]), row[PLAYED + 1]), row[PLAYED + 2])
    return fold(code, ((trick_word(row) << U4) | row[LANDLORD]) << U4 | seat)


@inline_kernel
def _ways(hand: np.uint64, cards: np.uint64) -> float:
    """How many sets of cards of the hand have the ranks of ``cards``."""
    ways = 1.0
    ranks = cards & _PLANE
    while ranks != U0:
        rank = lowest(ranks)
        ranks &= ranks - U1
        have, want = count_of(hand, rank), count_of(cards, rank)
        for taken in range(np.int64(want)):
            ways = ways * (np.float64(have) - taken) / (taken + 1.0)
    return ways


@inline_kernel
def _cards(main: np.uint64, kickers: np.uint64) -> np.uint64:
    return U0 if main == U0 else add_hand(main_cards(main), kickers)


@kernel
def _narrow(space: Space, sets: Sets, depth: int, first: int, size: int, main: np.uint64, kickers: np.uint64) -> int:
    """Push the states in which another seat can make a move, after it, and write the row of the next depth.

    Returns:
        How many states there are; the row shows the hands of the first of them.
    """
    row, after = space.rows[depth], space.rows[depth + 1]
    mover = np.int64(row[SEAT])
    cards = _cards(main, kickers)
    known = row[KNOWN] if np.uint64(mover) == row[LANDLORD] else U0
    target = first + size
    for source in range(first, first + size):
        hand = sets.hands[source, mover]
        if cards & ~hand == U0:
            if target == first + size:
                after[:] = row
                after[HANDS + mover] = hand
                play_move(after, main, kickers, space.rules)
            for seat in range(3):
                sets.hands[target, seat] = sets.hands[source, seat]
            sets.hands[target, mover] = remove_hand(hand, cards)
            sets.weights[target] = sets.weights[source] * _ways(remove_hand(hand, known), remove_hand(cards, known))
            target += 1
    return target - first - size


@inline_kernel
def _same_side(row: np.ndarray, one: np.uint64, other: np.uint64) -> bool:
    return (one == row[LANDLORD]) == (other == row[LANDLORD])


@kernel
def _collect(space: Space, sets: Sets, depth: int, first: int, size: int, top: int) -> int:
    """Push every move that is legal for the acting seat in at least one of the states; -1 if a limit is reached."""
    row = space.rows[depth]
    mover = np.int64(row[SEAT])
    stop = top
    for state in range(first, first + size):
        row[HANDS + mover] = sets.hands[state, mover]
        found = enter(space, depth, stop)
        if found < 0:
            return -1
        fresh = stop
        for index in range(stop, stop + found):
            main, kickers = space.mains[index], space.kickers[index]
            seen = False
            for earlier in range(top, stop):
                if space.mains[earlier] == main and space.kickers[earlier] == kickers:
                    seen = True
            if not seen:
                space.mains[fresh] = main
                space.kickers[fresh] = kickers
                fresh += 1
        stop = fresh
    return stop - top


@inline_kernel
def _improve(space: Space, sets: Sets, depth: int, value: float, ours: bool) -> None:
    """Let every state in which the last move was legal take its value, if that is better for the seat that moves."""
    mover, index = np.int64(space.rows[depth][SEAT]), space.cursor[depth] - 1
    cards = _cards(space.mains[index], space.kickers[index])
    for state in range(sets.first[depth], sets.first[depth] + sets.size[depth]):
        if cards & ~sets.hands[state, mover] == U0:
            if (value > sets.best[state]) == ours:
                sets.best[state] = value


@inline_kernel
def _expectation(sets: Sets, first: int, size: int) -> float:
    total, mass = 0.0, 0.0
    for state in range(first, first + size):
        total += sets.weights[state] * sets.best[state]
        mass += sets.weights[state]
    return total / mass


@inline_kernel
def _look_up_set(space: Space, depth: int, seat: np.uint64, root: np.uint64) -> tuple[bool, float]:
    """Whether the value of the information set at a depth is known, and what it is."""
    row = space.rows[depth]
    if row[STAGE] == STAGE_OVER:
        return True, 1.0 if _same_side(row, row[WINNER] - U1, seat) else -1.0
    return look_up(space, depth, _code(row, seat, root))


@kernel
def _open_set(space: Space, sets: Sets, depth: int, top: int, seat: np.uint64) -> bool:
    """Push the moves of the information set at a depth; false if a limit is reached."""
    row, first, size = space.rows[depth], sets.first[depth], sets.size[depth]
    if row[SEAT] == seat:
        return open_position(space, depth, top)
    if first + 2 * size > MAX_SET_STATES:
        space.counters[STATUS] = TOO_MANY_NODES
        return False
    worst = -2.0 if _same_side(row, row[SEAT], seat) else 2.0
    for state in range(first, first + size):
        sets.best[state] = worst
    found = _collect(space, sets, depth, first, size, top)
    space.cursor[depth] = top
    space.stop[depth] = top + found
    return found >= 0


@kernel
def _descend(space: Space, sets: Sets, depth: int, seat: np.uint64) -> None:
    """Write the information set behind the next move at the next depth."""
    row, index = space.rows[depth], space.cursor[depth]
    space.cursor[depth] = index + 1
    main, kickers = space.mains[index], space.kickers[index]
    first, size = sets.first[depth], sets.size[depth]
    if row[SEAT] == seat:
        space.rows[depth + 1] = row
        play_move(space.rows[depth + 1], main, kickers, space.rules)
        sets.first[depth + 1] = first
        sets.size[depth + 1] = size
    else:
        sets.first[depth + 1] = first + size
        sets.size[depth + 1] = _narrow(space, sets, depth, first, size, main, kickers)


@inline_kernel
def _close_set(space: Space, sets: Sets, depth: int, seat: np.uint64) -> float:
    """The value of an information set, once all its moves are credited."""
    value = space.best[depth]
    if space.rows[depth][SEAT] != seat:
        value = _expectation(sets, sets.first[depth], sets.size[depth])
    store(space.table, (space.codes[depth, 0], space.codes[depth, 1]), value)
    return value


@kernel
def _value(space: Space, sets: Sets, base: int, base_top: int, seat: np.uint64, root: np.uint64) -> float:
    """``v`` of the information set at depth ``base`` of the line; meaningless once a limit is reached."""
    depth, value, returning = base, 0.0, False
    while True:
        if not returning:
            top = space.stop[depth - 1] if depth > base else base_top
            returning, value = _look_up_set(space, depth, seat, root)
            if not returning and not _open_set(space, sets, depth, top, seat):
                return 0.0
        if returning:
            if depth == base:
                return value
            depth -= 1
            mover = space.rows[depth][SEAT]
            if mover == seat:
                space.best[depth] = max(space.best[depth], value)
            else:
                _improve(space, sets, depth, value, _same_side(space.rows[depth], mover, seat))
        if space.cursor[depth] < space.stop[depth]:
            _descend(space, sets, depth, seat)
            depth += 1
            returning = False
        else:
            value = _close_set(space, sets, depth, seat)
            returning = True


@kernel
def _move_values(
    space: Space, sets: Sets, rows: np.ndarray, weights: np.ndarray, root: np.uint64, values: np.ndarray
) -> int:
    """Write ``v`` of the information set behind every legal move; the moves lie at the bottom of the stack."""
    begin(space, rows[0])
    size, seat = weights.size, rows[0, SEAT]
    for state in range(size):
        sets.weights[state] = weights[state]
        for other in range(3):
            sets.hands[state, other] = rows[state, HANDS + other]
    found = enter(space, 0, 0)
    for index in range(found):
        space.rows[1] = rows[0]
        play_move(space.rows[1], space.mains[index], space.kickers[index], space.rules)
        sets.first[1] = 0
        sets.size[1] = size
        values[index] = _value(space, sets, 1, found, seat, root)
        if space.counters[STATUS] != RUNNING:
            return 0
    return max(found, 0)


class ExpectimaxSolver(Solver):
    """Expectimax on trees of information sets; information sets stay in its table between calls.

    Args:
        rules: The rules.
        node_limit: Positions a call may visit (an information set counts its states).
        table_bits: The table has ``2 ** table_bits`` slots of 24 bytes.

    Raises:
        NotSolvableError: If the node limit is out of range, or under rules in which a hand may hold the cards of a move
            that beats the target and yet not play it (``chain_from_quad=False``).
    """

    def __init__(self, rules: Rules, node_limit: int = NODE_LIMIT, table_bits: int = 18) -> None:
        if not rules.chain_from_quad:
            raise NotSolvableError(f"expectimax does not search the {rules.name} rules: chain_from_quad must be True")
        super().__init__(rules, node_limit, table_bits)
        self._sets: Sets | None = None

    def move_values(
        self, rows: npt.NDArray[np.uint64], weights: npt.NDArray[np.float64], *, inferred: bool = False
    ) -> tuple[list[Move], npt.NDArray[np.float64]]:
        """Every legal move of the seat to act, and the value of the information set behind it, shape ``[moves]``.

        Args:
            rows: The states of the information set, shape ``[states, 32]``.
            weights: Their probabilities up to a factor, shape ``[states]``.
            inferred: Whether these differ from the whole information set, uniform over deals of cards.

        Raises:
            NotSolvableError: If the position is not between two moves.
            SearchLimitError: If the game is too large.
        """
        check_solvable(rows[0])
        root = _identity(rows, weights) if inferred else np.uint64(0)
        states = np.asarray(weights, np.float64)
        return self._moves(_move_values(self._space, self._room(), rows, states, root, self._values), self._values)

    def _room(self) -> Sets:
        if self._sets is None:
            weights, best = np.zeros((2, MAX_SET_STATES))
            hands, (first, size) = np.zeros((MAX_SET_STATES, 3), np.uint64), np.zeros((2, MAX_PLIES), np.int64)
            self._sets = Sets(hands, weights, best, first, size)
        return self._sets


def _identity(rows: npt.NDArray[np.uint64], weights: npt.NDArray[np.float64]) -> np.uint64:
    """A number for a set of states with their probabilities, never zero."""
    text = rows[:, : HANDS + 3].tobytes() + (np.asarray(weights, np.float64) / np.sum(weights)).tobytes()
    return np.uint64(int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little") | 1)
