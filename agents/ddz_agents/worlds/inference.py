"""Hand inference: determinizations weighted by the moves that the hidden seats have played."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_agents.worlds.determinize import Reals, Words, WorldPool, draw_games, draw_pooled_hands, uniform_pool
from ddz_agents.worlds.history import (
    S_SEAT,
    InconsistentHistoryError,
    InvalidInferenceOptionError,
    PlayerModel,
    PublicHistory,
    check_replay,
    history_log_likelihoods,
    read_public_history,
)
from ddz_agents.worlds.particles import Particles, anneal, distinct_deals, fixed_cards, temper
from ddz_agents.worlds.rules_player import RESPONSES, RulesPlayer, rules_history_log_likelihoods
from ddz_env import View
from ddz_env.core.engine.layout import BOTTOM, HANDS, HIDDEN
from ddz_env.core.rules import Rules
from ddz_env.support.checks import check_integer

DEFAULT_PARTICLES = 1000
DEFAULT_ROUNDS = 4
MOST_PARTICLES = 100_000
"""The most that an agent may have: a decision then begins with about half a second of inference, with minutes of it
where a learned policy is the model."""

_FEWEST = 300
"""Particles from which :func:`infer_worlds` draws, at least."""

_LEAST_DRAWN, _LEAST_PROPOSED = 0.02, 0.1
"""Floor under the effective number of different deals, among plain ones and among proposed ones, which are few."""


class Proposal(NamedTuple):
    """Deals drawn from a distribution other than uniform dealing, with their importance weights.

    Attributes:
        hands: The three hands now and the cards that are not dealt, shape ``[n, 4]``, uint64.
        logs: By how much likelier plain dealing gives each deal than what drew it, in nats up to a constant, shape
            ``[n]``, float64.
    """

    hands: Words
    logs: Reals


def draw_hands(view: View, rng: np.random.Generator, particles: int) -> Words:
    """Draw hands for the hidden seats uniformly over deals of the unseen cards, shape ``[particles, 4]``.

    Args:
        view: What the observer knows.
        rng: The only source of randomness.
        particles: How many.

    Returns:
        The three hands now and the undealt cards, shape ``[particles, 4]``, uint64.
    """
    rows = draw_games(view, uniform_pool(), particles, rng.integers(0, 2**64, dtype=np.uint64))
    rest = BOTTOM if view.landlord is None else HIDDEN
    return np.ascontiguousarray(rows[:, [HANDS, HANDS + 1, HANDS + 2, rest]])


def find_informative_decisions(history: PublicHistory, seat: int, rules: Rules) -> npt.NDArray[np.bool_]:
    """Return a mask of the decisions in a history that inform an observer: those of the hidden seats.

    Args:
        history: The history.
        seat: The observer, whose own decisions say nothing new.
        rules: The rules.

    Returns:
        Bool, shape ``[moves]``.
    """
    return np.asarray((history.moves[:, S_SEAT] != np.uint64(seat)) & (not rules.open_hands))


def infer(
    view: View,
    rng: np.random.Generator,
    particles: int = DEFAULT_PARTICLES,
    models: Sequence[PlayerModel] | None = None,
    *,
    rounds: int = DEFAULT_ROUNDS,
    least_ess: float = _LEAST_DRAWN,
    proposal: Proposal | None = None,
) -> Particles:
    """Draw determinizations, move them towards likelier deals, and weight them by the hidden seats' moves.

    A particle's likelihood is the product over the hidden seats of the mean over the models (equally likely before the
    seat moved) of the likelihood of the seat's decisions in the positions that the particle implies.  The observer's
    own decisions, bids and answers to doubling do not weigh.

    Args:
        view: What the observer knows; its history must be complete.
        rng: The only source of randomness.
        particles: How many determinizations.
        models: The kinds of players that a hidden seat may be; None for the fitted rule models.
        rounds: How often at most the particles are drawn again by weight and may swap cards
            (:func:`ddz_agents.worlds.particles.anneal`); with 0 they stay as drawn, and the weights say everything.
        least_ess: Floor under the effective number of different deals, as a share of those drawn: the weights are
            flattened until it is reached.
        proposal: Deals to weigh in place of ``particles`` drawn here; with it ``rounds`` has no effect.

    Raises:
        InvalidInferenceOptionError: If there are no particles, or a model answers with another shape.
        InconsistentHistoryError: If the history is missing or does not lead to the position on the table.

    Example:
        >>> from ddz_env import State
        >>> state = State.new(seed=1)
        >>> state.step("3")
        >>> known = infer(state.view(), np.random.default_rng(0), particles=100)
        >>> known.hands.shape, round(float(known.weights.sum()), 9)
        ((100, 4), 1.0)
    """
    chosen = [RulesPlayer(response) for response in RESPONSES] if models is None else models
    history = read_public_history(view)
    check_integer("particles", particles, 1, MOST_PARTICLES, InvalidInferenceOptionError)
    hands = draw_hands(view, rng, particles) if proposal is None else proposal.hands
    check_replay(history, view, hands[0])
    weighed = find_informative_decisions(history, view.seat, view.rules)

    def evaluate(held: Words) -> Reals:
        deals, deal = distinct_deals(held)  # late in a game the same deal is drawn many times: weigh it once
        return _average_over_models(_log_likelihoods(chosen, history, deals, weighed, view.rules))[deal]

    if proposal is None:
        hands, logs, exponent = anneal(hands, evaluate(hands), fixed_cards(view), evaluate, rounds, rng)
        return temper(hands, logs, least_ess, exponent)
    return temper(hands, proposal.logs + evaluate(hands), least_ess)


def _log_likelihoods(
    models: Sequence[PlayerModel], history: PublicHistory, deals: Words, weighed: npt.NDArray[np.bool_], rules: Rules
) -> Reals:
    """Compute the log-likelihoods of each seat's moves under each model, shape ``[n, models, 3]``."""
    logs = np.empty((len(deals), len(models), 3))
    ruled = {number: model for number, model in enumerate(models) if isinstance(model, RulesPlayer)}
    others = {number: model for number, model in enumerate(models) if number not in ruled}
    if ruled:
        logs[:, list(ruled)] = rules_history_log_likelihoods(list(ruled.values()), history, deals, weighed, rules)
    if others:
        logs[:, list(others)] = history_log_likelihoods(list(others.values()), history, deals, weighed, rules)
    return logs


