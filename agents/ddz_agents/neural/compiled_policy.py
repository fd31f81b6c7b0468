"""Our weights as a :class:`~ddz_agents.neural.model.PolicyModel`, played by compiled code: no PyTorch is needed.

Most columns are thresholds and therefore zero, an action that is not legal needs no logit, and a hand that an action
leaves is weighed without its features ever being written down: so one row takes a third of the multiplications that
matrices take, and no batch is needed to be fast.  A row is computed alike in any batch, in float32 and in
a fixed order without fused or reordered operations: the answers depend on neither the batch nor the threads, nor, but
for the logarithm and the exponential, on the processor.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ddz_agents.neural.architecture import critic_layers, policy_layers
from ddz_agents.neural.columns import (
    READING_RULES,
    describe_game,
    describe_observation,
    leave,
    put_afterstate,
)
from ddz_agents.neural.errors import InvalidPolicyInputError
from ddz_agents.neural.features import hand_word, value_hand
from ddz_agents.neural.model import Bytes, Floats, check_batch, check_bytes
from ddz_agents.neural.trunk import (
    ROWS,
    Dense,
    ForwardBuffers,
    Trunk,
    add_product,
    affine,
    dense,
    dot,
    enter,
    new_buffers,
    rectify,
    run_blocks,
    run_trunk,
    trunk_of,
)
from ddz_agents.neural.weights import Weights
from ddz_agents.rules.scratch import RuleScratch, new_rule_scratch
from ddz_env import Move, View
from ddz_env.core.actions import KICKER_BASE, MAX_KICKERS, NUM_ACTIONS
from ddz_env.core.engine.compiling import kernel, pure_kernel
from ddz_env.core.engine.layout import SEAT, STAGE, STAGE_KICKER
from ddz_env.core.engine.legal import count_legal, nth_legal
from ddz_env.core.engine.step import apply_and_record
from ddz_env.core.engine.tables import MASK_WORDS
from ddz_env.core.engine.words import U0, U1
from ddz_env.core.observation import CONCEALED, MASK_BYTE_WORDS, OBSERVATION_WORDS, write_mask, write_observation
from ddz_env.core.owned import OwnsArrays
from ddz_env.envs.threads import run_chunks

_ZERO, _ONE = np.float32(0.0), np.float32(1.0)

MOST_STAGES = 1 + MAX_KICKERS
LIKELIEST, DRAWN = -2, -1
"""In the place of an action: the most probable one, or one that is drawn when its probabilities are known."""

_memory = threading.local()
"""What a thread searches through hands with."""


class PolicyNet(NamedTuple):
    """A policy.

    Attributes:
        trunk: Its trunk.
        logits: A row of weights an action, shape ``[400, width]``.
        value: Shape ``[1, width]``.
        rest: What looks at a hand that is left, shape ``[REST_COLUMNS, rest_width]``.
        features: What is made of it, shape ``[rest_features, rest_width]``.
        weigh: What the state makes of the features, shape ``[width, rest_features]``.
    """

    trunk: Trunk
    logits: Dense
    value: Dense
    rest: Dense
    features: Dense
    weigh: Dense


class CriticNet(NamedTuple):
    """A critic: its trunk, and a value of shape ``[1, width]``."""

    trunk: Trunk
    value: Dense


Weighted = tuple[Floats, ...]
"""The arrays of a network, in their order.  Numba takes a microsecond for every named tuple that Python passes, and ten
in one another were half as expensive to pass as the network to compute: kernels put them together themselves."""


def _flat(net: PolicyNet | CriticNet) -> Weighted:
    return tuple(array for layer in (*net.trunk, *net[1:]) for array in layer)


@kernel
def _trunk_in(arrays: Weighted) -> Trunk:
    return Trunk(Dense(arrays[0], arrays[1]), Dense(arrays[2], arrays[3]), Dense(arrays[4], arrays[5]))


@kernel
def _policy_in(arrays: Weighted) -> PolicyNet:
    return PolicyNet(
        _trunk_in(arrays),
        logits=Dense(arrays[6], arrays[7]),
        value=Dense(arrays[8], arrays[9]),
        rest=Dense(arrays[10], arrays[11]),
        features=Dense(arrays[12], arrays[13]),
        weigh=Dense(arrays[14], arrays[15]),
    )


@kernel
def _critic_in(arrays: Weighted) -> CriticNet:
    return CriticNet(_trunk_in(arrays), Dense(arrays[6], arrays[7]))


@kernel
def _buffers_for(policy: PolicyNet) -> ForwardBuffers:
    columns, width = policy.trunk.first.weights.shape
    return new_buffers(columns, width, policy.rest.bias.size, policy.weigh.bias.size)


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
def _enter_seat(
    values: np.ndarray, history: int, policy: PolicyNet, mind: RuleScratch, buffers: ForwardBuffers, row: int
) -> None:
    """Make the first state of a row of an observation."""
    describe_observation(values, history, READING_RULES, mind, buffers.hand, buffers.columns)
    enter(policy.trunk, buffers, row)


@pure_kernel
def _judge(
    values: np.ndarray,
    mask: np.ndarray,
    row: int,
    policy: PolicyNet,
    mind: RuleScratch,
    buffers: ForwardBuffers,
    logs: np.ndarray,
) -> np.float32:
    """Write the logarithms of a row's probabilities, shape ``[400]``; the policy's own value."""
    state = buffers.states[row]
    features, scales, seen = buffers.features, buffers.scales, buffers.seen
    affine(state, policy.weigh, buffers.places, features)
    scale = _ONE / np.float32(math.sqrt(features.size))
    for index in range(features.size):
        features[index] *= scale
    for unit in range(scales.size):
        scales[unit] = _ZERO
    add_product(features, policy.features.weights, buffers.places, scales)
    shift = dot(features, policy.features.bias)
    for action in range(NUM_ACTIONS):
        if mask[action] == 0:
            logs[action] = -np.float32(np.inf)
            continue
        leave(values, action, buffers.hand)
        sure, price = value_hand(hand_word(buffers.hand, 0), READING_RULES, mind)
        put_afterstate(buffers.hand, sure, price, buffers.rest)
        affine(buffers.rest, policy.rest, buffers.places, seen)
        rectify(seen)
        own = dot(state, policy.logits.weights[action]) + policy.logits.bias[action]
        logs[action] = own + (dot(seen, scales) + shift)
    _log_softmax(logs, mask)
    return dot(state, policy.value.weights[0]) + policy.value.bias[0]


@kernel
def _run_policy(
    seen: tuple[np.ndarray, np.ndarray],
    history: int,
    weights: Weighted,
    minds: tuple[RuleScratch, ...],
    logs: np.ndarray,
    values: np.ndarray,
) -> None:
    """Evaluate rows: observations and masks."""
    (observations, masks), policy = seen, _policy_in(weights)
    buffers = _buffers_for(policy)
    for first in range(0, values.size, ROWS):
        rows = min(ROWS, values.size - first)
        for row in range(rows):
            _enter_seat(observations[first + row], history, policy, minds[row], buffers, row)
        run_blocks(policy.trunk, buffers, rows)
        for row in range(rows):
            index = first + row
            values[index] = _judge(observations[index], masks[index], row, policy, minds[row], buffers, logs[index])


@kernel
def _build_move(
    game: tuple[np.ndarray, np.ndarray, np.ndarray],
    history: int,
    weights: Weighted,
    mind: RuleScratch,
    chosen: int,
    stages: np.ndarray,
    logs: np.ndarray,
) -> bool:
    """Continue a move until it is whole, or until its next action must be drawn.

    Args:
        game: The row and the ring behind the stages so far, both changed in place, and the rules array.
        history: Completed moves that the policy sees.
        weights: The policy.
        mind: This thread's.
        chosen: The next action; ``LIKELIEST`` takes the most probable one at every stage, ``DRAWN`` waits for one
            where there is a choice.
        stages: The number of stages so far and their actions, changed in place, shape ``[MOST_STAGES + 1]``, int64.
        logs: Output: the logarithms of the probabilities of the last stage that had a choice, shape ``[400]``.

    Returns:
        Whether the move is whole.
    """
    (row, ring, rules), policy = game, _policy_in(weights)
    bits, legal = np.empty(MASK_WORDS, np.uint64), np.empty(MASK_BYTE_WORDS, np.uint64)
    words, seat, buffers = np.empty(OBSERVATION_WORDS, np.uint64), row[SEAT], _buffers_for(policy)
    seen, mask = words.view(np.int8), legal.view(np.int8)
    while stages[0] == 0 or row[STAGE] == STAGE_KICKER:
        action = chosen
        if chosen < 0:
            write_mask(row, rules, bits, legal)
            action = np.int64(nth_legal(bits, U0))
            if count_legal(bits) > U1:
                write_observation(row, ring, rules, seat, words)
                _enter_seat(seen, history, policy, mind, buffers, 0)
                run_blocks(policy.trunk, buffers, 1)
                _judge(seen, mask, 0, policy, mind, buffers, logs)
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


@kernel
def _run_critic(seen: tuple[np.ndarray, np.ndarray], weights: Weighted, mind: RuleScratch, values: np.ndarray) -> None:
    """Evaluate games: observations of the seats to act, and what they do not see."""
    (observations, concealed), critic = seen, _critic_in(weights)
    columns, width = critic.trunk.first.weights.shape
    buffers = new_buffers(columns, width, 0, 0)
    for index in range(values.size):
        given = observations[index], concealed[index]
        describe_game(*given, READING_RULES, mind, buffers.hand, buffers.columns)
        run_trunk(critic.trunk, buffers)
        values[index] = dot(buffers.states[0], critic.value.weights[0]) + critic.value.bias[0]


class CompiledPolicy(OwnsArrays):
    """A file of weights as a :class:`~ddz_agents.neural.model.PolicyModel`.

    A row's answer depends on nothing but the row: neither on the batch nor on the threads.

    Args:
        weights: The weights.
        threads: Threads that share the rows of a large batch.

    Attributes:
        architecture: The sizes.
        critic: The critic's layers, None if the weights came without one.
        objective: What the values mean: ``win`` or ``stake``.
        values_trained: Whether the policy's own value was taught.
    """

    def __init__(self, weights: Weights, threads: int = 1) -> None:
        self.architecture = weights.architecture
        self.objective, self.values_trained = weights.objective, weights.values_trained
        outputs_first = {"logits": True, "value": True, "rest.0": False, "rest.2": True, "weigh": False}
        linear = [dense(weights.policy, name, first) for name, first in outputs_first.items()]
        self._policy = _flat(PolicyNet(trunk_of(weights.policy, policy_layers(weights.architecture)), *linear))
        self.critic: Weighted | None = None
        if weights.critic is not None:
            trunk = trunk_of(weights.critic, critic_layers(weights.architecture))
            self.critic = _flat(CriticNet(trunk, dense(weights.critic, "value", outputs_first=True)))
        self._threads = threads

    def evaluate(self, observations: Bytes, masks: Bytes) -> tuple[Floats, Floats]:
        """Logarithms of the probabilities, shape ``[n, 400]``, and values, shape ``[n]``, both float32.

        Raises:
            InvalidPolicyInputError: If a shape or type is wrong or a row has no legal action.
        """
        check_batch(observations, masks)
        count, history = len(observations), self.architecture.history
        logs, values = np.empty((count, NUM_ACTIONS), np.float32), np.empty(count, np.float32)

        def work(first: int, stop: int) -> None:
            seen = observations[first:stop], masks[first:stop]
            _run_policy(seen, history, self._policy, _minds(), logs[first:stop], values[first:stop])

        run_chunks(work, count, self._threads)
        return logs, values

    def build_move(self, view: View, draw: Callable[[Floats], int] | None = None) -> Move:
        """A whole move for the seat to act, in one compiled call; one more for each action that is drawn.

        Args:
            view: What the seat knows, at the start of the move.
            draw: Draws an action by the logarithms of its probabilities, shape ``[400]``; None for the likeliest, the
                lowest id of equals.  It is not called where only one action is legal.
        """
        game = view.row.copy(), view.ring.copy(), view.rule_words
        logs, stages = np.empty(NUM_ACTIONS, np.float32), np.zeros(MOST_STAGES + 1, np.int64)
        given = self.architecture.history, self._policy, _minds()[0]
        chosen = LIKELIEST if draw is None else DRAWN
        while not _build_move(game, *given, chosen, stages, logs):
            chosen = DRAWN if draw is None else draw(logs)
        count, main, *kickers = stages.tolist()
        return Move(main, tuple(action - KICKER_BASE for action in kickers[: count - 1]))

    def value_of_games(self, observations: Bytes, masks: Bytes, concealed: Bytes) -> Floats:
        """The critic's values of games whose hidden cards are known, as on a determinization.

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
            raise InvalidPolicyInputError("these weights hold no critic")
        check_batch(observations, masks)
        check_bytes("concealed", concealed, len(observations), CONCEALED.size)
        values = np.empty(len(observations), np.float32)

        def work(first: int, stop: int) -> None:
            _run_critic((observations[first:stop], concealed[first:stop]), critic, _minds()[0], values[first:stop])

        run_chunks(work, len(observations), self._threads)
        return values


def _minds() -> tuple[RuleScratch, ...]:
    """What this thread searches through hands with: one for each of the rows whose states are made side by side."""
    if not hasattr(_memory, "minds"):
        _memory.minds = tuple(new_rule_scratch() for _ in range(ROWS))
    minds: tuple[RuleScratch, ...] = _memory.minds
    return minds
