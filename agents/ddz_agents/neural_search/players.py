"""What the seats of a search are expected to play: a prior over moves, or the very move of a seat that is recognized.

What a hidden hand may do differs from one determinization to the next, and so does its prior.  A node is evaluated
again whenever a determinization brings moves that it does not have yet, and a move's prior is the mean over the
evaluations in which it was legal, each in units of a uniform choice: hands with few and with many moves weigh alike.

Hand inference weighs how likely each kind of player makes every move.  Of the kinds, two say what they play next: the
policy, and the rule agent.  Where a seat is clearly the latter rather than the former, its next move is known in every
determinization, in the tree and when the policy plays on from a leaf.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_agents.rules.rules import next_action
from ddz_agents.rules.scratch import RuleWorkspace, new_rule_workspace
from ddz_agents.rules.weights import WEIGHTS
from ddz_agents.tree_search.tree import FULL, Tree, add_child, child_of
from ddz_agents.worlds.determinize import Words
from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.engine import layout as at
from ddz_env.core.engine.legal import count_legal, legal_mask, marked, nth_legal
from ddz_env.core.engine.step import apply_and_record
from ddz_env.core.engine.words import U0, U1
from ddz_env.support.compiling import inline_kernel, pure_kernel

_PRIOR_STEPS = np.float32(4096.0)
"""Priors are rounded to such a fraction, so that equal ones tie."""
RECOGNIZED = 0.6
"""How likely the rule agent must be, where a seat is that or the policy.

Half is where every seat begins.  In 24 games each, 10 % of the decisions against the policy and 63 % of those against
the rule agent were above this; to draw the kind for each world by its chance cost more against the policy."""


class RecognizedSeats(NamedTuple):
    """What is known of the other seats.

    Attributes:
        plays_rules: 1 for a seat that is the rule agent, 0 for any other, shape ``[3]``, uint8.
        workspace: The rule agent's memory.
        plan: Its plan of the move in progress, shape ``[2]``, uint64 (:func:`ddz_agents.rules.rules.next_action`).
    """

    plays_rules: npt.NDArray[np.uint8]
    workspace: RuleWorkspace
    plan: Words


def none_recognized() -> RecognizedSeats:
    """No seat is recognized."""
    return RecognizedSeats(np.zeros(3, np.uint8), new_rule_workspace(), np.zeros(2, np.uint64))


def recognized(kinds: npt.NDArray[np.float64], policy: int, rule_agent: int, seat: int) -> npt.NDArray[np.uint8]:
    """Which seats are the rule agent, shape ``[3]``, uint8; never the searcher's own.

    Args:
        kinds: How likely each seat is each kind, shape ``[kinds, 3]``.
        policy: Which of the kinds is the policy.
        rule_agent: Which is the rule agent.
        seat: The searcher's seat.
    """
    plays_rules = kinds[rule_agent] > RECOGNIZED * (kinds[rule_agent] + kinds[policy])
    plays_rules[seat] = False
    return plays_rules.astype(np.uint8)


@inline_kernel
def known_action(row: np.ndarray, rules: np.ndarray, mask: np.ndarray, opponents: RecognizedSeats) -> np.uint64:
    """What the rule agent plays; the first legal action where it has no answer.

    Args:
        row: A full row, not over.
        rules: The rules array.
        mask: The legal actions of the seat to act.
        opponents: Whose memory is used.
    """
    opponents.plan[0] = U0  # of another game, perhaps
    action = next_action(row, rules, opponents.workspace, WEIGHTS, opponents.plan)
    return action if marked(mask, action) else nth_legal(mask, U0)


@inline_kernel
def skip_known(
    row: np.ndarray, ring: np.ndarray, rules: np.ndarray, mask: np.ndarray, opponents: RecognizedSeats
) -> bool:
    """Play what is forced and what recognized seats play; whether anybody is left to decide."""
    while row[at.STAGE] != at.STAGE_OVER:
        legal_mask(row, rules, mask)
        if count_legal(mask) == U1:
            action = nth_legal(mask, U0)
        elif opponents.plays_rules[row[at.SEAT]]:
            action = known_action(row, rules, mask, opponents)
        else:
            return True
        apply_and_record(row, ring, action, rules)
    return False


@pure_kernel
def learn_prior(tree: Tree, node: int, log_probabilities: np.ndarray) -> bool:
    """Enter the prior of one evaluation of a node, as the mean over those in which an action was legal.

    Args:
        tree: The tree.
        node: The node; actions that it has no child for get one, without visits.
        log_probabilities: Shape ``[400]``, float32, minus infinity where an action is not legal.

    Returns:
        Whether there was room.
    """
    legal = np.float32(0.0)
    for action in range(NUM_ACTIONS):
        legal += np.float32(log_probabilities[action] > -np.inf)
    for action in range(NUM_ACTIONS):
        if log_probabilities[action] == -np.inf:
            continue
        weight = np.float32(np.round(math.exp(log_probabilities[action]) * legal * _PRIOR_STEPS) / _PRIOR_STEPS)
        record = child_of(tree, node, action)
        if record >= 0:
            tree.evaluations[record] += 1
            tree.prior[record] += (weight - tree.prior[record]) / np.float32(tree.evaluations[record])
            continue
        record = add_child(tree, node, np.uint64(action))
        if record == FULL:
            return False
        tree.prior[record], tree.evaluations[record] = weight, 1
    return True


@inline_kernel
def take_known(tree: Tree, node: int, action: np.uint64) -> int:
    """The record of an action that needs no choice, made if there is none yet."""
    record = child_of(tree, node, np.int64(action))
    if record < 0:
        record = np.int64(add_child(tree, node, action))
        tree.evaluations[record] = 1
    return record
