"""What is compiled of a decision: drawing an action, noting those that were considered, the loss and its gradient.

The *candidates* of a decision are its likeliest actions.  What has hardly any probability is never tried, and nobody
learns that it would have been good; so a *probe*, one other legal action at random, may be looked at beside them.

The loss of a decision is

    (1 − λ) · clipped surrogate of the chosen action, with its advantage from the rewards
    + λ · Σ over candidates of their weight · clipped surrogate, with the critic's advantages
    − entropy weight · entropy
    + magnet weight · KL(policy ‖ magnet)

where λ is the share of looking ahead (:mod:`ddz_training.learn.ppo.lookahead`), 0 where there are no candidates.  All
of it is multiplied by how much the decision counts.  The magnet is a policy that follows slowly; being drawn to it
keeps a policy that plays against itself from going in circles (S. Sokota et al., "A unified approach to reinforcement
learning, quantal response equilibria, and two-player zero-sum games", ICLR 2023).

The weight of a candidate is its old probability, and at least a floor where it is better than the mean: a probability
near zero would hold down what is good as well.  Below the floor what speaks for an action outweighs what speaks
against it, so one that is better in some deals only does not vanish.  Neither that nor errors of the critic lift an
action far above the floor, for there both directions count alike.

As tensor operations over all 400 actions the loss took a seventh of the time of a gradient; few actions are legal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from array_api_compat import array_namespace
from torch import Tensor

from ddz_agents.neural.model import Bytes, Floats
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


def policy_counts(contested: Any, settled_share: float, rng: Any) -> Any:
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
    return xp.astype(xp.where(contested, 1.0, stands / settled_share), xp.float32)


# --- The loss ---------------------------------------------------------------------------------------------------------

SURROGATE_SUMS = 4
"""Sums that :func:`surrogate_gradient` makes: loss of the surrogates, entropy, divergence, clipped ratios."""


class SurrogateInputs(NamedTuple):
    """Decisions, as the kernel takes them.

    Attributes:
        logits: Of the policy that learns, shape ``[n, 400]``, float32.
        masks: Shape ``[n, 400]``, int8.
        weights: How much each decision counts, shape ``[n]``, float32.
        actions: The chosen actions, shape ``[n]``, int64.
        old: Logarithms of their probabilities under the policy that chose, shape ``[n]``, float32.
        advantages: Theirs, from the rewards, shape ``[n]``, float32.
        candidates: Shape ``[n, candidates]``, int16.
        chances: Their probabilities under the policy that chose, shape ``[n, candidates]``, float32.
        foreseen: Their advantages, from the critic, shape ``[n, candidates]``, float32.
        magnet: Logits of the policy that draws, shape ``[n, 400]``, float32; no columns where none does.
    """

    logits: Floats
    masks: Bytes
    weights: Floats
    actions: npt.NDArray[np.int64]
    old: Floats
    advantages: Floats
    candidates: npt.NDArray[np.int16]
    chances: Floats
    foreseen: Floats
    magnet: Floats = np.empty((0, 0), np.float32)


class LossWeights(NamedTuple):
    """What the loss is made of.

    Attributes:
        lookahead: λ.
        floor: Least weight of a candidate that is better than their mean.
        clip: How far a ratio may move.
        entropy: Weight of the entropy.
        magnet: Weight of the divergence from the magnet.
    """

    lookahead: float
    floor: float
    clip: float
    entropy: float
    magnet: float = 0.0


@inline_kernel
def _surrogate(ratio: float, advantage: float, clip: float) -> tuple[float, float]:
    """The clipped surrogate, negated, and its derivative with respect to the logarithm of the probability."""
    plain = ratio * advantage
    clipped = min(max(ratio, 1.0 - clip), 1.0 + clip) * advantage
    if clipped < plain:
        return -clipped, 0.0
    return -plain, -plain


@inline_kernel
def _find_legal(logits: np.ndarray, mask: np.ndarray, legal: np.ndarray, logs: np.ndarray) -> tuple[int, float]:
    """List the legal actions and write the logarithms of their probabilities; how many there are, and the entropy."""
    count, highest = 0, -np.inf
    for action in range(logits.shape[0]):
        if mask[action]:
            legal[count] = action
            highest = max(highest, np.float64(logits[action]))
            count += 1
    total = 0.0
    for place in range(count):
        total += exp(logits[legal[place]] - highest)
    entropy = 0.0
    for place in range(count):
        action = legal[place]
        logs[action] = logits[action] - highest - log(total)
        entropy -= exp(logs[action]) * logs[action]
    return count, entropy


@inline_kernel
def _weigh_candidates(
    inputs: SurrogateInputs, row: int, logs: np.ndarray, terms: LossWeights, slopes: np.ndarray
) -> float:
    """The loss of a decision's candidates; their slopes are added to those of the logarithms."""
    total = 0.0
    for place in range(inputs.candidates.shape[1]):
        considered = np.int64(inputs.candidates[row, place])
        if considered == NONE:
            break
        chance, advantage = inputs.chances[row, place], inputs.foreseen[row, place]
        weight = terms.lookahead * (max(chance, terms.floor) if advantage > 0.0 else chance)
        loss, slope = _surrogate(exp(logs[considered]) / chance, advantage, terms.clip)
        total += weight * loss
        slopes[considered] += weight * slope
    return total


