"""Every deal of Mini Dou Dizhu with its probability, and games of deterministic agents on them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ddz_agents.mini.agents import ExactAgent
from ddz_agents.mini.inference import History
from ddz_agents.mini.information_set import shares
from ddz_env.core.engine.deal import start_game
from ddz_env.core.engine.layout import HANDS, HIDDEN, ROW_WORDS, SEAT, STAGE, STAGE_OVER, WINNER
from ddz_env.core.engine.step import play_move
from ddz_env.core.engine.words import remove_hand
from ddz_env.core.notation import Hand, counts_to_word
from ddz_env.core.rules import PRESETS

MINI = PRESETS["mini"]
TABLE_BITS = 21
"""Enough for the solvers to hold most of Mini (48 MB each)."""


@dataclass(frozen=True, eq=False)
class MiniDeal:
    """One of the 8,832 deals.

    Attributes:
        number: Its number, by player 1's hand and then by player 2's.
        row: The game before the first move, shape ``[32]``, uint64, read-only.
        probability: The probability of being dealt it.
    """

    number: int
    row: npt.NDArray[np.uint64]
    probability: float

    @property
    def hand(self) -> str:
        """Player 1's hand."""
        return str(Hand.from_word(int(self.row[HANDS])))


@functools.cache
def mini_deals() -> tuple[MiniDeal, ...]:
    """All deals; their probabilities add up to one."""
    words, deck = MINI.words(), np.uint64(counts_to_word(MINI.deck))
    dealt = shares(MINI.deck, (MINI.hand_size, MINI.hand_size))
    total = sum(count for _, count in dealt)
    deals = []
    for number, ((one, two), count) in enumerate(dealt):
        row = np.zeros(ROW_WORDS, np.uint64)
        row[HANDS], row[HANDS + 1] = one, two
        row[HIDDEN] = remove_hand(np.uint64(remove_hand(deck, np.uint64(one))), np.uint64(two))
        start_game(row, words)
        row.setflags(write=False)
        deals.append(MiniDeal(number, row, count / total))
    return tuple(deals)


def play_exact(deal: MiniDeal, agents: Sequence[ExactAgent]) -> tuple[int, History]:
    """Play a deal with one exact agent a seat.

    Returns:
        The winning seat and the moves.
    """
    row, words = deal.row.copy(), MINI.words()
    story: History = ()
    while int(row[STAGE]) != STAGE_OVER:
        seat = int(row[SEAT])
        move = agents[seat].choose_in(row, story, MINI)
        play_move(row, np.uint64(move.main), np.uint64(0), words)
        story += ((seat, move),)
    return int(row[WINNER]) - 1, story
