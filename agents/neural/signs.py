"""Signs of what others hold: the weakest solo and pair of an enemy that a seat let pass.

All moves are public, so a pass says something about a hand: who lets a nine pass probably has no solo above it to
spare.  The observation's history holds the passes one by one; this finds, for each of the other seats, the lowest rank
at which it passed on an enemy's solo and on an enemy's pair.
"""

from __future__ import annotations

import numpy as np

from ddz_env.cards import NUM_RANKS
from ddz_env.engine.compiling import pure_kernel
from ddz_env.observation import HISTORY, OBSERVATION

MOVE_BYTES = NUM_RANKS + 1
"""Bytes of one move of the history: its cards, and who made it."""

FIRST_MOVE = OBSERVATION.offsets["move_1"]
ROLE = OBSERVATION.offsets["role"]
LEFT_PREVIOUS = OBSERVATION.offsets["cards_left_previous"]

SIGNS = 2 * 2 * NUM_RANKS
"""Columns: of the next and the previous seat, on solos and on pairs, whether it passed on one up to each rank."""


@pure_kernel
def put_signs(values: np.ndarray, out: np.ndarray, place: int) -> int:
    """Write the signs of an observation.

    Args:
        values: The observation, shape ``[OBSERVATION_SIZE]``, int8.
        out: Output, float32.
        place: Where the ``SIGNS`` columns begin.

    Returns:
        The place behind them.
    """
    for column in range(SIGNS):
        out[place + column] = np.float32(0.0)
    # Seats count from the observer: 1 self, 2 next, 3 previous.  The observer is landlord, peasant down (whose
    # previous seat is the landlord) or peasant up (whose next seat is, as that of the only peasant of two players).
    down = values[ROLE + 1] == 1 and values[LEFT_PREVIOUS] > 0
    landlord = 1 if values[ROLE] == 1 else (3 if down else 2)
    copies, rank, owner = np.int64(0), np.int64(0), np.int64(0)
    for back in range(HISTORY - 1, -1, -1):
        first = FIRST_MOVE + MOVE_BYTES * back
        seat = np.int64(values[first + NUM_RANKS])
        if seat == 0 or seat > 3:
            continue
        cards, highest = np.int64(0), np.int64(0)
        for index in range(NUM_RANKS):
            count = np.int64(values[first + index])
            cards += count
            if count > 0:
                highest = np.int64(index)
        if cards > 0:
            alike = np.int64(values[first + highest]) == cards
            copies, rank, owner = (cards if alike and cards <= 2 else np.int64(0)), highest, seat
        elif seat > 1 and copies > 0 and (owner == landlord) != (seat == landlord):
            base = place + ((seat - 2) * 2 + (copies - 1)) * NUM_RANKS
            for index in range(rank, NUM_RANKS):
                out[base + index] = np.float32(1.0)
    return place + SIGNS
