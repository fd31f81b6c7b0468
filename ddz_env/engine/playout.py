"""Random games: uniform over each stage (``random-staged``), the fastest policy there is."""

from __future__ import annotations

import numpy as np

from ddz_env.engine.compiling import kernel
from ddz_env.engine.deal import new_game
from ddz_env.engine.layout import ROW_WORDS, STAGE, STAGE_OVER, WINNER
from ddz_env.engine.legal import count_legal, legal_mask, nth_legal
from ddz_env.engine.random import advance, below, key, mix
from ddz_env.engine.step import apply_action
from ddz_env.engine.tables import MASK_WORDS


@kernel
def random_games(games: int, seed: np.uint64, rules: np.ndarray) -> tuple[int, np.ndarray]:
    """Play whole games with a uniform choice at every stage, on one thread.

    Args:
        games: How many.
        seed: The seed; game ``i`` uses stream ``i``.
        rules: The rules array.

    Returns:
        The number of decisions, and wins by seat, shape ``[3]``.
    """
    row = np.empty(ROW_WORDS, np.uint64)
    mask = np.empty(MASK_WORDS, np.uint64)
    wins = np.zeros(3, np.int64)
    decisions = 0
    for game in range(games):
        state = key(seed, np.uint64(game))
        new_game(row, state, rules)
        while row[STAGE] != STAGE_OVER:
            legal_mask(row, rules, mask)
            state = advance(state)
            action = nth_legal(mask, below(mix(state), count_legal(mask)))
            apply_action(row, action, rules)
            decisions += 1
        wins[np.int64(row[WINNER]) - 1] += 1
    return decisions, wins
