"""Simulations (playouts): uniform at every stage, a finishing move taken at once if so wished.

A simulation's row is thrown away, so moves are played by ``play_lightly``: hands, turn and target without the books
that observations and views read.  Three quarters of a search's time are spent here.
"""

from __future__ import annotations

import numpy as np

from ddz_env.core.engine import layout as at
from ddz_env.core.engine.compiling import inline_kernel, pure_kernel
from ddz_env.core.engine.legal import count_legal, finishing_action, lead_mask, nth_legal, replies
from ddz_env.core.engine.playout import random_action, random_kickers
from ddz_env.core.engine.random import advance, below, mix
from ddz_env.core.engine.step import apply_action, pass_turn, play_lightly
from ddz_env.core.engine.tables import BOMB_ID, MAIN_SEGMENT, MASK_WORDS, ROCKET_ID, SEGMENT_CARDS, SEGMENT_KICKER_COUNT
from ddz_env.core.engine.words import U0, U1, U2, U4, lowest, popcount, select


@inline_kernel
def _random_lead(
    hand: np.uint64, rules: np.ndarray, mask: np.ndarray, state: np.uint64, finish: bool
) -> tuple[np.uint64, np.uint64]:
    """A finishing main group, or a uniform one, and the generator's new state."""
    for word in range(MASK_WORDS):
        mask[word] = U0
    lead_mask(hand, rules, mask)
    action = finishing_action(hand, mask) if finish else U0
    if action == U0:
        state = advance(state)
        action = nth_legal(mask, below(mix(state), count_legal(mask)))
    return action, state


@inline_kernel
def _random_reply(
    row: np.ndarray, hand: np.uint64, rules: np.ndarray, state: np.uint64, finish: bool
) -> tuple[np.uint64, np.uint64]:
    """A finishing reply, or a uniform one with pass among them, and the generator's new state."""
    target = row[at.TARGET]
    base, starts, bombs, rocket = replies(hand, target, row[at.KEY], rules)
    if (starts | bombs | rocket) == U0:
        return U0, state
    cards = popcount(hand)
    if finish and starts != U0 and target != at.BOMBS_ONLY and cards == SEGMENT_CARDS[MAIN_SEGMENT[target]]:
        return base + lowest(starts), state
    if finish and bombs != U0 and cards == U4:
        return BOMB_ID + lowest(bombs), state
    if finish and rocket != U0 and cards == U2:
        return ROCKET_ID, state
    in_category, in_bombs = popcount(starts), popcount(bombs)
    state = advance(state)
    pick = below(mix(state), U1 + in_category + in_bombs + rocket)
    if pick == U0:
        return U0, state
    pick -= U1
    if pick < in_category:
        return base + select(starts, pick), state
    pick -= in_category
    if pick < in_bombs:
        return BOMB_ID + select(bombs, pick), state
    return ROCKET_ID, state


@pure_kernel
def simulate_random(row: np.ndarray, rules: np.ndarray, mask: np.ndarray, state: np.uint64, finish: bool) -> np.uint64:
    """Play to the end, uniformly at every stage, except that a finishing move is taken at once if so wished.

    Args:
        row: The game, at any stage, changed in place; only hands, turn, bombs and winner are kept right.
        rules: The rules array.
        mask: Scratch, shape ``[7]``.
        state: The generator's state.
        finish: Whether a move that empties the hand is taken at once.

    Returns:
        The generator's new state.
    """
    while row[at.STAGE] != at.STAGE_PLAY and row[at.STAGE] != at.STAGE_OVER:  # an auction, or a half-built move
        action, state = random_action(row, rules, mask, state)
        apply_action(row, action, rules)
    while row[at.STAGE] == at.STAGE_PLAY:
        hand = row[at.HANDS + np.int64(row[at.SEAT])]
        if row[at.TARGET] == U0:
            action, state = _random_lead(hand, rules, mask, state, finish)
        else:
            action, state = _random_reply(row, hand, rules, state, finish)
        if action == U0:
            pass_turn(row, rules)
        else:
            kickers = U0
            if SEGMENT_KICKER_COUNT[MAIN_SEGMENT[action]] != U0:
                kickers, state = random_kickers(row, hand, action, rules, state)
            play_lightly(row, action, kickers, rules)
    return state


@inline_kernel
def landlord_won(row: np.ndarray) -> bool:
    """Whether a finished game was won by the landlord."""
    return row[at.WINNER] == row[at.LANDLORD] + U1


@inline_kernel
def reward_of(row: np.ndarray, seat: np.uint64) -> np.float32:
    """1 if a seat's side won the finished game, 0 if not, a half if all declined and nobody did."""
    if row[at.WINNER] == at.NO_GAME:
        return np.float32(0.5)
    return np.float32(1.0) if (seat == row[at.LANDLORD]) == landlord_won(row) else np.float32(0.0)
