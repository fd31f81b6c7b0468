"""The kickers of the rule agent."""

from __future__ import annotations

import numpy as np

from agents.rule_agent.decomposition import decompose
from agents.rule_agent.mind import Mind
from agents.rule_agent.scratch import PRICE_ONLY
from ddz_env.engine.compiling import pure_kernel
from ddz_env.engine.kickers import kicker_options
from ddz_env.engine.layout import KEY, TARGET
from ddz_env.engine.legal import trio_needed
from ddz_env.engine.step import main_cards
from ddz_env.engine.tables import MAIN_SEGMENT, SEGMENT_BASE, SEGMENT_KICKER_COUNT, SEGMENT_KICKER_SIZE, SEGMENT_LENGTH
from ddz_env.engine.words import PLANE, U0, U1, U16, add, body_mask, lowest, popcount, remove, remove_hand, spread


@pure_kernel
def _next_options(
    row: np.ndarray,
    hand: np.uint64,
    main: np.uint64,
    left: np.uint64,
    chosen: np.uint64,
    floor: np.uint64,
    rules: np.ndarray,
) -> np.uint64:
    """The engine's kicker options of a main group."""
    segment = MAIN_SEGMENT[main]
    start, length = main - SEGMENT_BASE[segment], SEGMENT_LENGTH[segment]
    size, count = SEGMENT_KICKER_SIZE[segment], SEGMENT_KICKER_COUNT[segment]
    on_lead = row[TARGET] == U0
    trio = trio_needed(segment, start, on_lead, row[KEY], rules)
    return kicker_options(hand, start, length, size, count, left, chosen, floor, on_lead, trio, rules)


@pure_kernel
def _may_ride(row: np.ndarray, hand: np.uint64, main: np.uint64, ranks: np.uint64, rules: np.ndarray) -> bool:
    """Whether kickers of these different ranks are legal with the main group."""
    segment = MAIN_SEGMENT[main]
    left, size = SEGMENT_KICKER_COUNT[segment], SEGMENT_KICKER_SIZE[segment]
    if popcount(ranks) != left:
        return False
    chosen, floor = U0, U0
    while left > U0:
        rank = lowest(ranks)
        ranks &= ranks - U1
        if (_next_options(row, hand, main, left, chosen, floor, rules) >> rank) & U1 == U0:
            return False
        chosen = add(chosen, U1 << rank, size)
        floor = rank
        left -= U1
    return True


@pure_kernel
def lowest_kickers(row: np.ndarray, hand: np.uint64, main: np.uint64, rules: np.ndarray) -> np.uint64:
    """The lowest legal kickers, whatever they break."""
    segment = MAIN_SEGMENT[main]
    left, size = SEGMENT_KICKER_COUNT[segment], SEGMENT_KICKER_SIZE[segment]
    chosen, floor = U0, U0
    while left > U0:
        floor = lowest(_next_options(row, hand, main, left, chosen, floor, rules))
        chosen = add(chosen, U1 << floor, size)
        left -= U1
    return chosen


@pure_kernel
def choose_kickers(row: np.ndarray, hand: np.uint64, main: np.uint64, rules: np.ndarray, mind: Mind) -> np.uint64:
    """The kickers whose loss costs the hand least, chosen one after the other.

    Args:
        row: The game, at the start of a decision.
        hand: The acting seat's hand.
        main: A legal main group.
        rules: The rules array.
        mind: Prices and memory.

    Returns:
        The kickers as a hand, 0 if the group takes none.
    """
    segment = MAIN_SEGMENT[main]
    count, size = SEGMENT_KICKER_COUNT[segment], SEGMENT_KICKER_SIZE[segment]
    if count == U0:
        return U0
    body = body_mask(main - SEGMENT_BASE[segment], SEGMENT_LENGTH[segment])
    rest = remove_hand(hand, main_cards(main))
    ranks = U0
    while count > U0:
        options = (rest >> (U16 * (size - U1))) & PLANE & ~body & ~ranks
        best, chosen = np.int64(1 << 40), U0
        while options != U0:
            bit = options & (~options + U1)
            options ^= bit
            cost, _ = decompose(remove(rest, bit, size), rules, mind.value, PRICE_ONLY)
            if cost < best:
                best, chosen = cost, bit
        ranks |= chosen
        rest = remove(rest, chosen, size)
        count -= U1
    if _may_ride(row, hand, main, ranks, rules):
        return spread(ranks, size)
    return lowest_kickers(row, hand, main, rules)
