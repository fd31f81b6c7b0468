"""The hidden layers of the networks, evaluated by compiled code.

First layers add a row of running sums for each entry (:mod:`ddz_agents.neural.sparse_inputs`).  Sums are in float32, in
an order that is the same for a row alone and beside others, without fused or reordered operations.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_agents.neural.architecture import Layers
from ddz_agents.neural.decisions import SEATS, Decisions, HandValueCache
from ddz_agents.neural.feature_table import DECISION_HANDS, DECISION_SIZE, REST_COLUMNS
from ddz_agents.neural.features import HAND_VALUES
from ddz_agents.neural.model import Floats
from ddz_agents.neural.sparse_inputs import Fields, add_active_rows, compute_running_sums, write_active_rows
from ddz_agents.neural.tensor_file import Arrays
from ddz_agents.rules.workspace import (
    ABOUT_WORDS,
    HANDS_REMEMBERED,
    MEMORY_WORDS,
    PRICE_WORDS,
    HandWorkspace,
    RuleWorkspace,
)
from ddz_env.core.engine.tables import MASK_WORDS
from ddz_env.support.compiling import inline_kernel, kernel, part_kernel, pure_kernel

_ZERO = np.float32(0.0)
ROWS, _TILE = 4, 256
"""Rows whose states are made side by side, and outputs that are computed together."""
_Eight = tuple[np.float32, np.float32, np.float32, np.float32, np.float32, np.float32, np.float32, np.float32]
_EPSILON = np.float32(1e-5)
"""The epsilon of layer normalization, as in PyTorch."""


class Dense(NamedTuple):
    """A linear layer, stored as its weights and its bias.

    Attributes:
        weights: Shape ``[inputs, outputs]``, float32, so that what an input adds lies side by side; or outputs first
            where single outputs are computed.
        bias: Shape ``[outputs]``.
    """

    weights: Floats
    bias: Floats


class Trunk(NamedTuple):
    """The layers below a network's outputs: a first layer, residual blocks, and their normalizations.

    Attributes:
        first: The first layer.
        blocks: Of the residual blocks, weights of shape ``[blocks, width, width]`` and biases ``[blocks, width]``.
        norms: Of the normalizations in the blocks and behind them, gains and shifts, both ``[blocks + 1, width]``.
    """

    first: Dense
    blocks: Dense
    norms: Dense


class ForwardBuffers(NamedTuple):
    """Preallocated arrays that a forward pass writes to, from decision bytes to hidden states.

    Attributes:
        workspaces: Of the searches through hands, with the prices that a row has set: each array with an axis of rows.
        decisions: Bytes and hand values of the rows, and of a hand that is left (the last).
        hands: Hand values of all hands of a game, which are found again.
        columns: Of a row that is given as columns.
        states: What the trunk makes of rows, shape ``[ROWS, width]``.
        normals: The same, normalized.
        added: What a block adds to them.
        tile: Some outputs of ``ROWS`` rows, shape ``[ROWS * _TILE]``.
        rest: What a layer makes of a hand that is left.
        scales: How much each unit of that layer counts.
        features: What the state makes of the features.
        places: Entries of a row: rows of running sums; or where columns are not zero; int64.
        factors: Entries of a row: factors.
    """

    workspaces: RuleWorkspace
    decisions: Decisions
    hands: HandValueCache
    columns: Floats
    states: Floats
    normals: Floats
    added: Floats
    tile: Floats
    rest: Floats
    scales: Floats
    features: Floats
    places: npt.NDArray[np.int64]
    factors: Floats


@kernel
def new_buffers(rows: int, columns: int, width: int, rest_width: int, rest_features: int) -> ForwardBuffers:
    """Allocate the buffers of a forward pass for a network of the given size."""
    most = max(columns, REST_COLUMNS, width)
    scratch = HandWorkspace(np.zeros((rows, PRICE_WORDS), np.int64), np.zeros((rows, MEMORY_WORDS), np.uint64))
    splits, mask = np.zeros((rows, HANDS_REMEMBERED, 3), np.uint64), np.zeros((rows, MASK_WORDS), np.uint64)
    return ForwardBuffers(
        RuleWorkspace(scratch, splits, mask, np.zeros((rows, ABOUT_WORDS), np.uint64)),
        Decisions(
            np.zeros((rows + 1, DECISION_SIZE), np.int8), np.zeros((rows + 1, DECISION_HANDS, HAND_VALUES), np.int16)
        ),
        HandValueCache(np.zeros((1, SEATS, 3), np.uint64), np.zeros((1, SEATS, HAND_VALUES), np.int16)),
        np.zeros(columns, np.float32),
        np.zeros((ROWS, width), np.float32),
        np.zeros((ROWS, width), np.float32),
        np.zeros((ROWS, width), np.float32),
        np.zeros(ROWS * _TILE, np.float32),
        np.zeros(rest_width, np.float32),
        np.zeros(rest_width, np.float32),
        np.zeros(rest_features, np.float32),
        np.zeros(most, np.int64),
        np.zeros(most, np.float32),
    )


@inline_kernel
def workspace_of_row(workspaces: RuleWorkspace, row: int) -> RuleWorkspace:
    """Return one batch row's slice of the rule agent's working memory."""
    prices, memory = workspaces.scratch
    return RuleWorkspace(
        HandWorkspace(prices[row], memory[row]), workspaces.splits[row], workspaces.mask[row], workspaces.about[row]
    )


def load_trunk(arrays: Arrays, layers: Layers, table: Fields | None = None) -> Trunk:
    """Convert a trunk's weights for compiled code, with running sums in the first layer for sparse inputs."""
    width, added, norms = layers.width, layers.residual_names, layers.norm_names
    return Trunk(
        load_dense(arrays, "trunk.0") if table is None else load_summed(arrays, "trunk.0", table),
        Dense(
            np.array([arrays[f"{name}.weight"].T for name in added], np.float32).reshape(-1, width, width),
            np.array([arrays[f"{name}.bias"] for name in added], np.float32).reshape(-1, width),
        ),
        Dense(*(np.array([arrays[f"{name}.{part}"] for name in norms], np.float32) for part in ("weight", "bias"))),
    )


