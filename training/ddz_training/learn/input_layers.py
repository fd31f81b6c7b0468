"""First layers of the networks in training: dense inputs on a GPU, sparse sums of weight rows on a CPU.

On a GPU tensor operations turn the bytes into columns, and the first layers are matrices as usual.  On a processor no
columns are made: a first layer adds a row of running sums for each entry (:mod:`ddz_agents.neural.sparse_inputs`), and
of the 400 logits only those of legal actions are computed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from ddz_agents.neural.architecture import Architecture
from ddz_agents.neural.decisions import CRITIC_FIELDS, REST_FIELDS, policy_fields, write_rest_counts
from ddz_agents.neural.feature_table import (
    CRITIC_INPUTS,
    DECISION_BYTES,
    KICKER_SIZE,
    REST_INPUTS,
    SPENT,
    policy_inputs,
)
from ddz_agents.neural.network import Critic, PolicyNetwork
from ddz_agents.neural.sparse_inputs import (
    Fields,
    add_active_rows,
    compute_running_sums,
    scatter_gradients,
    write_active_rows,
)
from ddz_agents.neural.tensor_columns import TensorColumns
from ddz_agents.neural.trunk import dot
from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.cards import NUM_RANKS
from ddz_env.support.compiling import kernel

_HAND_LEFT = DECISION_BYTES["left"]


class LegalPairs(NamedTuple):
    """The legal actions of a batch of decisions, one row per (decision, action) pair.

    Attributes:
        rows: The decision that each belongs to, shape ``[pairs]``, int64, ascending.
        actions: Shape ``[pairs]``, int64.
        hand_values: Hand values of the hand that each leaves, shape ``[pairs, 2]``, int16.
    """

    rows: Tensor
    actions: Tensor
    hand_values: Tensor


class InputLayer(Protocol):
    """The input side of the networks, which encodes decisions for the first layers and scores only legal actions."""

    def policy(self, seen: Tensor, hand_values: Tensor) -> Any:
        """Encode decisions as the input of the policy's first layer."""

    def critic(self, seen: Tensor, hand_values: Tensor) -> Any:
        """Encode decisions as the input of the critic's first layer."""

    def rests(self, seen: Tensor, legal: LegalPairs) -> Any:
        """Encode the hand left after each legal action as the input of the layer that scores such hands."""

    def action_scores(self, layer: nn.Linear, state: Tensor, legal: LegalPairs) -> Tensor:
        """Compute the outputs of a 400-output layer for the legal actions only, shape ``[pairs]``."""


def forward_policy(
    input_layer: InputLayer, policy: PolicyNetwork, seen: Tensor, hand_values: Tensor, legal: LegalPairs
) -> tuple[Tensor, Tensor]:
    """Compute a policy's logits of legal actions, shape ``[pairs]``, and its value head's output, shape ``[n]``."""
    state = policy.trunk(input_layer.policy(seen, hand_values))
    rests = policy.rest(input_layer.rests(seen, legal))
    weighed = (rests * policy.weigh(state)[legal.rows]).sum(1) * policy.scale
    return input_layer.action_scores(policy.logits, state, legal) + weighed, policy.value(state).squeeze(1)


def forward_critic(input_layer: InputLayer, critic: Critic, seen: Tensor, hand_values: Tensor) -> Tensor:
    """Compute a critic's values of a batch of decisions for the seats to act, shape ``[n]``."""
    values: Tensor = critic(input_layer.critic(seen, hand_values))
    return values


class GpuInputLayer:
    """The input layer for a GPU, which feeds the networks dense inputs computed by tensor operations.

    Args:
        architecture: The sizes.
        device: Where the tensors are.
    """

    def __init__(self, architecture: Architecture, device: torch.device) -> None:
        self._policy = TensorColumns(policy_inputs(architecture.history), device)
        self._critic, self._rests = TensorColumns(CRITIC_INPUTS, device), TensorColumns(REST_INPUTS, device)
        self._spent = torch.from_numpy(SPENT.reshape(-1, NUM_RANKS)).to(device)

    def policy(self, seen: Tensor, hand_values: Tensor) -> Tensor:
        """Compute the policy's dense network inputs, shape ``[n, observation_columns(history)]``, float32."""
        return self._policy.compute(seen, hand_values)

    def critic(self, seen: Tensor, hand_values: Tensor) -> Tensor:
        """Compute the critic's dense network inputs, shape ``[n, GAME_COLUMNS]``, float32."""
        return self._critic.compute(seen, hand_values)

    def rests(self, seen: Tensor, legal: LegalPairs) -> Tensor:
        """Compute dense inputs for the hands left after actions, shape ``[pairs, REST_COLUMNS]``, float32."""
        pair_kickers = (seen[:, KICKER_SIZE] == 2).long() * NUM_ACTIONS
        spent = self._spent[pair_kickers[legal.rows] + legal.actions]
        counts = seen[:, _HAND_LEFT : _HAND_LEFT + NUM_RANKS][legal.rows] - spent
        return self._rests.compute(counts, legal.hand_values.unsqueeze(1))

    def action_scores(self, layer: nn.Linear, state: Tensor, legal: LegalPairs) -> Tensor:
        """Compute all 400 scores in one multiplication and pick the legal ones, which takes few GPU operations."""
        scores: Tensor = layer(state).reshape(-1).gather(0, legal.rows * NUM_ACTIONS + legal.actions)
        return scores


