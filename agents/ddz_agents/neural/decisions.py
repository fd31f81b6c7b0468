"""Decisions stored as a few hundred bytes each, from which the network inputs are computed.

For each decision: the observation, what it conceals and what is read out of both, as bytes
(:data:`~ddz_agents.neural.feature_table.DECISION_BYTES`), and the hand values of four hands; for each of its legal
actions the id and the hand values of the hand that it leaves.  That is some 700 bytes where the columns of the networks
are 10,000, so a decision travels as bytes and becomes columns where the network is.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_agents.neural import features
from ddz_agents.neural.feature_table import (
    CRITIC_INPUTS,
    DECISION_BYTES,
    DECISION_HANDS,
    DECISION_SIZE,
    FEATURE_RULES,
    HAND,
    KICKER_SIZE,
    KICKERS,
    NEXT_CARDS,
    OWN_HAND,
    OWN_HAND_IN_SIGHT,
    PENDING,
    PREVIOUS_CARDS,
    REST_INPUTS,
    SPENT,
    UNSEEN,
    policy_inputs,
)
from ddz_agents.neural.features import HAND_VALUES, hand_word, price_against_pool, value_hand
from ddz_agents.neural.model import Bytes, Floats
from ddz_agents.neural.sparse_inputs import Fields, densify, group_into_fields, write_active_rows
from ddz_agents.rules.workspace import RuleWorkspace, new_rule_workspace
from ddz_env.core.cards import NUM_RANKS
from ddz_env.core.engine.words import U0, U1, U16, add_hand, lowest_bit, popcount
from ddz_env.core.observation import HISTORY, OBSERVATION
from ddz_env.envs.stepping import Slots
from ddz_env.support.compiling import inline_kernel, kernel, part_kernel, pure_kernel

_CONCEALED, _LEFT, _SIGNS, _AGAINST_RULES = (
    DECISION_BYTES[name] for name in ("concealed", "left", "signs", "against_rules")
)
_LEFT_NEXT, _LEFT_PREVIOUS = OBSERVATION.offsets["cards_left_next"], OBSERVATION.offsets["cards_left_previous"]
SEATS = 3


class Decisions(NamedTuple):
    """A batch of decisions as bytes: encoded observations, and the move counts and costs of four hands each.

    Attributes:
        seen: What the networks read, by :data:`~ddz_agents.neural.feature_table.DECISION_BYTES`, shape ``[n, 584]``,
            int8.
        hand_values: Of ``OWN_HAND`` ..., shape ``[n, 4, 2]``, int16.
    """

    seen: npt.NDArray[np.int8]
    hand_values: npt.NDArray[np.int16]


class HandValueCache(NamedTuple):
    """A cache of hands' move counts and costs, each valid until the hand or the cards that can beat it change.

    Attributes:
        keys: Of each seat of each game, the hand, the cards that could beat it and the largest hand among those who
            hold them, shape ``[games, 3, 3]``, uint64.
        values: Shape ``[games, 3, 2]``, int16.
    """

    keys: npt.NDArray[np.uint64]
    values: npt.NDArray[np.int16]


def new_decisions(count: int) -> Decisions:
    """Allocate zeroed arrays for ``count`` decisions."""
    return Decisions(
        np.zeros((count, DECISION_SIZE), np.int8), np.zeros((count, DECISION_HANDS, HAND_VALUES), np.int16)
    )


def new_legal_actions(count: int) -> tuple[npt.NDArray[np.int16], npt.NDArray[np.int16]]:
    """Allocate zeroed arrays for ``count`` legal actions, and for the move counts and cost of each hand left."""
    return np.zeros(count, np.int16), np.zeros((count, HAND_VALUES), np.int16)


def new_hand_value_cache(games: int) -> HandValueCache:
    """Allocate an empty cache of the move counts and costs of hands in ``games`` games."""
    return HandValueCache(np.zeros((games, SEATS, 3), np.uint64), np.zeros((games, SEATS, HAND_VALUES), np.int16))


# --- One decision -----------------------------------------------------------------------------------------------------


@inline_kernel
def encode_observation(observation: np.ndarray, seen: np.ndarray) -> None:
    """Encode an observation, shape ``[OBSERVATION_SIZE]``, int8, into the bytes of a decision."""
    for index in range(observation.size):
        seen[index] = observation[index]
    for rank in range(NUM_RANKS):
        seen[_LEFT + rank] = seen[HAND + rank] - seen[PENDING + rank] - seen[KICKERS + rank]
    features.write_pass_signs(seen, seen, _SIGNS)
    seen[_AGAINST_RULES] = np.int8(0)


@inline_kernel
def encode_hidden_hands(concealed: np.ndarray, seen: np.ndarray) -> None:
    """Copy the hidden cards, shape ``[CONCEALED.size]``, int8, into the bytes of a decision."""
    for index in range(concealed.size):
        seen[_CONCEALED + index] = concealed[index]


@inline_kernel
def remaining_hand(seen: np.ndarray) -> np.uint64:
    """Return the acting seat's hand without the cards already taken by a move in progress."""
    return hand_word(seen, _LEFT)


