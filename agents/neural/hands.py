"""A hand as columns: thresholds (at least one of a rank, at least two ...) and the chains that it holds."""

from __future__ import annotations

import numpy as np

from ddz_env.actions import MAIN_GROUPS
from ddz_env.cards import NUM_RANKS
from ddz_env.engine.compiling import inline_kernel, pure_kernel
from ddz_env.engine.tables import SEGMENT_COPIES, SEGMENT_LENGTH, SEGMENT_SIZE
from ddz_env.engine.words import PLANE, U0, U1, U16, run

MOST = 4
"""The highest count of a rank, and so the number of thresholds."""

PLANES = MOST * NUM_RANKS
"""Thresholds of one field of cards: rank by rank, four each."""

CHAINS = tuple(group for group in MAIN_GROUPS if group.length >= 2 and group.kicker_count == 0)
"""The main groups that are chains without kickers, in the order of their ids."""

HAND_COLUMNS = PLANES + len(CHAINS)
"""Columns of one hand: thresholds and chains."""

_CHAIN_SEGMENTS = np.array(sorted({chain.segment for chain in CHAINS}), np.int64)


@inline_kernel
def put_scaled(values: np.ndarray, scales: np.ndarray, first: int, stop: int, out: np.ndarray, place: int) -> int:
    """Write the bytes ``first..stop-1`` of an observation, scaled; the place behind them."""
    for index in range(first, stop):
        out[place] = np.float32(values[index]) * scales[index]
        place += 1
    return place


@inline_kernel
def put_thresholds(value: int, most: int, out: np.ndarray, place: int) -> int:
    """Write which of ``1 .. most`` a number reaches; the place behind them."""
    for step in range(1, most + 1):
        out[place] = np.float32(1.0) if value >= step else np.float32(0.0)
        place += 1
    return place


@inline_kernel
def put_planes(counts: np.ndarray, first: int, out: np.ndarray, place: int) -> int:
    """Write the thresholds of the fifteen counts from ``first``; the place behind them."""
    for rank in range(NUM_RANKS):
        place = put_thresholds(int(counts[first + rank]), MOST, out, place)
    return place


@pure_kernel
def put_hand(counts: np.ndarray, first: int, out: np.ndarray, place: int) -> int:
    """Write thresholds and chains of the fifteen counts from ``first``; the place behind them."""
    hand = hand_word(counts, first)
    for rank in range(NUM_RANKS):
        place = put_thresholds(int(counts[first + rank]), MOST, out, place)
    for index in range(_CHAIN_SEGMENTS.shape[0]):
        segment = _CHAIN_SEGMENTS[index]
        plane = (hand >> (U16 * (SEGMENT_COPIES[segment] - U1))) & PLANE
        starts = run(plane, SEGMENT_LENGTH[segment])
        for start in range(np.int64(SEGMENT_SIZE[segment])):
            out[place] = np.float32((starts >> np.uint64(start)) & U1)
            place += 1
    return place


@inline_kernel
def hand_word(counts: np.ndarray, first: int) -> np.uint64:
    """Fifteen counts as a hand of the engine: one word for all four thresholds, sixteen bits each."""
    hand = U0
    for rank in range(NUM_RANKS):
        for step in range(MOST):
            hand |= np.uint64(counts[first + rank] > step) << np.uint64(16 * step + rank)
    return hand
