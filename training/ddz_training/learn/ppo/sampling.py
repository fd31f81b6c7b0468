"""What a policy does at a decision: it draws an action, and notes the others that it considered.

The *candidates* are the likeliest actions.  What has hardly any probability is never tried, and nobody learns that it
would have been good; so a *probe*, one other legal action at random, may be looked at beside them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log
from typing import Any

import numpy as np
import numpy.typing as npt
from array_api_compat import array_namespace

from ddz_agents.neural.model import Floats
from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.engine.compiling import inline_kernel, kernel, pure_kernel

NONE = -1
"""Stands where a decision has fewer candidates than there is room for."""


@inline_kernel
def draw_action(
    row: int, log_probabilities: np.ndarray, draws: np.ndarray, actions: np.ndarray, chosen: np.ndarray
) -> None:
    """Draw an action for one row; otherwise as :func:`draw_actions`."""
    total = 0.0
    actions[row] = -1
    for action in range(log_probabilities.shape[1]):
        value = log_probabilities[row, action]
        if value > -np.inf:
            actions[row] = action
            chosen[row] = value
            total += exp(np.float64(value))
            if total > draws[row]:
                break


@pure_kernel
def draw_actions(log_probabilities: np.ndarray, draws: np.ndarray, actions: np.ndarray, chosen: np.ndarray) -> None:
    """Draw an action for each row.

    An illegal action is never drawn, whatever the rounding.

    Args:
        log_probabilities: Shape ``[n, actions]``, float32, minus infinity where illegal.
        draws: Uniform in 0..1, shape ``[n]``, float64.
        actions: Output, action ids, shape ``[n]``, int64; -1 in a row without legal actions.
        chosen: Output, logarithms of the probabilities drawn, shape ``[n]``, float32.
    """
    for row in range(log_probabilities.shape[0]):
        draw_action(row, log_probabilities, draws, actions, chosen)


def drawn(log_probabilities: Floats, draws: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.int64], Floats]:
    """Actions drawn from the probabilities, and logarithms of theirs, in new arrays (see :func:`draw_actions`)."""
    actions, chosen = np.empty(len(draws), np.int64), np.empty(len(draws), np.float32)
    draw_actions(log_probabilities, draws, actions, chosen)
    return actions, chosen


@dataclass
class Candidates:
    """The actions that a policy considered at some decisions.

    Attributes:
        actions: Likeliest first, then the probe; ``NONE`` where there are no more, shape ``[n, candidates]``, int16.
        probabilities: Under the policy that chose, shape ``[n, candidates]``, float32; 0 for ``NONE``.
        advantages: How much better than their mean each is, shape ``[n, candidates]``, float32; 0 for ``NONE``.
    """

    actions: npt.NDArray[np.int16]
    probabilities: Floats
    advantages: Floats

    @classmethod
    def allocate(cls, *shape: int, zeros: Callable[..., Any] = np.zeros) -> Candidates:
        """None at all.

        Args:
            *shape: Of the arrays, the number of candidates last.
            zeros: Makes an array by its shape and kind (:meth:`ddz_training.learn.ppo.device.Device.zeros`).
        """
        actions = zeros(shape, np.int16)
        actions[:] = NONE
        return cls(actions, zeros(shape, np.float32), zeros(shape, np.float32))

    def __getitem__(self, rows: Any) -> Candidates:
        """Those of some decisions, by any index that arrays take."""
        return Candidates(self.actions[rows], self.probabilities[rows], self.advantages[rows])


@inline_kernel
def pick_for(row: int, log_probabilities: np.ndarray, least: float, actions: np.ndarray, chances: np.ndarray) -> None:
    """Note the likeliest actions of one decision; otherwise as :func:`pick_candidates`."""
    bound = log(least)
    found = 0
    for action in range(NUM_ACTIONS):
        value = log_probabilities[row, action]
        if value < bound:
            continue
        chance = np.float32(exp(value))
        if chance == 0.0:  # below the least float: nothing can be weighed against it
            continue
        place = min(found, actions.shape[1] - 1)
        if found == actions.shape[1] and chance <= chances[row, place]:
            continue
        while place > 0 and chances[row, place - 1] < chance:
            actions[row, place], chances[row, place] = actions[row, place - 1], chances[row, place - 1]
            place -= 1
        actions[row, place], chances[row, place] = action, chance
        found = min(found + 1, actions.shape[1])
    for place in range(found if found > 1 else 0, actions.shape[1]):
        actions[row, place], chances[row, place] = NONE, np.float32(0.0)


@pure_kernel
def pick_candidates(
    log_probabilities: np.ndarray, least: float, actions: np.ndarray, probabilities: np.ndarray
) -> None:
    """Note the likeliest actions of each decision, if there are two that the policy may well choose.

    Args:
        log_probabilities: Shape ``[n, 400]``, float32, minus infinity where illegal.
        least: The least probability of a candidate.
        actions: Output, shape ``[n, candidates]``, int16, likeliest first; all ``NONE`` where there is no second.
        probabilities: Output, shape ``[n, candidates]``, float32.
    """
    for row in range(log_probabilities.shape[0]):
        pick_for(row, log_probabilities, least, actions, probabilities)


@inline_kernel
def add_probe(
    row: int,
    log_probabilities: np.ndarray,
    draws: np.ndarray,
    actions: np.ndarray,
    probabilities: np.ndarray,
    others: np.ndarray,
) -> None:
    """Put one more legal action beside the candidates of one decision; otherwise as :func:`add_probes`.

    ``others`` is memory, shape ``[400]``, int16.
    """
    found, likeliest, count = 0, 0, 0
    while found < actions.shape[1] and actions[row, found] != NONE:
        found += 1
    for action in range(NUM_ACTIONS):
        if log_probabilities[row, action] > log_probabilities[row, likeliest]:
            likeliest = action
    for action in range(NUM_ACTIONS):
        known = found == 0 and action == likeliest
        for place in range(found):
            known = known or actions[row, place] == action
        if not known and np.float32(exp(log_probabilities[row, action])) > 0.0:
            others[count] = action
            count += 1
    if count == 0 or found == actions.shape[1]:
        return
    if found == 0:
        actions[row, 0] = likeliest
        found = 1
    actions[row, found] = others[min(int(draws[row] * count), count - 1)]
    for place in range(found + 1):
        probabilities[row, place] = exp(log_probabilities[row, np.int64(actions[row, place])])


@kernel
def add_probes(
    log_probabilities: np.ndarray, draws: np.ndarray, wanted: np.ndarray, actions: np.ndarray, probabilities: np.ndarray
) -> None:
    """Put one more legal action beside the candidates of decisions; the likeliest, too, where there were none.

    Args:
        log_probabilities: Shape ``[n, 400]``, float32, minus infinity where illegal.
        draws: Uniform in 0..1, shape ``[n]``, float64; which one.
        wanted: Where to, shape ``[n]``, bool.
        actions: The candidates, with a place left at the end, shape ``[n, candidates]``, int16; changed in place.
        probabilities: Theirs, shape ``[n, candidates]``, float32; changed in place.
    """
    others = np.empty(NUM_ACTIONS, np.int16)
    for row in range(log_probabilities.shape[0]):
        if wanted[row]:
            add_probe(row, log_probabilities, draws, actions, probabilities, others)


def policy_counts(contested: npt.NDArray[np.bool_], settled_share: float, rng: Any) -> Floats:
    """How much each decision counts for the policy.

    Where all but one action have hardly any probability, there is little to learn, at the cost of any decision.  Such
    settled decisions are sampled, and those drawn stand for the others: each counts once on average.

    Args:
        contested: Whether the policy considered more than one action, shape ``[n]``, bool.
        settled_share: Share of the other decisions that count.
        rng: Draws them.

    Returns:
        Shape ``[n]``, float32: 1 where contested, else 0 or ``1 / settled_share``.

    Example:
        >>> import numpy as np
        >>> contested = np.array([True, False, False, True])
        >>> policy_counts(contested, 1.0, np.random.default_rng(0)).tolist()
        [1.0, 1.0, 1.0, 1.0]
    """
    xp = array_namespace(contested)
    stands = xp.astype(rng.random(len(contested)) < settled_share, xp.float64)
    counts: Floats = xp.astype(xp.where(contested, 1.0, stands / settled_share), xp.float32)
    return counts
