"""The networks of :mod:`ddz_agents.neural.network` as compiled code: what they compute for one row at a time.

Most columns are thresholds and therefore zero, an action that is not legal needs no logit, and a hand that an action
leaves is weighed without its features ever being written down: so one row takes a third of the multiplications that
matrices take, and no batch is needed to be fast.  A row is computed alike whatever stands beside it, in float32 and in
a fixed order without fused or reordered operations: the answers depend on neither the batch nor the threads, nor, but
for the logarithm and the exponential, on the processor.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_agents.neural.columns import READING_RULES, REST_COLUMNS, describe_game, describe_observation
from ddz_agents.neural.features import appraise, hand_word
from ddz_agents.neural.leavings import leave, put_leaving
from ddz_agents.rules.scratch import RuleScratch, new_rule_scratch
from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.cards import NUM_RANKS
from ddz_env.core.engine.compiling import pure_kernel

_Floats = npt.NDArray[np.float32]

_ZERO, _ONE = np.float32(0.0), np.float32(1.0)
_EPSILON = np.float32(1e-5)
"""Of layer normalization, as in PyTorch."""


class Trunk(NamedTuple):
    """The layers below the outputs.

    Attributes:
        first: Weights of the first layer, shape ``[columns, width]``, float32.
        first_bias: Shape ``[width]``.
        blocks: Weights of the residual blocks, inputs first, shape ``[blocks, width, width]``.
        biases: Shape ``[blocks, width]``.
        gains: Of the normalizations of the blocks and of the last one, shape ``[blocks + 1, width]``.
        shifts: Shape ``[blocks + 1, width]``.
    """

    first: _Floats
    first_bias: _Floats
    blocks: _Floats
    biases: _Floats
    gains: _Floats
    shifts: _Floats


class PolicyLayers(NamedTuple):
    """A policy.

    Attributes:
        trunk: Its trunk.
        logits: A row of weights an action, shape ``[400, width]``.
        logits_bias: Shape ``[400]``.
        value: Shape ``[width]``.
        value_bias: Shape ``[1]``.
        rest: Weights of the layer that looks at a hand, shape ``[REST_COLUMNS, rest_width]``.
        rest_bias: Shape ``[rest_width]``.
        features: What is made of it, shape ``[rest_features, rest_width]``.
        features_bias: Shape ``[rest_features]``.
        weigh: What the state makes of the features, shape ``[width, rest_features]``.
        weigh_bias: Shape ``[rest_features]``.
    """

    trunk: Trunk
    logits: _Floats
    logits_bias: _Floats
    value: _Floats
    value_bias: _Floats
    rest: _Floats
    rest_bias: _Floats
    features: _Floats
    features_bias: _Floats
    weigh: _Floats
    weigh_bias: _Floats


class CriticLayers(NamedTuple):
    """A critic.

    Attributes:
        trunk: Its trunk.
        value: Shape ``[width]``.
        value_bias: Shape ``[1]``.
    """

    trunk: Trunk
    value: _Floats
    value_bias: _Floats


class Desk(NamedTuple):
    """Memory for one row, of one thread.

    Attributes:
        mind: Of the search through hands.
        columns: Of the row.
        state: What the trunk makes of it.
        normal: The same, normalized.
        added: What a block adds to it.
        rest: Columns of a hand that is left.
        seen: What the layer makes of them.
        scales: How much each unit of that layer counts.
        features: What the state makes of the features.
        places: Where a row of columns is not zero, int64.
        hand: Counts of a hand, int8.
    """

    mind: RuleScratch
    columns: _Floats
    state: _Floats
    normal: _Floats
    added: _Floats
    rest: _Floats
    seen: _Floats
    scales: _Floats
    features: _Floats
    places: npt.NDArray[np.int64]
    hand: npt.NDArray[np.int8]


def new_desk(columns: int, width: int, rest_width: int, rest_features: int) -> Desk:
    """Memory for a network of that size."""
    return Desk(
        mind=new_rule_scratch(),
        columns=np.zeros(columns, np.float32),
        state=np.zeros(width, np.float32),
        normal=np.zeros(width, np.float32),
        added=np.zeros(width, np.float32),
        rest=np.zeros(REST_COLUMNS, np.float32),
        seen=np.zeros(rest_width, np.float32),
        scales=np.zeros(rest_width, np.float32),
        features=np.zeros(rest_features, np.float32),
        places=np.zeros(max(columns, width, REST_COLUMNS, rest_width, rest_features), np.int64),
        hand=np.zeros(NUM_RANKS, np.int8),
    )


@pure_kernel
def _add_product(values: np.ndarray, weights: np.ndarray, places: np.ndarray, out: np.ndarray) -> None:
    """Add ``values @ weights``: a row of weights for each value that is not zero, eight rows at a time."""
    count = 0
    for index in range(values.size):
        places[count] = index
        count += values[index] != _ZERO
    whole = count - count % 8
    for k in range(0, whole, 8):
        a, b, c, d, e, f, g, h = (
            places[k],
            places[k + 1],
            places[k + 2],
            places[k + 3],
            places[k + 4],
            places[k + 5],
            places[k + 6],
            places[k + 7],
        )
        va, vb, vc, vd, ve, vf, vg, vh = (
            values[a],
            values[b],
            values[c],
            values[d],
            values[e],
            values[f],
            values[g],
            values[h],
        )
        wa, wb, wc, wd = weights[a], weights[b], weights[c], weights[d]
        we, wf, wg, wh = weights[e], weights[f], weights[g], weights[h]
        for unit in range(out.size):
            first = (va * wa[unit] + vb * wb[unit]) + (vc * wc[unit] + vd * wd[unit])
            second = (ve * we[unit] + vf * wf[unit]) + (vg * wg[unit] + vh * wh[unit])
            out[unit] += first + second
    for k in range(whole, count):
        value, row = values[places[k]], weights[places[k]]
        for unit in range(out.size):
            out[unit] += value * row[unit]


@pure_kernel
def affine(values: np.ndarray, weights: np.ndarray, bias: np.ndarray, places: np.ndarray, out: np.ndarray) -> None:
    """Write ``values @ weights + bias``."""
    for unit in range(out.size):
        out[unit] = bias[unit]
    _add_product(values, weights, places, out)


@pure_kernel
def dot(one: np.ndarray, other: np.ndarray) -> np.float32:
    """The sum of products, eight partial sums side by side."""
    a = b = c = d = e = f = g = h = _ZERO
    whole = one.size - one.size % 8
    for k in range(0, whole, 8):
        a += one[k] * other[k]
        b += one[k + 1] * other[k + 1]
        c += one[k + 2] * other[k + 2]
        d += one[k + 3] * other[k + 3]
        e += one[k + 4] * other[k + 4]
        f += one[k + 5] * other[k + 5]
        g += one[k + 6] * other[k + 6]
        h += one[k + 7] * other[k + 7]
    total = ((a + b) + (c + d)) + ((e + f) + (g + h))
    for k in range(whole, one.size):
        total += one[k] * other[k]
    return total


@pure_kernel
def _normalize(values: np.ndarray, gains: np.ndarray, shifts: np.ndarray, out: np.ndarray) -> None:
    """Layer normalization."""
    mean = 0.0
    for unit in range(values.size):
        mean += np.float64(values[unit])
    mean /= values.size
    variance = 0.0
    for unit in range(values.size):
        variance += (np.float64(values[unit]) - mean) ** 2
    inverse = np.float32(1.0 / math.sqrt(variance / values.size + np.float64(_EPSILON)))
    middle = np.float32(mean)
    for unit in range(values.size):
        out[unit] = (values[unit] - middle) * inverse * gains[unit] + shifts[unit]


@pure_kernel
def _rectify(values: np.ndarray) -> None:
    for unit in range(values.size):
        values[unit] = max(values[unit], _ZERO)


@pure_kernel
def run_trunk(trunk: Trunk, desk: Desk) -> None:
    """Make the state of the columns on the desk."""
    state, normal, added = desk.state, desk.normal, desk.added
    affine(desk.columns, trunk.first, trunk.first_bias, desk.places, state)
    _rectify(state)
    last = trunk.blocks.shape[0]
    for block in range(last):
        _normalize(state, trunk.gains[block], trunk.shifts[block], normal)
        affine(normal, trunk.blocks[block], trunk.biases[block], desk.places, added)
        for unit in range(state.size):
            state[unit] += max(added[unit], _ZERO)
    _normalize(state, trunk.gains[last], trunk.shifts[last], state)
    _rectify(state)


@pure_kernel
def _log_softmax(logs: np.ndarray, mask: np.ndarray) -> None:
    """Normalize the logits of legal actions in place."""
    most = -np.float32(np.inf)
    for action in range(NUM_ACTIONS):
        most = max(most, logs[action])
    total = 0.0
    for action in range(NUM_ACTIONS):
        if mask[action] != 0:
            total += math.exp(np.float64(logs[action] - most))
    shift = most + np.float32(math.log(total))
    for action in range(NUM_ACTIONS):
        if mask[action] != 0:
            logs[action] -= shift


@pure_kernel
def run_policy(
    values: np.ndarray, mask: np.ndarray, history: int, policy: PolicyLayers, desk: Desk, logs: np.ndarray
) -> np.float32:
    """Evaluate one observation.

    Args:
        values: The observation, shape ``[OBSERVATION_SIZE]``, int8.
        mask: Shape ``[400]``, int8; at least one action is legal.
        history: Completed moves that the policy sees.
        policy: The policy.
        desk: Memory.
        logs: Output, shape ``[400]``, float32: logarithms of the probabilities, minus infinity where illegal.

    Returns:
        The policy's own value.
    """
    describe_observation(values, history, READING_RULES, desk.mind, desk.hand, desk.columns)
    run_trunk(policy.trunk, desk)
    features, scales, seen = desk.features, desk.scales, desk.seen
    affine(desk.state, policy.weigh, policy.weigh_bias, desk.places, features)
    scale = _ONE / np.float32(math.sqrt(features.size))
    for index in range(features.size):
        features[index] *= scale
    for unit in range(scales.size):
        scales[unit] = _ZERO
    _add_product(features, policy.features, desk.places, scales)
    shift = dot(features, policy.features_bias)
    for action in range(NUM_ACTIONS):
        if mask[action] == 0:
            logs[action] = -np.float32(np.inf)
            continue
        leave(values, action, desk.hand)
        sure, price = appraise(hand_word(desk.hand, 0), READING_RULES, desk.mind)
        put_leaving(desk.hand, sure, price, desk.rest)
        affine(desk.rest, policy.rest, policy.rest_bias, desk.places, seen)
        _rectify(seen)
        own = dot(desk.state, policy.logits[action]) + policy.logits_bias[action]
        logs[action] = own + (dot(seen, scales) + shift)
    _log_softmax(logs, mask)
    return dot(desk.state, policy.value) + policy.value_bias[0]


@pure_kernel
def run_critic(values: np.ndarray, hidden: np.ndarray, critic: CriticLayers, desk: Desk) -> np.float32:
    """Evaluate one game.

    Args:
        values: The observation of the seat to act, shape ``[OBSERVATION_SIZE]``, int8.
        hidden: What it does not see, shape ``[CONCEALED.size]``, int8.
        critic: The critic.
        desk: Memory.

    Returns:
        The value for that seat.
    """
    describe_game(values, hidden, READING_RULES, desk.mind, desk.hand, desk.columns)
    run_trunk(critic.trunk, desk)
    return dot(desk.state, critic.value) + critic.value_bias[0]
