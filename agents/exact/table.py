"""A transposition table for exact values, inside compiled code.

A position is filed under 128 bits that mix the words it is made of.  The table replaces without asking, and a lost
entry costs time only.  Two positions that share all 128 bits would be confused; among 2**32 positions that happens
with a probability below 2**-64.
"""

# mypy: disable-error-code="arg-type,no-any-return"
# (To Numba NumPy's integers and Python's are one type, to the checker they are two.)

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_env.engine.compiling import inline_kernel
from ddz_env.engine.layout import KEY, OWNER, PASSES, SEAT, TARGET
from ddz_env.engine.random import mix
from ddz_env.engine.words import U1, U4, U8

_SECOND = np.uint64(0xD1B54A32D192ED03)
_GAMMA = np.uint64(0x9E3779B97F4A7C15)


class Table(NamedTuple):
    """Arrays of a transposition table.

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
