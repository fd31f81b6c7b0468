"""The name of a position in the transposition table: ranks that nothing separates any more do not tell it apart."""

from __future__ import annotations

import numpy as np

from ddz_agents.open_cards.solver.memory import (
    ANY_WIN,
    C_BUCKET,
    C_CODE,
    C_NAME,
    F_BOMBS,
    F_PASSES,
    F_PLAYS,
    F_SEAT,
    Search,
    Technique,
)
from ddz_agents.open_cards.solver.moves import BOMBS, LEAD, NOTHING
from ddz_agents.open_cards.solver.table import place_of
from ddz_env.core.engine.compiling import inline_kernel, pure_kernel
from ddz_env.core.engine.words import FOUR_PLANES, U0, U1, U2, U3, U4, U8, U12, U15, U16, U32
from ddz_env.core.engine.words import run as in_a_row

_CHAIN_RANKS = np.uint64(0xFFF)
_FIVE = np.uint64(5)
_OTHER_RANKS = np.uint64(0x7000) * FOUR_PLANES


@inline_kernel
def _without_rank(hand: np.uint64, below: np.uint64) -> np.uint64:
    """A hand with an empty chain rank taken out, those above it moved down.

    Args:
        hand: The hand.
        below: Mask of the ranks below the empty one.
    """
    low = below * FOUR_PLANES
    return (hand & (low | _OTHER_RANKS)) | (((hand & ~(low | _OTHER_RANKS)) >> U1) & (_CHAIN_RANKS * FOUR_PLANES))


@inline_kernel
def _has_chain(hand: np.uint64) -> bool:
    """Whether a hand has ranks for any chain: five solos, three pairs or two trios in a row."""
    solos, pairs = hand & _CHAIN_RANKS, (hand >> U16) & _CHAIN_RANKS
    trios = (hand >> U32) & _CHAIN_RANKS
    return in_a_row(solos, _FIVE) != U0 or in_a_row(pairs, U3) != U0 or (trios & (trios >> U1)) != U0


@pure_kernel
def _close_up(
    a: np.uint64, b: np.uint64, c: np.uint64, empty: np.uint64, start: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Take empty chain ranks out of three hands; also where the rank ``start`` lies then."""
    while empty != U0:
        top = empty
        top |= top >> U1
        top |= top >> U2
        top |= top >> U4
        top |= top >> U8
        top ^= top >> U1
        empty ^= top
        below = top - U1
        a, b, c = _without_rank(a, below), _without_rank(b, below), _without_rank(c, below)
        if start < U12 and top < (U1 << start):
            start -= U1
    return a, b, c, start


@inline_kernel
def place(search: Search, ply: int, technique: Technique, rules: np.ndarray) -> None:
    """Write a node's two hashes.  Positions that differ only in ranks that nothing separates have the same.

    Ranks that nobody holds any more are taken out: all of them where no hand has a chain even then, else all but one
    between two that are held, so that no chain arises.  2 and the jokers stay where they are.

    Args:
        search: Memory.
        ply: The node.
        technique: Settings.
        rules: The rules array.
    """
    frame = search.frames[ply]
    code, a, b, c = search.codes[ply, C_CODE], search.hands[ply, 0], search.hands[ply, 1], search.hands[ply, 2]
    if technique.ranks:
        held = (a | b | c) & _CHAIN_RANKS
        empty = ~held & _CHAIN_RANKS
        start = (code & U15) + U1
        ordinary = code != LEAD and code != BOMBS and code != NOTHING
        closed_a, closed_b, closed_c, moved = _close_up(a, b, c, empty, start)
        if _has_chain(closed_a) or _has_chain(closed_b) or _has_chain(closed_c):
            gaps = empty & (held << U1)  # the first empty rank above one that is held stays
            closed_a, closed_b, closed_c, moved = _close_up(a, b, c, empty & ~gaps, start)
        a, b, c = closed_a, closed_b, closed_c
        if ordinary:
            code = ((code >> U4) << U4) | ((moved - U1) & U15)
    state = (code << U4) | np.uint64((frame[F_SEAT] << 2) | frame[F_PASSES])
    state |= np.uint64(technique.goal + 64) << np.uint64(32)
    if technique.goal != ANY_WIN:
        state |= np.uint64((frame[F_BOMBS] << 4) | frame[F_PLAYS]) << np.uint64(40)
    state ^= np.uint64(technique.landlord) << np.uint64(60)
    search.codes[ply, C_BUCKET], search.codes[ply, C_NAME] = place_of(a, b, c, state)
