"""What infos hold: the same keys from the first step on, and a number under each, so that every library can stack them.

``infos="text"`` asks for words where people read along.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.checks import check_choice
from ddz_env.core.engine.compiling import pure_kernel
from ddz_env.core.engine.layout import HISTORY_MOVES, MOVES, SEAT, STAGE, STAGE_KICKER, STAGE_PLAY
from ddz_env.core.engine.words import U0, U1, U16
from ddz_env.core.notation import move_text
from ddz_env.core.rules import R_PLAYERS
from ddz_env.core.view import ROLES, STAGE_NAMES, seat_role

KINDS = ("numbers", "text")

_NUMBERS = (*(np.int64(number) for number in range(NUM_ACTIONS)), np.int64(-1))
"""Every number that an info can hold at its own index (-1 is the last): making one takes longer than finding it."""

_MAIN_BITS = np.uint64(0xFFFF)
_RING_SLOTS = np.uint64(HISTORY_MOVES)


class Info(NamedTuple):
    """One entry of an info.

    Attributes:
        key: Its name.
        numbers: The values of ``infos="numbers"``.
        text_key: Its name under ``infos="text"``.
        text: The values there.
        meaning: What it says.
    """

    key: str
    numbers: str
    text_key: str
    text: str
    meaning: str


def _numbered(names: tuple[str, ...]) -> str:
    return ", ".join(f"{number} {name}" for number, name in enumerate(names))


INFOS = (
    Info("seat", "0..2", "seat", "the same number", "the seat that the info is for"),
    Info("role", f"{_numbered(ROLES)}, 3 none yet", "role", "its name; empty: none yet", "its role"),
    Info("stage", _numbered(STAGE_NAMES), "stage", "its name", "the stage, as this seat sees it"),
    Info("last_action", "0..399; -1 none yet", "last_move", "in notation, with kickers; empty", "the last whole move"),
    Info("last_player", "0..2; -1 nobody yet", "last_player", "`player_0` ...; empty", "the seat that made it"),
)
"""What every info holds, in the order of the arrays below; the docs page is generated from it."""

KEYS = tuple(info.key for info in INFOS)
STAGE_COLUMN = KEYS.index("stage")
TEXT_KEYS = tuple(info.text_key for info in INFOS)

WIDTH = len(KEYS) + 1
"""Of the arrays that kernels write: a number for each key, and the cards of the last move, which its text needs."""


@pure_kernel
def write_info(row: np.ndarray, ring: np.ndarray, rules: np.ndarray, seat: np.uint64, out: np.ndarray) -> None:
    """Write the info of one seat.

    Args:
        row: The game, shape ``[32]``, uint64.
        ring: The recent moves, shape ``[16, 2]``, uint64.
        rules: The rules array.
        seat: For whom.
        out: Output, shape ``[WIDTH]``, int64.
    """
    stage = row[STAGE]
    if stage == STAGE_KICKER and seat != row[SEAT]:
        stage = np.uint64(STAGE_PLAY)  # the half-built move of another seat is not on the table yet
    out[0] = np.int64(seat)
    out[1] = seat_role(row, seat, rules)
    out[2] = np.int64(stage)
    out[3] = out[4] = -1
    if row[MOVES] > U0:
        cards, packed = ring[np.int64((row[MOVES] - U1) % _RING_SLOTS)]
        out[3] = np.int64(packed & _MAIN_BITS)
        out[4] = np.int64(packed >> U16)
        out[5] = np.int64(cards)


@pure_kernel
def write_infos(row: np.ndarray, ring: np.ndarray, rules: np.ndarray, out: np.ndarray) -> None:
    """Write the infos of all seats, shape ``[players, WIDTH]``, int64; other arguments as :func:`write_info`."""
    for seat in range(np.int64(rules[R_PLAYERS])):
        write_info(row, ring, rules, np.uint64(seat), out[seat])


def check_infos(infos: str) -> bool:
    """Whether an environment's infos are texts.

    Raises:
        InvalidOptionError: If the choice is unknown.
    """
    return check_choice("infos", infos, KINDS) == "text"


def as_infos(written: list[list[int]], *, text: bool) -> list[dict[str, Any]]:
    """Infos as environments return them.

    Args:
        written: What :func:`write_info` wrote, one list each.
        text: Whether to put them into words.

    Returns:
        For each an ``np.int64`` under each of :data:`KEYS`, or words under :data:`TEXT_KEYS`.
    """
    if text:
        return [_in_words(*one) for one in written]
    # Spelled out, because it is done for every seat at every step.
    return [
        {
            "seat": _NUMBERS[seat],
            "role": _NUMBERS[role],
            "stage": _NUMBERS[stage],
            "last_action": _NUMBERS[action],
            "last_player": _NUMBERS[player],
        }
        for seat, role, stage, action, player, _ in written
    ]


def _in_words(seat: int, role: int, stage: int, action: int, player: int, cards: int) -> dict[str, Any]:
    move, mover = ("", "") if player < 0 else (move_text(action, cards), f"player_{player}")
    return dict(zip(TEXT_KEYS, (seat, (*ROLES, "")[role], STAGE_NAMES[stage], move, mover), strict=True))
