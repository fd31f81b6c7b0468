"""Memory that open-card searches share: a line of play, a stack of moves and a transposition table.

Numba's cache does not load functions that call themselves.  Every search therefore writes its recursion out: what each
call would remember is in the *frame* of its ply.
"""

# mypy: disable-error-code="arg-type,no-any-return"
# (To Numba NumPy's integers and Python's are one type, to the checker they are two.)

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_env.core.engine.layout import HANDS, KEY, LANDLORD, OWNER, PASSES, ROW_WORDS, SEAT, TARGET
from ddz_env.core.engine.random import mix
from ddz_env.core.engine.step import pass_turn, play_without_bookkeeping
from ddz_env.core.engine.words import U0, U1, U4, U8
from ddz_env.support.compiling import inline_kernel

NODES, LIMIT, STOPPED = 0, 1, 2
"""Indexes of the counters: positions visited, how many may be, and why the search stopped."""
_SECOND = np.uint64(0xD1B54A32D192ED03)
_GAMMA = np.uint64(0x9E3779B97F4A7C15)

Key = tuple[np.uint64, np.uint64]
"""The 128 bits under which a position is filed: a mix of the words it is made of, the first never zero."""
TranspositionTable = npt.NDArray[Any]
"""Entries of 128 bits, a value, and what else a search files; the first word of an empty one is zero.

A new entry always replaces the old one in its slot; a lost entry only costs time.  Two positions that share all 128
bits would be confused; among 2**32 positions that happens with a probability below 2**-64.
"""


def new_table(bits: int, **more: str) -> TranspositionTable:
    """Create an empty transposition table with ``2 ** bits`` entries of 24 bytes, plus any ``more`` fields."""
    return np.zeros(1 << bits, _make_dtype(key_high="u8", key_low="u8", value="f8", **more))


class SearchStack(NamedTuple):
    """The memory of one search: its line of play, a stack of moves, and a transposition table.

    Attributes:
        rows: The games on the line of play, shape ``[plies, 32]``, uint64.
        frames: What is remembered of each of them, shape ``[plies]``: where its moves begin on the stack (``first``)
            and end (``stop``), which is tried next (``cursor``), the best value so far (``best``), its key and its
            ``slot`` in the table; and what a search adds.
        mains: A stack of moves, main groups, shape ``[moves]``, uint64.
        kickers: Their kickers as hands, shape ``[moves]``, uint64.
        table: The transposition table.
        counters: Shape ``[3]``, int64 (``NODES``, ``LIMIT``, ``STOPPED``).
        rules: The rules array.
    """

    rows: npt.NDArray[np.uint64]
    frames: npt.NDArray[Any]
    mains: npt.NDArray[np.uint64]
    kickers: npt.NDArray[np.uint64]
    table: TranspositionTable
    counters: npt.NDArray[np.int64]
    rules: npt.NDArray[np.uint64]


def new_stack(
    rules: npt.NDArray[np.uint64], plies: int, moves: int, limit: int, table: TranspositionTable, **more: str
) -> SearchStack:
    """Create the memory of a search with the given limits, for use by one thread.

    Args:
        rules: The rules array.
        plies: Positions on one line of play.
        moves: Moves of all of them together.
        limit: Positions that may be visited.
        table: The transposition table (:func:`new_table`).
        **more: More fields of a frame: their types by name.
    """
    usual = {"first": "i8", "cursor": "i8", "stop": "i8", "best": "f8", "key_high": "u8", "key_low": "u8", "slot": "i8"}
    mains, kickers = np.zeros((2, moves), np.uint64)
    rows, frames = np.zeros((plies, ROW_WORDS), np.uint64), np.zeros(plies, _make_dtype(**usual, **more))
    return SearchStack(rows, frames, mains, kickers, table, np.array([0, limit, 0]), rules)


def _make_dtype(**types: str) -> np.dtype[Any]:
    return np.dtype(list(types.items()), align=True)


@inline_kernel
def mix_in(key: Key, word: np.uint64) -> Key:
    """Return a position's 128-bit hash key with one more word mixed in."""
    return mix(key[0] ^ (word + _GAMMA)) | U1, mix((key[1] + word) * _SECOND)


@inline_kernel
def trick_word(row: np.ndarray) -> np.uint64:
    """Pack the state of the trick into one word: seat to act, move to beat, rank to beat, owner and passes."""
    word = (row[TARGET] << U8) | (row[KEY] << U4) | row[SEAT]
    return (word << U8) | (row[OWNER] << U4) | row[PASSES]


@inline_kernel
def position_key(row: np.ndarray, salt: np.uint64) -> Key:
    """Compute the 128-bit hash key of a position between moves."""
    key = mix_in(mix_in(mix_in((salt, U0), row[HANDS]), row[HANDS + 1]), row[HANDS + 2])
    return mix_in(key, (trick_word(row) << U4) | row[LANDLORD])


@inline_kernel
def look_up(stack: SearchStack, ply: int, key: Key) -> tuple[bool, float]:
    """Look up the position at a ply in the transposition table; return whether it is known, and its value."""
    frame = stack.frames[ply]
    frame.key_high, frame.key_low, frame.slot = key[0], key[1], np.int64(key[1] & np.uint64(stack.table.size - 1))
    entry = stack.table[frame.slot]
    return entry.key_high == key[0] and entry.key_low == key[1], entry.value


@inline_kernel
def store(stack: SearchStack, ply: int, value: float) -> None:
    """Store the value of the position at a ply in the transposition table, replacing any earlier entry."""
    frame = stack.frames[ply]
    entry = stack.table[frame.slot]
    entry.key_high, entry.key_low, entry.value = frame.key_high, frame.key_low, value


@inline_kernel
def play_stack_move(stack: SearchStack, ply: int, index: int) -> None:
    """Play a move of the stack from the position at a ply, and write the resulting position to the next ply."""
    row = stack.rows[ply + 1]
    for word in range(ROW_WORDS):
        row[word] = stack.rows[ply, word]
    if stack.mains[index] == U0:
        pass_turn(row, stack.rules)
    else:
        play_without_bookkeeping(row, stack.mains[index], stack.kickers[index], stack.rules)