# --- On a processor ---------------------------------------------------------------------------------------------------


class ActiveRows(NamedTuple):
    """The rows of running weight sums that a first layer adds up for each decision.

    Attributes:
        places: Indices of these rows, shape ``[n, most]``, int16.
        factors: By what each is multiplied, shape ``[n, most]``, float32.
        counts: How many each row of the batch has, shape ``[n]``, int32.
    """

    places: npt.NDArray[np.int16]
    factors: npt.NDArray[np.float32]
    counts: npt.NDArray[np.int32]


@kernel
def _write_decision_rows(seen: np.ndarray, hand_values: np.ndarray, table: Fields, out: ActiveRows) -> None:
    for row in range(seen.shape[0]):
        out.counts[row] = write_active_rows(seen[row], hand_values[row], table, out.places[row], out.factors[row])


@kernel
def _write_rest_rows(
    seen: np.ndarray, rows: np.ndarray, actions: np.ndarray, hand_values: np.ndarray, table: Fields, out: ActiveRows
) -> None:
    rest = np.empty(NUM_RANKS, np.int8)
    for pair in range(rows.shape[0]):
        write_rest_counts(seen[rows[pair]], actions[pair], rest)
        values = hand_values[pair : pair + 1]
        out.counts[pair] = write_active_rows(rest, values, table, out.places[pair], out.factors[pair])


@kernel
def _add_rows(entries: ActiveRows, sums: np.ndarray, bias: np.ndarray, out: np.ndarray) -> None:
    """Add the active rows of running weight sums to the bias for each decision in a batch."""
    for row in range(out.shape[0]):
        out[row] = bias
        add_active_rows(entries.places[row], entries.factors[row], entries.counts[row], sums, out[row])


@kernel
def _add_rows_backward(entries: ActiveRows, gradient: np.ndarray, out: np.ndarray) -> None:
    """Add each decision's gradient to the gradients of the running weight sums that the decision used."""
    for row in range(gradient.shape[0]):
        line = gradient[row]
        for k in range(entries.counts[row]):
            target, factor = out[entries.places[row, k]], entries.factors[row, k]
            for unit in range(line.size):
                target[unit] += factor * line[unit]


def _sparse_linear(entries: ActiveRows, sums: Tensor, bias: Tensor) -> Tensor:
    out = np.empty((len(entries.counts), len(bias)), np.float32)
    _add_rows(entries, sums.numpy(), bias.detach().numpy(), out)
    return torch.from_numpy(out)


class _SparseLinear(torch.autograd.Function):
    """An autograd function: a linear layer that adds up active weight rows, with gradients for its parameters."""

    @staticmethod
    def forward(context: Any, weight: Tensor, bias: Tensor, sums: Tensor, entries: ActiveRows, before: Any) -> Tensor:
        context.entries, context.before, context.shape = entries, before, sums.shape
        return _sparse_linear(entries, sums, bias)

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        gradient, out = gradients[0].contiguous(), np.zeros(context.shape, np.float32)
        _add_rows_backward(context.entries, gradient.numpy(), out)
        scatter_gradients(context.before, out)
        return torch.from_numpy(out).t(), gradient.sum(0), None, None, None


class RunningSumLinear(nn.Linear):
    """A linear layer on :class:`ActiveRows` that stores the weights of each input side by side in memory.

    Args:
        layer: The layer whose weights it takes over.
        table: The fields of its inputs.

    Attributes:
        cached_sums: The running sums while the weights do not change (:func:`cache_running_sums`).
    """

    def __init__(self, layer: nn.Linear, table: Fields) -> None:
        super().__init__(layer.in_features, layer.out_features)
        self.weight, self.bias = nn.Parameter(layer.weight.detach().t().contiguous().t()), layer.bias
        self._table = table
        self.cached_sums: Tensor | None = None

    def compute_sums(self) -> Tensor:
        """Compute the running sums of the current weights, shape ``[inputs, outputs]``."""
        return torch.from_numpy(compute_running_sums(self.weight.detach().t().numpy(), self._table))

    def forward(self, entries: ActiveRows) -> Tensor:  # type: ignore[override]  # entries in place of columns
        """Compute the layer's outputs, shape ``[n, outputs]``; no gradient flows to the inputs."""
        sums = self.compute_sums() if self.cached_sums is None else self.cached_sums
        if not torch.is_grad_enabled():  # a third of the time of a small batch
            return _sparse_linear(entries, sums, self.bias)
        product: Tensor = _SparseLinear.apply(self.weight, self.bias, sums, entries, self._table.before)  # type: ignore[no-untyped-call]
        return product


