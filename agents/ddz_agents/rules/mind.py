"""What a rule player knows and remembers: its prices, the legal actions, and what it sees around the table.

Only what the seat may know is read (its own hand, the cards played, the hand sizes, the landlord and the target).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_agents.rules.scratch import PRICES, SEGMENTS_END, Scratch, new_scratch
from ddz_env.core.engine.compiling import inline_kernel, pure_kernel
from ddz_env.core.engine.layout import HANDS, LANDLORD, PLAYED, SEAT, SIZES
from ddz_env.core.engine.step import next_seat
from ddz_env.core.engine.tables import MASK_WORDS
from ddz_env.core.engine.words import BYTE, JOKERS, U0, U1, U2, U3, U4, U6, U8, U16, U63, popcount, remove_hand
from ddz_env.core.rules import R_BOMBS, R_DECK, R_PLAYERS


class Mind(NamedTuple):
    """The memory of one rule player.

    Attributes:
        value: The decomposition that values a hand.
        sure: The decomposition that counts the moves that can be beaten: a beatable move costs 100, others 1.
        beaten: How easily each main group is beaten, 0 (a control) to 100, by segment and lowest rank, int64.
        mask: Legal actions, shape ``[MASK_WORDS]``, uint64.
        about: What the seat knows, uint64: see the ``A_`` indexes; the two words from ``A_PLAN`` on are a plan.
    """

    value: Scratch
    sure: Scratch
    beaten: npt.NDArray[np.int64]
    mask: npt.NDArray[np.uint64]
    about: npt.NDArray[np.uint64]


A_HAND, A_POOL, A_SEAT, A_ENEMY_CARDS, A_FEWEST, A_NEXT_ENEMY, A_PARTNER_CARDS, A_BOMB_RISK, A_PLAN = range(9)


def new_mind() -> Mind:
    """Memory for one thread."""
    value = new_scratch()
    return Mind(
        value=value,
        sure=Scratch(value.price.copy(), value.memory),  # one search at a time: the memory is shared
        beaten=np.zeros(SEGMENTS_END * PRICES, np.int64),
        mask=np.zeros(MASK_WORDS, np.uint64),
        about=np.zeros(A_PLAN + 2, np.uint64),
    )


@inline_kernel
def size_of(row: np.ndarray, seat: np.uint64) -> np.uint64:
    """Cards in a seat's hand, from a view or a full row."""
    if row[SIZES] != U0:
        return (row[SIZES] >> (U8 * seat)) & BYTE
    return popcount(row[HANDS + np.int64(seat)])


@inline_kernel
def is_enemy(row: np.ndarray, seat: np.uint64, other: np.uint64) -> bool:
    """Whether two seats are on different sides (before there is a landlord everybody is an enemy)."""
    landlord = row[LANDLORD]
    return other != seat and (landlord >= U3 or seat == landlord or other == landlord)


@pure_kernel
def look_around(row: np.ndarray, rules: np.ndarray, mind: Mind) -> None:
    """Write what the acting seat knows into ``mind.about``; reads nothing that it does not know."""
    seat = row[SEAT]
    hand = row[HANDS + np.int64(seat)]
    pool = remove_hand(rules[R_DECK], hand)
    most, fewest, partner = U0, np.uint64(99), U0
    other = U0
    while other < rules[R_PLAYERS]:
        pool = remove_hand(pool, row[PLAYED + np.int64(other)])
        size = size_of(row, other)
        if other == seat:
            pass
        elif is_enemy(row, seat, other):
            most, fewest = max(most, size), min(fewest, size)
        else:
            partner = size
        other += U1
    about = mind.about
    about[A_HAND], about[A_POOL], about[A_SEAT] = hand, pool, seat
    about[A_ENEMY_CARDS], about[A_FEWEST], about[A_PARTNER_CARDS] = most, fewest, partner
    following = next_seat(seat, rules)
    about[A_NEXT_ENEMY] = size_of(row, following) if is_enemy(row, seat, following) else U0
    quads = pool >> (U3 * U16) if rules[R_BOMBS] == U1 and most >= U4 else U0
    about[A_BOMB_RISK] = U1 if quads != U0 or ((pool & JOKERS) == JOKERS and most >= U2) else U0


@inline_kernel
def may_play(mind: Mind, main: np.uint64) -> bool:
    """Whether a main group is legal."""
    return ((mind.mask[main >> U6] >> (main & U63)) & U1) == U1
