"""How the rule agent follows."""

from __future__ import annotations

import numpy as np

from ddz_agents.rules.evaluation import losers_of_hand, price_of_hand
from ddz_agents.rules.kickers import choose_kickers
from ddz_agents.rules.mind import A_FEWEST, A_HAND, A_NEXT_ENEMY, A_SEAT, Mind, is_enemy, size_of
from ddz_agents.rules.prices import beatable, is_bomb
from ddz_agents.rules.weights import (
    W_BOMB_NEED,
    W_BOMB_URGENT,
    W_FOLLOW_HOLD,
    W_FOLLOW_NEED,
    W_FOLLOW_URGENT,
    W_HELPER,
    W_LEAD_DANGER,
    W_PARTNER_NEED,
    W_PARTNER_UP,
    W_PARTNER_WEAK,
)
from ddz_env.core.engine.compiling import inline_kernel, pure_kernel
from ddz_env.core.engine.layout import BOMBS_ONLY, OWNER, TARGET
from ddz_env.core.engine.step import main_cards, next_seat
from ddz_env.core.engine.tables import MAIN_SEGMENT, MASK_WORDS, SEGMENT_CARDS
from ddz_env.core.engine.words import U0, U1, U2, lowest, remove_hand

_SAFER = 15
_BLOCK = 3000
_WIN = 100_000


@inline_kernel
def _without(hand: np.uint64, main: np.uint64, kickers: np.uint64) -> np.uint64:
    return remove_hand(remove_hand(hand, main_cards(main)), kickers)


@pure_kernel
def _follow_need(row: np.ndarray, rules: np.ndarray, mind: Mind, w: np.ndarray, bomb: bool) -> int:
    """By how much a reply must improve the hand, in hundredths of a trick."""
    about = mind.about
    seat, owner = about[A_SEAT], row[OWNER]
    if not is_enemy(row, seat, owner):
        target = row[TARGET]
        weak = np.int64(0) if target == BOMBS_ONLY else beatable(mind, target)
        need = w[W_PARTNER_NEED] - w[W_PARTNER_WEAK] * weak // 100
        if about[A_NEXT_ENEMY] != U0:
            need -= w[W_PARTNER_UP] * weak // 100
        return need + (1000 if bomb else 0)
    size = np.int64(size_of(row, owner))
    need = w[W_BOMB_NEED] if bomb else w[W_FOLLOW_NEED]
    urgent = w[W_BOMB_URGENT] if bomb else w[W_FOLLOW_URGENT]
    if size == 1:
        return -10000
    if size < 10:
        need -= urgent * (10 - size) // 4
    following = next_seat(seat, rules)
    if following != owner and not is_enemy(row, seat, following):
        need += w[W_HELPER]
    return need


@inline_kernel
def _must_block(row: np.ndarray, mind: Mind, main: np.uint64) -> bool:
    """Whether an enemy could go out over the target, and the reply (a solo or a pair) makes that harder."""
    target, about = row[TARGET], mind.about
    if target == BOMBS_ONLY or MAIN_SEGMENT[main] != MAIN_SEGMENT[target]:
        return False
    cards = SEGMENT_CARDS[MAIN_SEGMENT[main]]
    threat = beatable(mind, target)
    if cards > U2 or threat == 0:
        return False
    if is_enemy(row, about[A_SEAT], row[OWNER]):
        return about[A_FEWEST] == cards
    # The partner's own card may do; spend a higher one only where it is much safer.
    return about[A_NEXT_ENEMY] == cards and threat - beatable(mind, main) >= _SAFER


@pure_kernel
def _reply_score(row: np.ndarray, rules: np.ndarray, mind: Mind, w: np.ndarray, main: np.uint64, gain: int) -> int:
    """By how much a reply that makes the hand cheaper by ``gain`` exceeds what is needed; positive: play it."""
    beaten = beatable(mind, main)
    score = gain + w[W_FOLLOW_HOLD] * (100 - beaten) // 100
    score -= _follow_need(row, rules, mind, w, is_bomb(main, rules))
    if _must_block(row, mind, main):
        score += (_BLOCK if SEGMENT_CARDS[MAIN_SEGMENT[main]] == U1 else w[W_LEAD_DANGER]) - 20 * beaten
    return score


@pure_kernel
def follow(row: np.ndarray, rules: np.ndarray, mind: Mind, w: np.ndarray) -> tuple[np.uint64, np.uint64]:
    """The reply that makes the hand cheaper by most over what is needed, or pass: main group and kickers."""
    hand = mind.about[A_HAND]
    before = price_of_hand(hand, rules, mind)
    best, main, kickers = np.int64(0), U0, U0
    for word in range(MASK_WORDS):
        bits = mind.mask[word]
        while bits != U0:
            candidate = np.uint64(word) * np.uint64(64) + lowest(bits)
            bits &= bits - U1
            if candidate == U0:
                continue
            riders = choose_kickers(row, hand, candidate, rules, mind)
            rest = _without(hand, candidate, riders)
            score = _reply_score(row, rules, mind, w, candidate, before - price_of_hand(rest, rules, mind))
            if beatable(mind, candidate) == 0 and losers_of_hand(rest, rules, mind) < 2:
                score += _WIN
            if score > best:
                best, main, kickers = score, candidate, riders
    return main, kickers
