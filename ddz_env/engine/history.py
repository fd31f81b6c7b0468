"""The recent moves of a game: a ring beside the row, for observations.  Search without networks never copies it."""

from __future__ import annotations

import numpy as np

from ddz_env.engine.compiling import pure_kernel
from ddz_env.engine.layout import CHOSEN, MOVES, PENDING, SEAT, STAGE, STAGE_KICKER, STAGE_PLAY
from ddz_env.engine.step import apply_action, main_cards
from ddz_env.engine.tables import KICKER_ID, MAIN_SEGMENT, SEGMENT_KICKER_SIZE
from ddz_env.engine.words import U0, U1, U16, add, add_hand

HISTORY_MOVES = 16
"""Moves that a ring holds; move number ``n`` stands at slot ``n % 16``."""
HISTORY_WORDS = 2
"""Words a slot: the cards of the move as a hand, and ``main id | seat << 16`` (bids keep their action id)."""


@pure_kernel
def apply_and_record(row: np.ndarray, ring: np.ndarray, action: np.uint64, rules: np.ndarray) -> None:
    """Play one action, as :func:`ddz_env.engine.step.apply_action`, and enter the move in the ring once complete.

    Args:
        row: The game, changed in place.
        ring: Shape ``[16, 2]``, uint64, changed in place.  A new deal in the auction clears it.
        action: A legal action id.
        rules: The rules array.
    """
    before = row[MOVES]
    seat = row[SEAT]
    main, cards = action, U0
    if row[STAGE] == STAGE_KICKER:
        main = row[PENDING]
        size = SEGMENT_KICKER_SIZE[MAIN_SEGMENT[main]]
        cards = add_hand(main_cards(main), add(row[CHOSEN], U1 << (action - np.uint64(KICKER_ID)), size))
    elif row[STAGE] == STAGE_PLAY and action != U0:
        cards = main_cards(action)
    apply_action(row, action, rules)
    if row[MOVES] == U0 and before > U0:
        ring[:] = U0
    elif row[MOVES] != before:
        slot = before % U16
        ring[slot, 0] = cards
        ring[slot, 1] = main | (seat << U16)
