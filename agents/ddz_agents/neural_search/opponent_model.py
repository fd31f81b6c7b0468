"""Seats that have shown themselves to be the rule agent: there neither policy nor tree has to guess.

Hand inference weighs how likely each kind of player makes every move.  Of the kinds, two say what they play next:
the policy, and the rule agent.  Where a seat is clearly the latter rather than the former, its next move is known in
every determinization, in the tree and when the policy plays on from a leaf.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_agents.rules.rules import next_action
from ddz_agents.rules.scratch import A_PLAN, RuleScratch, new_rule_scratch
from ddz_agents.rules.weights import WEIGHTS
from ddz_env.core.engine.compiling import inline_kernel
from ddz_env.core.engine.layout import SEAT, STAGE, STAGE_OVER
from ddz_env.core.engine.legal import count_legal, legal_mask, nth_legal
from ddz_env.core.engine.step import apply_and_record
from ddz_env.core.engine.words import U0, U1, U6, U63

RECOGNIZED = 0.6
"""How likely the rule agent must be, where a seat is that or the policy.

Half is where every seat begins.  In 24 games each, 10 % of the decisions against the policy and 63 % of those against
the rule agent were above this; to draw the kind for each world by its chance cost more against the policy."""


class RecognizedSeats(NamedTuple):
    """What is known of the other seats.

    Attributes:
        faithful: 1 for a seat that is the rule agent, 0 for any other, shape ``[3]``, uint8.
        mind: Memory to ask the rule agent with.
    """

    faithful: npt.NDArray[np.uint8]
    mind: RuleScratch


def none_recognized() -> RecognizedSeats:
    """No seat is recognized."""
    return RecognizedSeats(np.zeros(3, np.uint8), new_rule_scratch())


def recognized(kinds: npt.NDArray[np.float64], policy: int, rule_agent: int, seat: int) -> npt.NDArray[np.uint8]:
    """Which seats are the rule agent, shape ``[3]``, uint8; never the searcher's own.

    Args:
        kinds: How likely each seat is each kind, shape ``[kinds, 3]``.
        policy: Which of the kinds is the policy.
        rule_agent: Which is the rule agent.
        seat: The searcher's seat.
    """
    faithful = kinds[rule_agent] > RECOGNIZED * (kinds[rule_agent] + kinds[policy])
    faithful[seat] = False
    return faithful.astype(np.uint8)


@inline_kernel
def known_action(row: np.ndarray, rules: np.ndarray, mask: np.ndarray, opponents: RecognizedSeats) -> np.uint64:
    """What the rule agent plays; the first legal action where it has no answer.

    Args:
        row: A full row, not over.
        rules: The rules array.
        mask: The legal actions of the seat to act.
        opponents: Whose memory is used.
    """
    plan = opponents.mind.about[A_PLAN:]
    plan[0] = U0  # of another game, perhaps
    action = next_action(row, rules, opponents.mind, WEIGHTS, plan)
    legal = (mask[action >> U6] >> (action & U63)) & U1
    return action if legal == U1 else nth_legal(mask, U0)


@inline_kernel
def skip_known(
    row: np.ndarray, ring: np.ndarray, rules: np.ndarray, mask: np.ndarray, opponents: RecognizedSeats
) -> bool:
    """Play what is forced and what recognized seats play; whether anybody is left to decide."""
    while row[STAGE] != STAGE_OVER:
        legal_mask(row, rules, mask)
        if count_legal(mask) == U1:
            action = nth_legal(mask, U0)
        elif opponents.faithful[row[SEAT]]:
            action = known_action(row, rules, mask, opponents)
        else:
            return True
        apply_and_record(row, ring, action, rules)
    return False
