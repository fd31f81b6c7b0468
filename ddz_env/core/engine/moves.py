"""Listing, counting and drawing of whole moves (with their kickers), by ascending action id and then by kickers."""

from __future__ import annotations

import numpy as np

from ddz_env.core.actions import MAX_KICKERS
from ddz_env.core.engine.kickers import body_of, kicker_options
from ddz_env.core.engine.layout import HANDS, SEAT, STAGE, STAGE_PLAY
from ddz_env.core.engine.legal import count_legal, nth_legal, write_legal_mask
from ddz_env.core.engine.random import scale_below
from ddz_env.core.engine.tables import MAIN_SEGMENT, MASK_WORDS, SEGMENT_KICKER_COUNT, WITH_KICKERS
from ddz_env.core.engine.words import U0, U1, U2, U4, U15, add_cards, lowest_bit, popcount, remove_cards, select_bit
from ddz_env.support.compiling import kernel, pure_kernel

_COMMON_MOVES = 512
_ALL = ~U0
_U64 = np.uint64(64)


@kernel
def list_moves(row: np.ndarray, rules: np.ndarray, mains: np.ndarray, kickers: np.ndarray) -> int:
    """Write the legal whole moves of the seat to act into two arrays (action ids and kickers), in ascending order.

    The order is ascending by action id, then by the kicker ranks as a sequence.  Bids and doubling answers are
    moves without kickers.

    Args:
        row: The game.
        rules: The rules array.
        mains: Output, shape ``[capacity]``, uint64: action ids.
        kickers: Output, shape ``[capacity]``, uint64: the kickers as a hand.

    Returns:
        The number of legal moves; only the first ``capacity`` are written.
    """
    mask = np.empty(MASK_WORDS, np.uint64)
    write_legal_mask(row, rules, mask)
    count = 0
    for word in range(MASK_WORDS):
        bits = mask[word]
        while bits != U0:
            action = np.uint64(word) * np.uint64(64) + lowest_bit(bits)
            bits &= bits - U1
            if row[STAGE] != STAGE_PLAY or SEGMENT_KICKER_COUNT[MAIN_SEGMENT[action]] == U0:
                if count < mains.size:
                    mains[count] = action
                    kickers[count] = U0
                count += 1
            else:
                count = list_kickers(row, rules, action, mains, kickers, count)
    return count


@kernel
def list_all_moves(row: np.ndarray, rules: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return all legal whole moves (:func:`list_moves`) as two new arrays: action ids, and kickers as hand words."""
    capacity = _COMMON_MOVES
    mains, kickers = np.empty(capacity, np.uint64), np.empty(capacity, np.uint64)
    count = list_moves(row, rules, mains, kickers)
    if count > capacity:
        mains, kickers = np.empty(count, np.uint64), np.empty(count, np.uint64)
        list_moves(row, rules, mains, kickers)
    return mains[:count], kickers[:count]


@kernel
def list_kickers(
    row: np.ndarray, rules: np.ndarray, main: np.uint64, mains: np.ndarray, kickers: np.ndarray, count: int
) -> int:
    """Append one move to two arrays for every legal kicker set of a main group, found by depth-first search.

    Args:
        row: The game.
        rules: The rules array.
        main: A legal main group that takes kickers.
        mains: Output, shape ``[capacity]``, uint64: the main group, once for each kicker set.
        kickers: Output, shape ``[capacity]``, uint64: the kickers as a hand.
        count: How many moves both arrays hold already.

    Returns:
        The number of moves with these; only the first ``capacity`` are written.
    """
    body = body_of(row, row[HANDS + np.int64(row[SEAT])], main, rules)
    options = np.empty(MAX_KICKERS, np.uint64)
    chosen = np.empty(MAX_KICKERS + 1, np.uint64)
    chosen[0] = U0
    depth = 0
    options[0] = kicker_options(body, body.kickers, U0, U0, rules)
    while depth >= 0:
        if options[depth] == U0:
            depth -= 1
            continue
        rank = lowest_bit(options[depth])
        options[depth] &= options[depth] - U1
        kicker_set = add_cards(chosen[depth], U1 << rank, body.size)
        left = body.kickers - np.uint64(depth) - U1
        if left == U0:
            if count < mains.size:
                mains[count] = main
                kickers[count] = kicker_set
            count += 1
        else:
            depth += 1
            chosen[depth] = kicker_set
            options[depth] = kicker_options(body, left, kicker_set, rank, rules)
    return count


@pure_kernel
def nth_kicker_set(row: np.ndarray, rules: np.ndarray, main: np.uint64, nth: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return a main group's ``nth`` kicker set in the order of :func:`list_kickers`, without listing earlier sets.

    The last kickers of a set are counted, not visited.

    Args:
        row: The game.
        rules: The rules array.
        main: A legal main group that takes kickers.
        nth: Which, from 0.

    Returns:
        The kickers as a hand, and how many sets come before them; of fewer sets, 0 and their number.
    """
    body = body_of(row, row[HANDS + np.int64(row[SEAT])], main, rules)
    left, chosen, path, before = body.kickers, U0, U0, U0
    above = _ALL  # the ranks not visited yet
    while True:
        options = kicker_options(body, left, chosen, path & U15, rules) & above
        if left == U1:
            count = popcount(options)
            if nth < before + count:
                return add_cards(chosen, U1 << select_bit(options, nth - before), body.size), before
            before += count
            options = U0
        if options != U0:
            rank = lowest_bit(options)
            chosen, path, above = add_cards(chosen, U1 << rank, body.size), path << U4 | rank, _ALL
            left -= U1
        elif left == body.kickers:
            return U0, before
        else:
            rank = path & U15
            chosen, path, above = remove_cards(chosen, U1 << rank, body.size), path >> U4, ~((U2 << rank) - U1)
            left += U1


@pure_kernel
def draw_move(row: np.ndarray, rules: np.ndarray, mask: np.ndarray, bits: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Draw a whole move uniformly from those that :func:`list_moves` lists, without listing them.

    Args:
        row: The game at the start of a decision, shape ``[32]``, uint64.
        rules: The rules array.
        mask: Written: the legal actions, shape ``[MASK_WORDS]``, uint64.
        bits: 64 random bits.

    Returns:
        The main id and the kickers as a hand.
    """
    write_legal_mask(row, rules, mask)
    total, plain = count_legal(mask), True
    for word in range(MASK_WORDS):
        mains = mask[word] & WITH_KICKERS[word]
        while mains != U0:
            plain = False
            total += nth_kicker_set(row, rules, np.uint64(word) * _U64 + lowest_bit(mains), _ALL)[1] - U1
            mains &= mains - U1
    nth = scale_below(bits, total)
    if plain:
        return nth_legal(mask, nth), U0
    for word in range(MASK_WORDS):
        mains = mask[word]
        while mains != U0:
            main, takes = np.uint64(word) * _U64 + lowest_bit(mains), mains & ~(mains - U1) & WITH_KICKERS[word]
            mains &= mains - U1
            kickers, before = nth_kicker_set(row, rules, main, nth) if takes != U0 else (U0, U1)
            if kickers != U0 or nth < before:
                return main, kickers
            nth -= before
    return U0, U0
