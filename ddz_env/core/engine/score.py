"""Scoring: the recorded bids, the current stake, and the returns of a finished game."""

from __future__ import annotations

import numpy as np

from ddz_env.core.engine import layout as at
from ddz_env.core.engine.words import BYTE, U0, U1, U2, U3, U4, U8, U15, U16
from ddz_env.core.rules import R_PLAYERS, R_SPRING
from ddz_env.support.compiling import inline_kernel, part_kernel, pure_kernel

SCORE_WIN, SCORE_STAKE, SCORE_BOTZONE = 0, 1, 2
_WORD = np.uint64(65535)


@inline_kernel
def landlord_won(row: np.ndarray) -> bool:
    """Return whether the first seat to run out of cards in a finished game is the landlord."""
    return row[at.WINNER] == row[at.LANDLORD] + U1


@part_kernel
def is_spring(row: np.ndarray, rules: np.ndarray) -> bool:
    """Return whether the losers never played (spring) or the landlord played only the first move (anti-spring).

    Under rules without spring it is never so.
    """
    if rules[R_SPRING] == U0:
        return False
    landlord = row[at.LANDLORD]
    plays = row[at.PLAYS]
    peasants = plays & ~(BYTE << (U8 * landlord))
    if landlord_won(row):
        return peasants == U0
    return ((plays >> (U8 * landlord)) & BYTE) == U1


@inline_kernel
def get_bid(row: np.ndarray, field: int | np.uint64) -> np.uint64:
    """Read a 4-bit field of a game's bid word: the bid of seat 0..2, or a later field such as the highest bid."""
    bid: np.uint64 = (row[at.BIDS] >> (U4 * np.uint64(field))) & U15
    return bid


@inline_kernel
def set_bid(row: np.ndarray, field: int | np.uint64, value: np.uint64) -> None:
    """Write a 4-bit field of a game's bid word; see :func:`get_bid` for the fields."""
    shift = U4 * np.uint64(field)
    row[at.BIDS] = (row[at.BIDS] & ~(U15 << shift)) | (value << shift)


@inline_kernel
def is_hand_shown(row: np.ndarray) -> bool:
    """Return whether the landlord has chosen to show its hand."""
    return bool(get_bid(row, at.SHOWN) == U1)


@pure_kernel
def compute_stake(row: np.ndarray) -> np.uint64:
    """Return the current stake: the highest bid (at least 1), doubled for each rob, shown hand, bomb and rocket."""
    base = max(get_bid(row, at.HIGHEST_BID), U1)
    return base << (row[at.BOMBS] + get_bid(row, at.ROBS) + get_bid(row, at.SHOWN))


@part_kernel
def write_returns(row: np.ndarray, rules: np.ndarray, scoring: int, peasant_reward: float, returns: np.ndarray) -> None:
    """Write each seat's return in a finished game; all returns are zero if everybody declined to bid.

    Args:
        row: A finished game.
        rules: The rules array.
        scoring: ``SCORE_WIN``: landlord ±1, each peasant ∓``peasant_reward``; ``SCORE_STAKE``: each peasant pays or
            gets the stake (times two for spring and for every doubling of the two), the landlord the sum;
            ``SCORE_BOTZONE``: 2 for a winner plus the seat's combination weights / 100 (thesis, eq. 2-2).
        peasant_reward: See ``SCORE_WIN``.  Two players score ±1.
        returns: Output, shape ``[3]``, float.
    """
    for seat in range(3):
        returns[seat] = 0.0
    if row[at.WINNER] == U0 or row[at.WINNER] == at.NO_GAME:
        return
    landlord = np.int64(row[at.LANDLORD])
    players = np.int64(rules[R_PLAYERS])
    sign = 1.0 if row[at.WINNER] == row[at.LANDLORD] + U1 else -1.0
    points = float(compute_stake(row)) * (2.0 if is_spring(row, rules) else 1.0)
    for seat in range(players):
        won = (seat == landlord) == (sign > 0)
        if scoring == SCORE_BOTZONE:
            weight = (row[at.WEIGHTS] >> (U16 * np.uint64(seat))) & _WORD
            returns[seat] = (2.0 if won else 0.0) + float(weight) / 100.0
        elif scoring == SCORE_WIN:
            reward = 1.0 if seat == landlord or players == 2 else peasant_reward
            returns[seat] = reward if won else -reward
        elif seat != landlord:
            landlord_doubled = ((row[at.DOUBLES] >> (U2 * row[at.LANDLORD])) & U3) == U2
            seat_doubled = ((row[at.DOUBLES] >> (U2 * np.uint64(seat))) & U3) == U2
            amount = points * (2.0 if landlord_doubled else 1.0) * (2.0 if seat_doubled else 1.0)
            returns[seat] = -sign * amount
            returns[landlord] += sign * amount