def load_dense(arrays: Arrays, name: str, outputs_first: bool = False) -> Dense:
    """Convert a linear layer's weights and bias to contiguous arrays for compiled code."""
    weights = arrays[f"{name}.weight"]
    return Dense(np.ascontiguousarray(weights if outputs_first else weights.T), arrays[f"{name}.bias"])


def load_summed(arrays: Arrays, name: str, table: Fields) -> Dense:
    """Convert a linear layer for sparse inputs, replacing the weights by their running sums."""
    return Dense(compute_running_sums(np.ascontiguousarray(arrays[f"{name}.weight"].T), table), arrays[f"{name}.bias"])


@pure_kernel
def add_product(values: np.ndarray, weights: np.ndarray, places: np.ndarray, out: np.ndarray) -> None:
    """Add ``values @ weights`` to the output, skipping zero values and adding eight weight vectors at a time."""
    count = 0
    for index in range(values.size):
        places[count] = index
        count += values[index] != _ZERO
    whole = count - count % 8
    for k in range(0, whole, 8):
        a, b, c, d = places[k], places[k + 1], places[k + 2], places[k + 3]
        e, f, g, h = places[k + 4], places[k + 5], places[k + 6], places[k + 7]
        va, vb, vc, vd = values[a], values[b], values[c], values[d]
        ve, vf, vg, vh = values[e], values[f], values[g], values[h]
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


@inline_kernel
def _load_eight(values: np.ndarray, k: int) -> _Eight:
    a, b, c, d = values[k], values[k + 1], values[k + 2], values[k + 3]
    e, f, g, h = values[k + 4], values[k + 5], values[k + 6], values[k + 7]
    return a, b, c, d, e, f, g, h


@inline_kernel
def _sum_of_products(v: _Eight, w: _Eight) -> np.float32:
    """Return the sum of eight products, added in the same order as in :func:`add_product`."""
    first = (v[0] * w[0] + v[1] * w[1]) + (v[2] * w[2] + v[3] * w[3])
    second = (v[4] * w[4] + v[5] * w[5]) + (v[6] * w[6] + v[7] * w[7])
    return first + second


@part_kernel
def _affine_tile(values: np.ndarray, layer: Dense, first: int, stop: int, tile: np.ndarray) -> None:
    """Write a linear layer's outputs ``first`` to ``stop - 1`` for ``ROWS`` input rows into a tile.

    Four rows read a weight once.  LLVM makes vectors of a loop that writes to several rows where it knows how far they
    are apart: hence a tile of constant size.
    """
    weights, bias = layer.weights, layer.bias[first:stop]
    for unit in range(bias.size):
        tile[unit] = tile[_TILE + unit] = tile[2 * _TILE + unit] = tile[3 * _TILE + unit] = bias[unit]
    for k in range(0, weights.shape[0], 8):
        one, two, three, four = (
            _load_eight(values[0], k),
            _load_eight(values[1], k),
            _load_eight(values[2], k),
            _load_eight(values[3], k),
        )
        wa, wb = weights[k, first:stop], weights[k + 1, first:stop]
        wc, wd = weights[k + 2, first:stop], weights[k + 3, first:stop]
        we, wf = weights[k + 4, first:stop], weights[k + 5, first:stop]
        wg, wh = weights[k + 6, first:stop], weights[k + 7, first:stop]
        for unit in range(bias.size):
            column = wa[unit], wb[unit], wc[unit], wd[unit], we[unit], wf[unit], wg[unit], wh[unit]
            tile[unit] += _sum_of_products(one, column)
            tile[_TILE + unit] += _sum_of_products(two, column)
            tile[2 * _TILE + unit] += _sum_of_products(three, column)
            tile[3 * _TILE + unit] += _sum_of_products(four, column)


