"""How the networks read decisions in training: as columns on a GPU, as entries on a processor.

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
from ddz_agents.neural.decisions import CRITIC_FIELDS, REST_FIELDS, policy_fields, rest_counts
from ddz_agents.neural.feature_table import (
    CRITIC_INPUTS,
    DECISION_BYTES,
    KICKER_SIZE,
    REST_INPUTS,
    SPENT,
    policy_inputs,
)
from ddz_agents.neural.network import Critic, PolicyNetwork
from ddz_agents.neural.sparse_inputs import Fields, add_entries, enter, running_sums, share_out
from ddz_agents.neural.tensor_columns import TensorColumns
from ddz_agents.neural.trunk import dot
from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.cards import NUM_RANKS
from ddz_env.support.compiling import kernel

_LEFT = DECISION_BYTES["left"]


class Legal(NamedTuple):
    """The legal actions of a batch of decisions, one row per (decision, action) pair.

    Attributes:
        rows: The decision that each belongs to, shape ``[pairs]``, int64, ascending.
        actions: Shape ``[pairs]``, int64.
        hand_values: Hand values of the hand that each leaves, shape ``[pairs, 2]``, int16.
    """

    rows: Tensor
    actions: Tensor
    hand_values: Tensor


class DecisionReading(Protocol):
    """A way to feed decisions to the first layers, and to compute the logits of legal actions only."""

    def policy(self, seen: Tensor, hand_values: Tensor) -> Any:
        """The input of the policy's first layer, from :class:`~ddz_agents.neural.decisions.Decisions` as tensors."""

    def critic(self, seen: Tensor, hand_values: Tensor) -> Any:
        """The input of the critic's first layer."""

    def rests(self, seen: Tensor, legal: Legal) -> Any:
        """The input of the layer that looks at the hands that actions leave."""

    def action_scores(self, layer: nn.Linear, state: Tensor, legal: Legal) -> Tensor:
        """The outputs of a layer of 400 that belong to legal actions, shape ``[pairs]``."""


def read_policy(
    reading: DecisionReading, policy: PolicyNetwork, seen: Tensor, hand_values: Tensor, legal: Legal
) -> tuple[Tensor, Tensor]:
    """A policy's logits of the legal actions, shape ``[pairs]``, and its own values, shape ``[n]``."""
    state = policy.trunk(reading.policy(seen, hand_values))
    rests = policy.rest(reading.rests(seen, legal))
    weighed = (rests * policy.weigh(state)[legal.rows]).sum(1) * policy.scale
    return reading.action_scores(policy.logits, state, legal) + weighed, policy.value(state).squeeze(1)


def read_critic(reading: DecisionReading, critic: Critic, seen: Tensor, hand_values: Tensor) -> Tensor:
    """Compute a critic's values of decisions, shape ``[n]``."""
    values: Tensor = critic(reading.critic(seen, hand_values))
    return values


class DeviceReading:
    """Feeds decisions to networks on a GPU, as columns computed by tensor operations.

    Args:
        architecture: The sizes.
        device: Where the tensors are.
    """

    def __init__(self, architecture: Architecture, device: torch.device) -> None:
        self._policy = TensorColumns(policy_inputs(architecture.history), device)
        self._critic, self._rests = TensorColumns(CRITIC_INPUTS, device), TensorColumns(REST_INPUTS, device)
        self._spent = torch.from_numpy(SPENT.reshape(-1, NUM_RANKS)).to(device)

    def policy(self, seen: Tensor, hand_values: Tensor) -> Tensor:
        """The policy's columns, shape ``[n, observation_columns(history)]``, float32."""
        return self._policy.of(seen, hand_values)

    def critic(self, seen: Tensor, hand_values: Tensor) -> Tensor:
        """The critic's columns, shape ``[n, GAME_COLUMNS]``, float32."""
        return self._critic.of(seen, hand_values)

    def rests(self, seen: Tensor, legal: Legal) -> Tensor:
        """The columns of the hands that actions leave, shape ``[pairs, REST_COLUMNS]``, float32."""
        pair_kickers = (seen[:, KICKER_SIZE] == 2).long() * NUM_ACTIONS
        spent = self._spent[pair_kickers[legal.rows] + legal.actions]
        counts = seen[:, _LEFT : _LEFT + NUM_RANKS][legal.rows] - spent
        return self._rests.of(counts, legal.hand_values.unsqueeze(1))

    def action_scores(self, layer: nn.Linear, state: Tensor, legal: Legal) -> Tensor:
        """Compute all 400 in one multiplication, then pick those that are legal: few operations."""
        scores: Tensor = layer(state).reshape(-1).gather(0, legal.rows * NUM_ACTIONS + legal.actions)
        return scores


