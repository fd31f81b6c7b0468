"""The layers below the outputs, in compiled code.

Most columns are thresholds and therefore zero: only the others are multiplied.  Sums are in float32, in an order
that is the same for a row alone and beside others, without fused or reordered operations.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from ddz_agents.neural.architecture import Layers
from ddz_agents.neural.columns import REST_COLUMNS
from ddz_agents.neural.model import Floats
from ddz_agents.neural.tensor_file import Arrays
from ddz_agents.rules.scratch import RuleScratch, new_rule_scratch
from ddz_env.core.cards import NUM_RANKS
from ddz_env.core.engine.compiling import pure_kernel

_ZERO = np.float32(0.0)
ROWS, _LANES = 4, 16
"""Rows whose states are made side by side, and outputs that are computed together."""
_EPSILON = np.float32(1e-5)
"""Of layer normalization, as in PyTorch."""


class Dense(NamedTuple):
    """A linear layer.

    Attributes:
        weights: Shape ``[inputs, outputs]``, float32, so that what an input adds lies side by side; or outputs first
            where single outputs are computed.
        bias: Shape ``[outputs]``.
    """

    weights: Floats
    bias: Floats


class Trunk(NamedTuple):
    """The layers below the outputs.

    Attributes:
        first: The first layer.
        blocks: Of the residual blocks, weights of shape ``[blocks, width, width]`` and biases ``[blocks, width]``.
        norms: Of the normalizations in the blocks and behind them, gains and shifts, both ``[blocks + 1, width]``.
    """

    first: Dense
    blocks: Dense
    norms: Dense


class ForwardBuffers(NamedTuple):
    """Memory of one thread: for the states of ``ROWS`` rows, and for what else is made of one.

    Attributes:
        minds: Of the search through hands, with the prices that a row has set; one a row.
        columns: Of the row.
        states: What the trunk makes of rows, shape ``[ROWS, width]``.
        normals: The same, normalized.
        added: What a block adds to them.
        rest: Columns of a hand that is left.
        seen: What the layer makes of them.
        scales: How much each unit of that layer counts.
        features: What the state makes of the features.
        places: Where a row of columns is not zero, int64.
        hand: Counts of a hand, int8.
    """

    minds: tuple[RuleScratch, ...]
    columns: Floats
    states: Floats
    normals: Floats
    added: Floats
    rest: Floats
    seen: Floats
    scales: Floats
    features: Floats
    places: npt.NDArray[np.int64]
    hand: npt.NDArray[np.int8]


def new_buffers(columns: int, width: int, rest_width: int = 0, rest_features: int = 0) -> ForwardBuffers:
    """Memory for a network of that size."""
    sizes = (REST_COLUMNS, rest_width, rest_width, rest_features)
    states = [np.zeros((ROWS, width), np.float32) for _ in range(3)]
    floats = [np.zeros(size, np.float32) for size in sizes]
    scratch = np.zeros(max(columns, width, *sizes), np.int64), np.zeros(NUM_RANKS, np.int8)
    columns_of_row = np.zeros(columns, np.float32)
    minds = tuple(new_rule_scratch() for _ in range(ROWS))
    return ForwardBuffers._make([minds, columns_of_row, *states, *floats, *scratch])


def trunk_of(arrays: Arrays, layers: Layers) -> Trunk:
    """A trunk as compiled code takes it."""
    width, added, norms = layers.width, layers.added, layers.norms
    return Trunk(
        dense(arrays, "trunk.0"),
        Dense(
            np.array([arrays[f"{name}.weight"].T for name in added], np.float32).reshape(-1, width, width),
            np.array([arrays[f"{name}.bias"] for name in added], np.float32).reshape(-1, width),
        ),
        Dense(*(np.array([arrays[f"{name}.{part}"] for name in norms], np.float32) for part in ("weight", "bias"))),
    )


def dense(arrays: Arrays, name: str, outputs_first: bool = False) -> Dense:
    """A linear layer as compiled code takes it."""
    weights = arrays[f"{name}.weight"]
    return Dense(np.ascontiguousarray(weights if outputs_first else weights.T), arrays[f"{name}.bias"])


@pure_kernel
def add_product(values: np.ndarray, weights: np.ndarray, places: np.ndarray, out: np.ndarray) -> None:
    """Add ``values @ weights``: a row of weights for each value that is not zero, eight rows at a time."""
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


@intrinsic  # type: ignore[untyped-decorator]
def _add_tile(context: Any, values: Any, weights: Any, k: Any, out: Any, unit: Any) -> Any:
    """Add the products of eight inputs to ``_LANES`` outputs of ``ROWS`` rows, in the order of :func:`add_product`.

    Four rows read a weight once.  Numba makes no vectors of a loop that writes to several arrays.
    """

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        def place(argument: int, row: Any, column: Any) -> Any:
            array = make_array(signature.args[argument])(context, builder, given[argument])
            width = cgutils.unpack_tuple(builder, array.shape)[1]
            return builder.gep(array.data, [builder.add(builder.mul(row, width), column)])

        def number(value: int) -> Any:
            return context.get_constant(types.intp, value)

        def lanes(pointer: Any) -> Any:
            return builder.bitcast(pointer, vector.as_pointer())

        vector, at, first = ir.VectorType(ir.FloatType(), _LANES), given[2], given[4]
        rows = [builder.load(lanes(place(1, builder.add(at, number(j)), first)), align=4) for j in range(8)]
        for row in range(ROWS):
            products = []
            for j in range(8):
                value = builder.load(place(0, number(row), builder.add(at, number(j))))
                one = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
                same = ir.Constant(ir.VectorType(ir.IntType(32), _LANES), [0] * _LANES)
                products.append(builder.fmul(builder.shuffle_vector(one, one, same), rows[j]))
            while len(products) > 1:
                products = [builder.fadd(*pair) for pair in zip(products[::2], products[1::2], strict=True)]
            target = lanes(place(3, number(row), first))
            builder.store(builder.fadd(builder.load(target, align=4), products[0]), target, align=4)
        return context.get_dummy_value()

    return types.void(values, weights, k, out, unit), generate


@pure_kernel
def _affine_rows(values: np.ndarray, layer: Dense, rows: int, places: np.ndarray, out: np.ndarray) -> None:
    """:func:`affine` for some rows; ``ROWS`` rows without a zero are computed side by side, with the same result."""
    inputs, units = layer.weights.shape
    zeros = rows != ROWS or inputs % 8 != 0 or units % _LANES != 0
    for row in range(rows):
        for index in range(inputs):
            zeros |= values[row, index] == _ZERO
    if zeros:
        for row in range(rows):
            affine(values[row], layer, places, out[row])
        return
    for row in range(rows):
        for unit in range(units):
            out[row, unit] = layer.bias[unit]
    for k in range(0, inputs, 8):
        for unit in range(0, units, _LANES):
            _add_tile(values, layer.weights, k, out, unit)


@pure_kernel
def affine(values: np.ndarray, layer: Dense, places: np.ndarray, out: np.ndarray) -> None:
    """Write ``values @ weights + bias``."""
    for unit in range(out.size):
        out[unit] = layer.bias[unit]
    add_product(values, layer.weights, places, out)


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
def _normalize(values: np.ndarray, rows: int, gains: np.ndarray, shifts: np.ndarray, out: np.ndarray) -> None:
    """Layer normalization of some rows; an addition waits for the one before it, and so all ``ROWS`` take turns."""
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
    """Put zero in place of what is below zero."""
    for unit in range(values.size):
        values[unit] = max(values[unit], _ZERO)


@pure_kernel
def enter(trunk: Trunk, buffers: ForwardBuffers, row: int) -> None:
    """Make the first state of a row of the columns in the buffers."""
    affine(buffers.columns, trunk.first, buffers.places, buffers.states[row])
    rectify(buffers.states[row])


@pure_kernel
def run_blocks(trunk: Trunk, buffers: ForwardBuffers, rows: int) -> None:
    """Make the last states of some first ones."""
    states, normals, added = buffers.states, buffers.normals, buffers.added
    gains, shifts = trunk.norms
    last = trunk.blocks.bias.shape[0]
    for block in range(last):
        _normalize(states, rows, gains[block], shifts[block], normals)
        _affine_rows(normals, Dense(trunk.blocks.weights[block], trunk.blocks.bias[block]), rows, buffers.places, added)
        for row in range(rows):
            for unit in range(states.shape[1]):
                states[row, unit] += max(added[row, unit], _ZERO)
    _normalize(states, rows, gains[last], shifts[last], states)
    for row in range(rows):
        rectify(states[row])


@pure_kernel
def run_trunk(trunk: Trunk, buffers: ForwardBuffers) -> None:
    """Make the state of the columns in the buffers."""
    enter(trunk, buffers, 0)
    run_blocks(trunk, buffers, 1)