@inline_kernel
def _draw_back(
    magnet: np.ndarray, logs: np.ndarray, legal: np.ndarray, count: int, weight: float, slopes: np.ndarray
) -> None:
    """Add the slopes of the divergence from the magnet to those of the logarithms.

    Its derivative by a logarithm is chance · (1 + log ratio); what is alike for all actions cancels.
    """
    highest, total = -np.inf, 0.0
    for place in range(count):
        highest = max(highest, np.float64(magnet[legal[place]]))
    for place in range(count):
        total += exp(magnet[legal[place]] - highest)
    for place in range(count):
        action = legal[place]
        ratio = logs[action] - (magnet[action] - highest - log(total))
        slopes[action] += weight * exp(logs[action]) * ratio


class DecisionMemory(NamedTuple):
    """What the kernel needs for one decision; it leaves ``slopes`` zero.

    Attributes:
        logs: Logarithms of the probabilities, shape ``[400]``, float64.
        slopes: The loss's derivatives by them, shape ``[400]``, float64, zeroed.
        legal: The legal actions, shape ``[400]``, int64.
    """

    logs: npt.NDArray[np.float64]
    slopes: npt.NDArray[np.float64]
    legal: npt.NDArray[np.int64]


@inline_kernel
def decision_gradient(
    row: int, inputs: SurrogateInputs, terms: LossWeights, memory: DecisionMemory, gradient: np.ndarray, sums: Any
) -> None:
    """The losses of one decision, added to ``sums``, and their gradient; otherwise as :func:`surrogate_gradient`."""
    logs, slopes, legal = memory.logs, memory.slopes, memory.legal
    times, chosen = np.float64(inputs.weights[row]), inputs.actions[row]
    count, entropy = _find_legal(inputs.logits[row], inputs.masks[row], legal, logs)
    change = logs[chosen] - inputs.old[row]
    ratio = exp(change)
    loss, slope = _surrogate(ratio, inputs.advantages[row], terms.clip)
    considers = inputs.candidates.shape[1] > 0 and inputs.candidates[row, 0] != NONE
    own = 1.0 - terms.lookahead if considers else 1.0
    slopes[chosen] += own * slope
    sums[0] += times * (own * loss + _weigh_candidates(inputs, row, logs, terms, slopes))
    sums[1] += times * entropy
    sums[2] += times * (ratio - 1.0 - change)
    sums[3] += times * (abs(ratio - 1.0) > terms.clip)
    if inputs.magnet.shape[1] > 0:
        _draw_back(inputs.magnet[row], logs, legal, count, terms.magnet, slopes)
    pull = 0.0
    for place in range(count):
        pull += slopes[legal[place]]
    for place in range(count):  # a slope of the logarithms becomes one of the logits
        action = legal[place]
        chance = exp(logs[action])
        bonus = terms.entropy * chance * (logs[action] + entropy)
        gradient[row, action] = times * (slopes[action] - chance * pull + bonus)
        slopes[action] = 0.0


@kernel
def surrogate_gradient(inputs: SurrogateInputs, terms: LossWeights, gradient: np.ndarray, sums: np.ndarray) -> None:
    """Add up the losses of some decisions and write the gradient of their sum.

    Args:
        inputs: The decisions.
        terms: What the loss is made of.
        gradient: Output, shape ``[n, 400]``, float32, zeroed.
        sums: Output, shape ``[SURROGATE_SUMS]``, float64; added to.
    """
    actions = inputs.logits.shape[1]
    memory = DecisionMemory(np.empty(actions), np.zeros(actions), np.empty(actions, np.int64))
    for row in range(inputs.logits.shape[0]):
        decision_gradient(row, inputs, terms, memory, gradient, sums)


def surrogates(inputs: tuple[Tensor, ...], terms: tuple[float, ...]) -> tuple[Tensor, Tensor]:
    """:func:`surrogate_gradient` with output of its own, of tensors and as tensors.

    Args:
        inputs: As :class:`SurrogateInputs`.
        terms: As :class:`LossWeights`.

    Returns:
        The gradient, shape ``[n, 400]``, float32, and the sums, shape ``[SURROGATE_SUMS]``, float64.
    """
    arrays = SurrogateInputs(*(each.numpy() for each in inputs))
    gradient, sums = np.zeros_like(arrays.logits), np.zeros(SURROGATE_SUMS)
    surrogate_gradient(arrays, LossWeights(*terms), gradient, sums)
    return torch.from_numpy(gradient), torch.from_numpy(sums)
