"""What the networks read: observations as columns between 0 and 1, and the hand that each legal action leaves.

Counts of cards are shown as they are, scaled, and as thresholds (at least one, at least two ...), because the moves of
Dou Dizhu are made of thresholds; and as chains, whether a hand holds each of them.  A hand of which the player is to
choose the next move also has *prospects* (:mod:`agents.neural.prospects`).  The columns of an observation are

=============  ==========================================================================================
columns        meaning
=============  ==========================================================================================
bytes          the bytes of the observation, scaled: all before the history, ``history`` moves, the last 16
mask           the legal actions
own hand       thresholds and chains; prospects of what no move in progress has taken
unseen cards   thresholds and chains
target         thresholds
hand sizes     thresholds 1 to 20 of self, next and previous
key            thresholds 1 to 15 of the rank to exceed
=============  ==========================================================================================

They are written by compiled code: as tensor operations (:mod:`agents.neural.standalone` has those that can be) they
cost a third of the time of training.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from agents.baselines.mind import Mind, new_mind
from agents.neural.prospects import PROSPECTS, put_prospects, weigh_pool
from ddz_env.actions import BID_BASE, KICKER_BASE, MAIN_GROUPS, NUM_ACTIONS
from ddz_env.cards import NUM_RANKS
from ddz_env.engine.compiling import inline_kernel, kernel, pure_kernel
from ddz_env.engine.tables import (
    SEGMENT_COPIES,
    SEGMENT_LENGTH,
    SEGMENT_SIZE,
)
from ddz_env.engine.words import PLANE, U0, U1, U16, add_hand, popcount, run
from ddz_env.observation import CONCEALED, HISTORY, OBSERVATION
from ddz_env.rules import Rules

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

REST_COLUMNS = HAND_COLUMNS + PROSPECTS
"""Columns of a hand that an action leaves."""

CONCEALED_COLUMNS = CONCEALED.size + 2 * REST_COLUMNS
"""Columns of what an observation conceals: its bytes, scaled, and both other hands with their prospects."""

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
_FIXED = (
    HEAD
    + (OBSERVATION.size - TAIL)
    + NUM_ACTIONS
    + (2 * HAND_COLUMNS + PROSPECTS)
    + PLANES
    + len(LEFT) * MOST_CARDS
    + NUM_RANKS
)
OWN_PROSPECTS = HEAD + (OBSERVATION.size - TAIL) + NUM_ACTIONS + HAND_COLUMNS
"""The column at which the prospects of the own hand begin, where no history is shown."""
# Prospects are read under the rules that most presets share: a hand says much the same about itself under all of them.
_RULES = Rules().words()
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
        columns: The hand that is left, shape ``[pairs, REST_COLUMNS]``, float32.
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
    _describe_observations(observations, masks, history, _RULES, new_mind(), out)
    return out


def describe_concealed(observations: npt.NDArray[np.int8], concealed: npt.NDArray[np.int8]) -> npt.NDArray[np.float32]:
    """The columns of what observations conceal, for critics only.

    Args:
        observations: Shape ``[n, OBSERVATION_SIZE]``, int8.
        concealed: Shape ``[n, CONCEALED.size]``, int8.

    Returns:
        Shape ``[n, CONCEALED_COLUMNS]``, float32.
    """
    out = np.empty((len(concealed), CONCEALED_COLUMNS), np.float32)
    _describe_concealed(observations, concealed, _RULES, new_mind(), out)
    return out


def describe_leavings(observations: npt.NDArray[np.int8], masks: npt.NDArray[np.int8]) -> Leavings:
    """The hand that each legal action leaves: a main group takes its body, a kicker its cards, the rest nothing.

    Args:
        observations: Shape ``[n, OBSERVATION_SIZE]``, int8.
        masks: Shape ``[n, 400]``, int8.
    """
    pairs = int(np.count_nonzero(masks))
    found = Leavings(np.empty(pairs, np.int64), np.empty(pairs, np.int64), np.empty((pairs, REST_COLUMNS), np.float32))
    _describe_leavings(observations, masks, _RULES, new_mind(), found.rows, found.actions, found.columns)
    return found


def describe_prospects(
    observations: npt.NDArray[np.int8], masks: npt.NDArray[np.int8]
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """The columns that tensor operations cannot make: prospects are found by a search through the hand.

    Args:
        observations: Shape ``[n, OBSERVATION_SIZE]``, int8.
        masks: Shape ``[n, 400]``, int8.

    Returns:
        Prospects of the observers' hands, shape ``[n, PROSPECTS]``, and of those that the actions leave, shape
        ``[n, 400, PROSPECTS]``, zeros where illegal; float32.
    """
    own = describe_observations(observations, masks, 0)[:, OWN_PROSPECTS : OWN_PROSPECTS + PROSPECTS]
    leavings = describe_leavings(observations, masks)
    rests = np.zeros((len(observations), NUM_ACTIONS, PROSPECTS), np.float32)
    rests[leavings.rows, leavings.actions] = leavings.columns[:, HAND_COLUMNS:]
    return np.ascontiguousarray(own), rests


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
    hand = hand_word(counts, first)
    for rank in range(NUM_RANKS):
        place = _put_thresholds(int(counts[first + rank]), MOST, out, place)
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


@inline_kernel
def _weigh_unseen(values: np.ndarray, rules: np.ndarray, mind: Mind) -> None:
    """Price moves by the cards that the observer has not seen and the larger of the other hands."""
    most = max(values[_LEFT[1]], values[_LEFT[2]])
    weigh_pool(hand_word(values, UNSEEN), np.uint64(most), mind)


@kernel
def _describe_observations(
    observations: np.ndarray, masks: np.ndarray, history: int, rules: np.ndarray, mind: Mind, out: np.ndarray
) -> None:
    rest = np.empty(NUM_RANKS, np.int8)
    for index in range(observations.shape[0]):
        values, row = observations[index], out[index]
        place = _put_scaled(values, OBSERVATION_SCALES, 0, HEAD + _MOVE_BYTES * history, row, 0)
        place = _put_scaled(values, OBSERVATION_SCALES, TAIL, observations.shape[1], row, place)
        for action in range(NUM_ACTIONS):
            row[place] = np.float32(masks[index, action])
            place += 1
        place = _put_hand(values, HAND, row, place)
        for rank in range(NUM_RANKS):
            rest[rank] = values[HAND + rank] - values[PENDING + rank] - values[KICKERS + rank]
        _weigh_unseen(values, rules, mind)
        place = put_prospects(hand_word(rest, 0), rules, mind, row, place)
        place = _put_hand(values, UNSEEN, row, place)
        place = _put_planes(values, TARGET, row, place)
        for seat in range(_LEFT.shape[0]):
            place = _put_thresholds(int(values[_LEFT[seat]]), MOST_CARDS, row, place)
        _put_thresholds(int(values[KEY]), NUM_RANKS, row, place)


@pure_kernel
def _describe_concealed(
    observations: np.ndarray, concealed: np.ndarray, rules: np.ndarray, mind: Mind, out: np.ndarray
) -> None:
    for index in range(concealed.shape[0]):
        values, row = concealed[index], out[index]
        own = hand_word(observations[index], HAND)
        following, previous = hand_word(values, HAND_NEXT), hand_word(values, HAND_PREVIOUS)
        place = _put_scaled(values, CONCEALED_SCALES, 0, concealed.shape[1], row, 0)
        place = _put_hand(values, HAND_NEXT, row, place)
        weigh_pool(add_hand(own, previous), max(popcount(own), popcount(previous)), mind)
        place = put_prospects(following, rules, mind, row, place)
        place = _put_hand(values, HAND_PREVIOUS, row, place)
        weigh_pool(add_hand(own, following), max(popcount(own), popcount(following)), mind)
        put_prospects(previous, rules, mind, row, place)


@kernel
def _describe_leavings(
    observations: np.ndarray,
    masks: np.ndarray,
    rules: np.ndarray,
    mind: Mind,
    rows: np.ndarray,
    actions: np.ndarray,
    out: np.ndarray,
) -> None:
    pair = 0
    rest = np.empty(NUM_RANKS, np.int8)
    for index in range(observations.shape[0]):
        values = observations[index]
        size = 1 if values[KICKER_SIZE] == 2 else 0
        _weigh_unseen(values, rules, mind)
        for action in range(NUM_ACTIONS):
            if masks[index, action] == 0:
                continue
            rows[pair], actions[pair] = index, action
            for rank in range(NUM_RANKS):
                taken = values[PENDING + rank] + values[KICKERS + rank] + SPENT[size, action, rank]
                rest[rank] = values[HAND + rank] - taken
            place = _put_hand(rest, 0, out[pair], 0)
            put_prospects(hand_word(rest, 0), rules, mind, out[pair], place)
            pair += 1
