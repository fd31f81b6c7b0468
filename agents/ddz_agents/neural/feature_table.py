"""Tables that list the inputs of each network in order, with a recipe for computing each input.

A table lists its inputs in order, and for each column what it is made of: a byte of the decision
(:mod:`ddz_agents.neural.decisions`) with a threshold or a scale, a chain, or a number about how a hand can be played
out.  All else follows from the tables: widths, the docs, the compiled code that reads them for play
(:mod:`ddz_agents.neural.sparse_inputs`), and the tensor operations for training on a GPU
(:mod:`ddz_agents.neural.tensor_columns`).

The mask of legal actions is not an input, it only says which actions have a probability: with it, imitation agreed with
the rule agent in 92.7 % instead of 92.4 % of the decisions after 600,000 of them, and there were 400 columns more to
multiply.
"""

from __future__ import annotations

import functools
from collections import namedtuple
from collections.abc import Iterator
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from ddz_agents.neural import features
from ddz_agents.neural.model import Bytes
from ddz_env.core.actions import BID_BASE, KICKER_BASE, MAIN_GROUPS, NUM_ACTIONS
from ddz_env.core.cards import NUM_RANKS
from ddz_env.core.observation import CONCEALED, HISTORY, OBSERVATION
from ddz_env.core.rules import Rules

# --- Bytes of an observation and of what it conceals ------------------------------------------------------------------

MOST_CARDS = 20
"""The largest hand."""

HEAD = features.FIRST_MOVE
"""Bytes before the history."""

TAIL, TAIL_END = OBSERVATION.offsets["role"], OBSERVATION.offsets["over"] + 1
"""The bytes after the history; a feature that is added after them becomes an input of its own."""
"""The first byte after them."""

HAND, UNSEEN, TARGET, KEY, PENDING, KICKERS = (
    OBSERVATION.offsets[name] for name in ("hand", "unseen", "target", "target_key", "pending_body", "kickers")
)
KICKER_SIZE = OBSERVATION.offsets["kicker_size"]
LEFT_FIELDS = ("cards_left_self", "cards_left_next", "cards_left_previous")
_LEFT = np.array([OBSERVATION.offsets[name] for name in LEFT_FIELDS], np.int64)
_AFTER_PENDING = OBSERVATION.offsets["hand_next"]
_COUNTS = np.array([OBSERVATION.offsets[name] for name in ("bombs", "highest_bid", "passes")], np.int64)
_UNDEALT = CONCEALED.offsets["undealt"]


# Prospects are read under the rules that most presets share: a hand says much the same about itself under all of them.
FEATURE_RULES = Rules().words()

# --- The bytes of a decision ------------------------------------------------------------------------------------------


