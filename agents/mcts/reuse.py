"""Tree reuse: the part of the last search that lies below the moves played since."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from agents.mcts.tree import ROOT, Tree, arrays, children, new_tree, replant
from ddz_env import Move, State, View


class Memory:
    """The public history of the last search."""

    def __init__(self) -> None:
        self._seat = -1
        self._seen: list[tuple[int, Move]] = []
        self._spare: Tree | None = None

    def remember(self, view: View | State) -> None:
        """Note that the trees now stand at this position."""
        self._seat, self._seen = int(view.seat), list(view.history)

    def follow(self, trees: Sequence[Tree], view: View | State) -> bool:
        """Make each tree the part of it below the moves since the last search, in place.

        Args:
            trees: The trees.
            view: The position now.

        Returns:
            False, trees untouched, if the game or the seat is another one or the moves lead out of a tree.
        """
        seen, now = self._seen, list(view.history)
        if int(view.seat) != self._seat or len(now) <= len(seen) or now[: len(seen)] != seen:
            return False
        actions = [action for _, move in now[len(seen) :] for action in move.actions]
        nodes = [_descend(tree, actions) for tree in trees]
        if any(node < 0 for node in nodes):
            return False
        for tree, node in zip(trees, nodes, strict=True):
            self._replant(tree, node)
        return True

    def _replant(self, tree: Tree, node: int) -> None:
        if self._spare is None or self._spare.action.size < tree.action.size:
            self._spare = new_tree(tree.action.size)
        replant(tree, node, self._spare)
        for mine, copied in zip(arrays(tree), arrays(self._spare), strict=True):
            mine[...] = copied[: mine.size]


def _descend(tree: Tree, actions: Sequence[int]) -> int:
    """The record that a line of actions leads to, -1 if the tree does not hold it."""
    node = ROOT
    for action in actions:
        block = children(tree, node)
        matches = np.flatnonzero(tree.action[block] == action)
        if not matches.size:
            return -1
        node = block.start + int(matches[0])
    return node
