"""The weights of the rule agent."""

from __future__ import annotations

import numpy as np

# Indexes of the weights, all in hundredths of a trick.
W_BASE_SOLO, W_SLOPE_SOLO = 0, 1
W_BASE_PAIR, W_SLOPE_PAIR = 2, 3
W_BASE_TRIO, W_SLOPE_TRIO = 4, 5
W_BASE_CHAIN, W_SLOPE_CHAIN = 6, 7
W_BOMB, W_ROCKET, W_QUAD = 8, 9, 10
W_STEP_PAIR, W_STEP_TRIO, W_STEP_CHAIN, W_STEP_PAIR_CHAIN, W_STEP_PLANE = 11, 12, 13, 14, 15
W_LEAD_CARD, W_LEAD_HOLD = 16, 17
W_FOLLOW_HOLD, W_FOLLOW_NEED, W_FOLLOW_URGENT = 18, 19, 20
W_BOMB_NEED, W_BOMB_URGENT = 21, 22
W_PARTNER_NEED, W_PARTNER_WEAK, W_PARTNER_UP = 23, 24, 25
W_HELPER = 26
W_LEAD_DANGER = 27
W_CONTROL = 28
W_LEAD_SOLO, W_LEAD_PAIR, W_LEAD_TRIO = 29, 30, 31
W_TEAM = 32

WEIGHTS = np.array(
    [
        *(0, 161),  # solo: price of a control, and what being beaten by everything adds
        *(-22, 181),  # pair
        *(0, 200),  # trio
        *(8, 200),  # chain, pair chain, plane
        *(-204, -51, 100),  # bomb, rocket, quad with kickers
        *(10, 10, 13, 16, 8),  # per cent: each higher group unseen against a pair, trio, chain, pair chain, plane
        *(0, 40),  # lead: for each card, against a move that is beaten
        *(60, -29, 50),  # follow: for a move that holds, least gain, less of it when the enemy has few cards
        *(69, 63),  # the same two for bombs
        *(108, 85, 18),  # least gain over the partner, less over a weak card, less still before the landlord
        20,  # more where the partner still acts in the trick
        264,  # against a move with which the enemy could go out
        -18,  # what an unbeatable move is worth besides
        *(0, -1, 2),  # lead: for solos, pairs, trios
        0,  # lead: for a move with which the partner could go out
    ],
    np.int64,
)
"""The weights, climbed to by hand-made steps and 14 minutes of random ones, on self-play and against a compiled copy of
RLCard's rule model, on other deals than those that strengths are reported on."""
