"""Selection: the child that an iteration goes to, by figure 2's formula or by one of two later ones.

Information-set UCT (Whitehouse, Powley and Cowling 2011, figure 2) selects the child that maximises ``R(M) / V(M) + k
sqrt(ln V(N) / V(M))``, ``V(N)`` being the visits of the parent.  Two later forms are options.  With *availability
counts* (Cowling, Powley and Whitehouse 2012) ``V(N)`` is replaced by the number of visits of the parent in which the
child was legal.  *PUCT* (Silver et al. 2017) selects by ``R(M) / V(M) + k P(M) sqrt(V(N)) / (1 + V(M))``, ``V(N)``
being the visits of the children that are legal in the determinization and ``P`` adding up to 1 over the legal moves;
moves not yet expanded stand for one another with the mean reward of their siblings and no visits, so that they need
not all be tried first.
"""

from __future__ import annotations

import math

import numpy as np

from ddz_agents.tree_search.options import TreeSettings
from ddz_agents.tree_search.tree import Tree
from ddz_env.core.engine.compiling import inline_kernel
from ddz_env.core.engine.words import U0, U1

_U6 = np.uint64(6)
_U63 = np.uint64(63)


@inline_kernel
def take_tried(tree: Tree, node: int, mask: np.ndarray, usable: np.ndarray) -> int:
    """List the children that the determinization allows and strike their actions from the mask.

    Nothing branches on whether a child is legal, which no processor can foresee.
    """
    first, found = np.int64(tree.first[node]), 0
    for record in range(first, first + np.int64(tree.used[node])):
        action = np.uint64(tree.action[record])
        word, place = action >> _U6, action & _U63
        usable[found] = record
        found += np.int64((mask[word] >> place) & U1)
        mask[word] &= ~(U1 << place)
    return found


@inline_kernel
def ucb(tree: Tree, record: int, log_parent: float, exploration: float) -> float:
    """Figure 2's selection value of a child."""
    inverse = np.float32(1.0) / np.float32(tree.visits[record])
    return tree.reward[record] * inverse + np.float32(exploration) * math.sqrt(np.float32(log_parent) * inverse)


@inline_kernel
def _best_available(tree: Tree, usable: np.ndarray, found: int, exploration: float) -> int:
    """Selection by availability counts; counts this visit for every child that could have been chosen."""
    best, best_value = np.int64(usable[0]), np.float32(-1.0)
    for index in range(found):
        record = np.int64(usable[index])
        tree.available[record] += 1
        value = ucb(tree, record, math.log(float(tree.available[record])), exploration)
        if value > best_value:
            best, best_value = record, value
    return best


@inline_kernel
def _best_by_puct(tree: Tree, usable: np.ndarray, found: int, fresh: np.uint64, exploration: float) -> int:
    """The child that PUCT selects; -1 for one of the moves not yet expanded."""
    visits, reward, weight = np.int64(0), np.float32(0.0), np.float32(fresh)
    for index in range(found):
        record = np.int64(usable[index])
        visits += tree.visits[record]
        reward += tree.reward[record]
        weight += tree.prior[record]
    if visits == 0:
        return np.int64(-1)
    scale = np.float32(exploration) * math.sqrt(np.float32(visits)) / weight
    best, best_value = np.int64(-1), np.float32(-1.0)
    if fresh > U0:
        best_value = reward / np.float32(visits) + scale
    for index in range(found):
        record = np.int64(usable[index])
        count = np.float32(tree.visits[record])
        value = tree.reward[record] / count + scale * tree.prior[record] / (np.float32(1.0) + count)
        # Of equals the lowest action, whichever was expanded first: a search with learned priors has the same order.
        ties = value == best_value and best >= 0 and tree.action[record] < tree.action[best]
        if value > best_value or ties:
            best, best_value = record, value
    return best


@inline_kernel
def best_of(tree: Tree, usable: np.ndarray, found: int, log_parent: float, exploration: float) -> int:
    """The child that figure 2 selects among those listed."""
    best, best_value = np.int64(usable[0]), np.float32(-1.0)
    for index in range(found):
        value = ucb(tree, usable[index], log_parent, exploration)
        if value > best_value:
            best, best_value = np.int64(usable[index]), value
    return best


@inline_kernel
def best_child(tree: Tree, node: int, log_parent: float, exploration: float, values: np.ndarray) -> int:
    """The child that figure 2 selects among all; ``values`` is scratch, as long as there are children, float32.

    The values are computed apart from their comparison, so that the compiler makes eight of them at once.
    """
    first, number = np.int64(tree.first[node]), np.int64(tree.used[node])
    for child in range(number):
        values[child] = ucb(tree, first + child, log_parent, exploration)
    best = 0
    for child in range(1, number):
        if values[child] > values[best]:
            best = child
    return first + best


@inline_kernel
def select(
    tree: Tree, node: int, usable: np.ndarray, found: int, fresh: np.uint64, log_parent: float, settings: TreeSettings
) -> int:
    """The child to go to among those that the determinization allows; -1 to expand."""
    if settings.puct:
        return _best_by_puct(tree, usable, found, fresh, settings.exploration)
    if fresh > U0:
        if settings.availability:
            for index in range(found):
                tree.available[usable[index]] += 1
        return np.int64(-1)
    if settings.availability:
        return _best_available(tree, usable, found, settings.exploration)
    return best_of(tree, usable, found, log_parent, settings.exploration)
