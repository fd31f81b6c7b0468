"""A policy network evaluated by compiled code, without PyTorch, from this package's weight files.

First layers add one row of running sums where columns would add up to twenty (:mod:`ddz_agents.neural.sparse_inputs`),
an action that is not legal needs no logit, and a hand that an action leaves is weighed without its features ever being
written down: so one row takes a quarter of the multiplications that matrices take, and no batch is needed to be fast. A
row is computed alike in any batch, in float32 and in a fixed order without fused or reordered operations: the answers
depend on neither the batch nor the threads, nor on the processor, the logarithm and the exponential aside.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ddz_agents.neural.architecture import critic_layers, policy_layers
from ddz_agents.neural.decisions import (
    CRITIC_FIELDS,
    REST_FIELDS,
    encode_hidden_hands,
    encode_observation,
    hand_after,
    policy_fields,
    remaining_hand,
    value_all_hands,
    value_own_hand,
    write_rest_counts,
)
from ddz_agents.neural.errors import InvalidPolicyInputError
from ddz_agents.neural.features import value_hand
from ddz_agents.neural.model import Bytes, Floats, check_batch, check_bytes, choose_leaf_value
from ddz_agents.neural.sparse_inputs import Fields
from ddz_agents.neural.trunk import (
    ROWS,
    Dense,
    ForwardBuffers,
    Trunk,
    add_product,
    affine,
    apply_sparse_layer,
    dot,
    load_dense,
    load_summed,
    load_trunk,
    new_buffers,
    run_blocks,
    workspace_of_row,
)
from ddz_agents.neural.weights import Weights
from ddz_env import Move, View
from ddz_env.core.actions import KICKER_BASE, MAX_KICKERS, NUM_ACTIONS
from ddz_env.core.engine.layout import SEAT, STAGE, STAGE_KICKER
from ddz_env.core.engine.legal import count_legal, nth_legal
from ddz_env.core.engine.step import apply_and_record
from ddz_env.core.engine.tables import MASK_WORDS
from ddz_env.core.engine.words import U0, U1
from ddz_env.core.observation import CONCEALED, MASK_BYTE_WORDS, OBSERVATION_WORDS, write_mask, write_observation
from ddz_env.support.arrays import WritableAfterUnpickling
from ddz_env.support.compiling import kernel, part_kernel, pure_kernel
from ddz_env.support.threads import run_chunks

_ZERO, _ONE = np.float32(0.0), np.float32(1.0)
_NONE, _FIRST, _SINGLE, _ROWS = np.int64(0), np.int64(0), np.int64(1), np.int64(ROWS)
"""Sizes and places as typed numbers: a kernel that is called with a literal is compiled for this literal alone."""

MOST_STAGES = 1 + MAX_KICKERS
LIKELIEST, DRAWN = -2, -1
"""In the place of an action: the most probable one, or one that is drawn when its probabilities are known."""


class PolicyNet(NamedTuple):
    """A policy's layers and the layout of its inputs, as arrays for compiled functions.

    Attributes:
        trunk: Its trunk.
        logits: A row of weights an action, shape ``[400, width]``.
        value: Shape ``[1, width]``.
        rest: What looks at a hand that is left, running sums of shape ``[REST_COLUMNS, rest_width]``.
        features: What is made of it, shape ``[rest_features, rest_width]``.
        weigh: What the state makes of the features, shape ``[width, rest_features]``.
        inputs: The fields of its inputs.
        rests: Those of a hand that is left.
    """

    trunk: Trunk
    logits: Dense
    value: Dense
    rest: Dense
    features: Dense
    weigh: Dense
    inputs: Fields
    rests: Fields


class CriticNet(NamedTuple):
    """A critic's trunk, its value layer of shape ``[1, width]``, and the layout of its inputs, for compiled code."""

    trunk: Trunk
    value: Dense
    inputs: Fields


_Parts = tuple[Any, ...]
"""The arrays and numbers of a network in order: Python passes 24 of them in 4 µs, nested named tuples in 38."""


def _flatten_layers(net: _Parts) -> _Parts:
    """Flatten a network's nested layers into one tuple of arrays and numbers."""
    nested = (_flatten_layers(part) if isinstance(part, tuple) else (part,) for part in net)
    return tuple(itertools.chain.from_iterable(nested))


