"""A decision as few bytes: what compiled code writes in training, and of which the columns of the networks are made.

For each decision: the observation, what it conceals and what is read out of both, as bytes
(:data:`~ddz_agents.neural.columns.DECISION_BYTES`), and the hand values of four hands; for each of its legal actions
the id and the hand values of the hand that it leaves.  That is some 700 bytes where the columns of the networks are
10,000, so a decision travels as bytes and becomes columns where the network is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_agents.neural import features
from ddz_agents.neural.columns import (
    DECISION_BYTES,
    DECISION_HANDS,
    DECISION_SIZE,
    KICKER_SIZE,
    NEXT_HAND,
    OWN_HAND,
    OWN_HAND_IN_SIGHT,
    PREVIOUS_HAND,
    READING_RULES,
    SPENT,
    UNSEEN,
    hand_left,
)
from ddz_agents.neural.features import HAND_VALUES, hand_word, value_hand, weigh_pool
from ddz_agents.rules.scratch import RuleScratch
from ddz_env.core.cards import NUM_RANKS
from ddz_env.core.engine.compiling import inline_kernel, kernel
from ddz_env.core.engine.layout import HANDS, SEAT
from ddz_env.core.engine.words import U0, U1, U16, add_hand, lowest, popcount
from ddz_env.core.observation import OBSERVATION
from ddz_env.core.rules import R_PLAYERS
from ddz_env.envs.slots import Slots

_LEFT, _SIGNS, _AGAINST_RULES = (DECISION_BYTES[name] for name in ("left", "signs", "against_rules"))
_LEFT_NEXT, _LEFT_PREVIOUS = OBSERVATION.offsets["cards_left_next"], OBSERVATION.offsets["cards_left_previous"]
_SEATS = 3


class Decisions(NamedTuple):
    """Decisions of a batch, in the order of their games.

    Attributes:
        seen: What the networks read, by :data:`~ddz_agents.neural.columns.DECISION_BYTES`, shape ``[n, 584]``, int8.
        hand_values: Of ``OWN_HAND`` ..., shape ``[n, 4, 2]``, int16.
    """

    seen: npt.NDArray[np.int8]
    hand_values: npt.NDArray[np.int16]


class Pairs(NamedTuple):
    """The legal actions of decisions, in the order of these, those of one decision by their ids.

    Attributes:
        actions: Shape ``[pairs]``, int16.
        hand_values: Of the hand that each leaves, shape ``[pairs, 2]``, int16.
    """

    actions: npt.NDArray[np.int16]
    hand_values: npt.NDArray[np.int16]


class HandMemory(NamedTuple):
    """Hand values that are found again while nothing has changed that they depend on.

    Attributes:
        keys: Of each seat of each game, the hand, the cards that could beat it and the largest hand among those who
            hold them, shape ``[games, 3, 3]``, uint64.
        values: Shape ``[games, 3, 2]``, int16.
    """

    keys: npt.NDArray[np.uint64]
    values: npt.NDArray[np.int16]


def new_decisions(count: int) -> Decisions:
    """Zeroed arrays for ``count`` decisions."""
    return Decisions(
        np.zeros((count, DECISION_SIZE), np.int8), np.zeros((count, DECISION_HANDS, HAND_VALUES), np.int16)
    )


def new_pairs(count: int) -> Pairs:
    """Zeroed arrays for ``count`` legal actions."""
    return Pairs(np.zeros(count, np.int16), np.zeros((count, HAND_VALUES), np.int16))


def new_hand_memory(games: int) -> HandMemory:
    """An empty memory: no hand of a game to come is empty, as that of the keys is."""
    return HandMemory(np.zeros((games, _SEATS, 3), np.uint64), np.zeros((games, _SEATS, HAND_VALUES), np.int16))


def _spent_words() -> npt.NDArray[np.uint64]:
    """The cards that each action takes: their ranks as bits, and how many of each."""
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
def _hand_without(hand: np.uint64, ranks: np.uint64, copies: np.uint64) -> np.uint64:
    """A hand without some copies of each of some ranks (in two shifts: four copies are a whole word)."""
    taken = ranks * _EACH_PLANE
    half = (U16 * copies) >> U1
    return (hand & ~taken) | (((hand >> half) >> half) & taken)


@inline_kernel
def _value_in_sight(
    game: int, seat: int, hand: np.uint64, others: np.uint64, most: np.uint64, memory: HandMemory, scratch: RuleScratch
) -> None:
    """Have the values of a seat's hand against hands in sight in the memory."""
    key, values = memory.keys[game, seat], memory.values[game, seat]
    if key[0] == hand and key[1] == others and key[2] == most:
        return
    weigh_pool(others, most, READING_RULES, scratch)
    key[0], key[1], key[2] = hand, others, most
    values[0], values[1] = value_hand(hand, scratch)


