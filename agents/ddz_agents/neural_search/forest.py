"""Several trees that grow together, and how the root's moves share their descents.

The leaves of all trees are evaluated in one batch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ddz_agents.neural.model import Floats
from ddz_agents.neural_search.descent import (
    Descents,
    Priors,
    Searcher,
    absorb,
    descend,
    grown_priors,
    learn_prior,
    new_descents,
    new_priors,
)
from ddz_agents.neural_search.selection import select_at_root
from ddz_agents.neural_search.values import Evaluator, landlord_chances
from ddz_agents.tree_search.choice import totals
from ddz_agents.tree_search.tree import ROOT, Tree, clear, grown, new_tree
from ddz_agents.worlds.determinize import WorldPool
from ddz_env import View
from ddz_env.support.clocks import Clock
from ddz_env.support.owned import OwnsArrays

_FIRST_ROOM = 1 << 14
"""Records of a new tree; trees grow when they are full."""


class Forest(OwnsArrays):
    """Grows several trees for one decision, and evaluates the leaves of all in one batch.

    Args:
        trees: How many.
        batch: Descents in flight per tree.
        evaluator: The networks.
        exploration: PUCT's constant below the root.

    Attributes:
        trees: The trees.
        priors: The priors of each.
        batch: Descents in flight per tree.
        descents: Those in flight, ``batch`` of each tree.
    """

    def __init__(self, trees: int, batch: int, evaluator: Evaluator, exploration: float) -> None:
        self.trees: list[Tree] = [new_tree(_FIRST_ROOM) for _ in range(trees)]
        self.priors: list[Priors] = [new_priors(_FIRST_ROOM) for _ in range(trees)]
        self.batch = batch
        self.descents = new_descents(trees * batch)
        self._evaluator, self._exploration = evaluator, exploration

    def plant(self, view: View, states: Sequence[np.uint64]) -> Floats:
        """Begin a decision: trees with nothing but the root's moves and their priors.

        Args:
            view: What the searcher knows.
            states: The state of each tree's generator.

        Returns:
            Logarithms of the root's prior, shape ``[400]``, float32.
        """
        self._states, self._deals = list(states), list(states)
        passes_forced = self._evaluator.networks_value
        self._searcher = Searcher.of(view, passes_forced=passes_forced, exploration=self._exploration)
        log_priors = self._evaluator.root(view)
        for tree, priors in zip(self.trees, self.priors, strict=True):
            clear(tree)
            learn_prior(tree, priors, ROOT, log_priors)
        return log_priors

    def believe(self, pool: WorldPool) -> None:
        """Search these worlds until the next decision begins.

        Args:
            pool: Weighted determinizations to draw from; empty for uniform ones, as without this call.
        """
        self._searcher = self._searcher._replace(pool=pool)

    def wave(self, firsts: npt.NDArray[np.int16]) -> None:
        """Send descents down every tree, evaluate where they stop, and back the values up.

        Args:
            firsts: The root's action of each descent of a tree; at most ``batch``.
        """
        searcher, share = self._searcher, len(firsts)
        parts = [self.descents.part(slice(i * self.batch, i * self.batch + share)) for i in range(len(self.trees))]
        for index, part in enumerate(parts):
            self._descend(index, part, firsts)
        waiting = [np.flatnonzero(part.games.waits) for part in parts]
        leaves = np.concatenate([index * self.batch + numbers for index, numbers in enumerate(waiting)])
        if not len(leaves):
            return
        games = self.descents.games.part(leaves)
        log_priors, values = self._evaluator.leaves(games, searcher.rules)
        ends = np.cumsum([len(numbers) for numbers in waiting])[:-1]
        per_tree = zip(parts, np.split(log_priors, ends), np.split(values, ends), strict=True)
        for index, (part, logs, part_values) in enumerate(per_tree):
            chances = np.empty(len(part_values), np.float32)
            of = part.games, part_values, self._evaluator.networks_value, searcher.rules
            self._states[index] = np.uint64(landlord_chances(*of, self._states[index], chances))
            if not absorb(self.trees[index], self.priors[index], part, logs, chances):
                self._grow(index)

    def _descend(self, index: int, part: Descents, firsts: npt.NDArray[np.int16]) -> None:
        """Make a tree's descents, growing the tree when it is full."""
        while True:
            tree, priors, deal, state = self.trees[index], self.priors[index], self._deals[index], self._states[index]
            done, state = descend(tree, priors, self._searcher, part, firsts, deal, state)
            self._states[index] = np.uint64(state)
            if done == len(firsts):
                return
            self._grow(index)
            part, firsts = part.part(slice(done, None)), firsts[done:]

    def _grow(self, index: int) -> None:
        self.trees[index], self.priors[index] = grown(self.trees[index]), grown_priors(self.priors[index])


def halve(forest: Forest, log_priors: Floats, clock: Clock, descents: int, candidates: int, prior_weight: float) -> int:
    """Find the root's best action by sequential halving.

    Args:
        forest: Planted trees.
        log_priors: Logarithms of the policy's probabilities, shape ``[400]``, minus infinity where illegal.
        clock: Of which every round gets the same share.
        descents: The budget instead of time; every round gets the same share of it, and at least one descent per
            candidate and tree.
        candidates: How many actions are compared.
        prior_weight: How much the policy's opinion counts.

    Returns:
        The action.
    """
    order = np.argsort(-log_priors, kind="stable")
    alive = [int(action) for action in order[:candidates] if log_priors[action] > -np.inf]
    rounds, trees, spent = max(1, (len(alive) - 1).bit_length()), len(forest.trees), 0
    for number in range(1, rounds + 1):
        share = number / rounds
        while not (clock.over(share) and (clock.seconds is not None or spent >= share * descents)):
            turns = max(1, forest.batch // len(alive))  # descents of each candidate in every tree's next wave
            if clock.seconds is None:
                turns = max(1, min(turns, math.ceil((share * descents - spent) / (len(alive) * trees))))
            firsts = np.tile(np.array(alive, np.int16), turns)
            for part in np.array_split(firsts, -(-len(firsts) // forest.batch)):
                forest.wave(part)
            spent += len(firsts) * trees
        alive = select_at_root(alive, totals(forest.trees, [ROOT] * trees), log_priors, prior_weight)
    return alive[0]
