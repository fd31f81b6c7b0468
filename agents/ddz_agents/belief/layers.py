"""The belief network as compiled code: hidden hands drawn rank by rank, each with its probability.

One of the two other hands says everything, for the other has the rest.  Ranks are gone through from the highest down.
How many cards of a rank the next seat holds is drawn from what plain dealing gives (hypergeometric, by what is left of
the pool and of the hand), times what the network makes of the table and of the counts drawn before.  Counts that would
leave too many or too few cards have probability zero, so every sample is a deal of the right sizes, and a network that
says nothing draws deals of cards uniformly.

The head is a neural autoregressive distribution estimator (Larochelle and Murray 2011; Uria et al. 2016): each drawn
count adds a vector to one hidden layer, so a whole hand costs about as much as a layer.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_agents.belief.conduct import CONDUCT_COLUMNS, put_conduct
from ddz_agents.neural.columns import READING_RULES, describe_observation, observation_columns
from ddz_agents.neural.compiled_policy import Dense, ForwardBuffers, Trunk, affine, dot, run_trunk
from ddz_agents.neural.model import Bytes, Floats
from ddz_agents.rules.scratch import RuleScratch, new_rule_scratch
from ddz_agents.worlds.determinize import Reals
from ddz_env.core.cards import NUM_RANKS
from ddz_env.core.engine.compiling import inline_kernel, kernel, pure_kernel
from ddz_env.core.observation import CONCEALED, HISTORY, OBSERVATION

COUNTS = 5
"""Counts of a rank: none to four."""

CONDUCT = observation_columns(HISTORY)
"""The first column of what the seats' conduct says; before it stands the observation as the policy reads it."""

COLUMNS = CONDUCT + CONDUCT_COLUMNS
"""Columns of the network's input."""

_UNSEEN, _HELD, _ROLE, _NEXT, _PREVIOUS = (
    OBSERVATION.offsets[name]
    for name in ("unseen", "landlord_cards_held", "role", "cards_left_next", "cards_left_previous")
)
_HAND_NEXT = CONCEALED.offsets["hand_next"]
_LOG_FACTORIALS = np.array([math.lgamma(n + 1) for n in range(109)])


class BeliefLayers(NamedTuple):
    """A belief network.

    Attributes:
        trunk: Its trunk.
        context: What the trunk says to the head, shape ``[width, hidden]``, float32.
        counts: What a count from one to four adds, shape ``[15, 4, hidden]``.
        logits: Of each count of each rank, weights of shape ``[15, 5, hidden]`` and biases ``[15, 5]``.
    """

    trunk: Trunk
    context: Dense
    counts: Floats
    logits: Dense


@pure_kernel
def hidden_cards(values: np.ndarray, pool: np.ndarray) -> int:
    """Write the cards that an observer of three seats cannot place.

    Args:
        values: The observation, shape ``[OBSERVATION_SIZE]``, int8.
        pool: Output, counts by rank, shape ``[15]``, int64.

    Returns:
        How many of them the next seat holds; -1 where nothing is hidden between the two other seats alone: before
        there is a landlord, with open hands, two players or undealt cards.
    """
    following, previous, total = np.int64(values[_NEXT]), np.int64(values[_PREVIOUS]), np.int64(0)
    for rank in range(NUM_RANKS):
        held = np.int64(0) if values[_ROLE] == 1 else np.int64(values[_HELD + rank])
        pool[rank] = np.int64(values[_UNSEEN + rank]) - held
        total += pool[rank]
        following -= held if values[_ROLE + 2] == 1 else 0  # a peasant up sits before the landlord
        previous -= held if values[_ROLE + 1] == 1 else 0
    if values[_ROLE + 3] == 1 or following < 0 or previous < 0 or following + previous != total or total == 0:
        return -1
    return following


@inline_kernel
def _log_ways(cards: int, chosen: int) -> float:
    """The logarithm of a binomial coefficient."""
    return _LOG_FACTORIALS[cards] - _LOG_FACTORIALS[chosen] - _LOG_FACTORIALS[cards - chosen]


def log_ways(pool: npt.NDArray[np.int64], hands: npt.NDArray[np.int64]) -> Reals:
    """The logarithms of the numbers of ways to deal hands: up to a constant, what plain dealing gives to them.

    Args:
        pool: Hidden cards of each rank, shape ``[15]``.
        hands: Of these one hand's, shape ``[n, 15]``.

    Returns:
        Shape ``[n]``.
    """
    return np.asarray((_LOG_FACTORIALS[pool] - _LOG_FACTORIALS[hands] - _LOG_FACTORIALS[pool - hands]).sum(axis=1))


