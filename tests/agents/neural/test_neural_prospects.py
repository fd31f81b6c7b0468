"""Prospects of hands: what the decomposition says, as columns."""

from __future__ import annotations

import numpy as np
import pytest

from ddz_agents.neural.features import MOST_LOSERS, MOST_MOVES, PROSPECTS, put_prospects, weigh_pool
from ddz_agents.rules.scratch import new_rule_scratch
from ddz_env import Rules
from ddz_env.core.notation import Hand, counts_to_word


def prospects(hand: str, pool: str, most: int = 20) -> tuple[int, int, float]:
    """Moves that can be beaten, all moves, and the price column of a hand."""
    mind, out = new_rule_scratch(), np.zeros(PROSPECTS, np.float32)
    weigh_pool(np.uint64(counts_to_word(Hand.parse(pool).counts)), np.uint64(most), mind)
    assert put_prospects(np.uint64(counts_to_word(Hand.parse(hand).counts)), Rules().words(), mind, out, 0) == PROSPECTS
    losers, moves = out[:MOST_LOSERS], out[MOST_LOSERS : MOST_LOSERS + MOST_MOVES]
    for thresholds in (losers, moves):  # once a threshold is missed, so are all above it
        assert (np.diff(thresholds) <= 0).all()
    return int(losers.sum()), int(moves.sum()), float(out[MOST_LOSERS + MOST_MOVES])


@pytest.mark.parametrize(
    ("hand", "pool", "losers", "moves"),
    [
        ("2", "AAKK", 0, 1),  # nothing beats a two once both jokers are out
        ("2", "AAKKB", 1, 1),
        ("34567", "456789", 1, 1),
        ("34567", "33KKAA", 0, 1),  # no chain is left to beat it
        ("333444", "555", 0, 1),  # one trio beats no plane
        ("34579", "KKK", 5, 5),
        ("3335", "KKK", 1, 1),  # the five rides along
    ],
)
def test_moves_and_those_that_can_be_beaten_are_counted(hand: str, pool: str, losers: int, moves: int) -> None:
    assert prospects(hand, pool)[:2] == (losers, moves)


def test_a_chain_longer_than_any_hand_of_the_others_cannot_be_beaten() -> None:
    assert prospects("34567", "456789", most=5)[0] == 1
    assert prospects("34567", "456789", most=4)[0] == 0


def test_better_hands_cost_less() -> None:
    pool = "44556677889TTJJQQKK22"
    prices = [prospects(hand, pool)[2] for hand in ("2222", "AA", "33", "3468")]
    assert prices == sorted(prices)
    assert len(set(prices)) == 4