def _lay_out_fields(*fields: tuple[str, int]) -> tuple[dict[str, int], int]:
    """Return the byte offset of each named field and the total size in bytes, rounded up to a multiple of 8."""
    *starts, size = accumulate((count for _, count in fields), initial=0)
    return dict(zip((name for name, _ in fields), starts, strict=True)), -(-size // 8) * 8


DECISION_BYTES, DECISION_SIZE = _lay_out_fields(
    ("observation", OBSERVATION.size),
    ("concealed", CONCEALED.size),
    ("left", NUM_RANKS),  # the seat's own hand without what the move in progress has taken
    ("signs", features.SIGN_BYTES),  # features.write_pass_signs
    ("against_rules", 1),  # whether the rule agent is known to play the other side
)
"""Where the parts of a decision lie among its bytes, and how many there are: all that networks read of it, besides the
hand values (:mod:`ddz_agents.neural.decisions`)."""

_HIDDEN, _LEFT_HAND = DECISION_BYTES["concealed"], DECISION_BYTES["left"]
NEXT_CARDS, PREVIOUS_CARDS = (_HIDDEN + CONCEALED.offsets[name] for name in ("hand_next", "hand_previous"))
"""Where the hands of the other seats begin."""

OWN_HAND, OWN_HAND_IN_SIGHT, NEXT_HAND, PREVIOUS_HAND = range(4)
"""The hands of a decision whose prospects are read: the own one as the policy sees it, and three as the critic does."""

DECISION_HANDS = 4

# --- The tables -------------------------------------------------------------------------------------------------------

SCALED, AT_LEAST, CHAIN, PROSPECT = range(4)
"""What a column says: a byte, scaled; whether a byte reaches a threshold; whether the seat's own hand holds a chain; a
number about how a hand can be played out."""


class FeatureColumn(NamedTuple):
    """A recipe for computing one network input from the bytes of a decision.

    Attributes:
        kind: ``SCALED``, ``AT_LEAST``, ``CHAIN`` or ``PROSPECT``.
        source: The byte of a decision (for the hand that an action leaves, the rank); the number of the chain; the
            hand, ``OWN_HAND`` ...
        number: The scale; the threshold; nothing; which of the hand's prospects.
    """

    kind: int
    source: int
    number: float = 0.0


class FeatureGroup(NamedTuple):
    """A named group of inputs that a network reads together.

    Attributes:
        name: Its name in :attr:`FeatureTable.at`.
        meaning: What it says, for the docs.
        columns: Its columns.
    """

    name: str
    meaning: str
    columns: tuple[FeatureColumn, ...] = ()


def _scaled_bytes(first: int, stop: int) -> tuple[FeatureColumn, ...]:
    """Create one network input per byte of a range, scaled to a number between 0 and 1."""
    return tuple(FeatureColumn(SCALED, source, float(_SCALES[source])) for source in range(first, stop))


def _thresholds(source: int, most: int) -> tuple[FeatureColumn, ...]:
    return tuple(FeatureColumn(AT_LEAST, source, step) for step in range(1, most + 1))


def _planes(first: int) -> tuple[FeatureColumn, ...]:
    """Create an input per rank and threshold from fifteen card counts: whether at least 1, 2 ... cards are held."""
    return tuple(column for rank in range(NUM_RANKS) for column in _thresholds(first + rank, features.MOST_COPIES))


def _prospects(hand: int) -> tuple[FeatureColumn, ...]:
    return tuple(FeatureColumn(PROSPECT, hand, number) for number in range(features.PROSPECTS))


class FeatureTable:
    """All inputs that a network reads, in order, and the position at which each group begins.

    Args:
        *inputs: The table.

    Attributes:
        inputs: The table.
        columns: All columns in order.
        size: How many there are.
        at: The first column of each input by its name.
    """

    def __init__(self, *inputs: FeatureGroup) -> None:
        self.inputs = inputs
        self.columns = tuple(column for entry in inputs for column in entry.columns)
        *starts, self.size = accumulate((len(entry.columns) for entry in inputs), initial=0)
        at: Any = namedtuple("at", [entry.name for entry in inputs])  # type: ignore[misc]  # the names are data
        self.at: Any = at(*starts)

    def slice_of(self, name: str) -> slice:
        """Return the slice of input positions that a named group takes."""
        first = getattr(self.at, name)
        return slice(first, first + next(len(entry.columns) for entry in self.inputs if entry.name == name))

    def rows(self) -> Iterator[tuple[str, str, str]]:
        """Yield the name, the number of inputs and the meaning of each group, as strings for the documentation."""
        for name, meaning, columns in self.inputs:
            yield f"`{name}`", str(len(columns)), meaning


_SCALES = (1.0 / np.concatenate([OBSERVATION.high, CONCEALED.high])).astype(np.float32)
_SHARED_GROUPS = (
    FeatureGroup("target", "thresholds of the move to beat", _planes(TARGET)),
    FeatureGroup(
        "sizes",
        f"thresholds 1 to {MOST_CARDS} of the hand sizes of self, next, previous",
        tuple(column for byte in _LEFT.tolist() for column in _thresholds(byte, MOST_CARDS)),
    ),
    FeatureGroup("key", f"the rank to exceed: thresholds 1 to {NUM_RANKS}", _thresholds(KEY, NUM_RANKS)),
)


@functools.cache
def policy_inputs(history: int = HISTORY) -> FeatureTable:
    """Return the table of the inputs that a policy computes from an observation.

    Args:
        history: Completed moves that it sees, 0 to 15.
    """
    chains = tuple(FeatureColumn(CHAIN, number) for number in range(len(features.CHAINS)))
    signs = DECISION_BYTES["signs"]
    return FeatureTable(
        FeatureGroup("table", "the bytes of the observation before its history, scaled", _scaled_bytes(0, HEAD)),
        FeatureGroup(
            "history",
            "of each of the last moves, its bytes, scaled",
            _scaled_bytes(HEAD, HEAD + features.MOVE_BYTES * history),
        ),
        FeatureGroup(
            "state",
            "the bytes after the history, scaled: role, stage and the like",
            _scaled_bytes(TAIL, TAIL_END),
        ),
        FeatureGroup("hand", "thresholds of the seat's own hand, and each chain that it holds", _planes(HAND) + chains),
        FeatureGroup(
            "prospects",
            "prospects of the seat's own hand, without what the move in progress has taken",
            _prospects(OWN_HAND),
        ),
        FeatureGroup("unseen", "thresholds of the cards that no one shows", _planes(UNSEEN)),
        *_SHARED_GROUPS,
        FeatureGroup(
            "signs",
            "the lowest solo and pair of an enemy that each of the others let pass",
            tuple(
                FeatureColumn(AT_LEAST, signs + sign, NUM_RANKS - rank)
                for sign in range(features.SIGN_BYTES)
                for rank in range(NUM_RANKS)
            ),
        ),
    )


REST_INPUTS = FeatureTable(
    FeatureGroup("rest", "thresholds of the hand that the action leaves", _planes(0)),
    FeatureGroup("prospects", "its prospects", _prospects(OWN_HAND)),
)
"""What the policy reads of each legal action; the bytes are the counts of the hand that is left."""

CRITIC_INPUTS = FeatureTable(
    FeatureGroup(
        "counts",
        "bombs so far, the highest bid, passes in a row; scaled",
        tuple(column for byte in _COUNTS.tolist() for column in _scaled_bytes(byte, byte + 1)),
    ),
    FeatureGroup("half_built", "the bytes of the move in progress, scaled", _scaled_bytes(PENDING, _AFTER_PENDING)),
    FeatureGroup("state", "role, stage and the like, scaled", _scaled_bytes(TAIL, TAIL_END)),
    FeatureGroup(
        "undealt", "the cards that no seat holds, scaled", _scaled_bytes(_HIDDEN + _UNDEALT, _HIDDEN + CONCEALED.size)
    ),
    FeatureGroup(
        "own", "thresholds of the seat's own hand, without what the move in progress has taken", _planes(_LEFT_HAND)
    ),
    FeatureGroup("own_prospects", "its prospects against the two others", _prospects(OWN_HAND_IN_SIGHT)),
    FeatureGroup("next", "thresholds of the next seat's hand", _planes(NEXT_CARDS)),
    FeatureGroup("next_prospects", "its prospects", _prospects(NEXT_HAND)),
    FeatureGroup("previous", "thresholds of the previous seat's hand", _planes(PREVIOUS_CARDS)),
    FeatureGroup("previous_prospects", "its prospects", _prospects(PREVIOUS_HAND)),
    *_SHARED_GROUPS,
    FeatureGroup(
        "against_rules",
        "whether the rule agent is known to play the other side; 0 where it is not known",
        (FeatureColumn(SCALED, DECISION_BYTES["against_rules"], 1.0),),
    ),
)
"""What the critic reads of a game in which nothing is concealed, from the seat to act.

With every hand in sight the past says nothing more, so there is no history.  The last input is about the players, not
about the game: in training the same position is worth more against the rule agent than against oneself.
"""

REST_COLUMNS, GAME_COLUMNS = REST_INPUTS.size, CRITIC_INPUTS.size


def observation_columns(history: int) -> int:
    """Return how many network inputs are computed from an observation with ``history`` past moves.

    Args:
        history: Completed moves that are shown, 0 to 15.
    """
    return policy_inputs(history).size


# --- The cards that actions take --------------------------------------------------------------------------------------


def _spent_cards() -> Bytes:
    spent = np.zeros((2, NUM_ACTIONS, NUM_RANKS), np.int8)
    for group in MAIN_GROUPS:
        spent[:, group.id] = group.need
    for action in range(KICKER_BASE, BID_BASE):
        spent[:, action, action - KICKER_BASE] = (1, 2)
    return spent


SPENT = _spent_cards()
"""Cards that leave the hand by each action, for solo and for pair kickers, shape ``[2, 400, 15]``, int8."""