def _average_over_models(logs: Reals) -> Reals:
    """Average likelihoods over the models and sum their logarithms over seats: ``[n, models, 3]`` to ``[n]``."""
    highest = logs.max(axis=1, keepdims=True)
    mean = np.log(np.exp(logs - highest).mean(axis=1)) + highest[:, 0]
    return np.asarray(mean.sum(axis=1))


def infer_pool(view: View, rng: np.random.Generator, particles: int) -> WorldPool:
    """Return a pool of determinizations for a search, weighted by the hidden seats' past moves.

    Args:
        view: What the searcher knows.
        rng: The generator.
        particles: How many; 0 for uniform determinizations, drawn afresh each time.
    """
    weighted = infer_if_possible(view, rng, particles)
    return uniform_pool() if weighted is None else weighted.pool


def infer_worlds(view: View, count: int, rng: np.random.Generator) -> Words:
    """Draw full sets of hands in proportion to how likely they make the hidden seats' moves.

    Args:
        view: What a seat knows, with its history.
        count: How many worlds: they are drawn with replacement from as many weighed ones, 300 at least.
        rng: The only source of randomness.

    Returns:
        The three hands and the cards that none of them holds, shape ``[count, 4]``, uint64.

    Example:
        >>> from ddz_env import State
        >>> infer_worlds(State.new(seed=1).view(), 100, np.random.default_rng(0)).shape
        (100, 4)
    """
    return draw_pooled_hands(view, infer_pool(view, rng, max(_FEWEST, count)), count, rng)


def infer_if_possible(
    view: View,
    rng: np.random.Generator,
    particles: int,
    models: Sequence[PlayerModel] | None = None,
    rounds: int = DEFAULT_ROUNDS,
    proposal: Proposal | None = None,
) -> Particles | None:
    """Infer the hidden hands, or return None if there is nothing to infer them from.

    Args:
        view: What the searcher knows.
        rng: The generator.
        particles: How many.
        models: The kinds of players that a hidden seat may be; None for the fitted rule models.
        rounds: Of annealing (:func:`infer`).
        proposal: Deals to weigh in place of plain ones.
    """
    if not particles:
        return None
    least = _LEAST_DRAWN if proposal is None else _LEAST_PROPOSED
    try:
        return infer(view, rng, particles, models, rounds=rounds, least_ess=least, proposal=proposal)
    except InconsistentHistoryError:  # a bare row: there is nothing to infer from
        return None
