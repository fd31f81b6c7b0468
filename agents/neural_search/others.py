"""Seats that play as the rule agent, as far as their moves tell: there neither policy nor tree has to guess.

Hand inference asks of every move how likely each kind of player makes it.  Of the kinds, two say what they play next:
the policy, and the rule agent.  A seat is in each determinization one of them, drawn by how likely it is each; where it
is the rule agent, its moves are known, in the tree and when the policy plays on from a leaf.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from agents.mcts.simulate_rules import guided_action
from agents.rule_agent.mind import Mind, new_mind
from ddz_env.engine.compiling import inline_kernel
from ddz_env.engine.layout import RNG, SEAT, STAGE, STAGE_OVER
from ddz_env.engine.legal import count_legal, legal_mask, nth_legal
from ddz_env.engine.random import key
from ddz_env.engine.step import apply_and_record
from ddz_env.engine.words import U0, U1, U6, U63

_UNIT = 2.0**-64


class Others(NamedTuple):
    """What is known of the other seats.

    Attributes:
        chances: How likely each seat is the rule agent where it is that or the policy, shape ``[3]``, float64.
        mind: Memory to ask the rule agent with.
    """

    chances: npt.NDArray[np.float64]
    mind: Mind


def nobody() -> Others:
    """Every seat plays as the policy."""
    return Others(np.zeros(3), new_mind())


def rule_chances(kinds: npt.NDArray[np.float64], policy: int, rule_agent: int, seat: int) -> npt.NDArray[np.float64]:
    """How likely each seat is the rule agent where it is that or the policy, shape ``[3]``; 0 for the searcher's own.

    Args:
        kinds: How likely each seat is each kind, shape ``[kinds, 3]``.
        policy: Which of the kinds is the policy.
        rule_agent: Which is the rule agent.
        seat: The searcher's seat.
    """
    chances = kinds[rule_agent] / (kinds[rule_agent] + kinds[policy])
    chances[seat] = 0.0
    return np.asarray(chances)


@inline_kernel
def plays_rules(row: np.ndarray, others: Others) -> bool:
    """Whether the seat to act is the rule agent in this determinization, whose number its generator keeps.

    Args:
        row: A full row, drawn by :func:`agents.worlds.determinize.draw_world`.
        others: What is known.
    """
    chance = others.chances[row[SEAT]]
    return chance > 0.0 and np.float64(key(row[RNG], row[SEAT])) * _UNIT < chance


@inline_kernel
def known_action(row: np.ndarray, rules: np.ndarray, mask: np.ndarray, others: Others) -> np.uint64:
    """What the rule agent plays; the first legal action where it has no answer.

    Args:
        row: A full row, not over.
        rules: The rules array.
        mask: The legal actions of the seat to act.
        others: Whose memory is used.
    """
    action = guided_action(row, rules, others.mind)
    legal = (mask[action >> U6] >> (action & U63)) & U1
    return action if legal == U1 else nth_legal(mask, U0)


@inline_kernel
def skip_known(row: np.ndarray, ring: np.ndarray, rules: np.ndarray, mask: np.ndarray, others: Others) -> bool:
    """Play what is forced and what seats play that are the rule agent; whether anybody is left to decide."""
    while row[STAGE] != STAGE_OVER:
        legal_mask(row, rules, mask)
        if count_legal(mask) == U1:
            action = nth_legal(mask, U0)
        elif plays_rules(row, others):
            action = known_action(row, rules, mask, others)
        else:
            return True
        apply_and_record(row, ring, action, rules)
    return False
