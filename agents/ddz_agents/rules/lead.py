"""What the rule agent leads."""

from __future__ import annotations

import numpy as np

from ddz_agents.rules.decomposition import decompose
from ddz_agents.rules.kickers import lowest_kickers
from ddz_agents.rules.mind import A_FEWEST, A_HAND, A_NEXT_ENEMY, A_PARTNER_CARDS, Mind, may_play
from ddz_agents.rules.prices import LOSER, beatable, body_segment, is_bomb
from ddz_agents.rules.scratch import EMIT, KICKERS, MAINS, PAIR, PRICES, SOLO
from ddz_agents.rules.weights import (
    W_LEAD_CARD,
    W_LEAD_DANGER,
    W_LEAD_HOLD,
    W_LEAD_PAIR,
    W_LEAD_SOLO,
    W_LEAD_TRIO,
    W_TEAM,
)
from ddz_env.core.engine.compiling import inline_kernel, pure_kernel
from ddz_env.core.engine.legal import nth_legal
from ddz_env.core.engine.tables import BOMB_ID, MAIN_SEGMENT, SEGMENT_BASE, SEGMENT_CARDS, SEGMENT_COPIES
from ddz_env.core.engine.words import PLANE, U0, U1, U2, U3, lowest

_ZERO = np.int64(0)
_NEVER = -(1 << 30)
_LIKELY = 40


@pure_kernel
def _sure_win(count: int, rules: np.ndarray, mind: Mind) -> tuple[np.uint64, np.uint64]:
    """The move to lead from a split in which all moves but one cannot be beaten: the unbeaten first, bombs last.

    Returns:
        Main group and kickers; 0, 0 if one of the moves is not legal.
    """
    best, found = np.int64(_NEVER), _ZERO
    for index in range(count):
        main = mind.sure.memory[MAINS + index]
        if not may_play(mind, main):
            return U0, U0
        score = np.int64(SEGMENT_CARDS[MAIN_SEGMENT[main]])
        if is_bomb(main, rules):
            score -= 50
        if beatable(mind, main) > 0:
            score -= 100
        if score > best:
            best, found = score, np.int64(index)
    return mind.sure.memory[MAINS + found], mind.sure.memory[KICKERS + found]


@pure_kernel
def _lead_score(mind: Mind, main: np.uint64, kickers: np.uint64, rules: np.ndarray, w: np.ndarray) -> int:
    """How good it is to lead a move of the hand's split."""
    about = mind.about
    segment = MAIN_SEGMENT[main]
    beaten = beatable(mind, main)
    cards = SEGMENT_CARDS[segment]
    rank = main - SEGMENT_BASE[segment]
    score = mind.value.price[body_segment(segment) * PRICES + np.int64(rank)]
    score += w[W_LEAD_CARD] * np.int64(cards) - w[W_LEAD_HOLD] * beaten // 100
    if segment == SOLO:
        score += w[W_LEAD_SOLO]
    elif segment == PAIR:
        score += w[W_LEAD_PAIR]
    elif SEGMENT_COPIES[segment] == U3:
        score += w[W_LEAD_TRIO]
    if is_bomb(main, rules):
        score -= 1000
    if cards <= U2 and cards == about[A_FEWEST] and beaten > 0:
        # The enemy could go out with it: lead something else, or else the highest.
        score -= 10 * w[W_LEAD_DANGER] + 20 * beaten
    if cards <= U2 and cards == about[A_PARTNER_CARDS] and cards < about[A_FEWEST]:
        score += w[W_TEAM] + 3 * beaten
    return score


@inline_kernel
def _lead_to_partner(hand: np.uint64, mind: Mind) -> np.uint64:
    """The lowest solo if the partner acts next and holds one card that is likely to beat it, else 0."""
    about = mind.about
    if about[A_PARTNER_CARDS] != U1 or about[A_NEXT_ENEMY] != U0:
        return U0
    main = SEGMENT_BASE[SOLO] + lowest(hand & PLANE)
    return main if beatable(mind, main) >= _LIKELY else U0


@pure_kernel
def lead(row: np.ndarray, rules: np.ndarray, mind: Mind, w: np.ndarray) -> tuple[np.uint64, np.uint64]:
    """The move to lead: main group and kickers."""
    hand = mind.about[A_HAND]
    price, count = decompose(hand, rules, mind.sure, EMIT)
    if price < 2 * LOSER:
        main, kickers = _sure_win(count, rules, mind)
        if main != U0:
            return main, kickers
    main = _lead_to_partner(hand, mind)
    if main != U0:
        return main, U0
    _, count = decompose(hand, rules, mind.value, EMIT)
    kickers = U0
    best = np.int64(_NEVER)
    for index in range(count):
        candidate = mind.value.memory[MAINS + index]
        if not may_play(mind, candidate):
            continue
        score = _lead_score(mind, candidate, mind.value.memory[KICKERS + index], rules, w)
        if score > best:
            best, main, kickers = score, candidate, mind.value.memory[KICKERS + index]
    if main == U0:
        main = nth_legal(mind.mask, U0)
        kickers = lowest_kickers(row, hand, main, rules)
    elif main < BOMB_ID and SEGMENT_CARDS[MAIN_SEGMENT[main]] == U1 and mind.about[A_FEWEST] == U1:
        main = SEGMENT_BASE[SOLO] + _highest_rank(hand)
    return main, kickers


@inline_kernel
def _highest_rank(hand: np.uint64) -> np.uint64:
    rank = np.uint64(14)
    while (hand >> rank) & U1 == U0:
        rank -= U1
    return rank