@part_kernel
def _trunk_of_parts(parts: _Parts) -> Trunk:
    return Trunk(Dense(*parts[:2]), Dense(*parts[2:4]), Dense(*parts[4:6]))


@part_kernel
def _policy_of_parts(parts: _Parts) -> PolicyNet:
    logits, value, rest = Dense(*parts[6:8]), Dense(*parts[8:10]), Dense(*parts[10:12])
    features, weigh = Dense(*parts[12:14]), Dense(*parts[14:16])
    inputs, rests = Fields(*parts[16:20]), Fields(*parts[20:24])
    return PolicyNet(_trunk_of_parts(parts), logits, value, rest, features, weigh, inputs, rests)


@part_kernel
def _critic_of_parts(parts: _Parts) -> CriticNet:
    return CriticNet(_trunk_of_parts(parts), Dense(*parts[6:8]), Fields(*parts[8:12]))


@part_kernel
def _log_softmax(logs: np.ndarray, mask: np.ndarray) -> None:
    """Replace the logits of the legal actions with log-probabilities, in place."""
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


@kernel
def _new_policy_buffers(policy: PolicyNet, rows: int) -> ForwardBuffers:
    """Allocate a policy's buffers in compiled code, which takes no longer than passing them from Python."""
    width, rest_features = policy.weigh.weights.shape
    return new_buffers(rows, policy.inputs.most, width, policy.rest.bias.size, rest_features)


@pure_kernel
def _run_first_layer(values: np.ndarray, policy: PolicyNet, buffers: ForwardBuffers, row: int) -> None:
    """Compute the first layer's output for one observation."""
    seen, hand_values = buffers.decisions.seen[row], buffers.decisions.hand_values[row]
    encode_observation(values, seen)
    value_own_hand(seen, workspace_of_row(buffers.workspaces, row), hand_values)
    apply_sparse_layer(seen, hand_values, policy.inputs, policy.trunk.first, buffers, buffers.states[row])


@pure_kernel
def _evaluate_actions(
    mask: np.ndarray, row: int, policy: PolicyNet, buffers: ForwardBuffers, logs: np.ndarray
) -> np.float32:
    """Write the log-probabilities, shape ``[400]``, from the trunk's output, and return the state value."""
    state, scratch, seen = buffers.states[row], workspace_of_row(buffers.workspaces, row), buffers.decisions.seen[row]
    features, scales, rest = buffers.features, buffers.scales, buffers.rest
    affine(state, policy.weigh, buffers.places, features)
    scale = _ONE / np.float32(math.sqrt(features.size))
    for index in range(features.size):
        features[index] *= scale
    for unit in range(scales.size):
        scales[unit] = _ZERO
    add_product(features, policy.features.weights, buffers.places, scales)
    shift = dot(features, policy.features.bias)
    left, counts, hand_values = remaining_hand(seen), buffers.decisions.seen[-1], buffers.decisions.hand_values[-1]
    for action in range(NUM_ACTIONS):
        if mask[action] == 0:
            logs[action] = -np.float32(np.inf)
            continue
        sure, price = value_hand(hand_after(left, action, seen), scratch)
        hand_values[0, 0], hand_values[0, 1] = sure, price
        write_rest_counts(seen, action, counts)
        apply_sparse_layer(counts, hand_values, policy.rests, policy.rest, buffers, rest)
        logit = dot(state, policy.logits.weights[action]) + policy.logits.bias[action]
        logs[action] = logit + (dot(rest, scales) + shift)
    _log_softmax(logs, mask)
    return dot(state, policy.value.weights[0]) + policy.value.bias[0]


@pure_kernel
def _evaluate_row(
    values: np.ndarray, mask: np.ndarray, policy: PolicyNet, buffers: ForwardBuffers, logs: np.ndarray
) -> np.float32:
    """Evaluate one observation: write its log-probabilities, shape ``[400]``, and return its value."""
    _run_first_layer(values, policy, buffers, _FIRST)
    run_blocks(policy.trunk, buffers, _SINGLE)
    return _evaluate_actions(mask, _FIRST, policy, buffers, logs)


