"""What the critic reads: a game in which nothing is concealed, from the seat to act, as columns between 0 and 1.

With every hand in sight the past says nothing more, so there is no history here:

=============  ==========================================================================================
columns        meaning
=============  ==========================================================================================
bytes          bombs so far, the highest bid, passes in a row, the move in progress, role, stage and the like, the
               cards that nobody holds; scaled
three hands    thresholds and prospects of self, next and previous
target         thresholds
hand sizes     thresholds 1 to 20 of self, next and previous
key            thresholds 1 to 15 of the rank to exceed
rules          whether the other side is known to be played by the rule agent
=============  ==========================================================================================

The last is about the players, not about the game: in training the same position is worth more against the rule agent
than against oneself.  Where it is not known it is 0.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from agents.neural.columns import (
    MOST_CARDS,
    OBSERVATION_SCALES,
    PENDING,
    READING_RULES,
    TAIL,
    hand_left,
    put_sizes,
)
from agents.neural.hands import PLANES, hand_word, put_planes, put_scaled
from agents.neural.prospects import PROSPECTS, put_prospects, weigh_pool
from agents.rule_agent.mind import Mind, new_mind
from ddz_env.cards import NUM_RANKS
from ddz_env.engine.compiling import kernel, pure_kernel
from ddz_env.engine.words import add_hand, popcount
from ddz_env.observation import CONCEALED, OBSERVATION

HAND_NEXT, HAND_PREVIOUS = (CONCEALED.offsets[name] for name in ("hand_next", "hand_previous"))
_BOMBS, _BID, _PASSES = (OBSERVATION.offsets[name] for name in ("bombs", "highest_bid", "passes"))
_AFTER_PENDING = OBSERVATION.offsets["hand_next"]

_UNDEALT = CONCEALED.offsets["undealt"]

_CONCEALED_SCALES: npt.NDArray[np.float32] = (1.0 / CONCEALED.high).astype(np.float32)

GAME_COLUMNS = (
    3
    + (CONCEALED.size - _UNDEALT)
    + (_AFTER_PENDING - PENDING)
    + (OBSERVATION.size - TAIL)
    + 3 * (PLANES + PROSPECTS)
    + PLANES
    + 3 * MOST_CARDS
    + NUM_RANKS
    + 1
)
"""Columns of a game."""


def describe_games(
    observations: npt.NDArray[np.int8],
    concealed: npt.NDArray[np.int8],
    against_rules: npt.NDArray[np.bool_] | None = None,
) -> npt.NDArray[np.float32]:
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
    _describe_games(observations, concealed, known, READING_RULES, new_mind(), out)
    return out


@pure_kernel
def _put_prospects_among(
    hand: np.uint64, one: np.uint64, other: np.uint64, rules: np.ndarray, mind: Mind, out: np.ndarray, place: int
) -> int:
    """Write the prospects of a hand whose moves two other hands could beat; the place behind them."""
    weigh_pool(add_hand(one, other), max(popcount(one), popcount(other)), mind)
    return put_prospects(hand, rules, mind, out, place)


@kernel
def _describe_games(
    observations: np.ndarray,
    concealed: np.ndarray,
    against_rules: np.ndarray,
    rules: np.ndarray,
    mind: Mind,
    out: np.ndarray,
) -> None:
    rest = np.empty(NUM_RANKS, np.int8)
    for index in range(concealed.shape[0]):
        values, hidden, row = observations[index], concealed[index], out[index]
        hand_left(values, rest)
        own, following, previous = hand_word(rest, 0), hand_word(hidden, HAND_NEXT), hand_word(hidden, HAND_PREVIOUS)
        place = put_scaled(values, OBSERVATION_SCALES, _BOMBS, _BOMBS + 1, row, 0)
        place = put_scaled(values, OBSERVATION_SCALES, _BID, _BID + 1, row, place)
        place = put_scaled(values, OBSERVATION_SCALES, _PASSES, _PASSES + 1, row, place)
        place = put_scaled(values, OBSERVATION_SCALES, PENDING, _AFTER_PENDING, row, place)
        place = put_scaled(values, OBSERVATION_SCALES, TAIL, observations.shape[1], row, place)
        place = put_scaled(hidden, _CONCEALED_SCALES, _UNDEALT, hidden.size, row, place)
        place = put_planes(rest, 0, row, place)
        place = _put_prospects_among(own, following, previous, rules, mind, row, place)
        place = put_planes(hidden, HAND_NEXT, row, place)
        place = _put_prospects_among(following, own, previous, rules, mind, row, place)
        place = put_planes(hidden, HAND_PREVIOUS, row, place)
        place = _put_prospects_among(previous, own, following, rules, mind, row, place)
        place = put_sizes(values, row, place)
        row[place] = np.float32(against_rules[index])