@pure_kernel
def weigh_counts(cards: int, left: int, need: int, out: np.ndarray) -> int:
    """Write the logarithms of what plain dealing gives to each count of one rank.

    Args:
        cards: Cards of the rank in the pool.
        left: Cards in the pool of this rank and those to come.
        need: Cards that the hand still lacks.
        out: Output, shape ``[5]``, float32; minus infinity where impossible.

    Returns:
        How many counts are possible.
    """
    possible, rest = 0, left - cards
    for count in range(COUNTS):
        out[count] = -np.inf
        if count <= cards and count <= need and need - count <= rest:
            ways = _log_ways(cards, count) + _log_ways(rest, need - count) - _log_ways(left, need)
            out[count] = np.float32(ways)
            possible += 1
    return possible


@inline_kernel
def _pick(logs: np.ndarray, draw: float, possible: int) -> int:
    """A count with the probabilities, normalized in place; the last possible one if rounding leaves a rest."""
    most, chosen = -np.inf, 0
    for count in range(COUNTS):
        if logs[count] > most:
            most, chosen = np.float64(logs[count]), count
    if possible == 1:
        logs[chosen] = np.float32(0.0)
        return chosen
    total = 0.0
    for count in range(COUNTS):
        if logs[count] > -np.inf:
            total += math.exp(np.float64(logs[count]) - most)
    point, running, shift = draw * total, 0.0, most + math.log(total)
    for count in range(COUNTS):
        if logs[count] > -np.inf:
            if running <= point:
                chosen = count
            running += math.exp(np.float64(logs[count]) - most)
            logs[count] = np.float32(np.float64(logs[count]) - shift)
    return chosen


class Head(NamedTuple):
    """Memory for one hand.

    Attributes:
        sums: The hidden layer before its rectifier, shape ``[hidden]``, float32.
        hidden: After it.
        logs: Of the counts of a rank, shape ``[5]``, float32.
        pool: Cards of each rank, shape ``[15]``, int64.
    """

    sums: Floats
    hidden: Floats
    logs: Floats
    pool: npt.NDArray[np.int64]


def new_head(hidden: int) -> Head:
    """Memory for a head of that width."""
    floats = [np.zeros(size, np.float32) for size in (hidden, hidden, COUNTS)]
    return Head._make([*floats, np.zeros(NUM_RANKS, np.int64)])


@pure_kernel
def _walk(
    layers: BeliefLayers, context: np.ndarray, need: int, draws: np.ndarray, head: Head, hand: np.ndarray
) -> float:
    """Draw the next seat's hand, or where there are no draws weigh the one given; the logarithm of its probability."""
    left, total = np.int64(0), 0.0
    for rank in range(NUM_RANKS):
        left += head.pool[rank]
    for unit in range(context.size):
        head.sums[unit] = context[unit]
    for step in range(NUM_RANKS):
        rank = NUM_RANKS - 1 - step
        cards = head.pool[rank]
        possible = weigh_counts(cards, left, need, head.logs)
        if possible > 1:
            for unit in range(context.size):
                head.hidden[unit] = max(head.sums[unit], np.float32(0.0))
            for count in range(COUNTS):
                if head.logs[count] > -np.inf:
                    more = dot(head.hidden, layers.logits.weights[rank, count]) + layers.logits.bias[rank, count]
                    head.logs[count] += more
        drawn = _pick(head.logs, draws[step] if draws.size else 0.0, possible)
        if draws.size:
            hand[rank] = drawn
        count = np.int64(hand[rank])
        total += np.float64(head.logs[count])
        if count > 0:
            added = layers.counts[rank, count - 1]
            for unit in range(context.size):
                head.sums[unit] += added[unit]
        left -= cards
        need -= count
    return total


