"""Several trees that grow together: their leaves are evaluated in one batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ddz_agents.neural.model import Floats
from ddz_agents.neural_search.descent import Descents, Searcher, absorb, descend, new_descents, plant
from ddz_agents.neural_search.leaves import Evaluator
from ddz_agents.neural_search.others import nobody
from ddz_agents.tree_search.options import plain
from ddz_agents.tree_search.simulate_planned import new_plan
from ddz_agents.tree_search.tree import Tree, clear, grown, new_tree
from ddz_agents.worlds.determinize import WorldPool, uniform
from ddz_env import View
from ddz_env.core.engine.tables import MASK_WORDS
from ddz_env.core.observation import write_mask, write_observation
from ddz_env.core.owned import OwnsArrays

_FIRST_ROOM = 1 << 14
"""Records of a new tree; trees grow when they are full."""


class Forest(OwnsArrays):
    """Trees of one decision after the other.

    Args:
        trees: How many.
        batch: Descents in flight a tree.
        evaluator: The networks.
        exploration: PUCT's constant.
        simulation: Index into :data:`ddz_agents.tree_search.options.SIMULATIONS`, for leaves that the networks do not
            value.
        shared: Compare the root's moves in the same determinizations; else each descent draws a fresh one.

    Attributes:
        trees: The trees.
        batch: Descents in flight a tree.
        descents: Those in flight, ``batch`` of each tree.
    """

    def __init__(
        self,
        trees: int,
        batch: int,
        evaluator: Evaluator,
        *,
        exploration: float,
        simulation: int,
        shared: bool = True,
    ) -> None:
        self.trees: list[Tree] = [new_tree(_FIRST_ROOM) for _ in range(trees)]
        self.batch = batch
        self.descents = new_descents(trees * batch)
        self._evaluator = evaluator
        self._exploration = np.float64(exploration)
        self._settings = plain()._replace(simulation=np.int64(simulation))
        self._plan = new_plan() if simulation else None
        self._shared = shared

    def plant(self, view: View, states: Sequence[np.uint64]) -> tuple[Floats, Floats]:
        """Begin a decision: trees with nothing but the root's moves and their priors.

        Args:
            view: What the searcher knows.
            states: The state of each tree's generator.

        Returns:
            Logarithms of the root's priors and of the policy's own probabilities, both of shape ``[400]``, float32.
        """
        self._states = list(states)
        self._deals = [state if self._shared else np.uint64(0) for state in states]
        skip = np.bool_(self._evaluator.values_leaves)  # a simulation sees what is forced for nothing
        self._searcher = Searcher(
            view.row, view.ring, np.uint64(view.seat), view.rule_words, uniform(), self._exploration, skip, nobody()
        )
        root = self.descents.part(slice(1))
        write_observation(view.row, view.ring, view.rule_words, np.uint64(view.seat), root.observations[0])
        write_mask(view.row, view.rule_words, np.empty(MASK_WORDS, np.uint64), root.masks[0])
        root.concealed[0] = 0
        priors, own = self._evaluator.priors(root)
        for tree in self.trees:
            clear(tree)
            plant(tree, priors[0])
        return priors[0], own[0]

    def recognize(self, faithful: npt.NDArray[np.uint8]) -> None:
        """Let seats play the rule agent's moves, until the next decision begins.

        Args:
            faithful: 1 for each of these, shape ``[3]``, uint8.
        """
        self._searcher = self._searcher._replace(others=self._searcher.others._replace(faithful=faithful))

    def wave(self, pool: WorldPool, firsts: npt.NDArray[np.int16]) -> None:
        """Send descents down every tree, evaluate where they stop, and back the values up.

        Args:
            pool: Weighted determinizations to draw from; empty for uniform ones.
            firsts: The root's action of each descent of a tree, -1 where PUCT selects it; at most ``batch``.
        """
        searcher, share = self._searcher._replace(pool=pool), len(firsts)
        parts = [self.descents.part(slice(i * self.batch, i * self.batch + share)) for i in range(len(self.trees))]
        for index, part in enumerate(parts):
            self._descend(index, searcher, part, firsts)
        waiting = [np.flatnonzero(part.waits) for part in parts]
        rows = np.concatenate([index * self.batch + found for index, found in enumerate(waiting)])
        if not len(rows):
            return
        answers = self._evaluator.leaves(self.descents.copied(rows), searcher.rules, searcher.others)
        first, learned = 0, self._evaluator.values_leaves
        for index, (part, found) in enumerate(zip(parts, waiting, strict=True)):
            own = answers.part(slice(first, first + len(found)))
            tree, state = self.trees[index], self._states[index]
            room, state = absorb(tree, searcher.rules, part, own, learned, self._settings, self._plan, state)
            first, self._states[index] = first + len(found), np.uint64(state)
            if not room:
                self.trees[index] = grown(tree)

    def _descend(self, index: int, searcher: Searcher, part: Descents, firsts: npt.NDArray[np.int16]) -> None:
        """Make a tree's descents, growing the tree when it is full."""
        while True:
            tree, state = self.trees[index], self._states[index]
            done, state = descend(tree, searcher, part, firsts, self._deals[index], state)
            self._states[index] = np.uint64(state)
            if done == len(firsts):
                return
            self.trees[index] = grown(tree)
            part, firsts = part.part(slice(done, None)), firsts[done:]