# --- On a processor ---------------------------------------------------------------------------------------------------


class Entries(NamedTuple):
    """Which rows of running sums a first layer adds up for each decision.

    Attributes:
        places: Indices of these rows, shape ``[n, most]``, int16.
        factors: By what each is multiplied, shape ``[n, most]``, float32.
        counts: How many each row of the batch has, shape ``[n]``, int32.
    """

    places: npt.NDArray[np.int16]
    factors: npt.NDArray[np.float32]
    counts: npt.NDArray[np.int32]


@kernel
def _enter_decisions(seen: np.ndarray, hand_values: np.ndarray, table: Fields, out: Entries) -> None:
    for row in range(seen.shape[0]):
        out.counts[row] = enter(seen[row], hand_values[row], table, out.places[row], out.factors[row])


@kernel
def _enter_rests(
    seen: np.ndarray, rows: np.ndarray, actions: np.ndarray, hand_values: np.ndarray, table: Fields, out: Entries
) -> None:
    rest = np.empty(NUM_RANKS, np.int8)
    for pair in range(rows.shape[0]):
        rest_counts(seen[rows[pair]], actions[pair], rest)
        values = hand_values[pair : pair + 1]
        out.counts[pair] = enter(rest, values, table, out.places[pair], out.factors[pair])


@kernel
def _multiply(entries: Entries, sums: np.ndarray, bias: np.ndarray, out: np.ndarray) -> None:
    """Add, for each row of a batch, rows of running sums to the bias."""
    for row in range(out.shape[0]):
        out[row] = bias
        add_entries(entries.places[row], entries.factors[row], entries.counts[row], sums, out[row])


@kernel
def _multiply_back(entries: Entries, gradient: np.ndarray, out: np.ndarray) -> None:
    """Add the gradient of each row of a batch to those of the running sums that it used."""
    for row in range(gradient.shape[0]):
        line = gradient[row]
        for k in range(entries.counts[row]):
            target, factor = out[entries.places[row, k]], entries.factors[row, k]
            for unit in range(line.size):
                target[unit] += factor * line[unit]


def _product(entries: Entries, sums: Tensor, bias: Tensor) -> Tensor:
    out = np.empty((len(entries.counts), len(bias)), np.float32)
    _multiply(entries, sums.numpy(), bias.detach().numpy(), out)
    return torch.from_numpy(out)


class _Product(torch.autograd.Function):
    """Running sums of weights by entries, and the gradient in the weights."""

    @staticmethod
    def forward(context: Any, weight: Tensor, bias: Tensor, sums: Tensor, entries: Entries, before: Any) -> Tensor:
        context.entries, context.before, context.shape = entries, before, sums.shape
        return _product(entries, sums, bias)

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        gradient, out = gradients[0].contiguous(), np.zeros(context.shape, np.float32)
        _multiply_back(context.entries, gradient.numpy(), out)
        share_out(context.before, out)
        return torch.from_numpy(out).t(), gradient.sum(0), None, None, None


class RunningSumLinear(nn.Linear):
    """A linear layer that takes :class:`Entries`; the weights of an input lie side by side in memory.

    Args:
        layer: The layer whose weights it takes over.
        table: The fields of its inputs.

    Attributes:
        held: The running sums while they are held (:func:`hold_sums`).
    """

    def __init__(self, layer: nn.Linear, table: Fields) -> None:
        super().__init__(layer.in_features, layer.out_features)
        self.weight, self.bias = nn.Parameter(layer.weight.detach().t().contiguous().t()), layer.bias
        self._table = table
        self.held: Tensor | None = None

    def sums(self) -> Tensor:
        """The running sums of the weights as they are, shape ``[inputs, outputs]``."""
        return torch.from_numpy(running_sums(self.weight.detach().t().numpy(), self._table))

    def forward(self, entries: Entries) -> Tensor:  # type: ignore[override]  # entries in place of columns
        """Shape ``[n, outputs]``; the entries get no gradient."""
        sums = self.sums() if self.held is None else self.held
        if not torch.is_grad_enabled():  # a third of the time of a small batch
            return _product(entries, sums, self.bias)
        product: Tensor = _Product.apply(self.weight, self.bias, sums, entries, self._table.before)  # type: ignore[no-untyped-call]
        return product


