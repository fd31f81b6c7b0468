"""Random play that draws uniformly among the actions of each stage of a move (the agent ``random-staged``)."""

from __future__ import annotations

import numpy as np

from ddz_env.core.engine import layout as at
from ddz_env.core.engine import tables
from ddz_env.core.engine.deal import new_game
from ddz_env.core.engine.kickers import body_of, kicker_options
from ddz_env.core.engine.legal import count_legal, find_replies, nth_legal, pending_options, write_legal_mask
from ddz_env.core.engine.random import advance, mix, scale_below, stream_state
from ddz_env.core.engine.step import apply_action
from ddz_env.core.engine.words import U0, U1, U16, U32, add_cards, popcount, select_bit
from ddz_env.support.compiling import inline_kernel, kernel, part_kernel

_BEHIND = np.uint64(33)
"""Where replies with greater ids than the bombs and the rocket begin in the word of replies."""


@part_kernel
def _draw_reply(row: np.ndarray, rules: np.ndarray, bits: np.uint64) -> np.uint64:
    """Map 64 random bits uniformly to a legal reply or the pass, and return its action id."""
    hand = row[at.HANDS + np.int64(row[at.SEAT])]
    base, starts, bombs, rocket = find_replies(hand, row[at.TARGET], row[at.KEY], rules)
    word = U1 | (starts << (_BEHIND if base > tables.ROCKET_ID else U1)) | (bombs << U16) | (rocket << U32)
    bit = select_bit(word, scale_below(bits, popcount(word)))
    if bit < U16:
        return base + bit - U1 if bit > U0 else U0
    if bit < U32:
        return tables.BOMB_ID + bit - U16
    return tables.ROCKET_ID if bit == U32 else base + bit - _BEHIND


@inline_kernel
def draw_action(row: np.ndarray, rules: np.ndarray, mask: np.ndarray, state: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Draw a uniformly random legal action for the seat to act; return it and the generator's new state."""
    state = advance(state)
    if row[at.STAGE] == at.STAGE_PLAY and row[at.TARGET] != U0:
        return _draw_reply(row, rules, mix(state)), state
    if row[at.STAGE] == at.STAGE_KICKER:
        options = pending_options(row, rules)
        return tables.KICKER_ID + select_bit(options, scale_below(mix(state), popcount(options))), state
    write_legal_mask(row, rules, mask)
    return nth_legal(mask, scale_below(mix(state), count_legal(mask))), state


@inline_kernel
def draw_kickers(
    row: np.ndarray, hand: np.uint64, main: np.uint64, rules: np.ndarray, state: np.uint64
) -> tuple[np.uint64, np.uint64]:
    """Draw the kickers of a move rank by rank, uniformly each time; return them and the generator's new state."""
    body = body_of(row, hand, main, rules)
    chosen, floor, left = U0, U0, body.kickers
    while left > U0:
        options = kicker_options(body, left, chosen, floor, rules)
        state = advance(state)
        floor = select_bit(options, scale_below(mix(state), popcount(options)))
        chosen = add_cards(chosen, U1 << floor, body.size)
        left -= U1
    return chosen, state


@kernel
def play_random_games(games: int, seed: np.uint64, rules: np.ndarray) -> tuple[int, np.ndarray]:
    """Play games with uniformly random actions on one thread; return the number of decisions and each seat's wins.

    Args:
        games: How many.
        seed: The seed; game ``i`` uses stream ``i``.
        rules: The rules array.

    Returns:
        The number of decisions, and wins by seat, shape ``[3]``; no seat wins where all declined.
    """
    row, mask = np.empty(at.ROW_WORDS, np.uint64), np.empty(tables.MASK_WORDS, np.uint64)
    wins, decisions = np.zeros(3, np.int64), 0
    for game in range(games):
        decisions += _play_game(row, stream_state(seed, np.uint64(game)), rules, mask)
        if row[at.WINNER] != at.NO_GAME:
            wins[np.int64(row[at.WINNER]) - 1] += 1
    return decisions, wins


@part_kernel
def _play_game(row: np.ndarray, state: np.uint64, rules: np.ndarray, mask: np.ndarray) -> int:
    """Deal a game into a game-state array, play it with random actions, and return the number of decisions."""
    decisions = 0
    new_game(row, state, rules)
    while row[at.STAGE] != at.STAGE_OVER:
        action, state = draw_action(row, rules, mask, state)
        apply_action(row, action, rules)
        decisions += 1
    return decisions
