"""Expectimax on the tree of information sets (section III.E of the 2011 paper).

The tree of information sets is seen from the root player ``j`` alone.  With ``[s]`` the information set of a state for
``j``, and ``p`` the probabilities of its states::

    v([s]) = max over a in A([s]) of v([f(s, a)])                                  where j acts
    v([s]) = sum over s' in [s] of p(s') × min over a in A(s') of v([f(s', a)])    where the opponent acts

An opponent's node is a chance node over the states, followed by a decision *with perfect information*: in every state
the opponent chooses what is worst for ``j``.  What it then chooses is measured by the value of the information set
that ``j`` sees next, which holds *every* state in which the move was legal: nothing is inferred inside the tree.  With
three players a partner maximises where an opponent minimises.  Terminal information sets are worth ±1.

Ties are broken in the sense of the paper's equation (1): wherever a seat chooses, ``EPSILON`` times the mean value of
all that it could choose is added, so that of equal moves the one is better after which others have more ways to err.

The tree plans with the weights that the searcher will hold once a move is made.  Without inference ``p`` is uniform
over deals of cards in every information set: when a seat that holds ``n`` cards of a rank plays ``k`` of them, the
state's weight is multiplied by ``C(n, k)``, the ways to choose the cards.  An information set is then a function of the
observer's hand, the cards played and the hand sizes, and the transposition table serves every root of the game.  With
inference the root's probabilities are given and belong to the table's key; a move strikes states out and leaves the
weights of the others as they were (:mod:`ddz_papers.determinization_2011.inference`).
"""

# mypy: disable-error-code="arg-type,no-any-return"
# (To Numba NumPy's integers and Python's are one type, to the checker they are two.)

from __future__ import annotations

import hashlib
from typing import NamedTuple

import numpy as np

from ddz_agents.open_cards.errors import NotSolvableError
from ddz_agents.worlds.determinize import Reals, Words
from ddz_env.core.engine.layout import HANDS, KNOWN, LANDLORD, PLAYED, SEAT, STAGE, STAGE_OVER, WINNER
from ddz_env.core.engine.step import body_cards, play_move
from ddz_env.core.engine.words import PLANE, U0, U1, U4, U8, add_hand, count_of, lowest_bit, popcount, remove_hand
from ddz_env.core.notation import Move
from ddz_env.core.rules import Rules
from ddz_env.support.compiling import inline_kernel, kernel
from ddz_papers.determinization_2011 import minimax
from ddz_papers.determinization_2011.minimax import NODE_LIMIT, RUNNING, Solver, check_solvable
from ddz_papers.search_stack import STOPPED, Key, SearchStack, look_up, mix_in, store, trick_word

EPSILON = 1e-6
"""The constant ε of equation (1), small enough to decide between equals only."""
MAX_SET_STATES = 1 << 20
"""States on one line of information sets, all its sets together."""


class InformationSetStack(NamedTuple):
    """Stacks that hold the states of all information sets along the current search line.

    A frame says where the states of its set begin (``first_state``) and how many there are (``states``); a node of the
    observer shares them with its children.

    Attributes:
        hands: uint64, shape ``[states, 3]``: every seat's hand.
        weights: float64, shape ``[states]``: probabilities up to a factor.
        best: float64, shape ``[states]``: at another seat's node, the best value found for that seat in each state.
        total: float64, shape ``[states]``: there, the sum of the values of its moves in each state.
        moves: float64, shape ``[states]``: and how many they are.
    """

    hands: Words
    weights: Reals
    best: Reals
    total: Reals
    moves: Reals


@inline_kernel
def _set_key(row: np.ndarray, seat: np.uint64, root: np.uint64) -> Key:
    """Hash an information set to 128 bits; without inference (root 0), ignore who played which cards."""
    key = mix_in((U1, root), row[HANDS + np.int64(seat)])
    if root == U0:
        sizes = popcount(row[HANDS]) | (popcount(row[HANDS + 1]) << U8) | (popcount(row[HANDS + 2]) << (U8 + U8))
        key = mix_in(key, add_hand(add_hand(row[PLAYED], row[PLAYED + 1]), row[PLAYED + 2]))
        key = mix_in(mix_in(key, row[KNOWN]), sizes)
    else:
        key = mix_in(mix_in(mix_in(key, row[PLAYED]), row[PLAYED + 1]), row[PLAYED + 2])
    return mix_in(key, ((trick_word(row) << U4) | row[LANDLORD]) << U4 | seat)


@inline_kernel
def _count_ways(hand: np.uint64, cards: np.uint64) -> float:
    """Count the ways to take cards with the ranks of ``cards`` out of a hand in which every card has a suit."""
    ways = 1.0
    ranks = cards & PLANE
    while ranks != U0:
        rank = lowest_bit(ranks)
        ranks &= ranks - U1
        have, want = count_of(hand, rank), count_of(cards, rank)
        for taken in range(np.int64(want)):
            ways = ways * (np.float64(have) - taken) / (taken + 1.0)
    return ways


