"""What the networks read, as columns between 0 and 1: one table for each input, and the kernels that write it.

A table lists the inputs in order with their widths and meanings.  Its size, the place of each input and the tables of
the docs follow from it.  Each kernel writes every input of its table at the table's place; what an input looks like is
defined in :mod:`ddz_agents.neural.features`.

Compiled code writes the columns: as tensor operations they cost a third of the time of training.  The mask of legal
actions is not an input, it only says which actions have a probability: with it, imitation agreed with the rule agent in
92.7 % instead of 92.4 % of the decisions after 600,000 of them, and there were 400 columns more to multiply.

How well the rest can be played out is the same question after every action.  Finding prospects is most of the work of
describing (two searches a hand), so what they depend on, two numbers a pair, can be kept and handed in again: training
describes every decision when it is made and again when it is learned from.
"""

from __future__ import annotations

import functools
from collections import namedtuple
from collections.abc import Iterator
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_agents.neural import features
from ddz_agents.neural.features import hand_word, put_hand, put_planes, put_prospects, put_scaled, put_thresholds
from ddz_agents.neural.model import Bytes, Floats
from ddz_agents.rules.scratch import RuleScratch, new_rule_scratch
from ddz_env.core.actions import BID_BASE, KICKER_BASE, MAIN_GROUPS, NUM_ACTIONS
from ddz_env.core.cards import NUM_RANKS
from ddz_env.core.engine.compiling import inline_kernel, kernel, pure_kernel
from ddz_env.core.engine.words import add_hand, popcount
from ddz_env.core.observation import CONCEALED, HISTORY, OBSERVATION
from ddz_env.core.rules import Rules

# --- Bytes of an observation and of what it conceals ------------------------------------------------------------------

MOST_CARDS = 20
"""The largest hand."""

HEAD = features.FIRST_MOVE
"""Bytes before the history."""

TAIL = OBSERVATION.offsets["role"]
"""The first byte behind it."""

HAND, UNSEEN, TARGET, KEY, PENDING, KICKERS = (
    OBSERVATION.offsets[name] for name in ("hand", "unseen", "target", "target_key", "pending_body", "kickers")
)
LEFT_FIELDS = ("cards_left_self", "cards_left_next", "cards_left_previous")
_LEFT = np.array([OBSERVATION.offsets[name] for name in LEFT_FIELDS], np.int64)
_AFTER_PENDING = OBSERVATION.offsets["hand_next"]
_COUNTS = np.array([OBSERVATION.offsets[name] for name in ("bombs", "highest_bid", "passes")], np.int64)
_HAND_NEXT, _HAND_PREVIOUS, _UNDEALT = (CONCEALED.offsets[name] for name in ("hand_next", "hand_previous", "undealt"))

OBSERVATION_SCALES: Floats = (1.0 / OBSERVATION.high).astype(np.float32)
_CONCEALED_SCALES: Floats = (1.0 / CONCEALED.high).astype(np.float32)

# Prospects are read under the rules that most presets share: a hand says much the same about itself under all of them.
READING_RULES = Rules().words()

# --- The bytes of a decision ------------------------------------------------------------------------------------------