@part_kernel
def _affine_rows(values: np.ndarray, layer: Dense, rows: int, buffers: ForwardBuffers, out: np.ndarray) -> None:
    """Write a linear layer's outputs for a batch of input rows, reading each weight once for ``ROWS`` rows."""
    inputs, units = layer.weights.shape
    zeros = rows != ROWS or inputs % 8 != 0
    for row in range(rows):
        for index in range(inputs):
            zeros |= values[row, index] == _ZERO
    if zeros:
        for row in range(rows):
            affine(values[row], layer, buffers.places, out[row])
        return
    tile = buffers.tile
    for first in range(0, units, _TILE):
        stop = min(first + _TILE, units)
        _affine_tile(values, layer, first, stop, tile)
        for row in range(ROWS):
            for unit in range(first, stop):
                out[row, unit] = tile[row * _TILE + unit - first]


@pure_kernel
def affine(values: np.ndarray, layer: Dense, places: np.ndarray, out: np.ndarray) -> None:
    """Write ``values @ weights + bias`` of a linear layer for one input vector."""
    for unit in range(out.size):
        out[unit] = layer.bias[unit]
    add_product(values, layer.weights, places, out)


@pure_kernel
def dot(left: np.ndarray, right: np.ndarray) -> np.float32:
    """Return the dot product of two vectors, computed as eight partial sums."""
    a = b = c = d = e = f = g = h = _ZERO
    whole = left.size - left.size % 8
    for k in range(0, whole, 8):
        a += left[k] * right[k]
        b += left[k + 1] * right[k + 1]
        c += left[k + 2] * right[k + 2]
        d += left[k + 3] * right[k + 3]
        e += left[k + 4] * right[k + 4]
        f += left[k + 5] * right[k + 5]
        g += left[k + 6] * right[k + 6]
        h += left[k + 7] * right[k + 7]
    total = ((a + b) + (c + d)) + ((e + f) + (g + h))
    for k in range(whole, left.size):
        total += left[k] * right[k]
    return total


@pure_kernel
def _normalize(values: np.ndarray, rows: int, gains: np.ndarray, shifts: np.ndarray, out: np.ndarray) -> None:
    """Apply layer normalization to each row of a batch, ``ROWS`` rows at a time."""
    size = values.shape[1]
    a = b = c = d = 0.0
    for unit in range(size):
        a += np.float64(values[0, unit])
        b += np.float64(values[1, unit])
        c += np.float64(values[2, unit])
        d += np.float64(values[3, unit])
    a, b, c, d = a / size, b / size, c / size, d / size
    e = f = g = h = 0.0
    for unit in range(size):
        e += (np.float64(values[0, unit]) - a) ** 2
        f += (np.float64(values[1, unit]) - b) ** 2
        g += (np.float64(values[2, unit]) - c) ** 2
        h += (np.float64(values[3, unit]) - d) ** 2
    means, squares = (a, b, c, d), (e, f, g, h)
    for row in range(rows):
        inverse = np.float32(1.0 / math.sqrt(squares[row] / size + np.float64(_EPSILON)))
        middle = np.float32(means[row])
        for unit in range(size):
            out[row, unit] = (values[row, unit] - middle) * inverse * gains[unit] + shifts[unit]


@pure_kernel
def rectify(values: np.ndarray) -> None:
    """Replace the negative numbers of an array by zero, in place."""
    for unit in range(values.size):
        values[unit] = max(values[unit], _ZERO)


@pure_kernel
def apply_sparse_layer(
    seen: np.ndarray, hand_values: np.ndarray, table: Fields, layer: Dense, buffers: ForwardBuffers, out: np.ndarray
) -> None:
    """Write the rectified output of a first layer for the bytes and hand values of one decision."""
    for unit in range(out.size):
        out[unit] = layer.bias[unit]
    count = write_active_rows(seen, hand_values, table, buffers.places, buffers.factors)
    add_active_rows(buffers.places, buffers.factors, count, layer.weights, out)
    rectify(out)


@pure_kernel
def run_blocks(trunk: Trunk, buffers: ForwardBuffers, rows: int) -> None:
    """Apply a trunk's residual blocks and final normalization to the hidden states in the buffers."""
    states, normals, added = buffers.states, buffers.normals, buffers.added
    gains, shifts = trunk.norms
    last = trunk.blocks.bias.shape[0]
    for block in range(last):
        _normalize(states, rows, gains[block], shifts[block], normals)
        _affine_rows(normals, Dense(trunk.blocks.weights[block], trunk.blocks.bias[block]), rows, buffers, added)
        for row in range(rows):
            for unit in range(states.shape[1]):
                states[row, unit] += max(added[row, unit], _ZERO)
    _normalize(states, rows, gains[last], shifts[last], states)
    for row in range(rows):
        rectify(states[row])


@pure_kernel
def run_trunk(trunk: Trunk, buffers: ForwardBuffers) -> None:
    """Compute one hidden state by applying the first layer and the blocks to the dense inputs in the buffers."""
    affine(buffers.columns, trunk.first, buffers.places, buffers.states[0])
    rectify(buffers.states[0])
    run_blocks(trunk, buffers, np.int64(1))  # no literal: it would be compiled for 1 alone