@contextlib.contextmanager
def cache_running_sums(*networks: nn.Module) -> Iterator[None]:
    """Cache the running sums of networks within a ``with`` block, in which the weights must not change."""
    layers = [layer for network in networks for layer in network.modules() if isinstance(layer, RunningSumLinear)]
    for layer in layers:
        layer.cached_sums = layer.compute_sums()
    try:
        yield
    finally:
        for layer in layers:
            layer.cached_sums = None


@kernel
def _score_pairs(
    state: np.ndarray, rows: np.ndarray, actions: np.ndarray, weights: np.ndarray, out: np.ndarray
) -> None:
    for pair in range(rows.size):
        out[pair] = dot(state[rows[pair]], weights[actions[pair]])


@kernel
def _score_pairs_backward(
    gradient: np.ndarray,
    state: np.ndarray,
    rows: np.ndarray,
    actions: np.ndarray,
    weights: np.ndarray,
    to_state: np.ndarray,
    to_weights: np.ndarray,
) -> None:
    for pair in range(rows.size):
        row, action, slope = rows[pair], actions[pair], gradient[pair]
        for unit in range(state.shape[1]):
            to_state[row, unit] += slope * weights[action, unit]
            to_weights[action, unit] += slope * state[row, unit]


def _legal_scores(state: Tensor, weight: Tensor, rows: Tensor, actions: Tensor) -> Tensor:
    out = np.empty(len(rows), np.float32)
    _score_pairs(state.detach().numpy(), rows.numpy(), actions.numpy(), weight.detach().numpy(), out)
    return torch.from_numpy(out)


class _LegalScores(torch.autograd.Function):
    """An autograd function: a linear layer's output for each pair of a decision and a legal action."""

    @staticmethod
    def forward(context: Any, state: Tensor, weight: Tensor, rows: Tensor, actions: Tensor) -> Tensor:
        context.save_for_backward(state, weight, rows, actions)
        return _legal_scores(state, weight, rows, actions)

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None]:
        saved = [part.detach().numpy() for part in context.saved_tensors]
        to_state, to_weights = np.zeros_like(saved[0]), np.zeros_like(saved[1])
        state, weight, rows, actions = saved
        _score_pairs_backward(gradients[0].contiguous().numpy(), state, rows, actions, weight, to_state, to_weights)
        return torch.from_numpy(to_state), torch.from_numpy(to_weights), None, None


class CpuInputLayer:
    """The input layer for a CPU, which adds up the weight rows of active inputs and multiplies no dense inputs.

    Args:
        architecture: The sizes.
    """

    def __init__(self, architecture: Architecture) -> None:
        self.tables = policy_fields(architecture.history), CRITIC_FIELDS, REST_FIELDS

    def policy(self, seen: Tensor, hand_values: Tensor) -> ActiveRows:
        """Find the weight rows that the policy's first layer adds up for each decision."""
        return self._find_active_rows(self.tables[0], seen, hand_values)

    def critic(self, seen: Tensor, hand_values: Tensor) -> ActiveRows:
        """Find the weight rows that the critic's first layer adds up for each decision."""
        return self._find_active_rows(self.tables[1], seen, hand_values)

    def _find_active_rows(self, table: Fields, seen: Tensor, hand_values: Tensor) -> ActiveRows:
        entries = _new_active_rows(len(seen), table.most)
        _write_decision_rows(seen.numpy(), hand_values.numpy(), table, entries)
        return entries

    def rests(self, seen: Tensor, legal: LegalPairs) -> ActiveRows:
        """Find the weight rows that are added up for the hand left after each legal action."""
        table = self.tables[2]
        entries = _new_active_rows(len(legal.rows), table.most)
        rows, actions, hand_values = (part.numpy() for part in legal)
        _write_rest_rows(seen.numpy(), rows, actions, hand_values, table, entries)
        return entries

    def action_scores(self, layer: nn.Linear, state: Tensor, legal: LegalPairs) -> Tensor:
        """Compute the scores of legal actions only, using one row of weights per action."""
        compute = _LegalScores.apply if torch.is_grad_enabled() else _legal_scores
        scores: Tensor = compute(state, layer.weight, legal.rows, legal.actions)
        return scores + layer.bias[legal.actions]


def _new_active_rows(count: int, most: int) -> ActiveRows:
    return ActiveRows(np.empty((count, most), np.int16), np.empty((count, most), np.float32), np.empty(count, np.int32))


def make_input_layer(device: torch.device, policy: PolicyNetwork, critic: Critic) -> InputLayer:
    """Make the input layer for a device; on a CPU, this also replaces the first layers of the networks."""
    if device.type != "cpu":
        return GpuInputLayer(policy.architecture, device)
    input_layer = CpuInputLayer(policy.architecture)
    for layers, table in zip((policy.trunk, critic.trunk, policy.rest), input_layer.tables, strict=True):
        layers[0] = RunningSumLinear(layers[0], table)  # type: ignore[arg-type]  # each begins with a linear layer
    return input_layer
