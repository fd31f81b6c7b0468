"""The memory of the solver's search: its stacks and the transposition table of proven positions.

The transposition table has buckets of one word per entry, and the entry of the smallest subtree is replaced.  An entry
serves all goals: it holds 48 bits of the position's 128-bit hash (others choose the bucket), the logarithm of the size
of the largest tree that went into it (6 bits), the highest goal that is proven, and the highest that is not refuted (5
bits each).  Two positions with the same bits would be taken for one; at a billion look-ups in buckets of four that
happens with a chance below one in fifty thousand.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_agents.open_cards.solver.goals import HIGHEST, LOWEST, spring_left
from ddz_agents.open_cards.solver.moves import BOMBS, LEAD, NOTHING, Moves, new_moves, new_turns
from ddz_env.core.engine.words import FOUR_PLANES, U0, U1, U2, U3, U4, U8, U12, U15, U16, U32
from ddz_env.core.engine.words import run_starts as in_a_row
from ddz_env.support.compiling import inline_kernel, pure_kernel

MAX_PLIES = 192
"""Nodes on one line of play: at most 54 plays, each with at most two passes, forced ones not counted."""

MOVE_CAPACITY = 1 << 16
"""Moves on one line of play, all its positions together."""
FRESH, RUNNING, DONE, NO_ROOM = 0, 1, 2, 3

_CONTROL = np.dtype([(name, "i8") for name in ("nodes", "ply", "status", "value", "hits", "evictions")])
_FRAME = np.dtype(
    [(name, "i8") for name in ("seat", "passes", "first", "next", "end", "start", "goal", "plays")]
    + [(name, "u8") for name in ("code", "bucket", "name")]
)

TRUMPS = 64
"""The line of the threats that belongs to bombs and the rocket."""

_A = np.uint64(0x9E3779B97F4A7C15)
_B = np.uint64(0xC2B2AE3D27D4EB4F)
_C = np.uint64(0x165667B19E3779F9)
_D = np.uint64(0xD6E8FEB86659FD93)
_29 = np.uint64(29)
_NAME = ~np.uint64(0xFFFF)
_SIZE_SHIFT, _LOW_SHIFT = np.uint64(10), np.uint64(5)
_SIZE, _GOAL = np.uint64(0x3F), np.uint64(0x1F)

ABSENT = np.int64(-1)
_CHAIN_RANKS = np.uint64(0xFFF)
_FIVE = np.uint64(5)
_OTHER_RANKS = np.uint64(0x7000) * FOUR_PLANES


class Techniques(NamedTuple):
    """The techniques that a search uses; switched off they only cost time.

    Attributes:
        table: Keep proven positions in the transposition table.
        both_bounds: An entry keeps a lower and an upper bound; without it only the last one that was proven.
        quick_wins: A leader that provably runs out has won.
        threats: A move that an opponent's quick win beats has lost.
        ranks: Ranks that no hand holds are taken out before a position is looked up.
        tighten: The target is raised to the highest that lets the same replies through.
        order: The most promising move is tried first.
        ways: Entries per bucket of the table, a power of two.
    """

    table: np.bool_
    both_bounds: np.bool_
    quick_wins: np.bool_
    threats: np.bool_
    ranks: np.bool_
    tighten: np.bool_
    order: np.bool_
    ways: np.uint64


class SolverMemory(NamedTuple):
    """The arrays that a search works on: node stack, move stack, transposition table and counters.

    Attributes:
        landlord: The landlord's seat.
        rules: The rules array.
        techniques: What the search uses.
        control: Counters and state: nodes opened, the ply, status and value, values found in the table, and entries
            that gave way to other positions; shape ``[1]``.
        hands: Hands of the three seats, one row per node, shape ``[MAX_PLIES, 3]``, uint64.
        frames: For each node: the seat to act, the passes before it, where its moves begin and end on the stack and
            which is next, the count of nodes when it was opened, the goal from there on, the plays so far, its target
            code and its two hashes; shape ``[MAX_PLIES]``.
        moves: The stack of moves.
        table: The transposition table, shape ``[words]``, uint64.
        turns: The table of :func:`ddz_agents.open_cards.solver.moves.fewest_turns`.
        threats: For the node that is scored, one row per segment and one for bombs: the node that the row was computed
            for, and the highest rank of a refuting reply, shape ``[TRUMPS + 1, 2]``, int64.
    """

    landlord: np.int64
    rules: npt.NDArray[np.uint64]
    techniques: Techniques
    control: npt.NDArray[Any]
    hands: npt.NDArray[np.uint64]
    frames: npt.NDArray[Any]
    moves: Moves
    table: npt.NDArray[np.uint64]
    turns: npt.NDArray[np.uint64]
    threats: npt.NDArray[np.int64]


def new_solver_memory(rules: npt.NDArray[np.uint64], megabytes: float, techniques: Techniques) -> SolverMemory:
    """Allocate a search's memory, with an empty transposition table of at most ``megabytes``."""
    words = max(1 << 10, 1 << (int(megabytes * 2**20 / 8).bit_length() - 1))
    return SolverMemory(
        landlord=np.int64(0),
        rules=rules,
        techniques=techniques,
        control=np.zeros(1, _CONTROL),
        hands=np.zeros((MAX_PLIES, 3), np.uint64),
        frames=np.zeros(MAX_PLIES, _FRAME),
        moves=new_moves(MOVE_CAPACITY),
        table=np.zeros(words, np.uint64),
        turns=new_turns(),
        threats=np.zeros((TRUMPS + 1, 2), np.int64),
    )


