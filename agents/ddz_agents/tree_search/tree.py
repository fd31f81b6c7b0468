"""The search tree: arrays inside compiled code, children of a node in one contiguous block.

A *record* is an edge and the node it leads to.  Blocks grow by doubling; a block that a node has outgrown goes to a
free list by size and is used again, so memory stays below a few dozen bytes an iteration.  Compiled code does not
check bounds: :func:`add_child` does, and reports a full tree so that the caller can grow it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_env.core.engine.compiling import inline_kernel, pure_kernel
from ddz_env.core.engine.words import U0

ROOT = 0
SIZE_CLASSES = 17
MOST_CHILDREN = 512
"""More than a node can have: there are 400 actions."""
FULL = -1
"""What :func:`add_child` returns when the arrays have no room left."""

_TOP = SIZE_CLASSES  # slot of ``free`` that holds the first unused record


class Tree(NamedTuple):
    """Arrays of a tree, each of shape ``[capacity]``.

    Attributes:
        action: int16, the action that leads here.
        visits: int32.
        reward: float32, total reward of the side that chose the action, 1 a win and 0 a loss.
        first: int32, first record of the node's block of children.
        used: int16, children in use.
        room: int16, size of the block, a power of two or 0.
        settled: int8, 1 once a node of the searcher has all its children (its moves never change again).
        available: int32, visits of the parent in which the child was legal (kept only where the search asks for it).
        prior: float32, weight among the siblings under PUCT.
        free: int32, shape ``[18]``: heads of the free lists by size class (-1 if empty), then the first unused record.
    """

    action: npt.NDArray[np.int16]
    visits: npt.NDArray[np.int32]
    reward: npt.NDArray[np.float32]
    first: npt.NDArray[np.int32]
    used: npt.NDArray[np.int16]
    room: npt.NDArray[np.int16]
    settled: npt.NDArray[np.int8]
    available: npt.NDArray[np.int32]
    prior: npt.NDArray[np.float32]
    free: npt.NDArray[np.int32]


def new_tree(capacity: int, action: type[np.integer[Any]] = np.int16, count: type[np.integer[Any]] = np.int16) -> Tree:
    """Allocate a tree that holds a bare root.

    Args:
        capacity: Records to make room for; four an iteration are always enough.
        action: Type of the actions, wider where they are more than action ids.
        count: Type of a node's number of children.
    """
    kinds = (action, np.int32, np.float32, np.int32, count, count, np.int8, np.int32, np.float32)
    tree = Tree._make([*(np.empty(capacity, kind) for kind in kinds), np.empty(SIZE_CLASSES + 1, np.int32)])
    clear(tree)
    return tree


def grown(tree: Tree) -> Tree:
    """A copy with twice the room."""
    larger = [np.concatenate([array, np.empty_like(array)]) for array in tree[:-1]]
    return Tree._make([*larger, tree.free.copy()])


@inline_kernel
def _reset(tree: Tree, record: int, action: np.uint64) -> None:
    tree.action[record] = action
    tree.visits[record] = 0
    tree.reward[record] = 0.0
    tree.first[record] = 0
    tree.used[record] = 0
    tree.room[record] = 0
    tree.settled[record] = 0
    tree.available[record] = 0
    tree.prior[record] = 1.0


@pure_kernel
def clear(tree: Tree) -> None:
    """Forget everything but a bare root."""
    for size_class in range(SIZE_CLASSES):
        tree.free[size_class] = -1
    tree.free[_TOP] = 1
    _reset(tree, ROOT, np.uint64(0))


@inline_kernel
def _take_block(tree: Tree, size_class: int) -> int:
    """A block of ``2 ** size_class`` records, or ``FULL``."""
    head = tree.free[size_class]
    if head >= 0:
        tree.free[size_class] = tree.first[head]
        return np.int64(head)
    top = np.int64(tree.free[_TOP])
    if top + (1 << size_class) > tree.action.size:
        return FULL
    tree.free[_TOP] = top + (1 << size_class)
    return top


@inline_kernel
def _copy(tree: Tree, source: int, into: Tree, target: int) -> None:
    into.action[target] = tree.action[source]
    into.visits[target] = tree.visits[source]
    into.reward[target] = tree.reward[source]
    into.first[target] = tree.first[source]
    into.used[target] = tree.used[source]
    into.room[target] = tree.room[source]
    into.settled[target] = tree.settled[source]
    into.available[target] = tree.available[source]
    into.prior[target] = tree.prior[source]


@inline_kernel
def _grow(tree: Tree, node: int) -> bool:
    """Move a node's children to a block of twice the size; false if there is no room."""
    old, count = np.int64(tree.first[node]), np.int64(tree.used[node])
    size_class = 0
    while (1 << size_class) <= count:
        size_class += 1
    block = _take_block(tree, size_class)
    if block == FULL:
        return False
    for offset in range(count):
        source, target = old + offset, block + offset
        _copy(tree, source, tree, target)
    if count > 0:  # the old block was full: its size is the number of children
        tree.first[old] = tree.free[size_class - 1]
        tree.free[size_class - 1] = old
    tree.first[node] = block
    tree.room[node] = 1 << size_class
    return True


@inline_kernel
def add_child(tree: Tree, node: int, action: np.uint64) -> int:
    """Append a child and return its record, or ``FULL``.  Records of the node's other children may move."""
    if tree.used[node] == tree.room[node] and not _grow(tree, node):
        return FULL
    record = np.int64(tree.first[node]) + np.int64(tree.used[node])
    _reset(tree, record, action)
    tree.used[node] += 1
    return record


@inline_kernel
def has_room(tree: Tree) -> bool:
    """Whether the next child finds room, whatever node it belongs to."""
    return np.int64(tree.free[_TOP]) + MOST_CHILDREN <= tree.action.size


@pure_kernel
def replant(tree: Tree, node: int, into: Tree) -> bool:
    """Copy a node and everything below it to the root of another tree.

    Args:
        tree: The tree.
        node: The record that becomes the root.
        into: A tree of at least the same capacity; what it held is forgotten.

    Returns:
        False if there was not enough room.
    """
    clear(into)
    into.visits[ROOT] = tree.visits[node]
    into.settled[ROOT] = tree.settled[node]
    into.first[ROOT] = tree.first[node]  # until its children are copied: where they lie in the old tree
    into.used[ROOT] = tree.used[node]
    target = ROOT
    while target < into.free[_TOP]:
        if into.used[target] > 0 and not _adopt(tree, target, into):
            return False
        target += 1
    return True


@inline_kernel
def _adopt(tree: Tree, target: int, into: Tree) -> bool:
    """Copy the children of a node whose ``first`` still points into the old tree."""
    source, count = np.int64(into.first[target]), np.int64(into.used[target])
    size_class = 0
    while (1 << size_class) < count:
        size_class += 1
    block = _take_block(into, size_class)
    if block == FULL:
        return False
    for offset in range(1 << size_class):
        _reset(into, block + offset, U0)
        if offset < count:
            _copy(tree, source + offset, into, block + offset)
    into.first[target] = block
    into.room[target] = 1 << size_class
    return True


def children(tree: Tree, node: int = ROOT) -> slice:
    """The records of a node's children."""
    first = int(tree.first[node])
    return slice(first, first + int(tree.used[node]))


@inline_kernel
def child_of(tree: Tree, node: int, action: int) -> int:
    """The record of a node's child by action, -1 if there is none (or no node, which -1 stands for)."""
    if node >= 0:
        first = np.int64(tree.first[node])
        for record in range(first, first + np.int64(tree.used[node])):
            if tree.action[record] == action:
                return np.int64(record)
    return np.int64(-1)
