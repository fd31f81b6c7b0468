"""The fewest moves that play a hand out, looked up: the solver's lower bound on the moves a hand needs.

The lowest card must go in some move, so only moves that contain it are tried; each hand is worked out once and kept in
a table, which serves all positions of the same rules.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ddz_agents.open_cards.solver.moves import W_BEST, W_END, W_HAND, W_NEXT, Moves, lead_moves
from ddz_env.core.engine.compiling import inline_kernel, pure_kernel
from ddz_env.core.engine.words import FOUR_PLANES, PLANE, U0, U1, U3, popcount

TURN_BITS = 18
"""The table has two to this many words."""
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(64 - TURN_BITS)
_HIGH = np.uint64(61)
_LOW = np.uint64(45)
_U7 = np.uint64(7)
_VALUE = np.uint64((7 << 61) | (7 << 45))
"""Bits that no hand sets (there are no two jokers of a colour): the number of moves stands there."""


def new_turns() -> npt.NDArray[np.uint64]:
    """An empty table, shape ``[2 ** TURN_BITS]``, uint64."""
    return np.zeros(1 << TURN_BITS, np.uint64)


@inline_kernel
def _slot(hand: np.uint64) -> np.uint64:
    return ((hand ^ (hand >> np.uint64(29))) * _MULTIPLIER) >> _SHIFT


@inline_kernel
def turns(table: np.ndarray, moves: Moves, top: int, hand: np.uint64, rules: np.ndarray) -> int:
    """The fewest moves that play a hand out if nobody interferes.

    Args:
        table: The table, changed in place.
        moves: A stack of moves; what lies above ``top`` is overwritten.
        top: Where its free part begins.
        hand: The hand; the empty one needs no move.
        rules: The rules array.
    """
    word = table[_slot(hand)]
    if (word & ~_VALUE) == hand and word != U0:
        return np.int64(((word >> _HIGH) << U3) | ((word >> _LOW) & _U7))
    return _work_out(table, moves, top, hand, rules)


@inline_kernel
def _known(table: np.ndarray, hand: np.uint64) -> int:
    """What the table says about a hand that is not empty, 0 for nothing."""
    word = table[_slot(hand)]
    return np.int64(((word >> _HIGH) << U3) | ((word >> _LOW) & _U7)) if (word & ~_VALUE) == hand else np.int64(0)


@pure_kernel
def _work_out(table: np.ndarray, moves: Moves, top: int, hand: np.uint64, rules: np.ndarray) -> int:
    """The same, by trying every move with the lowest card: a walk with its own stack (``moves.work``)."""
    work = moves.work
    if hand == U0:
        return 0
    depth = np.int64(0)
    work[0, W_HAND], work[0, W_NEXT], work[0, W_BEST] = np.int64(hand), top, np.int64(popcount(hand))
    work[0, W_END] = lead_moves(moves, top, hand, rules)
    while True:
        index, end = work[depth, W_NEXT], work[depth, W_END]
        here = np.uint64(work[depth, W_HAND])
        if end > moves.mains.size:
            return np.int64(popcount(hand))  # no room: solos are always possible
        if index == end:
            best = work[depth, W_BEST]
            table[_slot(here)] = here | ((np.uint64(best) >> U3) << _HIGH) | ((np.uint64(best) & _U7) << _LOW)
            if depth == 0:
                return best
            depth -= 1
            work[depth, W_BEST] = min(work[depth, W_BEST], 1 + best)
            continue
        work[depth, W_NEXT] = index + 1
        rest = moves.rests[index]
        held = here & PLANE
        column = (held & (~held + U1)) * FOUR_PLANES  # of the lowest rank
        if ((rest ^ here) & column) == U0:
            continue
        if rest == U0:
            work[depth, W_BEST], work[depth, W_NEXT] = 1, end
        elif work[depth, W_BEST] > 2:
            known = _known(table, rest)
            if known > 0:
                work[depth, W_BEST] = min(work[depth, W_BEST], 1 + known)
            else:
                depth += 1
                work[depth, W_HAND], work[depth, W_NEXT] = np.int64(rest), end
                work[depth, W_BEST] = np.int64(popcount(rest))
                work[depth, W_END] = lead_moves(moves, end, rest, rules)