@contextlib.contextmanager
def hold_sums(*networks: nn.Module) -> Iterator[None]:
    """Compute running sums once for many evaluations, in which the weights do not change."""
    layers = [layer for network in networks for layer in network.modules() if isinstance(layer, RunningSumLinear)]
    for layer in layers:
        layer.held = layer.sums()
    try:
        yield
    finally:
        for layer in layers:
            layer.held = None


@kernel
def _score(state: np.ndarray, rows: np.ndarray, actions: np.ndarray, weights: np.ndarray, out: np.ndarray) -> None:
    for pair in range(rows.size):
        out[pair] = dot(state[rows[pair]], weights[actions[pair]])


@kernel
def _score_back(
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


def _scores(state: Tensor, weight: Tensor, rows: Tensor, actions: Tensor) -> Tensor:
    out = np.empty(len(rows), np.float32)
    _score(state.detach().numpy(), rows.numpy(), actions.numpy(), weight.detach().numpy(), out)
    return torch.from_numpy(out)


class _Scores(torch.autograd.Function):
    """One output of a layer for each pair of a row and an action."""

    @staticmethod
    def forward(context: Any, state: Tensor, weight: Tensor, rows: Tensor, actions: Tensor) -> Tensor:
        context.save_for_backward(state, weight, rows, actions)
        return _scores(state, weight, rows, actions)

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None]:
        saved = [part.detach().numpy() for part in context.saved_tensors]
        to_state, to_weights = np.zeros_like(saved[0]), np.zeros_like(saved[1])
        state, weight, rows, actions = saved
        _score_back(gradients[0].contiguous().numpy(), state, rows, actions, weight, to_state, to_weights)
        return torch.from_numpy(to_state), torch.from_numpy(to_weights), None, None


class ProcessorReading:
    """Feeds decisions to networks on a processor, as entries of running sums instead of columns.

    Args:
        architecture: The sizes.
    """

    def __init__(self, architecture: Architecture) -> None:
        self.tables = policy_fields(architecture.history), CRITIC_FIELDS, REST_FIELDS

    def policy(self, seen: Tensor, hand_values: Tensor) -> Entries:
        """Entries of the policy's first layer."""
        return self._decisions(self.tables[0], seen, hand_values)

    def critic(self, seen: Tensor, hand_values: Tensor) -> Entries:
        """Entries of the critic's first layer."""
        return self._decisions(self.tables[1], seen, hand_values)

    def _decisions(self, table: Fields, seen: Tensor, hand_values: Tensor) -> Entries:
        entries = _new_entries(len(seen), table.most)
        _enter_decisions(seen.numpy(), hand_values.numpy(), table, entries)
        return entries

    def rests(self, seen: Tensor, legal: Legal) -> Entries:
        """Entries of the layer that looks at the hands that actions leave."""
        table = self.tables[2]
        entries = _new_entries(len(legal.rows), table.most)
        rows, actions, hand_values = (part.numpy() for part in legal)
        _enter_rests(seen.numpy(), rows, actions, hand_values, table, entries)
        return entries

    def action_scores(self, layer: nn.Linear, state: Tensor, legal: Legal) -> Tensor:
        """The scores of legal actions: each action has a row of weights."""
        compute = _Scores.apply if torch.is_grad_enabled() else _scores
        scores: Tensor = compute(state, layer.weight, legal.rows, legal.actions)
        return scores + layer.bias[legal.actions]


def _new_entries(count: int, most: int) -> Entries:
    return Entries(np.empty((count, most), np.int16), np.empty((count, most), np.float32), np.empty(count, np.int32))


def reading_on(device: torch.device, policy: PolicyNetwork, critic: Critic) -> DecisionReading:
    """Make the way of reading that suits a device; on a processor this replaces the first layers of the networks."""
    if device.type != "cpu":
        return DeviceReading(policy.architecture, device)
    reading = ProcessorReading(policy.architecture)
    for layers, table in zip((policy.trunk, critic.trunk, policy.rest), reading.tables, strict=True):
        layers[0] = RunningSumLinear(layers[0], table)  # type: ignore[arg-type]  # each begins with a linear layer
    return reading
