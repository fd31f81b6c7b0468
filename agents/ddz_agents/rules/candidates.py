"""Candidate moves for searches: the legal main groups, each with its cheapest kickers.

They are ranked by the rule agent's price of the hand before the move less the price of the hand after it; the rule
agent's own move comes first.
"""

from __future__ import annotations

import numpy as np

from ddz_agents.rules.decomposition import price_of_hand
from ddz_agents.rules.prices import percent_beaten, set_prices
from ddz_agents.rules.rules import choose_kickers, rules_move
from ddz_agents.rules.weights import FOLLOW_HOLD, WEIGHTS
from ddz_agents.rules.workspace import A_ENEMY_CARDS, A_HAND, A_POOL, RuleWorkspace, read_public_state
from ddz_env.core.engine.legal import write_legal_mask
from ddz_env.core.engine.step import body_cards
from ddz_env.core.engine.tables import MASK_WORDS
from ddz_env.core.engine.words import U0, U1, lowest_bit, remove_hand
from ddz_env.support.compiling import pure_kernel

_FIRST = np.int64(1 << 40)
_U64 = np.uint64(64)


@pure_kernel
def insert_candidate(
    mains: np.ndarray,
    kickers: np.ndarray,
    scores: np.ndarray,
    count: int,
    main: np.uint64,
    riders: np.uint64,
    score: int,
) -> int:
    """Insert a move into a list sorted by score, unless it ranks below a full list; return the new length."""
    index = count
    while index > 0 and scores[index - 1] < score:
        index -= 1
    if index == mains.size:
        return count
    stop = min(count, mains.size - 1)
    while stop > index:
        mains[stop], kickers[stop], scores[stop] = mains[stop - 1], kickers[stop - 1], scores[stop - 1]
        stop -= 1
    mains[index], kickers[index], scores[index] = main, riders, score
    return min(count + 1, mains.size)


@pure_kernel
def list_candidates(
    row: np.ndarray,
    rules: np.ndarray,
    workspace: RuleWorkspace,
    mains: np.ndarray,
    kickers: np.ndarray,
    scores: np.ndarray,
) -> int:
    """List the acting seat's best candidates: the rule agent's move first, then a pass if it is legal.

    Args:
        row: A view's row or a full row, at the start of a move.
        rules: The rules array.
        workspace: The rule agent's memory.
        mains: Output, uint64; its size is the most candidates listed.
        kickers: Output, uint64, the kickers as hands.
        scores: Output, int64, gain in hundredths of a trick.

    Returns:
        How many were written.
    """
    main, riders = rules_move(row, rules, workspace, WEIGHTS)
    count = insert_candidate(mains, kickers, scores, np.int64(0), main, riders, _FIRST)
    read_public_state(row, rules, workspace)
    set_prices(workspace.about[A_POOL], workspace.about[A_ENEMY_CARDS], rules, WEIGHTS, workspace)
    hand = workspace.about[A_HAND]
    before = price_of_hand(hand, workspace)
    write_legal_mask(row, rules, workspace.mask)
    for word in range(MASK_WORDS):
        bits = workspace.mask[word]
        while bits != U0:
            candidate = np.uint64(word) * _U64 + lowest_bit(bits)
            bits &= bits - U1
            if candidate == U0:
                if main != U0:
                    count = insert_candidate(mains, kickers, scores, count, U0, U0, _FIRST - 1)
                continue
            chosen = choose_kickers(row, hand, candidate, rules, workspace)
            if candidate == main and chosen == riders:
                continue
            rest = remove_hand(remove_hand(hand, body_cards(candidate)), chosen)
            after = price_of_hand(rest, workspace)
            score = before - after + WEIGHTS[FOLLOW_HOLD] * (100 - percent_beaten(workspace, candidate)) // 100
            count = insert_candidate(mains, kickers, scores, count, candidate, chosen, score)
    return count


def best_candidates(
    row: np.ndarray, rules: np.ndarray, workspace: RuleWorkspace, most: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the best candidate moves, as main groups and kickers of shape ``[n]`` each, uint64."""
    mains, kickers = np.zeros((2, most), np.uint64)
    count = list_candidates(row, rules, workspace, mains, kickers, np.zeros(most, np.int64))
    return mains[:count], kickers[:count]
