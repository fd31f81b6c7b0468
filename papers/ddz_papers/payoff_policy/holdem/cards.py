"""Comparison of seven-card hands, and the win rate of two hole cards against a random hand.

A card is a number 0..51 as in PettingZoo's observation: suit times 13 plus rank, the ace 0, the two 1 ... the king 12.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ddz_env.core.engine.random import advance, mix, scale_below
from ddz_env.support.compiling import kernel, pure_kernel

_NONE = np.int64(-1)


@pure_kernel
def _straight(ranks: int) -> int:
    """Return the highest rank of a straight in a rank set (bit 0 the two, bit 12 the ace), or -1 without one."""
    low = np.int64(ranks) << 1 | ranks >> 12 & 1  # the ace also counts as below the two
    for top in range(12, 2, -1):
        if low >> (top - 3) & 31 == 31:
            return np.int64(top)
    return _NONE


@pure_kernel
def _highest(ranks: int, count: int) -> int:
    """Pack the ``count`` highest ranks of a rank set into an integer, four bits each, the highest first."""
    packed = np.int64(0)
    for rank in range(12, -1, -1):
        if count > 0 and ranks >> rank & 1:
            packed = packed << 4 | rank
            count -= 1
    return packed


@pure_kernel
def hand_strength(cards: np.ndarray) -> int:
    """Compute the strength of seven cards, higher for the better hand and equal for tied hands.

    Args:
        cards: Seven cards, int64.
    """
    # Sets of ranks that occur at least once, twice ..., and those of each suit.
    once, twice, thrice, four = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    suits, flush = np.int64(0), _NONE
    for index in range(7):
        card = cards[index]
        rank = (card % 13 + 12) % 13  # the ace is the highest
        bit = np.int64(1) << rank
        four |= thrice & bit
        thrice |= twice & bit
        twice |= once & bit
        once |= bit
        suits += np.int64(1) << (4 * (card // 13))
    for suit in range(4):
        if suits >> (4 * suit) & 15 >= 5:
            flush = np.int64(0)
            for index in range(7):
                if cards[index] // 13 == suit:
                    flush |= np.int64(1) << ((cards[index] % 13 + 12) % 13)
    if flush >= 0:
        top = _straight(flush)
        if top >= 0:
            return np.int64(8) << 20 | top
    if four:
        quad = _highest(four, 1)
        return np.int64(7) << 20 | quad << 4 | _highest(once & ~(np.int64(1) << quad), 1)
    if thrice:
        trio = _highest(thrice, 1)
        pairs = twice & ~(np.int64(1) << trio)
        if pairs:
            return np.int64(6) << 20 | trio << 4 | _highest(pairs, 1)
    if flush >= 0:
        return np.int64(5) << 20 | _highest(flush, 5)
    top = _straight(once)
    if top >= 0:
        return np.int64(4) << 20 | top
    if thrice:
        trio = _highest(thrice, 1)
        return np.int64(3) << 20 | trio << 8 | _highest(once & ~(np.int64(1) << trio), 2)
    if twice:
        high = _highest(twice, 1)
        rest = twice & ~(np.int64(1) << high)
        if rest:
            low = _highest(rest, 1)
            kicker = _highest(once & ~(np.int64(1) << high) & ~(np.int64(1) << low), 1)
            return np.int64(2) << 20 | high << 8 | low << 4 | kicker
        return np.int64(1) << 20 | high << 12 | _highest(once & ~(np.int64(1) << high), 3)
    return _highest(once, 5)


@kernel
def write_showdowns(hole: np.ndarray, board: np.ndarray, results: np.ndarray, state: np.uint64) -> None:
    """Deal random opponents' cards and boards, and write the results of the showdowns to ``results``.

    Args:
        hole: The own two cards, int64.
        board: The cards on the table, none, three, four or five, int64.
        results: Output, one per showdown, float64: 1 for a win, 0 for a loss, a half for a tie.
        state: A generator's state (:mod:`ddz_env.core.engine.random`).
    """
    seen = np.zeros(52, np.bool_)
    mine, other = np.empty(7, np.int64), np.empty(7, np.int64)
    for index in range(2):
        seen[hole[index]] = True
        mine[index] = hole[index]
    for index in range(board.size):
        seen[board[index]] = True
    deck = np.flatnonzero(~seen)
    missing = 7 - board.size  # the opponent's two, and what the board lacks
    for number in range(results.size):
        for index in range(missing):
            state = advance(state)
            pick = index + np.int64(scale_below(mix(state), np.uint64(deck.size - index)))
            deck[index], deck[pick] = deck[pick], deck[index]
        other[0], other[1] = deck[0], deck[1]
        for index in range(5):
            card = board[index] if index < board.size else deck[2 + index - board.size]
            mine[2 + index] = other[2 + index] = card
        own_strength, other_strength = hand_strength(mine), hand_strength(other)
        results[number] = 1.0 if own_strength > other_strength else (0.5 if own_strength == other_strength else 0.0)


def sample_showdowns(
    hole: npt.NDArray[np.int64], board: npt.NDArray[np.int64], count: int, rng: np.random.Generator
) -> npt.NDArray[np.float64]:
    """Sample showdowns against random hands, and return 1, 0 or a half for each, shape ``[count]``.

    Args:
        hole: The own two cards.
        board: The cards on the table.
        count: How many are dealt; the mean is the win rate.
        rng: Deals them.
    """
    results = np.empty(count)
    write_showdowns(hole, board, results, np.uint64(rng.integers(0, 2**64, dtype=np.uint64)))
    return results
