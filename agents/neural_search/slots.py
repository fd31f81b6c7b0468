"""The descents in flight: games at leaves that wait for the networks, and the paths that led there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from agents.mcts.search import MAX_DEPTH
from ddz_env.engine.layout import HISTORY_MOVES, HISTORY_WORDS, ROW_WORDS
from ddz_env.observation import CONCEALED_WORDS, MASK_BYTE_WORDS, OBSERVATION_WORDS


class Slots(NamedTuple):
    """Descents in flight, as many as the first axis is long.

    Attributes:
        rows: The games at the leaves, shape ``[n, 32]``, uint64.
        rings: The moves before them, shape ``[n, 16, 2]``, uint64.
        path: Actions from the root down, shape ``[n, MAX_DEPTH]``, int16.  (Records move when their siblings grow in
            number, which other descents bring about.)
        movers: Who chose each of them, shape ``[n, MAX_DEPTH]``, int8.
        depth: How long each path is, shape ``[n]``, int64.
        waits: 1 where a leaf waits for the networks, 0 where the game was over, shape ``[n]``, int8.
        observations: What the seat to act at the leaf sees, as words, shape ``[n, OBSERVATION_WORDS]``, uint64.
        masks: Its legal actions, as words, shape ``[n, MASK_BYTE_WORDS]``, uint64.
        concealed: What it does not see, as words, shape ``[n, CONCEALED_WORDS]``, uint64.
    """

    rows: npt.NDArray[np.uint64]
    rings: npt.NDArray[np.uint64]
    path: npt.NDArray[np.int16]
    movers: npt.NDArray[np.int8]
    depth: npt.NDArray[np.int64]
    waits: npt.NDArray[np.int8]
    observations: npt.NDArray[np.uint64]
    masks: npt.NDArray[np.uint64]
    concealed: npt.NDArray[np.uint64]

    def part(self, chosen: slice) -> Slots:
        """Some of the slots, sharing memory."""
        return Slots._make(array[chosen] for array in self)

    def copied(self, chosen: npt.NDArray[np.intp]) -> Slots:
        """Copies of some of the slots."""
        return Slots._make(array[chosen] for array in self)


def new_slots(count: int) -> Slots:
    """Empty slots.

    Args:
        count: How many.
    """
    return Slots(
        np.zeros((count, ROW_WORDS), np.uint64),
        np.zeros((count, HISTORY_MOVES, HISTORY_WORDS), np.uint64),
        np.zeros((count, MAX_DEPTH), np.int16),
        np.zeros((count, MAX_DEPTH), np.int8),
        np.zeros(count, np.int64),
        np.zeros(count, np.int8),
        np.zeros((count, OBSERVATION_WORDS), np.uint64),
        np.zeros((count, MASK_BYTE_WORDS), np.uint64),
        np.zeros((count, CONCEALED_WORDS), np.uint64),
    )