@kernel
def believe(
    values: np.ndarray,
    tallies: np.ndarray,
    seat: int,
    layers: BeliefLayers,
    buffers: ForwardBuffers,
    head: Head,
    draws: np.ndarray,
    hands: np.ndarray,
    logs: np.ndarray,
) -> int:
    """Draw hands of the next seat, or weigh given ones.

    Args:
        values: The observation, shape ``[OBSERVATION_SIZE]``, int8.
        tallies: How each seat has played, shape ``[3, len(TALLIES)]``, int32.
        seat: The observer.
        layers: The network.
        buffers: Memory of the trunk.
        head: Memory of the head; its pool is written.
        draws: Uniform in 0..1, shape ``[n, 15]``, float64; ``[n, 0]`` where the hands are given.
        hands: The hands, counts by rank, shape ``[n, 15]``, int64; output where they are drawn.
        logs: Output, the logarithms of their probabilities, shape ``[n]``, float64.

    Returns:
        How many of the hidden cards the next seat holds; -1 where the network has nothing to say
        (:func:`hidden_cards`), and nothing is written.
    """
    need = hidden_cards(values, head.pool)
    if need < 0:
        return need
    describe_observation(values, HISTORY, READING_RULES, buffers.mind, buffers.hand, buffers.columns[:CONDUCT])
    put_conduct(tallies, seat, buffers.columns, CONDUCT)
    run_trunk(layers.trunk, buffers)
    context = np.empty(layers.context.bias.size, np.float32)
    affine(buffers.state, layers.context, buffers.places, context)
    for index in range(logs.size):
        logs[index] = _walk(layers, context, need, draws[index], head, hands[index])
    return need


@kernel
def _describe(
    observations: np.ndarray,
    hidden: np.ndarray,
    tallies: np.ndarray,
    seats: np.ndarray,
    mind: RuleScratch,
    columns: np.ndarray,
    hands: np.ndarray,
    logs: np.ndarray,
) -> None:
    pool, spare = np.empty(NUM_RANKS, np.int64), np.empty(NUM_RANKS, np.int8)
    for index in range(observations.shape[0]):
        values = observations[index]
        describe_observation(values, HISTORY, READING_RULES, mind, spare, columns[index, :CONDUCT])
        put_conduct(tallies[index], np.int64(seats[index]), columns[index], CONDUCT)
        need, left = hidden_cards(values, pool), np.int64(0)
        for rank in range(NUM_RANKS):
            left += pool[rank]
        for step in range(NUM_RANKS):
            rank = NUM_RANKS - 1 - step
            held = np.int64(0) if values[_ROLE + 2] != 1 else np.int64(values[_HELD + rank])
            hands[index, rank] = np.int64(hidden[index, _HAND_NEXT + rank]) - held
            weigh_counts(pool[rank], left, need, logs[index, rank])
            left -= pool[rank]
            need -= hands[index, rank]


class Lesson(NamedTuple):
    """What the network learns from.

    Attributes:
        columns: Its input, shape ``[n, COLUMNS]``, float32.
        hands: What the next seat truly holds of the hidden cards, shape ``[n, 15]``, int64.
        logs: Logarithms of what plain dealing gives to each count, the higher ranks known, shape ``[n, 15, 5]``,
            float32; minus infinity where impossible.
    """

    columns: Floats
    hands: npt.NDArray[np.int64]
    logs: Floats


def describe_lesson(observations: Bytes, concealed: Bytes, tallies: npt.NDArray[np.int32], seats: Bytes) -> Lesson:
    """Positions whose hidden cards are known, as the network learns from them.

    Args:
        observations: Shape ``[n, OBSERVATION_SIZE]``, int8; each must have a pool between two seats
            (:func:`hidden_cards`).
        concealed: What they do not see, shape ``[n, CONCEALED.size]``, int8.
        tallies: How the seats of each game have played, shape ``[n, 3, len(TALLIES)]``, int32.
        seats: The observers, shape ``[n]``, int8.
    """
    count = len(observations)
    lesson = Lesson(
        np.empty((count, COLUMNS), np.float32),
        np.empty((count, NUM_RANKS), np.int64),
        np.empty((count, NUM_RANKS, COUNTS), np.float32),
    )
    _describe(observations, concealed, tallies, seats, new_rule_scratch(), *lesson)
    return lesson


@kernel
def can_learn(observations: np.ndarray, found: np.ndarray) -> None:
    """Write where the two other seats have cards that the observer cannot place, and nobody else has.

    Args:
        observations: Shape ``[n, OBSERVATION_SIZE]``, int8.
        found: Output, shape ``[n]``, bool.
    """
    pool = np.empty(NUM_RANKS, np.int64)
    for index in range(found.size):
        found[index] = hidden_cards(observations[index], pool) >= 0
