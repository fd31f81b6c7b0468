"""The moves of a position that are searched, the most promising first.

A seat that leads tries the moves of its cheapest split (by prices, and by losers), one that follows every reply with
the kickers that cost its hand least, and pass.  That leaves out leads that break the split up; the option ``whole``
searches every legal move with every set of kickers.  The order matters to alpha-beta alone: a lead is as promising as
it is dear to keep, a reply as the hand gets cheaper by it.
"""

from __future__ import annotations

import numpy as np

from ddz_agents.open_cards.textbook.space import STACK, Space
from ddz_agents.rules.decomposition import decompose
from ddz_agents.rules.position import appraise, mind_of
from ddz_agents.rules.prices import body_segment, is_bomb
from ddz_agents.rules.rules import choose_kickers, lowest_kickers
from ddz_agents.rules.scratch import EMIT, KICKERS, MAINS, PRICES, RuleScratch
from ddz_env.core.engine.compiling import part_kernel, pure_kernel
from ddz_env.core.engine.layout import HANDS, SEAT, TARGET
from ddz_env.core.engine.legal import legal_mask, nth_legal
from ddz_env.core.engine.moves import list_moves
from ddz_env.core.engine.step import main_cards
from ddz_env.core.engine.tables import MAIN_SEGMENT, MASK_WORDS, SEGMENT_BASE
from ddz_env.core.engine.words import U0, U1, U6, U63, lowest, remove_hand

_BOMB = 1000
_U64 = np.uint64(64)


@pure_kernel
def _push(space: Space, first: int, stop: int, main: np.uint64, kickers: np.uint64, score: int) -> int:
    """Put a move where its score belongs among those from ``first`` on, unless it is there; the new end."""
    for index in range(first, stop):
        if space.mains[index] == main and space.kickers[index] == kickers:
            return stop
    if stop >= STACK:
        return stop
    place = stop
    while place > first and space.scores[place - 1] < score:
        space.mains[place], space.kickers[place] = space.mains[place - 1], space.kickers[place - 1]
        space.scores[place] = space.scores[place - 1]
        place -= 1
    space.mains[place], space.kickers[place], space.scores[place] = main, kickers, score
    return stop + 1


@pure_kernel
def _push_split(space: Space, first: int, stop: int, count: int, mind: RuleScratch) -> int:
    """Push the legal moves of the split written last: the new end."""
    memory = mind.value.memory
    for index in range(count):
        main = memory[MAINS + index]
        if ((space.mask[main >> U6] >> (main & U63)) & U1) == U1:
            segment = MAIN_SEGMENT[main]
            score = mind.value.price[body_segment(segment) * PRICES + np.int64(main - SEGMENT_BASE[segment])]
            if is_bomb(main, space.rules):
                score -= _BOMB
            stop = _push(space, first, stop, main, memory[KICKERS + index], score)
    return stop


@part_kernel
def _push_leads(space: Space, row: np.ndarray, first: int) -> int:
    """Push the moves of the two cheapest splits; the new end."""
    seat = row[SEAT]
    hand, mind = row[HANDS + np.int64(seat)], mind_of(row, seat, space.appraiser)
    _, count = decompose(hand, space.rules, mind.value, EMIT)
    stop = _push_split(space, first, first, count, mind)
    _, count = decompose(hand, space.rules, mind.sure, EMIT)
    stop = _push_split(space, first, stop, count, mind)
    if stop == first:
        main = nth_legal(space.mask, U0)
        stop = _push(space, first, stop, main, lowest_kickers(row, hand, main, space.rules), np.int64(0))
    return stop


@part_kernel
def _push_replies(space: Space, row: np.ndarray, first: int) -> int:
    """Push pass and every reply with its cheapest kickers; the new end."""
    seat = row[SEAT]
    hand, mind = row[HANDS + np.int64(seat)], mind_of(row, seat, space.appraiser)
    before, _, _ = appraise(hand, row, seat, space.rules, space.appraiser)
    stop = _push(space, first, first, U0, U0, np.int64(0))
    for word in range(MASK_WORDS):
        bits = space.mask[word]
        while bits != U0:
            main = np.uint64(word) * _U64 + lowest(bits)
            bits &= bits - U1
            if main != U0:
                kickers = choose_kickers(row, hand, main, space.rules, mind)
                rest = remove_hand(remove_hand(hand, main_cards(main)), kickers)
                after, _, _ = appraise(rest, row, seat, space.rules, space.appraiser)
                stop = _push(space, first, stop, main, kickers, before - after)
    return stop


@part_kernel
def push_moves(space: Space, ply: int, whole: bool) -> int:
    """Push the moves of the position at a ply behind those of the position before.

    Args:
        space: The search; ``space.mask`` holds the position's legal actions.
        ply: The position, in the play stage.
        whole: Whether to push every legal move, in the engine's order.

    Returns:
        Where they end; they begin at ``space.top[ply]``.
    """
    row, first = space.rows[ply], space.top[ply]
    if whole:
        found = list_moves(row, space.rules, space.mains[first:], space.kickers[first:])
        stop = min(first + found, np.int64(STACK))
    elif row[TARGET] == U0:
        stop = _push_leads(space, row, first)
    else:
        stop = _push_replies(space, row, first)
    space.top[ply + 1] = stop
    return stop


@part_kernel
def look_at(space: Space, ply: int) -> None:
    """Write the legal actions of the position at a ply into ``space.mask``."""
    legal_mask(space.rows[ply], space.rules, space.mask)


@pure_kernel
def to_front(space: Space, first: int, stop: int, main: np.uint64, kickers: np.uint64) -> None:
    """Let a move, if it is among them, be the first; the others keep their order."""
    for index in range(first, stop):
        if space.mains[index] == main and space.kickers[index] == kickers:
            for place in range(index, first, -1):
                space.mains[place], space.kickers[place] = space.mains[place - 1], space.kickers[place - 1]
            space.mains[first], space.kickers[first] = main, kickers
            return
