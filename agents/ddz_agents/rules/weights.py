"""The default weights of the rule agent, and the weights found by tuning."""

from __future__ import annotations

import numpy as np

# Indexes of the weights, all in hundredths of a trick.
BASE_SOLO, SLOPE_SOLO, BASE_PAIR, SLOPE_PAIR, BASE_TRIO, SLOPE_TRIO, BASE_CHAIN, SLOPE_CHAIN = range(8)
BOMB, ROCKET, QUAD, STEP_PAIR, STEP_TRIO, STEP_CHAIN, STEP_PAIR_CHAIN, STEP_PLANE = range(8, 16)
LEAD_CARD, LEAD_HOLD, FOLLOW_HOLD, FOLLOW_NEED, FOLLOW_URGENT, BOMB_NEED, BOMB_URGENT = range(16, 23)
PARTNER_NEED, PARTNER_WEAK, PARTNER_UP, HELPER, LEAD_DANGER, CONTROL = range(23, 29)
LEAD_SOLO, LEAD_PAIR, LEAD_TRIO, TEAM = range(29, 33)

WEIGHTS, TUNED_LANDLORD, TUNED_PEASANTS = np.array(
    [
        *((0, 0, -9), (161, 178, 161)),  # solo: price of a control, and what being beaten by everything adds
        *((-22, -20, -21), (181, 175, 181)),  # pair
        *((0, 0, -2), (200, 200, 203)),  # trio
        *((8, 9, 8), (200, 179, 176)),  # chain, pair chain, plane
        *((-204, -243, -204), (-51, -51, -46), (100, 100, 93)),  # bomb, rocket, quad with kickers
        # per cent: each higher group unseen against a pair, trio, chain, pair chain, plane
        *((10, 10, 10), (10, 10, 10), (13, 9, 13), (16, 16, 16), (8, 8, 9)),
        *((0, 0, 0), (40, 28, 40)),  # lead: for each card, against a move that is beaten
        # follow: for a move that holds, least gain, less of it when the enemy has few cards
        *((60, 60, 77), (-29, -28, -29), (50, 34, 50)),
        *((69, 69, 69), (63, 63, 69)),  # the last two for bombs
        # least gain over the partner, less over a weak card, less still before the landlord
        *((108, 108, 108), (85, 85, 85), (18, 18, 18)),
        (20, 20, 20),  # more where the partner still acts in the trick
        (264, 179, 332),  # against a move with which the enemy could go out
        (-18, -43, -15),  # what an unbeatable move is worth besides
        *((0, -13, 5), (-1, 0, -11), (2, 7, 1)),  # lead: for solos, pairs, trios
        (0, 0, 4),  # lead: for a move with which the partner could go out
    ],
    np.int64,
).T.copy()
"""The weights of ``rules``, and of ``rules-tuned`` as landlord and as a peasant.

Those of ``rules`` were climbed to by hand-made steps and 14 minutes of random ones, on self-play and against a compiled
copy of RLCard's rule model, on other deals than those that strengths are reported on.  Scales and policies refer to
them, so they stay.  The tuned ones are what beam search from them found on deals of its own (``ddz reproduce tuning``).
"""
