"""What a search with a learned policy infers from the past: where the hidden cards may be, and who plays like whom.

The room :mod:`ddz_agents.worlds` weighs deals by what was played (:func:`~ddz_agents.worlds.inference.inferred`); the
belief network (:mod:`ddz_agents.belief.model`) draws the deals that it weighs.
"""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt

from ddz_agents.belief.model import BeliefModel
from ddz_agents.neural.model import PolicyModel
from ddz_agents.worlds.inference import DEFAULT_ROUNDS, inferred
from ddz_agents.worlds.learned_player import LearnedPlayer
from ddz_agents.worlds.particles import Particles
from ddz_agents.worlds.rules_player import FAITHFUL, RESPONSES, RulesPlayer
from ddz_agents.worlds.story import PlayerModel
from ddz_env import View

RECOGNIZED = 0.6
"""How likely the rule agent must be, where a seat is that or the policy.

Half is where every seat begins.  In 24 games each, 10 % of the decisions against the policy and 63 % of those against
the rule agent were above this; to draw the kind for each world by its chance cost more against the policy.  No option:
it says who the others are, not how to search."""
_POLICY, _RULE_AGENT = 0, 1 + RESPONSES.index(FAITHFUL)
"""The numbers of these two among the kinds of players that a seat may be."""
_FIRST_PRICE = 0.05
"""Milliseconds that a move of the past costs a particle, before any has been timed."""


class Beliefs:
    """Infers hidden hands, and which seats are the rule agent.

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

    def infer(self, view: View, rng: np.random.Generator) -> Particles | None:
        """Draw determinizations and weigh them by what the hidden seats have played.

        Where time is limited there are only as many as it pays for at the price of the last ones.  The price falls by
        half at most, lest one decision with nothing to infer lets the next one take all the time; and where the time
        pays for nothing it falls as well, lest one slow moment ends inference for good.

        Args:
            view: What the searcher knows.
            rng: The only source of randomness.

        Returns:
            The particles; None where there is nothing to infer from, or no time.
        """
        moves, particles = max(1, len(view.history)), self._particles
        if self._milliseconds is not None:
            particles = min(particles, int(self._milliseconds / (self._price * moves)))
        if not particles:
            self._price /= 2
            return None
        began = time.perf_counter()
        proposal = None if self._network is None else self._network.proposal(view, rng, particles)
        weighed = inferred(view, rng, particles, self._kinds, self._rounds, proposal)
        spent = (time.perf_counter() - began) * 1000
        self._price = max(spent / (particles * moves), self._price / 2)
        return weighed

    def rule_agents(self, particles: Particles | None, seat: int) -> npt.NDArray[np.uint8]:
        """Which seats are the rule agent, shape ``[3]``, uint8; never the searcher's own.

        Args:
            particles: What :meth:`infer` has returned.
            seat: The searcher's seat.
        """
        if particles is None or len(self._kinds) == 1:  # nobody else to recognize
            return np.zeros(3, np.uint8)
        return recognized(particles.kinds[_POLICY], particles.kinds[_RULE_AGENT], seat)


def recognized(
    policy: npt.NDArray[np.float64], rule_agent: npt.NDArray[np.float64], seat: int
) -> npt.NDArray[np.uint8]:
    """Which seats are the rule agent rather than the policy, shape ``[3]``, uint8; never the searcher's own.

    Args:
        policy: How likely each seat is the policy, shape ``[3]``.
        rule_agent: How likely each seat is the rule agent, shape ``[3]``.
        seat: The searcher's seat.
    """
    plays_rules = rule_agent > RECOGNIZED * (rule_agent + policy)
    plays_rules[seat] = False
    return plays_rules.astype(np.uint8)
