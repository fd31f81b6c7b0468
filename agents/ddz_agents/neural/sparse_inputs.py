"""Fast first layers, which add up a few precomputed running sums of weights instead of one row per input.

Most columns are thresholds.  A count of three switches on "at least 1", "at least 2" and "at least 3", and a linear
layer adds their three rows of weights.  The sum of these is one row of the *running sum* of the weights, so one row is
added where there were up to twenty: an *entry*, which is the place of that row and a factor.
"""

from __future__ import annotations

from itertools import groupby
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_agents.neural import feature_table as kinds
from ddz_agents.neural.feature_table import HAND, FeatureTable
from ddz_agents.neural.features import (
    CHAIN_SEGMENTS,
    MOST_LOSERS,
    MOST_MOVES,
    PRICE_STEPS,
    chain_starts,
    hand_word,
    read_hand_values,
)
from ddz_agents.neural.model import Floats
from ddz_env.core.engine.tables import SEGMENT_SIZE
from ddz_env.core.engine.words import U0, U1, lowest_bit
from ddz_env.support.compiling import kernel, part_kernel, pure_kernel

_SCALED, _RISING, _FALLING, _CHAINS, _PROSPECTS = range(5)
"""Kinds of fields: a scaled byte; thresholds of a byte whose columns rise, or fall; chains; prospects."""

_PROSPECT_ENTRIES = 4


class Fields(NamedTuple):
    """A network's inputs grouped by the byte that they are computed from, as arrays for compiled code.

    Attributes:
        fields: Kind, source, first column and number of columns of each, shape ``[fields, 4]``, int64.
        scales: Of scaled bytes, shape ``[fields]``, float32.
        before: The column whose running sum that of a column goes on from, -1 for none, shape ``[columns]``, int64.
        most: Entries of a row at most.
    """

    fields: npt.NDArray[np.int64]
    scales: Floats
    before: npt.NDArray[np.int64]
    most: int


def group_into_fields(table: FeatureTable) -> Fields:
    """Group a network's inputs by the byte that they are computed from, as arrays for compiled code."""
    fields, scales, before, first, most = [], [], np.full(table.size, -1, np.int64), 0, 0

    def link(start: int, size: int, step: int = 1) -> None:
        line = range(start, start + size)[::step]
        before[line[1:]] = line[:-1]

    for (kind, source), group in groupby(table.columns, key=_field_key):
        numbers = [column.number for column in group]
        size, scale = len(numbers), 0.0
        if kind == kinds.SCALED:
            (scale,), kind = numbers, _SCALED
        elif kind == kinds.AT_LEAST:
            kind, step = (_RISING, 1) if numbers[0] == 1 else (_FALLING, -1)
            if numbers[::step] != list(range(1, size + 1)):
                raise ValueError(f"the thresholds of a byte must be 1 to {size}, up or down, not {numbers}")
            link(first, size, step)
        elif kind == kinds.CHAIN:
            kind = _CHAINS
        else:
            kind = _PROSPECTS
            for start, count in ((0, MOST_LOSERS), (MOST_LOSERS, MOST_MOVES), (size - PRICE_STEPS, PRICE_STEPS)):
                link(first + start, count)
        fields.append((kind, source, first, size))
        scales.append(scale)
        most += {_CHAINS: size, _PROSPECTS: _PROSPECT_ENTRIES}.get(kind, 1)
        first += size
    return Fields(np.array(fields, np.int64), np.array(scales, np.float32), before, most)


def _field_key(column: kinds.FeatureColumn) -> tuple[int, int]:
    """Return an input's kind and source byte, which are the same for all inputs of a field."""
    return column.kind, column.source if column.kind != kinds.CHAIN else 0


@part_kernel
def _write_chain_rows(hand: np.uint64, column: int, places: np.ndarray, factors: np.ndarray, count: int) -> int:
    for segment in CHAIN_SEGMENTS:
        starts = chain_starts(hand, segment)
        while starts != U0:
            places[count], factors[count] = column + np.int64(lowest_bit(starts)), np.float32(1.0)
            starts &= starts - U1
            count += 1
        column += np.int64(SEGMENT_SIZE[segment])
    return count