@inline_kernel
def _write_values(values: np.ndarray, hand: int, out: np.ndarray) -> None:
    out[hand, 0], out[hand, 1] = values[0], values[1]


@inline_kernel
def _describe_hands(
    slots: Slots,
    game: int,
    left: np.uint64,
    seen: np.ndarray,
    memory: HandMemory,
    scratch: RuleScratch,
    out: np.ndarray,
) -> None:
    """Write the hand values of a decision; afterwards moves are priced by the unseen cards."""
    seat, players = np.int64(slots.rows[game, SEAT]), np.int64(slots.rules[R_PLAYERS])
    after, before = (seat + 1) % players, (seat + 2) % _SEATS
    following, previous = slots.rows[game, HANDS + after], U0
    if players == _SEATS:
        previous = slots.rows[game, HANDS + before]
    n_left, n_after, n_before = popcount(left), popcount(following), popcount(previous)
    _value_in_sight(game, after, following, add_hand(left, previous), max(n_left, n_before), memory, scratch)
    _write_values(memory.values[game, after], NEXT_HAND, out)
    _value_in_sight(game, before, previous, add_hand(left, following), max(n_left, n_after), memory, scratch)
    _write_values(memory.values[game, before], PREVIOUS_HAND, out)
    others, most = add_hand(following, previous), max(n_after, n_before)
    _value_in_sight(game, seat, left, others, most, memory, scratch)
    _write_values(memory.values[game, seat], OWN_HAND_IN_SIGHT, out)
    # The policy sees all unseen cards together.  They are those of the others, unless there are undealt cards.
    shown = np.uint64(max(seen[_LEFT_NEXT], seen[_LEFT_PREVIOUS]))
    weigh_pool(hand_word(seen, UNSEEN), shown, READING_RULES, scratch)
    out[OWN_HAND, 0], out[OWN_HAND, 1] = value_hand(left, scratch)


@inline_kernel
def _describe_actions(
    bits: np.ndarray, left: np.uint64, pair_kickers: int, scratch: RuleScratch, pairs: Pairs, pair: int
) -> None:
    """Write the legal actions of a decision from a place on.  Moves must be priced by the unseen cards."""
    for word in range(bits.shape[0]):
        legal = bits[word]
        while legal != U0:
            action = np.int64(word) * 64 + np.int64(lowest(legal))
            legal &= legal - U1
            spent = _SPENT[pair_kickers, action]
            hand = _hand_without(left, spent[0], spent[1])
            pairs.actions[pair] = action
            pairs.hand_values[pair, 0], pairs.hand_values[pair, 1] = value_hand(hand, scratch)
            pair += 1


@kernel
def describe_decisions(
    first: int,
    stop: int,
    slots: Slots,
    rows: np.ndarray,
    pair_starts: np.ndarray,
    against_rules: np.ndarray,
    memory: HandMemory,
    scratch: RuleScratch,
    decisions: Decisions,
    pairs: Pairs,
) -> None:
    """Describe the decisions of some games.

    Args:
        first: The first game.
        stop: The end.
        slots: The games, with observations and what they conceal.
        rows: Where each game's decision is written, shape ``[games]``, int32; negative for none.
        pair_starts: Where its legal actions begin, shape ``[games]``, int32.
        against_rules: Whether the rule agent is known to play the other side, shape ``[games]``, bool.
        memory: Of the games.
        scratch: Of the thread.
        decisions: Output.
        pairs: Output.
    """
    for game in range(first, stop):
        row = rows[game]
        if row < 0:
            continue
        seen, hand_values = decisions.seen[row], decisions.hand_values[row]
        words = seen.view(np.uint64)
        size = slots.observations.shape[1]
        for word in range(size):
            words[word] = slots.observations[game, word]
        for word in range(slots.concealed.shape[1]):
            words[size + word] = slots.concealed[game, word]
        hand_left(seen, seen[_LEFT : _LEFT + NUM_RANKS])
        features.read_signs(seen, seen, _SIGNS)
        seen[_AGAINST_RULES] = np.int8(against_rules[game])
        left = hand_word(seen, _LEFT)
        _describe_hands(slots, game, left, seen, memory, scratch, hand_values)
        pair_kickers = 1 if seen[KICKER_SIZE] == 2 else 0
        _describe_actions(slots.bits[game], left, pair_kickers, scratch, pairs, np.int64(pair_starts[game]))
