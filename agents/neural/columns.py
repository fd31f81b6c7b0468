"""What the networks read: observations as columns between 0 and 1, and the hand that each legal action leaves.

Counts of cards are shown as they are, scaled, and as thresholds (at least one, at least two ...), because the moves of
Dou Dizhu are made of thresholds; and as chains, whether a hand holds each of them.  The columns of an observation are

=============  ==========================================================================================
columns        meaning
=============  ==========================================================================================
bytes          the bytes of the observation, scaled: all before the history, ``history`` moves, the last 16
mask           the legal actions
own hand       thresholds and chains
unseen cards   thresholds and chains
target         thresholds
hand sizes     thresholds 1 to 20 of self, next and previous
key            thresholds 1 to 15 of the rank to exceed
=============  ==========================================================================================

They are written by compiled code: as tensor operations (:mod:`agents.neural.standalone` has them) they cost a third of
the time of training.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_env.actions import BID_BASE, KICKER_BASE, MAIN_GROUPS, NUM_ACTIONS
from ddz_env.cards import NUM_RANKS
from ddz_env.engine.compiling import inline_kernel, pure_kernel
from ddz_env.engine.tables import (
    SEGMENT_COPIES,
    SEGMENT_LENGTH,
    SEGMENT_SIZE,
)
from ddz_env.engine.words import PLANE, U0, U1, U16, run
from ddz_env.observation import CONCEALED, HISTORY, OBSERVATION

MOST = 4
"""The highest count of a rank, and so the number of thresholds."""

MOST_CARDS = 20
"""The largest hand."""

PLANES = MOST * NUM_RANKS
"""Thresholds of one field of cards: rank by rank, four each."""

CHAINS = tuple(group for group in MAIN_GROUPS if group.length >= 2 and group.kicker_count == 0)
"""The main groups that are chains without kickers, in the order of their ids."""

HAND_COLUMNS = PLANES + len(CHAINS)
"""Columns of one hand: thresholds and chains."""

CONCEALED_COLUMNS = CONCEALED.size + 2 * HAND_COLUMNS
"""Columns of what an observation conceals: its bytes, scaled, and both other hands."""

HEAD = OBSERVATION.offsets["move_1"]
"""Bytes before the history."""

TAIL = OBSERVATION.offsets["role"]
"""The first byte behind it."""

HAND, UNSEEN, TARGET, KEY, PENDING, KICKERS, KICKER_SIZE = (
    OBSERVATION.offsets[name]
    for name in ("hand", "unseen", "target", "target_key", "pending_body", "kickers", "kicker_size")
)
LEFT: tuple[int, ...] = tuple(OBSERVATION.offsets[f"cards_left_{seat}"] for seat in ("self", "next", "previous"))
HAND_NEXT, HAND_PREVIOUS = (CONCEALED.offsets[name] for name in ("hand_next", "hand_previous"))

OBSERVATION_SCALES: npt.NDArray[np.float32] = (1.0 / OBSERVATION.high).astype(np.float32)
CONCEALED_SCALES: npt.NDArray[np.float32] = (1.0 / CONCEALED.high).astype(np.float32)

_MOVE_BYTES = NUM_RANKS + 1
_FIXED = HEAD + (OBSERVATION.size - TAIL) + NUM_ACTIONS + 2 * HAND_COLUMNS + PLANES + len(LEFT) * MOST_CARDS + NUM_RANKS
_LEFT = np.array(LEFT, np.int64)
_CHAIN_SEGMENTS = np.array(sorted({chain.segment for chain in CHAINS}), np.int64)


def observation_columns(history: int) -> int:
    """How many columns an observation has.

    Args:
        history: Completed moves that are shown, 0 to 15.
    """
    return _FIXED + _MOVE_BYTES * history


def _spent_cards() -> npt.NDArray[np.int8]:
    spent = np.zeros((2, NUM_ACTIONS, NUM_RANKS), np.int8)
    for group in MAIN_GROUPS:
        spent[:, group.id] = group.need
    for action in range(KICKER_BASE, BID_BASE):
        spent[:, action, action - KICKER_BASE] = (1, 2)
    return spent


SPENT = _spent_cards()
"""Cards that leave the hand by each action, for solo and for pair kickers, shape ``[2, 400, 15]``, int8."""


class Leavings(NamedTuple):
    """The hand that each legal action of a batch leaves.

    Attributes:
        rows: The observation of each pair of observation and action, shape ``[pairs]``, int64, ascending.
        actions: The action, shape ``[pairs]``, int64.
        columns: The hand that is left, shape ``[pairs, HAND_COLUMNS]``, float32.
    """

    rows: npt.NDArray[np.int64]
    actions: npt.NDArray[np.int64]
    columns: npt.NDArray[np.float32]


def describe_observations(
    observations: npt.NDArray[np.int8], masks: npt.NDArray[np.int8], history: int = HISTORY
) -> npt.NDArray[np.float32]:
    """The columns of observations.

    Args:
        observations: Shape ``[n, OBSERVATION_SIZE]``, int8.
        masks: Shape ``[n, 400]``, int8.
        history: Completed moves that are shown, 0 to 15.

    Returns:
        Shape ``[n, observation_columns(history)]``, float32.
    """
    out = np.empty((len(observations), observation_columns(history)), np.float32)
    _describe_observations(observations, masks, history, out)
    return out


def describe_concealed(concealed: npt.NDArray[np.int8]) -> npt.NDArray[np.float32]:
    """The columns of what observations conceal, for critics only.

    Args:
        concealed: Shape ``[n, CONCEALED.size]``, int8.

    Returns:
        Shape ``[n, CONCEALED_COLUMNS]``, float32.
    """
    out = np.empty((len(concealed), CONCEALED_COLUMNS), np.float32)
    _describe_concealed(concealed, out)
    return out


def describe_leavings(observations: npt.NDArray[np.int8], masks: npt.NDArray[np.int8]) -> Leavings:
    """The hand that each legal action leaves: a main group takes its body, a kicker its cards, the rest nothing.

    Args:
        observations: Shape ``[n, OBSERVATION_SIZE]``, int8.
        masks: Shape ``[n, 400]``, int8.
    """
    pairs = int(np.count_nonzero(masks))
    found = Leavings(np.empty(pairs, np.int64), np.empty(pairs, np.int64), np.empty((pairs, HAND_COLUMNS), np.float32))
    _describe_leavings(observations, masks, found.rows, found.actions, found.columns)
    return found


@inline_kernel
def _put_scaled(values: np.ndarray, scales: np.ndarray, first: int, stop: int, out: np.ndarray, place: int) -> int:
    for index in range(first, stop):
        out[place] = np.float32(values[index]) * scales[index]
        place += 1
    return place


@inline_kernel
def _put_thresholds(value: int, most: int, out: np.ndarray, place: int) -> int:
    for step in range(1, most + 1):
        out[place] = np.float32(1.0) if value >= step else np.float32(0.0)
        place += 1
    return place


@inline_kernel
def _put_planes(counts: np.ndarray, first: int, out: np.ndarray, place: int) -> int:
    for rank in range(NUM_RANKS):
        place = _put_thresholds(int(counts[first + rank]), MOST, out, place)
    return place


@pure_kernel
def _put_hand(counts: np.ndarray, first: int, out: np.ndarray, place: int) -> int:
    """Thresholds and chains of the fifteen counts from ``first``; the place behind them."""
    # One word for all four thresholds, sixteen bits each, as in a hand of the engine.
    hand = U0
    for rank in range(NUM_RANKS):
        count = counts[first + rank]
        for step in range(MOST):
            reached = count > step
            out[place] = np.float32(reached)
            hand |= np.uint64(reached) << np.uint64(16 * step + rank)
            place += 1
    for index in range(_CHAIN_SEGMENTS.shape[0]):
        segment = _CHAIN_SEGMENTS[index]
        plane = (hand >> (U16 * (SEGMENT_COPIES[segment] - U1))) & PLANE
        starts = run(plane, SEGMENT_LENGTH[segment])
        for start in range(np.int64(SEGMENT_SIZE[segment])):
            out[place] = np.float32((starts >> np.uint64(start)) & U1)
            place += 1
    return place


@pure_kernel
def _describe_observations(observations: np.ndarray, masks: np.ndarray, history: int, out: np.ndarray) -> None:
    for index in range(observations.shape[0]):
        values, row = observations[index], out[index]
        place = _put_scaled(values, OBSERVATION_SCALES, 0, HEAD + _MOVE_BYTES * history, row, 0)
        place = _put_scaled(values, OBSERVATION_SCALES, TAIL, observations.shape[1], row, place)
        for action in range(NUM_ACTIONS):
            row[place] = np.float32(masks[index, action])
            place += 1
        place = _put_hand(values, HAND, row, place)
        place = _put_hand(values, UNSEEN, row, place)
        place = _put_planes(values, TARGET, row, place)
        for seat in range(_LEFT.shape[0]):
            place = _put_thresholds(int(values[_LEFT[seat]]), MOST_CARDS, row, place)
        _put_thresholds(int(values[KEY]), NUM_RANKS, row, place)


@pure_kernel
def _describe_concealed(concealed: np.ndarray, out: np.ndarray) -> None:
    for index in range(concealed.shape[0]):
        values, row = concealed[index], out[index]
        place = _put_scaled(values, CONCEALED_SCALES, 0, concealed.shape[1], row, 0)
        place = _put_hand(values, HAND_NEXT, row, place)
        _put_hand(values, HAND_PREVIOUS, row, place)


@pure_kernel
def _describe_leavings(
    observations: np.ndarray, masks: np.ndarray, rows: np.ndarray, actions: np.ndarray, out: np.ndarray
) -> None:
    """Each pair's hand is first written into the output's own columns, as counts, and then described in place."""
    pair = 0
    for index in range(observations.shape[0]):
        values = observations[index]
        size = 1 if values[KICKER_SIZE] == 2 else 0
        for action in range(NUM_ACTIONS):
            if masks[index, action] == 0:
                continue
            rows[pair], actions[pair] = index, action
            row = out[pair]
            for rank in range(NUM_RANKS):
                taken = values[PENDING + rank] + values[KICKERS + rank] + SPENT[size, action, rank]
                row[PLANES + rank] = np.float32(values[HAND + rank] - taken)
            _put_hand(row, PLANES, row, 0)
            pair += 1