@pure_kernel
def value_own_hand(seen: np.ndarray, workspace: RuleWorkspace, hand_values: np.ndarray) -> None:
    """Write the move counts and the cost of the acting seat's hand, measured against all unseen cards."""
    most = max(seen[_LEFT_NEXT], seen[_LEFT_PREVIOUS])
    price_against_pool(hand_word(seen, UNSEEN), np.uint64(most), FEATURE_RULES, workspace)
    sure, price = value_hand(remaining_hand(seen), workspace)
    hand_values[OWN_HAND, 0], hand_values[OWN_HAND, 1] = sure, price


@inline_kernel
def _value_known_hand(
    hand: np.uint64,
    other: np.uint64,
    third: np.uint64,
    slot: tuple[int, int],
    memory: HandValueCache,
    workspace: RuleWorkspace,
) -> None:
    """Recompute a hand's cached move counts and cost against two known hands, unless they are still valid."""
    key, values = memory.keys[slot], memory.values[slot]
    unseen, most = add_hand(other, third), max(popcount(other), popcount(third))
    if key[0] != hand or key[1] != unseen or key[2] != most:
        price_against_pool(unseen, most, FEATURE_RULES, workspace)
        sure, price = value_hand(hand, workspace)
        values[0], values[1] = sure, price
        key[0], key[1], key[2] = hand, unseen, most


@pure_kernel
def value_all_hands(
    seen: np.ndarray, game: int, seat: int, memory: HandValueCache, workspace: RuleWorkspace, hand_values: np.ndarray
) -> None:
    """Write the move counts and costs of all three hands, measured with open cards; only critics read them.

    Args:
        seen: The bytes of the decision.
        game: Its index in the memory.
        seat: The seat to act.
        memory: Values that are known.
        workspace: Of the thread.
        hand_values: Output, shape ``[4, 2]``.
    """
    left, following, previous = remaining_hand(seen), hand_word(seen, NEXT_CARDS), hand_word(seen, PREVIOUS_CARDS)
    places = (game, seat), (game, (seat + 1) % SEATS), (game, (seat + 2) % SEATS)
    _value_known_hand(left, following, previous, places[0], memory, workspace)
    _value_known_hand(following, left, previous, places[1], memory, workspace)
    _value_known_hand(previous, left, following, places[2], memory, workspace)
    for number in range(SEATS):
        values = memory.values[places[number]]
        hand_values[OWN_HAND_IN_SIGHT + number, 0] = values[0]
        hand_values[OWN_HAND_IN_SIGHT + number, 1] = values[1]


def _spent_words() -> npt.NDArray[np.uint64]:
    """Build a table of the cards that each action takes from a hand: rank bits, and the number per rank."""
    words = np.zeros((*SPENT.shape[:2], 2), np.uint64)
    for size, action in np.ndindex(*SPENT.shape[:2]):
        cards = SPENT[size, action]
        ranks = np.flatnonzero(cards)
        words[size, action] = sum(1 << int(rank) for rank in ranks), max(cards)
        assert (cards[ranks] == max(cards)).all()  # no action takes two of one rank and three of another
    return words


_SPENT = _spent_words()
_EACH_PLANE = np.uint64(0x0001000100010001)


@inline_kernel
def hand_after(left: np.uint64, action: int, seen: np.ndarray) -> np.uint64:
    """Return the hand left after an action, which takes the cards of a main group or one kicker."""
    spent = _SPENT[1 if seen[KICKER_SIZE] == 2 else 0, action]
    taken = spent[0] * _EACH_PLANE
    half = (U16 * spent[1]) >> U1  # in two shifts: four copies are a whole word
    return (left & ~taken) | (((left >> half) >> half) & taken)