@inline_kernel
def _mix_bits(word: np.uint64) -> np.uint64:
    word ^= word >> U32
    word *= _D
    word ^= word >> _29
    word *= _D
    return word ^ (word >> U32)


@inline_kernel
def _hash_position(a: np.uint64, b: np.uint64, c: np.uint64, state: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Compute two hashes of a position: one chooses its bucket, the other identifies it in the bucket."""
    mixed = _mix_bits((a * _A) ^ _mix_bits((b * _B) ^ _mix_bits((c * _C) ^ state)))
    return mixed, _mix_bits(mixed ^ a ^ (b * _C) ^ (c * _A) ^ (state * _B)) & _NAME


@inline_kernel
def _unpack_bounds(entry: np.uint64) -> tuple[int, int]:
    """Return the highest goal that a table entry proves, and the highest that it does not refute."""
    low = np.int64((entry >> _LOW_SHIFT) & _GOAL) + LOWEST
    return low, np.int64(entry & _GOAL) + LOWEST


@inline_kernel
def look_up(table: np.ndarray, ways: np.uint64, bucket: np.uint64, name: np.uint64, goal: int) -> int:
    """Look up a position and goal: return 1 if the landlord reaches the goal, 0 if not, ``ABSENT`` if unknown.

    Args:
        table: The table, shape ``[words]``, uint64.
        ways: Entries per bucket.
        bucket: The first hash.
        name: The second hash.
        goal: The goal from there on.
    """
    first = bucket & np.uint64(table.size - 1) & ~(ways - U1)
    for way in range(np.int64(ways)):
        entry = table[first + np.uint64(way)]
        if (entry & _NAME) == name and entry != U0:
            low, high = _unpack_bounds(entry)
            if goal <= low:
                return np.int64(1)
            return np.int64(0) if goal > high else ABSENT
    return ABSENT


@inline_kernel
def store(search: SolverMemory, ply: int, value: int) -> None:
    """Store a node's value in its position's table entry, or in place of the bucket's entry with the smallest tree.

    Args:
        search: Memory; the table is changed in place.
        ply: The node.
        value: 1 if the landlord reaches its goal.
    """
    frame, table, ways = search.frames[ply], search.table, search.techniques.ways
    name, goal, nodes = frame.name, frame.goal, search.control[0].nodes - frame.start
    low, high = (goal, HIGHEST) if value == 1 else (LOWEST, goal - 1)
    size = U1
    while nodes > 1:
        nodes >>= 1
        size += U1
    first = frame.bucket & np.uint64(table.size - 1) & ~(ways - U1)
    slot, smallest = first, ~U0
    for way in range(np.int64(ways)):
        entry = table[first + np.uint64(way)]
        its_size = (entry >> _SIZE_SHIFT) & _SIZE
        if (entry & _NAME) == name and entry != U0:
            slot, size = first + np.uint64(way), max(size, its_size)
            if search.techniques.both_bounds:
                proven, open_goal = _unpack_bounds(entry)
                low, high = max(low, proven), min(high, open_goal)
            break
        if its_size < smallest:
            slot, smallest = first + np.uint64(way), its_size
    before = table[slot]
    if before != U0 and (before & _NAME) != name:
        search.control[0].evictions += 1
    bounds = (np.uint64(low - LOWEST) << _LOW_SHIFT) | np.uint64(high - LOWEST)
    table[slot] = name | (size << _SIZE_SHIFT) | bounds


@inline_kernel
def _remove_rank(hand: np.uint64, below: np.uint64) -> np.uint64:
    """Remove a rank that no hand holds from the chain ranks of a hand, moving the ranks above it down.

    Args:
        hand: The hand.
        below: Mask of the ranks below the empty one.
    """
    low = below * FOUR_PLANES
    return (hand & (low | _OTHER_RANKS)) | (((hand & ~(low | _OTHER_RANKS)) >> U1) & (_CHAIN_RANKS * FOUR_PLANES))


@inline_kernel
def _has_chain(hand: np.uint64) -> bool:
    """Return whether a hand has the ranks of a chain: five solos, three pairs or two trios in a row."""
    solos, pairs = hand & _CHAIN_RANKS, (hand >> U16) & _CHAIN_RANKS
    trios = (hand >> U32) & _CHAIN_RANKS
    return in_a_row(solos, _FIVE) != U0 or in_a_row(pairs, U3) != U0 or (trios & (trios >> U1)) != U0


@pure_kernel
def _remove_empty_ranks(
    a: np.uint64, b: np.uint64, c: np.uint64, empty: np.uint64, start: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Remove ranks that no hand holds from three hands; return the hands and the new index of rank ``start``."""
    while empty != U0:
        top = empty
        top |= top >> U1
        top |= top >> U2
        top |= top >> U4
        top |= top >> U8
        top ^= top >> U1
        empty ^= top
        below = top - U1
        a, b, c = _remove_rank(a, below), _remove_rank(b, below), _remove_rank(c, below)
        if start < U12 and top < (U1 << start):
            start -= U1
    return a, b, c, start


@inline_kernel
def hash_node(search: SolverMemory, ply: int) -> None:
    """Write a node's two hashes, ignoring ranks that no hand holds unless they keep chains apart.

    Ranks that are in no hand any more are taken out: all of them where no hand has a chain even then, else all but one
    between two that are held, so that no chain arises.  2 and the jokers stay where they are.

    Args:
        search: Memory.
        ply: The node.
    """
    frame = search.frames[ply]
    code, a, b, c = frame.code, search.hands[ply, 0], search.hands[ply, 1], search.hands[ply, 2]
    held = (a | b | c) & _CHAIN_RANKS
    empty = ~held & _CHAIN_RANKS if search.techniques.ranks else U0
    start = (code & U15) + U1
    closed_a, closed_b, closed_c, moved = _remove_empty_ranks(a, b, c, empty, start)
    if _has_chain(closed_a) or _has_chain(closed_b) or _has_chain(closed_c):
        gaps = empty & (held << U1)  # the first empty rank above one that is held stays
        closed_a, closed_b, closed_c, moved = _remove_empty_ranks(a, b, c, empty & ~gaps, start)
    if code != LEAD and code != BOMBS and code != NOTHING:
        code = ((code >> U4) << U4) | ((moved - U1) & U15)
    state = (code << U4) | np.uint64((frame.seat << 2) | frame.passes)
    state |= np.uint64(spring_left(frame.goal, frame.plays, search.rules)) << U32
    state ^= np.uint64(search.landlord) << np.uint64(60)
    frame.bucket, frame.name = _hash_position(closed_a, closed_b, closed_c, state)