@kernel
def _run_policy(
    observations: np.ndarray, masks: np.ndarray, parts: _Parts, logs: np.ndarray, values: np.ndarray
) -> None:
    """Evaluate a batch of observations: write log-probabilities, shape ``[n, 400]``, and values, shape ``[n]``."""
    policy = _policy_of_parts(parts)
    buffers = _new_policy_buffers(policy, _ROWS)
    for first in range(0, values.size, ROWS):
        rows = min(ROWS, values.size - first)
        for row in range(rows):
            _run_first_layer(observations[first + row], policy, buffers, row)
        run_blocks(policy.trunk, buffers, rows)
        for row in range(rows):
            index = first + row
            values[index] = _evaluate_actions(masks[index], row, policy, buffers, logs[index])


@kernel
def _build_move(
    row: np.ndarray,
    ring: np.ndarray,
    rules: np.ndarray,
    parts: _Parts,
    chosen: int,
    stages: np.ndarray,
    logs: np.ndarray,
) -> bool:
    """Choose the actions of a move in turn until it is complete or an action must be drawn at random.

    Args:
        row: The row behind the stages so far, changed in place.
        ring: The recent moves behind them, changed in place.
        rules: The rules array.
        parts: Those of the policy.
        chosen: The next action; ``LIKELIEST`` takes the most probable one at every stage, ``DRAWN`` waits for one
            where there is a choice.
        stages: The number of stages so far and their actions, changed in place, shape ``[MOST_STAGES + 1]``, int64.
        logs: Output: the logarithms of the probabilities of the last stage that had a choice, shape ``[400]``.

    Returns:
        Whether the move is whole.
    """
    policy = _policy_of_parts(parts)
    bits, legal = np.empty(MASK_WORDS, np.uint64), np.empty(MASK_BYTE_WORDS, np.uint64)
    seen, seat, buffers = np.empty(OBSERVATION_WORDS, np.uint64), row[SEAT], _new_policy_buffers(policy, _SINGLE)
    while stages[0] == 0 or row[STAGE] == STAGE_KICKER:
        action = chosen
        if chosen < 0:
            write_mask(row, rules, bits, legal)
            action = np.int64(nth_legal(bits, U0))
            if count_legal(bits) > U1:
                write_observation(row, ring, rules, seat, seen)
                _evaluate_row(seen.view(np.int8), legal.view(np.int8), policy, buffers, logs)
                if chosen == DRAWN:
                    return False
                for other in range(action + 1, NUM_ACTIONS):
                    if logs[other] > logs[action]:
                        action = other
        else:
            chosen = DRAWN
        apply_and_record(row, ring, np.uint64(action), rules)
        stages[0] += 1
        stages[stages[0]] = action
    return True


@pure_kernel
def _value_game(
    observation: np.ndarray, concealed: np.ndarray, critic: CriticNet, buffers: ForwardBuffers
) -> np.float32:
    """Compute the critic's value of a game from the observation of the seat to act and the hidden hands."""
    seen, hand_values = buffers.decisions.seen[0], buffers.decisions.hand_values[0]
    encode_observation(observation, seen)
    encode_hidden_hands(concealed, seen)
    value_all_hands(seen, _FIRST, _FIRST, buffers.hands, workspace_of_row(buffers.workspaces, _FIRST), hand_values)
    apply_sparse_layer(seen, hand_values, critic.inputs, critic.trunk.first, buffers, buffers.states[0])
    run_blocks(critic.trunk, buffers, _SINGLE)
    return dot(buffers.states[0], critic.value.weights[0]) + critic.value.bias[0]


@kernel
def _run_critic(observations: np.ndarray, concealed: np.ndarray, parts: _Parts, values: np.ndarray) -> None:
    """Write the critic's value of each game in a batch, with all hands visible."""
    critic = _critic_of_parts(parts)
    buffers = new_buffers(_SINGLE, critic.inputs.most, critic.value.weights.shape[1], _NONE, _NONE)
    for index in range(values.size):
        values[index] = _value_game(observations[index], concealed[index], critic, buffers)