@inline_kernel
def write_rest_counts(seen: np.ndarray, action: int, rest: np.ndarray) -> None:
    """Write the rank counts, shape ``[15]``, int8, of the hand that an action leaves."""
    pair_kickers = 1 if seen[KICKER_SIZE] == 2 else 0
    for rank in range(NUM_RANKS):
        rest[rank] = seen[_LEFT + rank] - SPENT[pair_kickers, action, rank]


# --- Decisions of many games ------------------------------------------------------------------------------------------


@part_kernel
def _describe_actions(
    bits: np.ndarray, seen: np.ndarray, workspace: RuleWorkspace, actions: np.ndarray, values: np.ndarray, pair: int
) -> None:
    """Write a decision's legal actions from index ``pair`` on, and the move counts and cost of each hand left."""
    left = remaining_hand(seen)
    for word in range(bits.shape[0]):
        legal = bits[word]
        while legal != U0:
            action = np.int64(word) * 64 + np.int64(lowest_bit(legal))
            legal &= legal - U1
            sure, price = value_hand(hand_after(left, action, seen), workspace)
            actions[pair] = action
            values[pair, 0], values[pair, 1] = sure, price
            pair += 1


@part_kernel
def _describe_decision(
    game: int, slots: Slots, memory: HandValueCache, workspace: RuleWorkspace, seen: np.ndarray, hand_values: np.ndarray
) -> None:
    """Encode the decision of one game in a batch, without its legal actions."""
    encode_observation(slots.observations[game], seen)
    encode_hidden_hands(slots.concealed[game], seen)
    value_all_hands(seen, game, np.int64(slots.games[game]["seat"]), memory, workspace, hand_values)
    value_own_hand(seen, workspace, hand_values)


@kernel
def describe_decisions(
    first: int,
    stop: int,
    slots: Slots,
    rows: np.ndarray,
    pair_starts: np.ndarray,
    against_rules: np.ndarray,
    memory: HandValueCache,
    workspace: RuleWorkspace,
    decisions: Decisions,
    legal_actions: np.ndarray,
    legal_values: np.ndarray,
) -> None:
    """Encode the decisions and the legal actions of a range of games in a batch.

    Args:
        first: The first game.
        stop: The end.
        slots: The games, with observations and what they conceal.
        rows: Where each game's decision is written, shape ``[games]``, int32; negative for none.
        pair_starts: Where its legal actions begin, shape ``[games]``, int32.
        against_rules: Whether the rule agent is known to play the other side, shape ``[games]``, bool.
        memory: Of the games.
        workspace: Of the thread.
        decisions: Output.
        legal_actions: Output: the legal actions of the decisions, one after another, shape ``[pairs]``, int16.
        legal_values: Output: the hand values of what each leaves, shape ``[pairs, 2]``, int16.
    """
    for game in range(first, stop):
        row = rows[game]
        if row >= 0:
            seen = decisions.seen[row]
            _describe_decision(game, slots, memory, workspace, seen, decisions.hand_values[row])
            seen[_AGAINST_RULES] = np.int8(against_rules[game])
            start = np.int64(pair_starts[game])
            _describe_actions(slots.bits[game], seen, workspace, legal_actions, legal_values, start)


# --- As columns -------------------------------------------------------------------------------------------------------


def describe_observations(observations: Bytes, history: int = HISTORY) -> Floats:
    """Compute the inputs of a policy network from observations, shape ``[n, observation_columns(history)]``.

    Args:
        observations: Shape ``[n, OBSERVATION_SIZE]``, int8.
        history: Completed moves that are shown, 0 to 15.

    Returns:
        Shape ``[n, observation_columns(history)]``, float32.
    """
    table = policy_fields(history)
    out = np.empty((len(observations), len(table.before)), np.float32)
    _fill_observations(observations, table, new_rule_workspace(), new_decisions(1), out)
    return out