@part_kernel
def _write_prospect_rows(values: np.ndarray, column: int, places: np.ndarray, factors: np.ndarray, count: int) -> int:
    losers, moves, scaled, steps = read_hand_values(np.int64(values[0]), np.int64(values[1]))
    behind = column + MOST_LOSERS + MOST_MOVES
    for reached, start in ((losers, column), (moves, column + MOST_LOSERS), (steps, behind + 1)):
        places[count], factors[count] = start + reached - 1, np.float32(1.0)
        count += reached > 0
    places[count], factors[count] = behind, np.float32(scaled)
    return count + 1


@pure_kernel
def write_active_rows(
    seen: np.ndarray, hand_values: np.ndarray, table: Fields, places: np.ndarray, factors: np.ndarray
) -> int:
    """Write the indices of the running sums that a first layer adds up for one decision, and their factors.

    Args:
        seen: The bytes, int8.
        hand_values: Of the hands, shape ``[hands, 2]``, integers.
        table: The table.
        places: Output: rows of running sums, integers, ``table.most`` at least.
        factors: Output, float32.

    Returns:
        How many there are.
    """
    count = np.int64(0)  # no literal: what is called with it would be compiled for 0, too
    for index in range(table.fields.shape[0]):
        kind, source, column, size = table.fields[index]
        if kind <= _FALLING:
            value = np.int64(seen[source])
            if value == 0:
                continue
            places[count], factors[count] = column, np.float32(1.0)
            if kind == _SCALED:
                factors[count] = np.float32(value) * table.scales[index]
            elif kind == _RISING:
                places[count] = column + min(value, size) - 1
            else:
                places[count] = column + size - min(value, size)
            count += 1
        elif kind == _CHAINS:
            count = _write_chain_rows(hand_word(seen, HAND), column, places, factors, count)
        else:
            count = _write_prospect_rows(hand_values[source], column, places, factors, count)
    return count


@pure_kernel
def add_active_rows(places: np.ndarray, factors: np.ndarray, count: int, sums: np.ndarray, out: np.ndarray) -> None:
    """Add the listed running sums, each multiplied by its factor, to a vector of outputs."""
    whole = count - count % 4
    for k in range(0, whole, 4):
        a, b, c, d = sums[places[k]], sums[places[k + 1]], sums[places[k + 2]], sums[places[k + 3]]
        fa, fb, fc, fd = factors[k], factors[k + 1], factors[k + 2], factors[k + 3]
        for unit in range(out.size):
            out[unit] += (fa * a[unit] + fb * b[unit]) + (fc * c[unit] + fd * d[unit])
    for k in range(whole, count):
        row, factor = sums[places[k]], factors[k]
        for unit in range(out.size):
            out[unit] += factor * row[unit]


@pure_kernel
def densify(places: np.ndarray, factors: np.ndarray, count: int, before: np.ndarray, columns: np.ndarray) -> None:
    """Expand a sparse list of running sums into the dense network inputs that it stands for, float32."""
    columns[:] = np.float32(0.0)
    for k in range(count):
        column = np.int64(places[k])
        columns[column] = factors[k]
        while before[column] >= 0:
            column = before[column]
            columns[column] = np.float32(1.0)


def compute_running_sums(weights: Floats, table: Fields) -> Floats:
    """Return the running sums of a first layer's weights over the inputs of each field, float32.

    Args:
        weights: Shape ``[inputs, outputs]``, float32.
        table: The table of the inputs.
    """
    sums = np.empty(weights.shape, np.float32)
    _accumulate(weights, table.before, sums)
    return sums


@kernel
def _accumulate(weights: np.ndarray, before: np.ndarray, out: np.ndarray) -> None:
    """Write, for each input, the sum of its weights and those of the inputs before it in its field."""
    columns, units = weights.shape
    for column in range(columns):
        for unit in range(units):
            out[column, unit] = weights[column, unit]
    for column in range(columns):
        if 0 <= before[column] < column:
            for unit in range(units):
                out[column, unit] += out[before[column], unit]
    for column in range(columns - 1, -1, -1):
        if before[column] > column:
            for unit in range(units):
                out[column, unit] += out[before[column], unit]


@kernel
def scatter_gradients(before: np.ndarray, gradients: np.ndarray) -> None:
    """Convert the gradients of the running sums to the gradients of the weights, in place."""
    columns, units = gradients.shape
    for column in range(columns - 1, -1, -1):
        if 0 <= before[column] < column:
            for unit in range(units):
                gradients[before[column], unit] += gradients[column, unit]
    for column in range(columns):
        if before[column] > column:
            for unit in range(units):
                gradients[before[column], unit] += gradients[column, unit]
