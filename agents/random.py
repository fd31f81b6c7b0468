"""Uniform play: over whole legal moves, and over each stage."""

from __future__ import annotations

import numpy as np

from ddz_env import Move, View
from ddz_env.engine.compiling import kernel
from ddz_env.engine.kickers import kicker_options
from ddz_env.engine.layout import HANDS, KEY, SEAT, STAGE, STAGE_PLAY, TARGET
from ddz_env.engine.legal import count_legal, legal_mask, nth_legal, trio_needed
from ddz_env.engine.moves import all_moves
from ddz_env.engine.random import advance, below, mix
from ddz_env.engine.tables import (
    MAIN_SEGMENT,
    MASK_WORDS,
    SEGMENT_BASE,
    SEGMENT_KICKER_COUNT,
    SEGMENT_KICKER_SIZE,
    SEGMENT_LENGTH,
)
from ddz_env.engine.words import U0, U1, add, popcount, select
from ddz_env.errors import IllegalMoveError


@kernel
def staged_move(row: np.ndarray, rules: np.ndarray, state: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Draw a move stage by stage, each stage uniformly.

    Args:
        row: The game at the start of a decision, shape ``[32]``, uint64; unchanged.
        rules: The rules array.
        state: A generator's state (:mod:`ddz_env.engine.random`).

    Returns:
        The first stage's action id and the kickers as a hand.
    """
    mask = np.empty(MASK_WORDS, np.uint64)
    legal_mask(row, rules, mask)
    state = advance(state)
    main = nth_legal(mask, below(mix(state), count_legal(mask)))
    if row[STAGE] != STAGE_PLAY:
        return main, U0
    hand = row[HANDS + np.int64(row[SEAT])]
    segment = MAIN_SEGMENT[main]
    start, length = main - SEGMENT_BASE[segment], SEGMENT_LENGTH[segment]
    size, count = SEGMENT_KICKER_SIZE[segment], SEGMENT_KICKER_COUNT[segment]
    on_lead = row[TARGET] == U0
    trio = trio_needed(segment, start, on_lead, row[KEY], rules)
    chosen, floor, left = U0, U0, count
    while left > U0:
        options = kicker_options(hand, start, length, size, count, left, chosen, floor, on_lead, trio, rules)
        state = advance(state)
        floor = select(options, below(mix(state), popcount(options)))
        chosen = add(chosen, U1 << floor, size)
        left -= U1
    return main, chosen


def _check_turn(view: View) -> None:
    if view.acting_seat != view.seat or view.stage == "over":
        raise IllegalMoveError(f"seat {view.seat} has nothing to decide: the stage is {view.stage}")


class RandomAgent:
    """Uniform over whole legal moves, as in RLCard and DouZero: the yardstick for win rates.

    Example:
        >>> from ddz_env import State
        >>> state = State.new(seed=1)
        >>> RandomAgent().act(state.view(), np.random.default_rng(0)) in state.legal_moves()
        True
    """

    name = "random"
    cheats = False

    def act(self, view: View, rng: np.random.Generator) -> Move:
        """Draw a legal move.

        Raises:
            IllegalMoveError: If it is not the seat's turn.
        """
        _check_turn(view)
        mains, kickers = all_moves(view.row, view.rule_words)
        choice = int(rng.integers(mains.size))
        return Move.from_words(int(mains[choice]), int(kickers[choice]))


class RandomStagedAgent:
    """Uniform over each stage: weaker and faster than ``random``, for speed comparisons only."""

    name = "random-staged"
    cheats = False

    def act(self, view: View, rng: np.random.Generator) -> Move:
        """Draw a legal move.

        Raises:
            IllegalMoveError: If it is not the seat's turn.
        """
        _check_turn(view)
        main, kickers = staged_move(view.row, view.rule_words, rng.integers(0, 2**64, dtype=np.uint64))
        return Move.from_words(int(main), int(kickers))