def describe_games(observations: Bytes, concealed: Bytes, against_rules: npt.NDArray[np.bool_] | None = None) -> Floats:
    """Compute the inputs of a critic network from observations and hidden hands, shape ``[n, GAME_COLUMNS]``.

    Args:
        observations: Of the seats to act, shape ``[n, OBSERVATION_SIZE]``, int8.
        concealed: What they do not see, shape ``[n, CONCEALED.size]``, int8.
        against_rules: Where the other side is known to be the rule agent's, shape ``[n]``, bool; nowhere if None.

    Returns:
        Shape ``[n, GAME_COLUMNS]``, float32.
    """
    out = np.empty((len(concealed), len(CRITIC_FIELDS.before)), np.float32)
    flags = np.zeros(len(concealed), np.bool_) if against_rules is None else against_rules
    memory = new_rule_workspace(), new_hand_value_cache(1), new_decisions(1)
    _fill_games(observations, concealed, flags, CRITIC_FIELDS, memory, out)
    return out


class Afterstates(NamedTuple):
    """The hands that the legal actions of a batch leave, as network inputs.

    Attributes:
        rows: The observation of each pair of observation and action, shape ``[pairs]``, int64, ascending.
        actions: The action, shape ``[pairs]``, int64, ascending within a row.
        columns: The hand that is left, shape ``[pairs, REST_COLUMNS]``, float32.
    """

    rows: npt.NDArray[np.int64]
    actions: npt.NDArray[np.int64]
    columns: Floats


def describe_afterstates(observations: Bytes, masks: Bytes) -> Afterstates:
    """Compute the network inputs for the hand that each legal action leaves.

    Args:
        observations: Shape ``[n, OBSERVATION_SIZE]``, int8.
        masks: Shape ``[n, 400]``, int8.
    """
    rows, actions = (part.astype(np.int64, copy=False) for part in np.nonzero(masks))
    described = Afterstates(rows, actions, np.empty((len(rows), len(REST_FIELDS.before)), np.float32))
    _fill_rests(observations, REST_FIELDS, new_rule_workspace(), new_decisions(1), described)
    return described


@functools.cache
def policy_fields(history: int) -> Fields:
    """Return a policy's inputs grouped into fields, each computed from one byte of a decision."""
    return group_into_fields(policy_inputs(history))


CRITIC_FIELDS, REST_FIELDS = group_into_fields(CRITIC_INPUTS), group_into_fields(REST_INPUTS)


@kernel
def _fill_observations(
    observations: np.ndarray, table: Fields, workspace: RuleWorkspace, decision: Decisions, out: np.ndarray
) -> None:
    places, factors = np.empty(table.most, np.int64), np.empty(table.most, np.float32)
    seen, hand_values = decision.seen[0], decision.hand_values[0]
    for index in range(observations.shape[0]):
        encode_observation(observations[index], seen)
        value_own_hand(seen, workspace, hand_values)
        count = write_active_rows(seen, hand_values, table, places, factors)
        densify(places, factors, count, table.before, out[index])


@kernel
def _fill_games(
    observations: np.ndarray,
    concealed: np.ndarray,
    against_rules: np.ndarray,
    table: Fields,
    memory: tuple[RuleWorkspace, HandValueCache, Decisions],
    out: np.ndarray,
) -> None:
    places, factors = np.empty(table.most, np.int64), np.empty(table.most, np.float32)
    workspace, hands, decision = memory
    seen, hand_values = decision.seen[0], decision.hand_values[0]
    for index in range(observations.shape[0]):
        encode_observation(observations[index], seen)
        encode_hidden_hands(concealed[index], seen)
        seen[_AGAINST_RULES] = np.int8(against_rules[index])
        value_all_hands(seen, 0, 0, hands, workspace, hand_values)
        count = write_active_rows(seen, hand_values, table, places, factors)
        densify(places, factors, count, table.before, out[index])


@kernel
def _fill_rests(
    observations: np.ndarray, table: Fields, workspace: RuleWorkspace, decision: Decisions, out: Afterstates
) -> None:
    places, factors = np.empty(table.most, np.int64), np.empty(table.most, np.float32)
    rest, seen, hand_values = np.empty(NUM_RANKS, np.int8), decision.seen[0], decision.hand_values[0]
    shown, left = np.int64(-1), U0
    for pair in range(out.rows.size):
        if out.rows[pair] != shown:
            shown = out.rows[pair]
            encode_observation(observations[shown], seen)
            value_own_hand(seen, workspace, hand_values)
            left = remaining_hand(seen)
        sure, price = value_hand(hand_after(left, out.actions[pair], seen), workspace)
        hand_values[0, 0], hand_values[0, 1] = sure, price
        write_rest_counts(seen, out.actions[pair], rest)
        count = write_active_rows(rest, hand_values, table, places, factors)
        densify(places, factors, count, table.before, out.columns[pair])
