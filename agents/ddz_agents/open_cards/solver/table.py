"""The transposition table: buckets of one word an entry, and the entry of the smallest subtree gives way.

An entry holds 57 bits of the position's 128-bit hash (others choose the bucket), the logarithm of the size of the tree
that proved it (6 bits), and who wins (1 bit).  Two positions with the same bits would be taken for one; at a billion
look-ups in buckets of eight that happens with a chance below one in ten million.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ddz_env.core.engine.compiling import inline_kernel
from ddz_env.core.engine.words import U0, U1

_A = np.uint64(0x9E3779B97F4A7C15)
_B = np.uint64(0xC2B2AE3D27D4EB4F)
_C = np.uint64(0x165667B19E3779F9)
_D = np.uint64(0xD6E8FEB86659FD93)
_32 = np.uint64(32)
_29 = np.uint64(29)
_SIZE_BITS = np.uint64(0x7E)
_NAME = ~np.uint64(0x7F)

ABSENT = np.int64(-1)
_WAYS = np.uint64(4)
"""Entries a bucket."""


def new_table(megabytes: float) -> npt.NDArray[np.uint64]:
    """An empty table of at most that size: a power of two of words, at least 1,024."""
    words = max(1 << 10, 1 << (int(megabytes * 2**20 / 8).bit_length() - 1))
    return np.zeros(words, np.uint64)


@inline_kernel
def _stir(word: np.uint64) -> np.uint64:
    word ^= word >> _32
    word *= _D
    word ^= word >> _29
    word *= _D
    return word ^ (word >> _32)


@inline_kernel
def place_of(a: np.uint64, b: np.uint64, c: np.uint64, state: np.uint64) -> tuple[np.uint64, np.uint64]:
    """A position's two hashes: the one that chooses the bucket, and the one that names it there."""
    mixed = _stir((a * _A) ^ _stir((b * _B) ^ _stir((c * _C) ^ state)))
    return mixed, _stir(mixed ^ a ^ (b * _C) ^ (c * _A) ^ (state * _B)) & _NAME


@inline_kernel
def look_up(table: np.ndarray, bucket: np.uint64, name: np.uint64) -> int:
    """1 if the landlord wins the position, 0 if not, ``ABSENT`` if it is not there.

    Args:
        table: The table, shape ``[words]``, uint64.
        bucket: The first hash.
        name: The second hash.
    """
    first = bucket & np.uint64(table.size - 1) & ~(_WAYS - U1)
    for way in range(np.int64(_WAYS)):
        entry = table[first + np.uint64(way)]
        if (entry & _NAME) == name and entry != U0:
            return np.int64(entry & U1)
    return ABSENT


@inline_kernel
def store(table: np.ndarray, bucket: np.uint64, name: np.uint64, value: int, nodes: int) -> None:
    """Write a proven position in place of the entry with the smallest tree in its bucket.

    Args:
        table: The table, changed in place.
        bucket: The first hash.
        name: The second hash.
        value: 1 if the landlord wins.
        nodes: How many nodes the proof took.
    """
    first = bucket & np.uint64(table.size - 1) & ~(_WAYS - U1)
    size = U1
    while nodes > 1:
        nodes >>= 1
        size += U1
    worst, smallest = first, ~U0
    for way in range(np.int64(_WAYS)):
        entry = table[first + np.uint64(way)]
        if (entry & _SIZE_BITS) < smallest:
            worst, smallest = first + np.uint64(way), entry & _SIZE_BITS
    table[worst] = name | (size << U1) | np.uint64(value)
