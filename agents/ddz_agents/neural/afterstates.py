"""The hand that each legal action leaves: thresholds and prospects, for every pair of observation and action.

How well the rest can be played out is the same question after every action.  Finding prospects is most of the work of
describing (two searches a hand), so what they depend on, two numbers a pair, can be kept and handed in again: training
describes every decision when it is made and again when it is learned from.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_agents.neural.columns import (
    HAND,
    KICKERS,
    PENDING,
    READING_RULES,
    REST_COLUMNS,
    REST_INPUTS,
    weigh_unseen,
)
from ddz_agents.neural.features import HAND_VALUES, hand_word, put_hand_values, put_planes, value_hand
from ddz_agents.neural.model import Bytes, Floats
from ddz_agents.rules.scratch import RuleScratch, new_rule_scratch
from ddz_env.core.actions import BID_BASE, KICKER_BASE, MAIN_GROUPS, NUM_ACTIONS
from ddz_env.core.cards import NUM_RANKS
from ddz_env.core.engine.compiling import inline_kernel, kernel
from ddz_env.core.observation import OBSERVATION

_AT = REST_INPUTS.at

KICKER_SIZE = OBSERVATION.offsets["kicker_size"]

HandValues = npt.NDArray[np.int16]
"""What prospects depend on, shape ``[hands, HAND_VALUES]``."""


def _spent_cards() -> Bytes:
    spent = np.zeros((2, NUM_ACTIONS, NUM_RANKS), np.int8)
    for group in MAIN_GROUPS:
        spent[:, group.id] = group.need
    for action in range(KICKER_BASE, BID_BASE):
        spent[:, action, action - KICKER_BASE] = (1, 2)
    return spent


SPENT = _spent_cards()
"""Cards that leave the hand by each action, for solo and for pair kickers, shape ``[2, 400, 15]``, int8."""


class Afterstates(NamedTuple):
    """The hand that each legal action of a batch leaves.

    Attributes:
        rows: The observation of each pair of observation and action, shape ``[pairs]``, int64, ascending.
        actions: The action, shape ``[pairs]``, int64, ascending within a row.
        columns: The hand that is left, shape ``[pairs, REST_COLUMNS]``, float32.
        hand_values: What its prospects depend on, shape ``[pairs, HAND_VALUES]``, int16.
    """

    rows: npt.NDArray[np.int64]
    actions: npt.NDArray[np.int64]
    columns: Floats
    hand_values: HandValues


def describe_afterstates(observations: Bytes, masks: Bytes, hand_values: HandValues | None = None) -> Afterstates:
    """The hand that each legal action leaves: a main group takes its body, a kicker its cards, the rest nothing.

    Args:
        observations: Shape ``[n, OBSERVATION_SIZE]``, int8.
        masks: Shape ``[n, 400]``, int8.
        hand_values: Those of an earlier description of the same observations, to save the searches.
    """
    pairs = int(np.count_nonzero(masks))
    found = Afterstates(
        np.empty(pairs, np.int64),
        np.empty(pairs, np.int64),
        np.empty((pairs, REST_COLUMNS), np.float32),
        np.empty((pairs, HAND_VALUES), np.int16) if hand_values is None else hand_values,
    )
    _describe_afterstates(observations, masks, hand_values is not None, READING_RULES, new_rule_scratch(), found)
    return found


@inline_kernel
def leave(values: np.ndarray, action: int, rest: np.ndarray) -> None:
    """Write the counts of the hand that an action leaves.

    Args:
        values: The observation, shape ``[OBSERVATION_SIZE]``, int8.
        action: A legal action.
        rest: Output, shape ``[15]``, int8.
    """
    size = 1 if values[KICKER_SIZE] == 2 else 0
    for rank in range(NUM_RANKS):
        taken = values[PENDING + rank] + values[KICKERS + rank] + SPENT[size, action, rank]
        rest[rank] = values[HAND + rank] - taken


@inline_kernel
def put_afterstate(rest: np.ndarray, sure: int, price: int, columns: np.ndarray) -> None:
    """Write the columns of a hand that is left: shape ``[REST_COLUMNS]``, float32."""
    put_planes(rest, 0, columns, _AT.rest)
    put_hand_values(sure, price, columns, _AT.prospects)


@kernel
def _describe_afterstates(
    observations: np.ndarray, masks: np.ndarray, known: bool, rules: np.ndarray, mind: RuleScratch, out: Afterstates
) -> None:
    """Describe what each legal action leaves; ``known``: whether the hand values are given."""
    pair = 0
    rest = np.empty(NUM_RANKS, np.int8)
    for index in range(observations.shape[0]):
        values = observations[index]
        if not known:
            weigh_unseen(values, mind)
        for action in range(NUM_ACTIONS):
            if masks[index, action] == 0:
                continue
            out.rows[pair], out.actions[pair] = index, action
            leave(values, action, rest)
            if not known:
                sure, price = value_hand(hand_word(rest, 0), rules, mind)
                out.hand_values[pair, 0], out.hand_values[pair, 1] = sure, price
            put_afterstate(rest, int(out.hand_values[pair, 0]), int(out.hand_values[pair, 1]), out.columns[pair])
            pair += 1
