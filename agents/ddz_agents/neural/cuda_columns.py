"""What networks read, written on a device: the CPU's kernels, one thread a row (:mod:`ddz_agents.neural.columns`)."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import torch
from numba import cuda
from torch import Tensor

from ddz_agents.neural.afterstates import Afterstates, describe_row
from ddz_agents.neural.columns import (
    AGAINST_RULES,
    GAME_COLUMNS,
    READING_RULES,
    REST_COLUMNS,
    describe_game,
    describe_observation,
    observation_columns,
)
from ddz_agents.neural.cuda_launch import launch, words
from ddz_agents.neural.features import HAND_VALUES
from ddz_agents.rules.scratch import A_PLAN, MEMORY_WORDS, PRICES, SEGMENTS_END, RuleScratch, Scratch
from ddz_env.core.cards import NUM_RANKS
from ddz_env.core.engine.tables import MASK_WORDS
from ddz_env.envs.cuda_batch import on_device

_PRICED = int(SEGMENTS_END) * PRICES
MIND_NUMBERS, MIND_WORDS = 3 * _PRICED, MEMORY_WORDS + MASK_WORDS + A_PLAN + 2
"""Numbers (int64) and words (uint64) of one rule player's memory: a thread has them to itself."""


def carve_mind(numbers: Any, words: Any) -> RuleScratch:
    """A rule player's memory in two arrays of a thread, of ``MIND_NUMBERS`` and ``MIND_WORDS``."""
    about = MEMORY_WORDS + MASK_WORDS
    memory = words[:MEMORY_WORDS]
    for index in range(_PRICED):  # what nobody prices costs one a move, as in fresh memory of the CPU
        numbers[index], numbers[_PRICED + index], numbers[2 * _PRICED + index] = 1, 1, 0
    return RuleScratch(
        Scratch(numbers[:_PRICED], memory),
        Scratch(numbers[_PRICED : 2 * _PRICED], memory),
        numbers[2 * _PRICED :],
        words[MEMORY_WORDS:about],
        words[about:],
    )


@functools.cache
def kernels() -> dict[str, Any]:
    """The entry points, by name; each is compiled at its first call."""
    observe, describe, leave = on_device(describe_observation), on_device(describe_game), on_device(describe_row)
    carve = cuda.jit(device=True)(carve_mind)

    def observations_all(observations: Any, history: Any, rules: Any, out: Any) -> None:
        index = cuda.grid(1)
        if index < out.shape[0]:
            mind = carve(cuda.local.array(MIND_NUMBERS, np.int64), cuda.local.array(MIND_WORDS, np.uint64))
            observe(observations[index], history, rules, mind, cuda.local.array(NUM_RANKS, np.int8), out[index])

    def games_all(observations: Any, concealed: Any, against: Any, rules: Any, out: Any) -> None:
        index = cuda.grid(1)
        if index < out.shape[0]:
            mind = carve(cuda.local.array(MIND_NUMBERS, np.int64), cuda.local.array(MIND_WORDS, np.uint64))
            rest = cuda.local.array(NUM_RANKS, np.int8)
            describe(observations[index], concealed[index], rules, mind, rest, out[index])
            out[index, AGAINST_RULES] = np.float32(against[index])

    def afterstates_all(
        observations: Any, masks: Any, known: Any, starts: Any, rules: Any, rows: Any, actions: Any, columns: Any,
        hand_values: Any,
    ) -> None:  # fmt: skip
        index = cuda.grid(1)
        if index < observations.shape[0]:
            mind = carve(cuda.local.array(MIND_NUMBERS, np.int64), cuda.local.array(MIND_WORDS, np.uint64))
            rest = cuda.local.array(NUM_RANKS, np.int8)
            out = Afterstates(rows, actions, columns, hand_values)
            leave(index, starts[index], observations, masks, known, rules, mind, rest, out)

    return {f.__name__: cuda.jit(f) for f in (observations_all, games_all, afterstates_all)}


def describe_observations(observations: Tensor, history: int) -> Tensor:
    """As :func:`ddz_agents.neural.columns.describe_observations`, of tensors on the device."""
    out = observations.new_empty((len(observations), observation_columns(history)), dtype=torch.float32)
    launch(kernels()["observations_all"], len(out), observations, history, _rules(observations.device), out)
    return out


def describe_games(observations: Tensor, concealed: Tensor, against_rules: Tensor | None = None) -> Tensor:
    """As :func:`ddz_agents.neural.columns.describe_games`, of tensors on the device."""
    out = observations.new_empty((len(concealed), GAME_COLUMNS), dtype=torch.float32)
    known = torch.zeros(len(out), dtype=torch.bool, device=out.device) if against_rules is None else against_rules
    launch(kernels()["games_all"], len(out), observations, concealed, known, _rules(out.device), out)
    return out


def describe_afterstates(observations: Tensor, masks: Tensor, hand_values: Tensor | None = None) -> tuple[Tensor, ...]:
    """As :func:`ddz_agents.neural.afterstates.describe_afterstates`, of tensors, ordered as ``Afterstates``."""
    counts = masks.ne(0).sum(1)
    starts = counts.cumsum(0) - counts
    pairs = int(counts.sum())
    numbers = torch.empty((2, pairs), dtype=torch.int64, device=masks.device)
    columns = torch.empty((pairs, REST_COLUMNS), device=masks.device)
    found = hand_values
    if found is None:
        found = torch.empty((pairs, HAND_VALUES), dtype=torch.int16, device=masks.device)
    given = observations, masks, hand_values is not None, starts, _rules(masks.device)
    launch(kernels()["afterstates_all"], len(masks), *given, numbers[0], numbers[1], columns, found)
    return numbers[0], numbers[1], columns, found


@functools.cache
def _rules(device: torch.device) -> Any:
    """The rules by which prospects are read."""
    return words(torch.from_numpy(READING_RULES.view(np.int64)).to(device))
