"""Kernels that tell where the time of plain UCT goes: a game that ends at once, and the drawing of worlds alone."""

from __future__ import annotations

import numpy as np

from ddz_agents.worlds.determinize import determinize
from ddz_env.core.engine.compiling import kernel, pure_kernel
from ddz_env.core.engine.layout import ROW_WORDS, STAGE, STAGE_OVER, WINNER
from ddz_env.core.engine.random import advance, below, mix
from ddz_env.core.engine.words import U1, U3


@pure_kernel
def draw_winner(row: np.ndarray, rules: np.ndarray, mask: np.ndarray, state: np.uint64) -> np.uint64:
    """End a game at once; who wins it is drawn."""
    state = advance(state)
    row[WINNER] = U1 + below(mix(state), U3)
    row[STAGE] = STAGE_OVER
    return state


@kernel
def draw_worlds(view: np.ndarray, rules: np.ndarray, number: int, state: np.uint64) -> np.uint64:
    """Draw worlds of the view of seat 0; the generator's state after them."""
    row = np.empty(ROW_WORDS, np.uint64)
    for _ in range(number):
        state = determinize(view, np.uint64(0), rules, state, row)
    return state