def _places(*fields: tuple[str, int]) -> tuple[dict[str, int], int]:
    """The first byte of each field, in order, and the size of all together in whole words."""
    *starts, size = accumulate((count for _, count in fields), initial=0)
    return dict(zip((name for name, _ in fields), starts, strict=True)), -(-size // 8) * 8


DECISION_BYTES, DECISION_SIZE = _places(
    ("observation", OBSERVATION.size),
    ("concealed", CONCEALED.size),
    ("left", NUM_RANKS),  # the own hand without what the move in progress has taken
    ("signs", features.SIGN_BYTES),  # features.read_signs
    ("against_rules", 1),  # whether the rule agent is known to play the other side
)
"""Where the parts of a decision lie among its bytes, and how many there are: all that networks read of it, besides the
hand values (:mod:`ddz_agents.neural.decisions`)."""

_HIDDEN, _LEFT_HAND = DECISION_BYTES["concealed"], DECISION_BYTES["left"]

OWN_HAND, OWN_HAND_IN_SIGHT, NEXT_HAND, PREVIOUS_HAND = range(4)
"""The hands of a decision whose prospects are read: the own one as the policy sees it, and three as the critic does."""

DECISION_HANDS = 4

# --- The tables -------------------------------------------------------------------------------------------------------

SCALED, AT_LEAST, CHAIN, PROSPECT = range(4)
"""What a column says: a byte, scaled; whether a byte reaches a threshold; whether the own hand holds a chain; a number
about how a hand can be played out."""


class Column(NamedTuple):
    """What one column is made of.

    Attributes:
        kind: ``SCALED``, ``AT_LEAST``, ``CHAIN`` or ``PROSPECT``.
        source: The byte of a decision (for the hand that an action leaves, the rank); the number of the chain; the
            hand, ``OWN_HAND`` ...
        number: The scale; the threshold; nothing; which of the hand's prospects.
    """

    kind: int
    source: int
    number: float = 0.0


class Input(NamedTuple):
    """One input of a network.

    Attributes:
        name: Its name in :attr:`Columns.at`.
        meaning: What it says, for the docs.
        columns: Its columns.
    """

    name: str
    meaning: str
    columns: tuple[Column, ...] = ()


def _scaled(first: int, stop: int) -> tuple[Column, ...]:
    """Bytes of the observation or of what it conceals, each between 0 and 1."""
    return tuple(Column(SCALED, place, float(_SCALES[place])) for place in range(first, stop))


def _thresholds(place: int, most: int) -> tuple[Column, ...]:
    return tuple(Column(AT_LEAST, place, step) for step in range(1, most + 1))


def _planes(first: int) -> tuple[Column, ...]:
    """Thresholds of the fifteen counts from a byte on."""
    return tuple(column for rank in range(NUM_RANKS) for column in _thresholds(first + rank, features.MOST))


def _prospects(hand: int) -> tuple[Column, ...]:
    return tuple(Column(PROSPECT, hand, number) for number in range(features.PROSPECTS))


class Columns:
    """A table of inputs, and what follows from it.

    Args:
        *inputs: The table.

    Attributes:
        inputs: The table.
        columns: All columns in order.
        size: How many there are.
        at: The first column of each input by its name.
    """

    def __init__(self, *inputs: Input) -> None:
        self.inputs = inputs
        self.columns = tuple(column for entry in inputs for column in entry.columns)
        *starts, self.size = accumulate((len(entry.columns) for entry in inputs), initial=0)
        at: Any = namedtuple("at", [entry.name for entry in inputs])  # type: ignore[misc]  # the names are data
        self.at: Any = at(*starts)

    def slice_of(self, name: str) -> slice:
        """The columns of an input."""
        first = getattr(self.at, name)
        return slice(first, first + next(len(entry.columns) for entry in self.inputs if entry.name == name))

    def rows(self) -> Iterator[tuple[str, str, str]]:
        """The rows of the docs table: name, columns, meaning."""
        for name, meaning, columns in self.inputs:
            yield f"`{name}`", str(len(columns)), meaning


_SCALES = np.concatenate([OBSERVATION_SCALES, _CONCEALED_SCALES])
_BESIDE = (
    Input("target", "thresholds of the move to beat", _planes(TARGET)),
    Input(
        "sizes",
        f"thresholds 1 to {MOST_CARDS} of the hand sizes of self, next, previous",
        tuple(column for place in _LEFT.tolist() for column in _thresholds(place, MOST_CARDS)),
    ),
    Input("key", f"the rank to exceed: thresholds 1 to {NUM_RANKS}", _thresholds(KEY, NUM_RANKS)),
)


@functools.cache
def policy_inputs(history: int = HISTORY) -> Columns:
    """What a policy reads of an observation.

    Args:
        history: Completed moves that it sees, 0 to 15.
    """
    chains = tuple(Column(CHAIN, number) for number in range(len(features.CHAINS)))
    signs = DECISION_BYTES["signs"]
    return Columns(
        Input("table", "the bytes of the observation before its history, scaled", _scaled(0, HEAD)),
        Input("history", "the last moves, scaled bytes", _scaled(HEAD, HEAD + features.MOVE_BYTES * history)),
        Input(
            "state",
            "the bytes behind the history, scaled: role, stage and the like",
            _scaled(TAIL, OBSERVATION.size),
        ),
        Input("hand", "thresholds of the own hand, and each chain that it holds", _planes(HAND) + chains),
        Input(
            "prospects",
            "prospects of the own hand, without what the move in progress has taken",
            _prospects(OWN_HAND),
        ),
        Input("unseen", "thresholds of the cards that no one shows", _planes(UNSEEN)),
        *_BESIDE,
        Input(
            "signs",
            "the lowest solo and pair of an enemy that each of the others let pass",
            tuple(
                Column(AT_LEAST, signs + sign, NUM_RANKS - rank)
                for sign in range(features.SIGN_BYTES)
                for rank in range(NUM_RANKS)
            ),
        ),
    )


REST_INPUTS = Columns(
    Input("rest", "thresholds of the hand that the action leaves", _planes(0)),
    Input("prospects", "its prospects", _prospects(OWN_HAND)),
)
"""What the policy reads of each legal action; the bytes are the counts of the hand that is left."""

CRITIC_INPUTS = Columns(
    Input(
        "counts",
        "bombs so far, the highest bid, passes in a row; scaled",
        tuple(column for place in _COUNTS.tolist() for column in _scaled(place, place + 1)),
    ),
    Input("half_built", "the bytes of the move in progress, scaled", _scaled(PENDING, _AFTER_PENDING)),
    Input("state", "role, stage and the like, scaled", _scaled(TAIL, OBSERVATION.size)),
    Input("undealt", "the cards that no seat holds, scaled", _scaled(_HIDDEN + _UNDEALT, _HIDDEN + CONCEALED.size)),
    Input("own", "thresholds of the own hand, without what the move in progress has taken", _planes(_LEFT_HAND)),
    Input("own_prospects", "its prospects against the two others", _prospects(OWN_HAND_IN_SIGHT)),
    Input("next", "thresholds of the next seat's hand", _planes(_HIDDEN + _HAND_NEXT)),
    Input("next_prospects", "its prospects", _prospects(NEXT_HAND)),
    Input("previous", "thresholds of the previous seat's hand", _planes(_HIDDEN + _HAND_PREVIOUS)),
    Input("previous_prospects", "its prospects", _prospects(PREVIOUS_HAND)),
    *_BESIDE,
    Input(
        "against_rules",
        "whether the rule agent is known to play the other side; 0 where it is not known",
        (Column(SCALED, DECISION_BYTES["against_rules"], 1.0),),
    ),
)
"""What the critic reads of a game in which nothing is concealed, from the seat to act.

With every hand in sight the past says nothing more, so there is no history.  The last input is about the players, not
about the game: in training the same position is worth more against the rule agent than against oneself.
"""

REST_COLUMNS, GAME_COLUMNS = REST_INPUTS.size, CRITIC_INPUTS.size
_P, _R, _C = policy_inputs(0).at, REST_INPUTS.at, CRITIC_INPUTS.at
AGAINST_RULES = _C.against_rules


def observation_columns(history: int) -> int:
    """How many columns an observation has.

    Args:
        history: Completed moves that are shown, 0 to 15.
    """
    return policy_inputs(history).size


# --- The kernels ------------------------------------------------------------------------------------------------------


def describe_observations(observations: Bytes, history: int = HISTORY) -> Floats:
    """The columns of observations, for policies.

    Args:
        observations: Shape ``[n, OBSERVATION_SIZE]``, int8.
        history: Completed moves that are shown, 0 to 15.

    Returns:
        Shape ``[n, observation_columns(history)]``, float32.
    """
    out = np.empty((len(observations), observation_columns(history)), np.float32)
    _describe_observations(observations, history, READING_RULES, new_rule_scratch(), out)
    return out


def describe_games(observations: Bytes, concealed: Bytes, against_rules: npt.NDArray[np.bool_] | None = None) -> Floats:
    """The columns of games, for critics only.

    Args:
        observations: Of the seats to act, shape ``[n, OBSERVATION_SIZE]``, int8.
        concealed: What they do not see, shape ``[n, CONCEALED.size]``, int8.
        against_rules: Where the other side is known to be the rule agent's, shape ``[n]``, bool; nowhere if None.

    Returns:
        Shape ``[n, GAME_COLUMNS]``, float32.
    """
    out = np.empty((len(concealed), GAME_COLUMNS), np.float32)
    known = np.zeros(len(concealed), np.bool_) if against_rules is None else against_rules
    _describe_games(observations, concealed, known, READING_RULES, new_rule_scratch(), out)
    return out


@inline_kernel
def weigh_unseen(values: np.ndarray, rules: np.ndarray, mind: RuleScratch) -> None:
    """Price moves by the cards that the observer has not seen and the larger of the other hands."""
    most = max(values[_LEFT[1]], values[_LEFT[2]])
    features.weigh_pool(hand_word(values, UNSEEN), np.uint64(most), rules, mind)


@inline_kernel
def _put_sizes(values: np.ndarray, out: np.ndarray, place: int) -> None:
    """Write the thresholds of the three hand sizes."""
    for seat in range(_LEFT.shape[0]):
        place = put_thresholds(int(values[_LEFT[seat]]), MOST_CARDS, out, place)


@inline_kernel
def hand_left(values: np.ndarray, rest: np.ndarray) -> None:
    """Write the counts of the own hand without what a move in progress has taken."""
    for rank in range(NUM_RANKS):
        rest[rank] = values[HAND + rank] - values[PENDING + rank] - values[KICKERS + rank]


@pure_kernel
def describe_observation(
    values: np.ndarray, history: int, rules: np.ndarray, mind: RuleScratch, rest: np.ndarray, row: np.ndarray
) -> None:
    """Write the columns of one observation.

    Args:
        values: The observation, shape ``[OBSERVATION_SIZE]``, int8.
        history: Completed moves that are shown.
        rules: The rules array by which prospects are read.
        mind: Memory; priced by the unseen cards afterwards.
        rest: Memory, shape ``[15]``, int8.
        row: Output, shape ``[observation_columns(history)]``, float32.
    """
    shown = features.MOVE_BYTES * history
    put_scaled(values, OBSERVATION_SCALES, 0, HEAD + shown, row, _P.table)
    row = row[shown:]  # what is behind the history
    put_scaled(values, OBSERVATION_SCALES, TAIL, values.size, row, _P.state)
    put_hand(values, HAND, row, _P.hand)
    hand_left(values, rest)
    weigh_unseen(values, rules, mind)
    put_prospects(hand_word(rest, 0), mind, row, _P.prospects)
    put_planes(values, UNSEEN, row, _P.unseen)
    put_planes(values, TARGET, row, _P.target)
    _put_sizes(values, row, _P.sizes)
    put_thresholds(int(values[KEY]), NUM_RANKS, row, _P.key)
    features.read_signs(values, rest, 0)
    features.put_signs(rest, row, _P.signs)


@kernel
def _describe_observations(
    observations: np.ndarray, history: int, rules: np.ndarray, mind: RuleScratch, out: np.ndarray
) -> None:
    rest = np.empty(NUM_RANKS, np.int8)
    for index in range(observations.shape[0]):
        describe_observation(observations[index], history, rules, mind, rest, out[index])


@pure_kernel
def _put_prospects_among(
    hand: np.uint64, one: np.uint64, other: np.uint64, rules: np.ndarray, mind: RuleScratch, out: np.ndarray, place: int
) -> None:
    """Write the prospects of a hand whose moves two other hands could beat."""
    features.weigh_pool(add_hand(one, other), max(popcount(one), popcount(other)), rules, mind)
    put_prospects(hand, mind, out, place)


@pure_kernel
def describe_game(
    values: np.ndarray, hidden: np.ndarray, rules: np.ndarray, mind: RuleScratch, rest: np.ndarray, row: np.ndarray
) -> None:
    """Write the columns of one game in which no player is known to be the rule agent.

    Args:
        values: The observation of the seat to act, shape ``[OBSERVATION_SIZE]``, int8.
        hidden: What it does not see, shape ``[CONCEALED.size]``, int8.
        rules: The rules array by which prospects are read.
        mind: Memory.
        rest: Memory, shape ``[15]``, int8.
        row: Output, shape ``[GAME_COLUMNS]``, float32.
    """
    hand_left(values, rest)
    own, following, previous = hand_word(rest, 0), hand_word(hidden, _HAND_NEXT), hand_word(hidden, _HAND_PREVIOUS)
    for count in range(_COUNTS.size):
        first = _COUNTS[count]
        put_scaled(values, OBSERVATION_SCALES, first, first + 1, row, _C.counts + count)
    put_scaled(values, OBSERVATION_SCALES, PENDING, _AFTER_PENDING, row, _C.half_built)
    put_scaled(values, OBSERVATION_SCALES, TAIL, values.size, row, _C.state)
    put_scaled(hidden, _CONCEALED_SCALES, _UNDEALT, hidden.size, row, _C.undealt)
    put_planes(rest, 0, row, _C.own)
    _put_prospects_among(own, following, previous, rules, mind, row, _C.own_prospects)
    put_planes(hidden, _HAND_NEXT, row, _C.next)
    _put_prospects_among(following, own, previous, rules, mind, row, _C.next_prospects)
    put_planes(hidden, _HAND_PREVIOUS, row, _C.previous)
    _put_prospects_among(previous, own, following, rules, mind, row, _C.previous_prospects)
    put_planes(values, TARGET, row, _C.target)
    _put_sizes(values, row, _C.sizes)
    put_thresholds(int(values[KEY]), NUM_RANKS, row, _C.key)
    row[_C.against_rules] = np.float32(0.0)


@kernel
def _describe_games(
    observations: np.ndarray,
    concealed: np.ndarray,
    against_rules: np.ndarray,
    rules: np.ndarray,
    mind: RuleScratch,
    out: np.ndarray,
) -> None:
    rest = np.empty(NUM_RANKS, np.int8)
    for index in range(concealed.shape[0]):
        describe_game(observations[index], concealed[index], rules, mind, rest, out[index])
        out[index, AGAINST_RULES] = np.float32(against_rules[index])


# --- The hand that each legal action leaves ---------------------------------------------------------------------------

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
        np.empty((pairs, features.HAND_VALUES), np.int16) if hand_values is None else hand_values,
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
    put_planes(rest, 0, columns, _R.rest)
    features.put_hand_values(sure, price, columns, _R.prospects)


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
            weigh_unseen(values, rules, mind)
        for action in range(NUM_ACTIONS):
            if masks[index, action] == 0:
                continue
            out.rows[pair], out.actions[pair] = index, action
            leave(values, action, rest)
            if not known:
                sure, price = features.value_hand(hand_word(rest, 0), mind)
                out.hand_values[pair, 0], out.hand_values[pair, 1] = sure, price
            put_afterstate(rest, int(out.hand_values[pair, 0]), int(out.hand_values[pair, 1]), out.columns[pair])
            pair += 1
