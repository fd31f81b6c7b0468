"""The search tree over bids that the auction search and the hold'em betting search share.

A node's children are numbered by the answers that lead to them; a child's statistics are those of its answer, for the
player who gave it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_env.support.compiling import inline_kernel, kernel

UNTRIED = 1e8
"""The score of a child that does not exist yet: above every other."""


class StakeTree(NamedTuple):
    """A search tree over bids, stored as arrays in which node 0 is the root.

    Attributes:
        child: The node behind each answer, 0 if there is none, shape ``[nodes, answers]``, int64.
        visits: Shape ``[nodes]``, float64.
        value: Sums of payoffs for who answered, shape ``[nodes]``, float64.
        used: How many nodes there are, shape ``[1]``, int64.
        path: The nodes of the iteration under way, shape ``[levels]``, int64.
        movers: Who led to each of them, shape ``[levels]``, int64.
    """

    child: npt.NDArray[np.int64]
    visits: npt.NDArray[np.float64]
    value: npt.NDArray[np.float64]
    used: npt.NDArray[np.int64]
    path: npt.NDArray[np.int64]
    movers: npt.NDArray[np.int64]


@kernel
def new_tree(nodes: int, answers: int, levels: int) -> StakeTree:
    """Allocate a tree that has room for ``nodes`` nodes and holds only its root."""
    child, used = np.zeros((nodes, answers), np.int64), np.ones(1, np.int64)
    path, movers = np.zeros(levels, np.int64), np.zeros(levels, np.int64)
    return StakeTree(child, np.zeros(nodes), np.zeros(nodes), used, path, movers)


@inline_kernel
def ucb(tree: StakeTree, node: int, answer: int, scale: float, exploration: float) -> float:
    """Return the UCB value of a bid or answer (equation 2), with payoffs divided by ``scale``."""
    child = tree.child[node, answer]
    if child == 0:
        return UNTRIED
    parent = max(tree.visits[node], 1.0)
    score: float = tree.value[child] / tree.visits[child] / scale
    return score + exploration * math.sqrt(math.log(parent) / tree.visits[child])


@inline_kernel
def descend(tree: StakeTree, node: int, answer: int, depth: int, mover: int) -> int:
    """Return the child node that an answer leads to, adding it if missing, and record it at ``depth``."""
    if tree.child[node, answer] == 0:
        tree.child[node, answer] = tree.used[0]
        tree.used[0] += 1
    child: int = tree.child[node, answer]
    tree.path[depth], tree.movers[depth] = child, mover
    return child


@inline_kernel
def backpropagate(tree: StakeTree, depth: int, worth: np.ndarray) -> None:
    """Add one iteration's payoffs to the nodes on its path, crediting each node with its mover's payoff."""
    tree.visits[0] += 1.0
    for level in range(depth):
        tree.visits[tree.path[level]] += 1.0
        tree.value[tree.path[level]] += worth[tree.movers[level]]


@kernel
def root_statistics(tree: StakeTree) -> tuple[np.ndarray, np.ndarray]:
    """Return the visit count and the mean payoff of each answer at the root, both of shape ``[answers]``."""
    answers = tree.child.shape[1]
    counts, means = np.zeros(answers), np.zeros(answers)
    for answer in range(answers):
        child = tree.child[0, answer]
        if child:
            counts[answer], means[answer] = tree.visits[child], tree.value[child] / tree.visits[child]
    return counts, means
