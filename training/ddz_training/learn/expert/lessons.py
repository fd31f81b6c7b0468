"""What a search teaches the policy that it searched with, and how that policy learns it.

Of a decision that was searched the policy is taught pi * exp(q / tau): its own probability pi, and the chance q that
the search found for each action that it tried.  What it did not try is worth their mean under the policy, so its share
changes only by what the others gain and lose (the completed values of I. Danihelka et al., "Policy improvement by
planning with Gumbel", ICLR 2022).  Of a decision that it settled itself the policy is taught its own old
probabilities, so that nothing is forgotten; of kickers and of moves that empty the hand, what was done.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_agents.neural.model import Floats
from ddz_agents.neural.network import NetworkPolicy, PolicyNetwork
from ddz_training.data.errors import DataSetError
from ddz_training.learn.expert.config import ExpertConfig
from ddz_training.learn.imitation import ImitationConfig, ImitationProgress, Student
from ddz_training.learn.recorded import RecordedSet
from ddz_training.learn.threads import shards

HELD_OUT = 10
"""One deal of so many is held out."""

Rows = npt.NDArray[np.int64]


def targets(recorded: RecordedSet, rows: Rows, log_priors: Floats, tau: float) -> Floats:
    """What the policy is taught of some decisions.

    Args:
        recorded: Decisions of a search.
        rows: Which of them, shape ``[n]``.
        log_priors: Logarithms of the old policy's probabilities, shape ``[n, 400]``, minus infinity where illegal.
        tau: The smaller, the more the search's values count.

    Returns:
        Probabilities, shape ``[n, 400]``, float32.
    """
    own, chances = np.exp(log_priors), recorded.chances(rows)
    tried = ~np.isnan(chances)
    searched = tried.any(axis=1, keepdims=True)
    weights = np.where(tried, own + np.finfo(np.float32).tiny, 0.0)
    means = np.nansum(weights * chances, axis=1, keepdims=True) / np.where(searched, weights.sum(1, keepdims=True), 1.0)
    scores = log_priors + np.where(tried, chances - means, 0.0) / tau
    improved = np.exp(scores - scores.max(axis=1, keepdims=True))
    improved /= improved.sum(axis=1, keepdims=True)
    settled = recorded.searched[rows, None]
    return np.where(searched, improved, np.where(settled, own, recorded.shares(rows))).astype(np.float32)


class Taught(NamedTuple):
    """What came of a round.

    Attributes:
        policy: The policy that learned the held out decisions best.
        divergences: Of the policy from what it is taught of those, in nats: before the first pass and after each.
    """

    policy: PolicyNetwork
    divergences: tuple[float, ...]


def teach(
    recorded: RecordedSet,
    config: ExpertConfig,
    start: PolicyNetwork,
    threads: int | None = None,
    on_step: Callable[[ImitationProgress], None] | None = None,
) -> Taught:
    """Teach a policy what a search with it has found.

    Where no deal is held out, or every one is, all are learned from and say when to stop.

    Args:
        recorded: The decisions of the search.
        config: The settings.
        start: The policy that the search used; unchanged.
        threads: Threads; None for one a core.  Results do not depend on it.
        on_step: Called after every gradient step.

    Raises:
        DataSetError: If there is nothing to learn from.
    """
    held_out = recorded.deals % HELD_OUT == HELD_OUT - 1
    if not len(held_out):
        raise DataSetError("the games hold no decision with a choice")
    whole = held_out.all() or not held_out.any()
    learned, judged = (np.flatnonzero(whole | (held_out == held)) for held in (False, True))
    old, policy = NetworkPolicy(start), copy.deepcopy(start)
    student = Student(_student_config(config, len(learned)), policy, threads)
    rng = np.random.default_rng([config.seed, 3])
    divergences = [_divergence(recorded, judged, old, policy, config)]
    best = copy.deepcopy(policy)
    for _ in range(config.passes):
        order = rng.permutation(learned)
        for piece in shards(len(order), config.minibatch):
            rows = order[piece]
            seen = recorded.observations[rows], recorded.masks(rows)
            shares = targets(recorded, rows, old.evaluate(*seen)[0], config.tau)
            _, loss, agreement = student.learn(*seen, shares)
            if on_step:
                on_step(ImitationProgress(student.decisions, loss, agreement))
        divergences.append(_divergence(recorded, judged, old, policy, config))
        if divergences[-1] >= min(divergences[:-1]):
            break
        best = copy.deepcopy(policy)
    student.close()
    return Taught(best.eval(), tuple(divergences))


def _student_config(config: ExpertConfig, decisions: int) -> ImitationConfig:
    settings: dict[str, Any] = {name: getattr(config, name) for name in ("rules", "seed", "max_gradient")}
    return ImitationConfig(decisions=config.passes * decisions, learning_rate=config.learning_rate, **settings)


def _divergence(
    recorded: RecordedSet, rows: Rows, old: NetworkPolicy, policy: PolicyNetwork, config: ExpertConfig
) -> float:
    """Of a policy from what it is taught, in nats a decision."""
    model, total = NetworkPolicy(policy), 0.0
    for piece in shards(len(rows), config.minibatch):
        part = rows[piece]
        seen = recorded.observations[part], recorded.masks(part)
        shares = targets(recorded, part, old.evaluate(*seen)[0], config.tau)
        found = np.where(shares > 0, np.log(np.where(shares > 0, shares, 1.0)) - model.evaluate(*seen)[0], 0.0)
        total += float((shares * found).sum())
    policy.train()
    return total / len(rows)
