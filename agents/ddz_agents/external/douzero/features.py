"""DouZero's network inputs: cards as 54 bits, the state that a role sees, and the last fifteen moves.

Zha et al. 2021, appendix, tables 4 (landlord) and 5 (peasants); the order of the columns is that of the released
checkpoints.  A role has a network of its own, and all seats are named from the landlord: ``landlord_down`` plays after
the landlord, ``landlord_up`` before.  Everything is read from observations
(:data:`ddz_env.core.observation.OBSERVATION`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_env.core.actions import MAIN_GROUPS
from ddz_env.core.cards import NUM_RANKS
from ddz_env.core.observation import HISTORY, OBSERVATION
from ddz_env.core.view import ROLES

Bytes = npt.NDArray[np.int8]
Floats = npt.NDArray[np.float32]

CARDS = 54
"""Columns of a set of cards."""
ROUNDS = 5
ROUND_COLUMNS = 3 * CARDS
"""The history is five steps of three moves each."""

_SUITED = 13
_COPIES = 4
_MOST_BOMBS = 15
_LANDLORD_HAND, _PEASANT_HAND = 20, 17


class RoleColumns(NamedTuple):
    """The layout of the state inputs of a role's network, which precede those of the candidate move.

    Attributes:
        name: DouZero's name of the role, and of its checkpoint.
        cards: Sets of cards: features of the observation, and ``others``, what the other two may hold.
        sizes: Hand sizes, each with its largest value.
    """

    name: str
    cards: tuple[str, ...]
    sizes: tuple[tuple[str, int], ...]

    @property
    def columns(self) -> int:
        """The number of state inputs, not counting those of the candidate move."""
        return CARDS * len(self.cards) + sum(most for _, most in self.sizes) + _MOST_BOMBS


def _peasant_columns(name: str, landlord: str, mate: str) -> RoleColumns:
    """Build the input layout of a peasant from the seats of the landlord and of the other peasant."""
    played = f"played_{landlord}", f"played_{mate}"
    cards = ("hand", "others", *played, "target", f"last_{landlord}", f"last_{mate}")
    return RoleColumns(name, cards, ((f"cards_left_{landlord}", _LANDLORD_HAND), (f"cards_left_{mate}", _PEASANT_HAND)))


POSITIONS = (
    RoleColumns(
        "landlord",
        ("hand", "others", "target", "played_previous", "played_next"),
        (("cards_left_previous", _PEASANT_HAND), ("cards_left_next", _PEASANT_HAND)),
    ),
    _peasant_columns("landlord_down", landlord="previous", mate="next"),
    _peasant_columns("landlord_up", landlord="next", mate="previous"),
)
"""The roles, in the order of :data:`ddz_env.core.view.ROLES`."""

_ROLE = OBSERVATION.offsets["role"]
_HISTORY = OBSERVATION.offsets["move_1"]
_NEEDS = np.array([group.need for group in MAIN_GROUPS], np.int8)


def card_columns(counts: Bytes) -> Floats:
    """Encode card sets as 54 inputs: four per rank, the first ``n`` set for ``n`` cards, and one per joker.

    Args:
        counts: Cards of each rank, shape ``[..., 15]``, int8.

    Returns:
        Shape ``[..., 54]``, float32.
    """
    columns = np.empty((*counts.shape[:-1], CARDS), np.float32)
    suited = counts[..., :_SUITED, None] > np.arange(_COPIES)
    columns[..., : _SUITED * _COPIES] = suited.reshape(*counts.shape[:-1], -1)
    columns[..., _SUITED * _COPIES :] = counts[..., _SUITED:]
    return columns


def find_roles(observations: Bytes) -> npt.NDArray[np.intp]:
    """Return each observer's role as an index into :data:`POSITIONS`, or 0 before there is a landlord.

    Args:
        observations: Shape ``[n, OBSERVATION_SIZE]``, int8.

    Returns:
        Shape ``[n]``.
    """
    roles: npt.NDArray[np.intp] = observations[:, _ROLE : _ROLE + len(ROLES)].argmax(axis=1)
    return roles


def state_columns(observations: Bytes, position: RoleColumns) -> Floats:
    """Encode the state that a role's network reads besides the move history and the candidate move.

    Args:
        observations: Of that role, shape ``[n, OBSERVATION_SIZE]``, int8.
        position: The role.

    Returns:
        Shape ``[n, position.columns]``, float32.
    """
    parts = OBSERVATION.split(observations)
    parts["others"] = parts["unseen"] + parts["hand_next"] + parts["hand_previous"]  # the last two in open games only
    cards = card_columns(np.stack([parts[name] for name in position.cards], axis=1))
    sizes = [_one_hot(parts[name] - 1, most) for name, most in position.sizes]
    return np.hstack([cards.reshape(len(observations), -1), *sizes, _one_hot(parts["bombs"], _MOST_BOMBS)])


def _one_hot(values: Bytes, size: int) -> Floats:
    """Encode numbers of shape ``[n, 1]`` as one-hot vectors of shape ``[n, size]``."""
    columns: Floats = (values == np.arange(size)).astype(np.float32)
    return columns


def history_columns(observations: Bytes) -> Floats:
    """Encode the last fifteen moves for the LSTM, oldest first and three per time step, padded with zeros.

    Args:
        observations: Shape ``[n, OBSERVATION_SIZE]``, int8.

    Returns:
        Shape ``[n, 5, 162]``, float32.
    """
    moves = observations[:, _HISTORY:_ROLE].reshape(len(observations), HISTORY, NUM_RANKS + 1)[:, ::-1]
    return card_columns(moves[..., :NUM_RANKS]).reshape(len(observations), ROUNDS, ROUND_COLUMNS)


def move_columns(mains: npt.NDArray[np.uint64], kickers: npt.NDArray[np.uint64]) -> Floats:
    """Encode complete moves as the cards that they play, without marking which of them are kickers.

    Args:
        mains: Action ids of the main groups, shape ``[m]``, uint64.
        kickers: Their kickers as hands of the engine, shape ``[m]``, uint64.

    Returns:
        Shape ``[m, 54]``, float32.
    """
    bits = np.unpackbits(kickers.astype("<u8").view(np.uint8), bitorder="little")
    copies = bits.reshape(len(kickers), _COPIES, -1)[..., :NUM_RANKS]
    return card_columns(_NEEDS[mains.astype(np.intp)] + copies.sum(axis=1, dtype=np.int8))
