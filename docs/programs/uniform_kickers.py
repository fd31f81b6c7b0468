"""Simulations with one decision for all kickers, as in figure 2 of the paper of 2011: their sets are uniform.

PYTHONPATH=docs/programs ddz arena isuct:simulation=uniform_kickers.simulate isuct --deals 500
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ddz_env.core.engine.layout import HANDS, SEAT, STAGE, STAGE_OVER, STAGE_PLAY
from ddz_env.core.engine.legal import count_legal, finishing_action, nth_legal, write_legal_mask
from ddz_env.core.engine.moves import list_kickers
from ddz_env.core.engine.random import advance, mix, scale_below
from ddz_env.core.engine.step import apply_action, play_move
from ddz_env.core.engine.tables import MAIN_SEGMENT, SEGMENT_KICKER_COUNT

MOST_SETS = 4096


@njit
def simulate(row: np.ndarray, rules: np.ndarray, mask: np.ndarray, state: np.uint64) -> np.uint64:
    """Play to the end at random, main group and then kicker set; a finishing move is taken at once."""
    mains, kickers = np.empty(MOST_SETS, np.uint64), np.empty(MOST_SETS, np.uint64)
    while row[STAGE] != STAGE_OVER:
        write_legal_mask(row, rules, mask)
        state = advance(state)
        action = nth_legal(mask, scale_below(mix(state), count_legal(mask)))
        if row[STAGE] != STAGE_PLAY:
            apply_action(row, action, rules)
            continue
        last = finishing_action(row[HANDS + np.int64(row[SEAT])], mask)
        if last != np.uint64(0):
            action = last
        chosen = np.uint64(0)
        if SEGMENT_KICKER_COUNT[MAIN_SEGMENT[action]] != np.uint64(0):
            sets = list_kickers(row, rules, action, mains, kickers, 0)
            state = advance(state)
            chosen = kickers[np.int64(scale_below(mix(state), np.uint64(sets)))]
        play_move(row, action, chosen, rules)
    return state