@inline_kernel
def _move_cards(stack: SearchStack, index: int) -> np.uint64:
    """Return the cards of the move at an index of the search stack."""
    return U0 if stack.mains[index] == U0 else add_hand(body_cards(stack.mains[index]), stack.kickers[index])


@inline_kernel
def _same_side(row: np.ndarray, first: np.uint64, second: np.uint64) -> bool:
    return (first == row[LANDLORD]) == (second == row[LANDLORD])


@kernel
def _push_consistent_states(stack: SearchStack, sets: InformationSetStack, ply: int, index: int, inferred: bool) -> int:
    """Push the successor of each state in which the mover holds the cards of the next move.

    Returns:
        How many states there are; the row shows the hands of the first of them.
    """
    row, after, frame = stack.rows[ply], stack.rows[ply + 1], stack.frames[ply]
    mover, cards = np.int64(row[SEAT]), _move_cards(stack, index)
    face_up = row[KNOWN] if np.uint64(mover) == row[LANDLORD] else U0
    start = target = frame.first_state + frame.states
    for source in range(frame.first_state, start):
        hand = sets.hands[source, mover]
        if cards & ~hand == U0:
            if target == start:
                after[:] = row
                after[HANDS + mover] = hand
                play_move(after, stack.mains[index], stack.kickers[index], stack.rules)
            for seat in range(3):
                sets.hands[target, seat] = sets.hands[source, seat]
            sets.hands[target, mover] = remove_hand(hand, cards)
            ways = 1.0 if inferred else _count_ways(remove_hand(hand, face_up), remove_hand(cards, face_up))
            sets.weights[target] = sets.weights[source] * ways
            target += 1
    return target - start


@kernel
def _collect_moves(stack: SearchStack, sets: InformationSetStack, ply: int) -> int:
    """Push every move that is legal in at least one state; return the end index, or -1 at a search limit."""
    row, frame, mains, kickers = stack.rows[ply], stack.frames[ply], stack.mains, stack.kickers
    mover, stop = np.int64(row[SEAT]), frame.first
    for state in range(frame.first_state, frame.first_state + frame.states):
        row[HANDS + mover] = sets.hands[state, mover]
        end = minimax.list_legal(stack, ply, stop)
        if end < 0:
            return -1
        fresh = stop
        for index in range(stop, end):
            duplicate = False
            for earlier in range(frame.first, stop):
                if mains[earlier] == mains[index] and kickers[earlier] == kickers[index]:
                    duplicate = True
            if not duplicate:
                mains[fresh], kickers[fresh] = mains[index], kickers[index]
                fresh += 1
        stop = fresh
    return stop


@inline_kernel
def _credit_states(stack: SearchStack, sets: InformationSetStack, ply: int, value: float, ours: bool) -> None:
    """Add the value of the last move to every state in which that move was legal."""
    frame = stack.frames[ply]
    mover, cards = np.int64(stack.rows[ply, SEAT]), _move_cards(stack, frame.cursor - 1)
    for state in range(frame.first_state, frame.first_state + frame.states):
        if cards & ~sets.hands[state, mover] == U0:
            sets.total[state] += value
            sets.moves[state] += 1.0
            if (value > sets.best[state]) == ours:
                sets.best[state] = value


@inline_kernel
def _expected_value(sets: InformationSetStack, first: int, size: int) -> float:
    total, mass = 0.0, 0.0
    for state in range(first, first + size):
        total += sets.weights[state] * (sets.best[state] + EPSILON * sets.total[state] / sets.moves[state])
        mass += sets.weights[state]
    return total / mass


@kernel
def _open_set(stack: SearchStack, sets: InformationSetStack, ply: int, seat: np.uint64) -> bool:
    """Push the legal moves of the information set at a ply; return False if a search limit is reached."""
    row, frame = stack.rows[ply], stack.frames[ply]
    if row[SEAT] == seat:
        return minimax.push_legal_moves(stack, ply)
    stop = frame.first_state + frame.states
    if stop + frame.states > MAX_SET_STATES:
        stack.counters[STOPPED] = minimax.TOO_MANY_NODES
        return False
    sets.best[frame.first_state : stop] = -2.0 if _same_side(row, row[SEAT], seat) else 2.0
    sets.total[frame.first_state : stop], sets.moves[frame.first_state : stop] = 0.0, 0.0
    frame.cursor, frame.stop = frame.first, _collect_moves(stack, sets, ply)
    return frame.stop >= 0


