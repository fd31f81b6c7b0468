"""Observations as byte vectors: a layout table for each vector, and functions that write the vectors.

Every vector here is a row of signed bytes.  Cards are 15 counts, one per rank; each such field is followed by
one byte that belongs to it, so that a field is two 64-bit words and is written by two stores.  Kernels therefore
take the vector as ``uint64`` words; :func:`observe` and the environments hand out its ``int8`` view.  (The byte
order is little-endian, as on every platform that Numba supports.)

The tables ``OBSERVATION``, ``STATE`` and ``CONCEALED`` are the only description of the vectors: offsets, bounds of
the ``Box`` spaces and the docs page are computed from them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.engine.layout import SIZES
from ddz_env.core.engine.tables import MASK_WORDS
from ddz_env.core.observation.layout import (
    CONCEALED,
    CONCEALED_WORDS,
    HISTORY,
    MASK_BYTE_WORDS,
    OBSERVATION,
    OBSERVATION_SIZE,
    OBSERVATION_WORDS,
    STATE,
    STATE_SIZE,
    STATE_WORDS,
    Feature,
    Layout,
    fingerprint,
)
from ddz_env.core.observation.writing import expand_mask, write_concealed, write_mask, write_observation, write_state
from ddz_env.support.checks import check_integer
from ddz_env.support.errors import InvalidDealError

__all__ = [
    "CONCEALED",
    "CONCEALED_WORDS",
    "HISTORY",
    "MASK_BYTE_WORDS",
    "OBSERVATION",
    "OBSERVATION_SIZE",
    "OBSERVATION_WORDS",
    "STATE",
    "STATE_SIZE",
    "STATE_WORDS",
    "Feature",
    "Layout",
    "action_mask",
    "expand_mask",
    "fingerprint",
    "full_state",
    "mask_bytes",
    "observe",
    "write_concealed",
    "write_mask",
    "write_observation",
    "write_state",
]


if TYPE_CHECKING:
    from ddz_env.core.state import State
    from ddz_env.core.view import View


class HasRow(Protocol):
    """An object with a game-state array: a :class:`~ddz_env.State` or a PettingZoo environment."""

    @property
    def row(self) -> npt.NDArray[np.uint64]:
        """The game-state array, shape ``[32]``, uint64."""
        ...

    @property
    def rule_words(self) -> npt.NDArray[np.uint64]:
        """The rules as an array for compiled functions, shape ``[18]``, uint64."""
        ...


def observe(game: State | View, seat: int | None = None) -> npt.NDArray[np.int8]:
    """Encode what a seat sees of a game as a vector, shape ``[OBSERVATION_SIZE]``, int8.

    Args:
        game: A state, or a view (of that seat).
        seat: The observer; by default the seat to act, or the view's own.

    Returns:
        Shape ``[OBSERVATION_SIZE]``, int8, by the table ``OBSERVATION``.

    Raises:
        InvalidDealError: If the view is another seat's, or the seat does not exist.
    """
    seat = game.seat if seat is None else check_integer("seat", seat, 0, game.rules.players - 1, InvalidDealError)
    if seat != game.seat and int(game.row[SIZES]):
        raise InvalidDealError(f"a view of seat {game.seat} does not know what seat {seat} sees")
    out = np.empty(OBSERVATION_WORDS, np.uint64)
    write_observation(game.row, game.ring, game.rule_words, np.uint64(seat), out)
    return out.view(np.int8)


def mask_bytes(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.int8]:
    """Reinterpret action masks stored as words as one byte per action, shape ``[..., 400]``, int8.

    Args:
        words: Shape ``[..., MASK_BYTE_WORDS]``, uint64 (:func:`expand_mask`).

    Returns:
        Shape ``[..., NUM_ACTIONS]``, int8, a view of ``words``.
    """
    return words.view(np.int8)[..., :NUM_ACTIONS]


def action_mask(game: HasRow) -> npt.NDArray[np.int8]:
    """Return the mask of legal actions for the seat to act; it is all zero when the game is over.

    Args:
        game: A state, or the game of an environment.

    Returns:
        Shape ``[NUM_ACTIONS]``, int8, 1 where the action id is legal.
    """
    out = np.empty(MASK_BYTE_WORDS, np.uint64)
    write_mask(game.row, game.rule_words, np.empty(MASK_WORDS, np.uint64), out)
    return mask_bytes(out)


def full_state(game: HasRow) -> npt.NDArray[np.int8]:
    """Encode the whole game, including hidden hands, as a vector, shape ``[STATE_SIZE]``, int8.

    Args:
        game: A state, or the game of an environment.

    Returns:
        Shape ``[STATE_SIZE]``, int8, by the table ``STATE``.
    """
    out = np.empty(STATE_WORDS, np.uint64)
    write_state(game.row, game.rule_words, out)
    return out.view(np.int8)
