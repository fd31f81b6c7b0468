"""The determinizations of a neural search: possible hidden hands, weighted by the moves played so far.

The belief network (:mod:`ddz_agents.belief.model`) draws deals, and
:func:`~ddz_agents.worlds.inference.infer_if_possible` weighs them by what was played.
"""

from __future__ import annotations

import time

import numpy as np

from ddz_agents.belief.model import BeliefModel
from ddz_agents.neural.model import PolicyModel
from ddz_agents.worlds.determinize import WorldPool, uniform_pool
from ddz_agents.worlds.history import PlayerModel
from ddz_agents.worlds.inference import DEFAULT_ROUNDS, infer_if_possible
from ddz_agents.worlds.learned_player import LearnedPlayer
from ddz_agents.worlds.particles import Particles
from ddz_agents.worlds.rules_player import RESPONSES, RulesPlayer
from ddz_env import View

_FIRST_PRICE = 0.05
"""Milliseconds that a move of the past costs a particle, before any has been timed."""


class Beliefs:
    """A callable that samples hidden hands for a view, weighted by how well they explain the moves so far.

    Args:
        policy: The policy, one kind of player that a hidden seat may be.
        particles: Number of determinizations that are weighed; 0 for no inference.
        network: Draws them, where it knows the rules, and a hidden seat may also be the rule agent; with None they are
            dealt plainly, and every seat is taken to play like the policy.
        rounds: Of annealing (:func:`ddz_agents.worlds.inference.infer`).
        milliseconds: Time per decision, which lowers the number of particles if necessary; None for no limit.
    """

    def __init__(
        self,
        policy: PolicyModel,
        particles: int,
        network: BeliefModel | None,
        rounds: int = DEFAULT_ROUNDS,
        milliseconds: float | None = None,
    ) -> None:
        others = () if network is None else map(RulesPlayer, RESPONSES)
        self._kinds: list[PlayerModel] = [LearnedPlayer(policy), *others]
        self._network, self._particles, self._rounds, self._milliseconds = network, particles, rounds, milliseconds
        self._price = _FIRST_PRICE

    def __call__(self, view: View, rng: np.random.Generator) -> WorldPool:
        """Return a view's weighted determinizations, or an empty pool if nothing can be inferred."""
        particles = self.infer(view, rng)
        return uniform_pool() if particles is None else particles.pool

    def infer(self, view: View, rng: np.random.Generator) -> Particles | None:
        """Draw determinizations and weight them by how likely they make the moves played so far.

        Where time is limited there are only as many as it pays for at the price of the last ones.  The price falls by
        half at most, lest one decision with nothing to infer lets the next one take all the time; and where the time
        pays for nothing it falls as well, lest one slow moment ends inference for good.

        Args:
            view: What the searcher knows.
            rng: The only source of randomness.

        Returns:
            The particles; None where there is nothing to infer from, or no time.
        """
        if not self._particles:
            return None
        moves, particles = max(1, len(view.history)), self._particles
        if self._milliseconds is not None:
            particles = int(min(particles, self._milliseconds / (self._price * moves)))
        if not particles:
            self._price /= 2
            return None
        began = time.perf_counter()
        proposal = None if self._network is None else self._network.propose(view, rng, particles)
        weighed = infer_if_possible(view, rng, particles, self._kinds, self._rounds, proposal)
        spent = (time.perf_counter() - began) * 1000
        self._price = max(spent / (particles * moves), self._price / 2)
        return weighed