@kernel
def _enter_child(stack: SearchStack, sets: InformationSetStack, ply: int, seat: np.uint64, inferred: bool) -> None:
    """Write the information set after the next move to the next ply of the stack."""
    row, frame, after = stack.rows[ply], stack.frames[ply], stack.frames[ply + 1]
    index = frame.cursor
    frame.cursor += 1
    after.first, after.first_state, after.states = frame.stop, frame.first_state, frame.states
    if row[SEAT] == seat:
        stack.rows[ply + 1] = row
        play_move(stack.rows[ply + 1], stack.mains[index], stack.kickers[index], stack.rules)
    else:
        after.first_state += frame.states
        after.states = _push_consistent_states(stack, sets, ply, index, inferred)


@kernel
def _search_value(stack: SearchStack, sets: InformationSetStack, base: int, seat: np.uint64, root: np.uint64) -> float:
    """Compute the value ``v`` of the information set at a ply; it is meaningless once a limit is reached."""
    ply, value, returning = base, 0.0, False
    while True:
        row, frame = stack.rows[ply], stack.frames[ply]
        if not returning:
            returning, value = True, 1.0 if _same_side(row, row[WINNER] - U1, seat) else -1.0
            if row[STAGE] != STAGE_OVER:
                returning, value = look_up(stack, ply, _set_key(row, seat, root))
            if not returning and not _open_set(stack, sets, ply, seat):
                return 0.0
        if returning:
            if ply == base:
                return value
            ply -= 1
            row, frame = stack.rows[ply], stack.frames[ply]
            if row[SEAT] == seat:
                minimax.credit_move(stack, ply, value)
            else:
                _credit_states(stack, sets, ply, value, _same_side(row, row[SEAT], seat))
        returning = frame.cursor == frame.stop
        if not returning:
            _enter_child(stack, sets, ply, seat, root != U0)
            ply += 1
        else:
            mine = row[SEAT] == seat
            value = (
                minimax.final_value(stack, ply, EPSILON)
                if mine
                else _expected_value(sets, frame.first_state, frame.states)
            )
            store(stack, ply, value)


@kernel
def _move_values(
    stack: SearchStack,
    sets: InformationSetStack,
    rows: np.ndarray,
    weights: np.ndarray,
    root: np.uint64,
    values: np.ndarray,
) -> int:
    """Compute the value ``v`` of the information set after each legal move, and write it to ``values``."""
    minimax.begin_search(stack, rows[0])
    size, seat, frame = weights.size, rows[0, SEAT], stack.frames[0]
    sets.weights[:size] = weights
    sets.hands[:size] = rows[:, HANDS : HANDS + 3]
    frame.cursor, frame.first_state, frame.states = 0, 0, size
    count = frame.stop = minimax.list_legal(stack, 0, 0)
    for index in range(count):
        _enter_child(stack, sets, 0, seat, root != U0)
        values[index] = _search_value(stack, sets, 1, seat, root)
        if stack.counters[STOPPED] != RUNNING:
            return 0
    return max(count, 0)


class ExpectimaxSolver(Solver):
    """An expectimax solver of information-set trees, which keeps its transposition table between calls.

    Args:
        rules: The rules.
        node_limit: Positions a call may visit (an information set counts its states).
        table_bits: The table has ``2 ** table_bits`` slots of 24 bytes.

    Raises:
        NotSolvableError: Under rules in which a hand may hold the cards of a move that beats the target and not play
            it (``chain_from_quad=False``).
    """

    def __init__(self, rules: Rules, node_limit: int = NODE_LIMIT, table_bits: int = 18) -> None:
        if not rules.chain_from_quad:
            raise NotSolvableError(f"expectimax does not search the {rules.name} rules: chain_from_quad must be True")
        super().__init__(rules, node_limit, table_bits)
        self._sets = InformationSetStack(np.zeros((MAX_SET_STATES, 3), np.uint64), *np.zeros((4, MAX_SET_STATES)))

    def move_values(self, rows: Words, weights: Reals, *, inferred: bool = False) -> tuple[list[Move], Reals]:
        """Return the legal moves, and the value of the information set after each, shape ``[moves]``.

        Args:
            rows: The states of the information set, shape ``[states, 32]``.
            weights: Their probabilities up to a factor, shape ``[states]``.
            inferred: Whether they are those of a searcher that infers, and stay as they are when cards are played.

        Raises:
            NotSolvableError: If the position is not between two moves.
            SearchLimitError: If the game is too large.
        """
        check_solvable(rows[0])
        root = _hash_states(rows, weights) if inferred else np.uint64(0)
        states = np.asarray(weights, np.float64)
        return self._moves_with_values(
            _move_values(self._stack, self._sets, rows, states, root, self._values), self._values
        )


def _hash_states(rows: Words, weights: Reals) -> np.uint64:
    """Hash states and their probabilities to a 64-bit number that is never zero."""
    text = rows[:, : HANDS + 3].tobytes() + (np.asarray(weights, np.float64) / np.sum(weights)).tobytes()
    return np.uint64(int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little") | 1)