class CompiledPolicy(WritableAfterUnpickling):
    """A :class:`~ddz_agents.neural.model.PolicyModel` that runs this package's own weights in compiled code.

    A row's answer depends on nothing but the row: neither on the batch nor on the threads.

    Args:
        weights: The weights.
        threads: Threads that share the rows of a large batch.

    Attributes:
        architecture: The sizes.
        critic: The critic's layers, None if the weights came without one.
        objective: What the values mean: ``win`` or ``stake``.
        leaf: What a search's leaf is worth with it (:class:`~ddz_agents.neural.model.PolicyModel`).
    """

    def __init__(self, weights: Weights, threads: int = 1) -> None:
        self.architecture = weights.architecture
        self.objective = weights.objective
        self.leaf = choose_leaf_value(weights.objective, weights.values_trained, weights.critic is not None)
        policy, inputs = weights.policy, policy_fields(weights.architecture.history)
        net = PolicyNet(
            load_trunk(policy, policy_layers(weights.architecture), inputs),
            logits=load_dense(policy, "logits", outputs_first=True),
            value=load_dense(policy, "value", outputs_first=True),
            rest=load_summed(policy, "rest.0", REST_FIELDS),
            features=load_dense(policy, "rest.2", outputs_first=True),
            weigh=load_dense(policy, "weigh"),
            inputs=inputs,
            rests=REST_FIELDS,
        )
        self._policy = _flatten_layers(net)
        self.critic: _Parts | None = None
        if weights.critic is not None:
            trunk = load_trunk(weights.critic, critic_layers(weights.architecture), CRITIC_FIELDS)
            critic = CriticNet(trunk, load_dense(weights.critic, "value", outputs_first=True), CRITIC_FIELDS)
            self.critic = _flatten_layers(critic)
        self._threads = threads

    def evaluate(self, observations: Bytes, masks: Bytes) -> tuple[Floats, Floats]:
        """Compute log-probabilities, shape ``[n, 400]``, and values, shape ``[n]``, both float32.

        Raises:
            InvalidPolicyInputError: If a shape or type is wrong or a row has no legal action.
        """
        check_batch(observations, masks)
        count = len(observations)
        logs, values = np.empty((count, NUM_ACTIONS), np.float32), np.empty(count, np.float32)

        def work(first: int, stop: int) -> None:
            rows = slice(first, stop)
            _run_policy(observations[rows], masks[rows], self._policy, logs[rows], values[rows])

        run_chunks(work, count, self._threads)
        return logs, values

    def build_move(self, view: View, draw: Callable[[Floats], int] | None = None) -> Move:
        """Build a complete move for the seat to act, in one compiled call if no action is drawn at random.

        Args:
            view: What the seat knows, at the start of the move.
            draw: Draws an action by the logarithms of its probabilities, shape ``[400]``; None for the likeliest, the
                lowest id of equals.  It is not called where only one action is legal.
        """
        game = view.row.copy(), view.ring.copy(), view.rule_words
        logs, stages = np.empty(NUM_ACTIONS, np.float32), np.zeros(MOST_STAGES + 1, np.int64)
        chosen = LIKELIEST if draw is None else DRAWN
        while not _build_move(*game, self._policy, chosen, stages, logs):
            chosen = DRAWN if draw is None else draw(logs)
        count, main, *kickers = stages.tolist()
        return Move(main, tuple(action - KICKER_BASE for action in kickers[: count - 1]))

    def value_of_games(self, observations: Bytes, masks: Bytes, concealed: Bytes) -> Floats:
        """Compute the critic's values of games whose hidden cards are known, as in a determinization.

        Args:
            observations: Shape ``[n, OBSERVATION_SIZE]``, int8.
            masks: Shape ``[n, 400]``, int8.
            concealed: Shape ``[n, CONCEALED.size]``, int8.

        Returns:
            Values for the observers, shape ``[n]``, float32.

        Raises:
            InvalidPolicyInputError: If a shape or type is wrong, or the weights came without a critic.
        """
        critic = self.critic
        if critic is None:
            raise InvalidPolicyInputError(
                "these weights hold no critic: policy-v3 does, and so does what ddz train selfplay writes"
            )
        check_batch(observations, masks)
        check_bytes("concealed", concealed, len(observations), CONCEALED.size)
        values = np.empty(len(observations), np.float32)

        def work(first: int, stop: int) -> None:
            _run_critic(observations[first:stop], concealed[first:stop], critic, values[first:stop])

        run_chunks(work, len(observations), self._threads)
        return values
