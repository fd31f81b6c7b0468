"""Candidate moves: the legal main groups, each with its cheapest kickers, ranked by what they leave in the hand.

A search that simulates every legal move spreads its budget over dozens that no player would look at.  The rank is the
rule agent's price of the hand before the move less the price of the hand after it.
"""

from __future__ import annotations

import numpy as np

from agents.rule_agent.decomposition import decompose
from agents.rule_agent.kickers import choose_kickers
from agents.rule_agent.mind import A_HAND, Mind, look_around
from agents.rule_agent.prices import beatable, set_prices
from agents.rule_agent.rules import rules_move
from agents.rule_agent.scratch import PRICE_ONLY
from agents.rule_agent.weights import W_FOLLOW_HOLD, WEIGHTS
from ddz_env.engine.compiling import pure_kernel
from ddz_env.engine.legal import legal_mask
from ddz_env.engine.step import main_cards
from ddz_env.engine.tables import MASK_WORDS
from ddz_env.engine.words import U0, U1, lowest, remove_hand

_FIRST = np.int64(1 << 40)
_U64 = np.uint64(64)


@pure_kernel
def _insert(
    mains: np.ndarray,
    kickers: np.ndarray,
    scores: np.ndarray,
    found: int,
    main: np.uint64,
    riders: np.uint64,
    score: int,
) -> int:
    """Put a move where its score belongs, if it is among the best; how many there are now."""
    place = found
    while place > 0 and scores[place - 1] < score:
        place -= 1
    if place == mains.size:
        return found
    stop = min(found, mains.size - 1)
    while stop > place:
        mains[stop], kickers[stop], scores[stop] = mains[stop - 1], kickers[stop - 1], scores[stop - 1]
        stop -= 1
    mains[place], kickers[place], scores[place] = main, riders, score
    return min(found + 1, mains.size)


@pure_kernel
def list_candidates(
    row: np.ndarray, rules: np.ndarray, mind: Mind, mains: np.ndarray, kickers: np.ndarray, scores: np.ndarray
) -> int:
    """The best candidates for the acting seat in the play stage, the rule agent's move first, pass second if legal.

    Args:
        row: A view's row or a full row, at the start of a move.
        rules: The rules array.
        mind: The rule agent's memory.
        mains: Output, uint64; its size is the most candidates listed.
        kickers: Output, uint64, the kickers as hands.
        scores: Output, int64, gain in hundredths of a trick.

    Returns:
        How many were written.
    """
    main, riders = rules_move(row, rules, mind, WEIGHTS)
    found = _insert(mains, kickers, scores, np.int64(0), main, riders, _FIRST)
    look_around(row, rules, mind)
    set_prices(mind, WEIGHTS)
    hand = mind.about[A_HAND]
    before, _ = decompose(hand, rules, mind.value, PRICE_ONLY)
    legal_mask(row, rules, mind.mask)
    for word in range(MASK_WORDS):
        bits = mind.mask[word]
        while bits != U0:
            candidate = np.uint64(word) * _U64 + lowest(bits)
            bits &= bits - U1
            if candidate == U0:
                if main != U0:
                    found = _insert(mains, kickers, scores, found, U0, U0, _FIRST - 1)
                continue
            chosen = choose_kickers(row, hand, candidate, rules, mind)
            if candidate == main and chosen == riders:
                continue
            rest = remove_hand(remove_hand(hand, main_cards(candidate)), chosen)
            after, _ = decompose(rest, rules, mind.value, PRICE_ONLY)
            score = before - after + WEIGHTS[W_FOLLOW_HOLD] * (100 - beatable(mind, candidate)) // 100
            found = _insert(mains, kickers, scores, found, candidate, chosen, score)
    return found
