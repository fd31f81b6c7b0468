"""Several trees that grow together: their leaves are evaluated in one batch."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from agents.mcts.options import plain
from agents.mcts.simulate_planned import new_plan
from agents.mcts.tree import Tree, clear, grown, new_tree
from agents.neural.model import Floats
from agents.neural_search.descent import absorb, descend, plant
from agents.neural_search.leaves import Evaluator
from agents.neural_search.slots import Slots, new_slots
from agents.worlds.determinize import WorldPool
from ddz_env import View
from ddz_env.engine.tables import MASK_WORDS
from ddz_env.observation import write_mask, write_observation

_FIRST_ROOM = 1 << 14
"""Records of a new tree; trees grow when they are full."""


class Forest:
    """Trees of one decision after the other.

    Args:
        trees: How many.
        batch: Descents in flight a tree.
        evaluator: The networks.
        exploration: PUCT's constant.
        trust: Share of the learned value in a leaf's; the rest is a simulation's.
        simulation: Index into :data:`agents.mcts.options.SIMULATIONS`.
        shared: Compare the root's moves in the same determinizations; else each descent draws a fresh one.

    Attributes:
        trees: The trees.
        slots: The descents in flight, ``batch`` of each tree.
    """

    def __init__(
        self,
        trees: int,
        batch: int,
        evaluator: Evaluator,
        *,
        exploration: float,
        trust: float,
        simulation: int,
        shared: bool = True,
    ) -> None:
        self.trees: list[Tree] = [new_tree(_FIRST_ROOM) for _ in range(trees)]
        self._evaluator = evaluator
        self._batch = batch
        self._exploration, self._trust = np.float64(exploration), np.float64(trust)
        self._skip = np.bool_(trust > 0)  # a simulation sees what is forced for nothing
        self._settings = plain()._replace(simulation=np.int64(simulation))
        self._plan = new_plan() if simulation else None
        self.slots = new_slots(trees * batch)
        self._shared = shared
        self._states: list[np.uint64] = []
        self._deals: list[np.uint64] = []

    def plant(self, view: View, states: list[np.uint64]) -> tuple[Floats, Floats]:
        """Begin a decision: trees with nothing but the root's moves and their priors.

        Args:
            view: What the searcher knows.
            states: The state of each tree's generator.

        Returns:
            Logarithms of the root's priors and of the policy's own probabilities, both of shape ``[400]``, float32.
        """
        self._states = list(states)
        self._deals = [state if self._shared else np.uint64(0) for state in states]
        slots = self.slots
        write_observation(view.row, view.ring, view.rule_words, np.uint64(view.seat), slots.observations[0])
        write_mask(view.row, view.rule_words, np.empty(MASK_WORDS, np.uint64), slots.masks[0])
        slots.concealed[0] = 0
        priors, own = self._evaluator.priors(slots.part(slice(1)))
        for tree in self.trees:
            clear(tree)
            plant(tree, priors[0])
        return priors[0], own[0]

    def wave(self, view: View, pool: WorldPool, firsts: npt.NDArray[np.int16]) -> None:
        """Send descents down every tree, evaluate where they stop, and back the values up.

        Args:
            view: What the searcher knows.
            pool: Weighted determinizations to draw from; empty for uniform ones.
            firsts: The root's action of each descent of a tree, -1 where PUCT selects it; at most ``batch``.
        """
        share = len(firsts)
        parts = [self.slots.part(slice(i * self._batch, i * self._batch + share)) for i in range(len(self.trees))]
        for index, part in enumerate(parts):
            self._descend(index, view, pool, part, firsts)
        waiting = [np.flatnonzero(part.waits) for part in parts]
        rows = np.concatenate([index * self._batch + found for index, found in enumerate(waiting)])
        if not len(rows):
            return
        log_probabilities, values = self._evaluator.leaves(self.slots.copied(rows), view.rule_words)
        first = 0
        for index, (part, found) in enumerate(zip(parts, waiting, strict=True)):
            last = first + len(found)
            room, state = absorb(
                self.trees[index],
                view.rule_words,
                part,
                len(part.waits),
                log_probabilities[first:last],
                values[first:last],
                self._trust,
                self._settings,
                self._plan,
                self._states[index],
            )
            first, self._states[index] = last, np.uint64(state)
            if not room:
                self.trees[index] = grown(self.trees[index])

    def _descend(self, index: int, view: View, pool: WorldPool, part: Slots, firsts: npt.NDArray[np.int16]) -> None:
        """Fill a tree's slots, growing the tree when it is full."""
        while True:
            count = len(firsts)
            done, state = descend(
                self.trees[index],
                view.row,
                view.ring,
                view.seat,
                view.rule_words,
                pool,
                self._exploration,
                self._skip,
                part,
                firsts,
                self._deals[index],
                self._states[index],
            )
            self._states[index] = np.uint64(state)
            if done == count:
                return
            self.trees[index] = grown(self.trees[index])
            part, firsts = part.part(slice(done, count)), firsts[done:]
