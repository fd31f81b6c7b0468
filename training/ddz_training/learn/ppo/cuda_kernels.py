"""The trainer's compiled kernels on a device: the CPU's source, one thread a decision.

Each function does what its namesake of :mod:`ddz_training.learn.ppo.kernels`, :mod:`ddz_training.learn.ppo.kernels`
or :mod:`ddz_training.learn.ppo.lookahead` does, with tensors of the device in place of arrays.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import torch
from numba import cuda
from torch import Tensor

from ddz_agents.neural.cuda_launch import launch, words
from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.engine.layout import HISTORY_MOVES, HISTORY_WORDS, ROW_WORDS
from ddz_env.core.engine.tables import MASK_WORDS
from ddz_env.core.observation import CONCEALED_WORDS, OBSERVATION_WORDS
from ddz_env.core.rules import Rules
from ddz_env.envs.cuda_batch import on_device
from ddz_training.learn.ppo.kernels import (
    SURROGATE_SUMS,
    DecisionMemory,
    LossWeights,
    SurrogateInputs,
    add_probe,
    decision_gradient,
    draw_action,
    pick_for,
)
from ddz_training.learn.ppo.lookahead import LeadMemory, Positions, Successors, certain_action, forced_action, lead_to


@functools.cache
def kernels() -> dict[str, Any]:
    """The entry points, by name; each is compiled at its first call."""
    draw, pick, probe = on_device(draw_action), on_device(pick_for), on_device(add_probe)
    lead, decide = on_device(lead_to, (certain_action.__name__, forced_action)), on_device(decision_gradient)

    def draw_all(log_probabilities: Any, draws: Any, actions: Any, chosen: Any) -> None:
        index = cuda.grid(1)
        if index < actions.shape[0]:
            draw(index, log_probabilities, draws, actions, chosen)

    def pick_all(log_probabilities: Any, least: Any, actions: Any, chances: Any) -> None:
        index = cuda.grid(1)
        if index < actions.shape[0]:
            pick(index, log_probabilities, least, actions, chances)

    def probe_all(log_probabilities: Any, draws: Any, wanted: Any, actions: Any, chances: Any) -> None:
        index = cuda.grid(1)
        if index < actions.shape[0] and wanted[index]:
            others = cuda.local.array(NUM_ACTIONS, np.int16)
            probe(index, log_probabilities, draws, actions, chances, others)

    def lead_all(
        rows: Any, seen: Any, against_rules: Any, actions: Any, rules: Any, scoring: Any, signs: Any, returns: Any,
        observations: Any, concealed: Any,
    ) -> None:  # fmt: skip
        number = cuda.grid(1)
        if number < rows.shape[0] * actions.shape[1]:
            row, ring = (
                cuda.local.array(ROW_WORDS, np.uint64),
                cuda.local.array((HISTORY_MOVES, HISTORY_WORDS), np.uint64),
            )
            mask, points = cuda.local.array(MASK_WORDS, np.uint64), cuda.local.array(3, np.float64)
            plan = cuda.local.array(2, np.uint64)
            plan[0], plan[1] = np.uint64(0), np.uint64(0)
            games, memory = Positions(rows, seen, against_rules), LeadMemory(row, ring, mask, points, plan)
            found = Successors(signs, returns, observations, concealed)
            index, place = number // actions.shape[1], number % actions.shape[1]
            lead(index, place, number, games, actions, rules, 0, scoring, memory, found)  # 0: no mind is needed

    def decide_all(
        logits: Any, masks: Any, weights: Any, chosen: Any, old: Any, advantages: Any, candidates: Any, chances: Any,
        foreseen: Any, magnet: Any, terms: Any, gradient: Any, sums: Any,
    ) -> None:  # fmt: skip
        index = cuda.grid(1)
        if index < chosen.shape[0]:
            logs, legal = cuda.local.array(NUM_ACTIONS, np.float64), cuda.local.array(NUM_ACTIONS, np.int64)
            slopes = cuda.local.array(NUM_ACTIONS, np.float64)
            for action in range(NUM_ACTIONS):
                slopes[action] = 0.0
            inputs = SurrogateInputs(
                logits, masks, weights, chosen, old, advantages, candidates, chances, foreseen, magnet
            )
            about = LossWeights(terms[0], terms[1], terms[2], terms[3], terms[4])
            decide(index, inputs, about, DecisionMemory(logs, slopes, legal), gradient, sums[index])

    return {f.__name__: cuda.jit(f) for f in (draw_all, pick_all, probe_all, lead_all, decide_all)}


def drawn(log_probabilities: Tensor, draws: Tensor) -> tuple[Tensor, Tensor]:
    """Actions drawn from the probabilities, and logarithms of theirs."""
    actions = torch.empty(len(draws), dtype=torch.int64, device=draws.device)
    chosen = torch.empty(len(draws), device=draws.device)
    launch(kernels()["draw_all"], len(draws), log_probabilities, draws, actions, chosen)
    return actions, chosen


def pick_candidates(log_probabilities: Tensor, least: float, actions: Tensor, probabilities: Tensor) -> None:
    """Note the likeliest actions of each decision."""
    launch(kernels()["pick_all"], len(actions), log_probabilities, least, actions, probabilities)


def add_probes(
    log_probabilities: Tensor, draws: Tensor, wanted: Tensor, actions: Tensor, probabilities: Tensor
) -> None:
    """Put one more legal action beside the candidates of decisions."""
    launch(kernels()["probe_all"], len(actions), log_probabilities, draws, wanted, actions, probabilities)


def led(games: Positions, actions: Tensor, rules: Rules, scoring: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Play each candidate, and what is certain after it.

    Returns:
        Signs, shape ``[n, candidates]``, int8; returns, likewise, float32; and one a sign that is not 0, in order,
        observations and concealed cards, int8.
    """
    device, count = actions.device, actions.numel()
    signs = torch.zeros(actions.shape, dtype=torch.int8, device=device)
    returns = torch.zeros(actions.shape, device=device)
    seen = torch.empty((count, OBSERVATION_WORDS), dtype=torch.int64, device=device)
    concealed = torch.empty((count, CONCEALED_WORDS), dtype=torch.int64, device=device)
    rows: Any = games.rows
    given = words(rows), games.seen, games.against_rules, actions, _words(rules, device), scoring
    launch(kernels()["lead_all"], count, *given, signs, returns, words(seen), words(concealed))
    asked = signs.flatten() != 0
    return signs, returns, seen[asked].view(torch.int8), concealed[asked].view(torch.int8)


def surrogates(inputs: tuple[Tensor, ...], terms: Tensor) -> tuple[Tensor, Tensor]:
    """The gradient of the policy's losses by the logits, and the sums of its statistics.

    Args:
        inputs: As :class:`~ddz_training.learn.ppo.kernels.SurrogateInputs`.
        terms: As :class:`~ddz_training.learn.ppo.kernels.LossWeights`, shape ``[5]``, float64: numbers that a captured
        graph reads
            anew every time.

    Returns:
        Shapes ``[n, 400]``, float32, and ``[SURROGATE_SUMS]``, float64.
    """
    logits = inputs[0]
    gradient = torch.zeros_like(logits)
    sums = torch.zeros((len(logits), SURROGATE_SUMS), dtype=torch.float64, device=logits.device)
    launch(kernels()["decide_all"], len(logits), *inputs, terms, gradient, sums)
    return gradient, sums.sum(0)


@functools.cache
def _words(rules: Rules, device: torch.device) -> Any:
    """The rules array on the device."""
    return words(torch.from_numpy(rules.words().view(np.int64)).to(device))
