"""The search tree as arrays for compiled code, with the children of each node in one contiguous block.

A *record* is an edge and the node it leads to.  Blocks grow by doubling; a block that a node has outgrown goes to a
free list by size and is used again, so memory stays below a few dozen bytes per iteration.  Compiled code does not
check bounds: :func:`add_child` does, and reports a full tree so that the caller can grow it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_env.core.engine.words import U1, U6, U63
from ddz_env.support.compiling import inline_kernel, part_kernel, pure_kernel

ROOT = 0
MAX_DEPTH = 1024
"""Levels of a game tree never exceed it: 54 plays with two passes each, six kickers a play and an auction."""
SIZE_CLASSES = 17
MOST_CHILDREN = 512
"""More than a node can have: there are 400 actions."""
FULL = -1
"""What :func:`add_child` returns when the arrays have no room left."""

_TOP = SIZE_CLASSES  # slot of ``free`` that holds the first unused record


class Tree(NamedTuple):
    """A search tree, stored as arrays of shape ``[capacity]``.

    Attributes:
        action: int16, the action that leads here.
        visits: int32.
        reward: float32, total reward of the side that chose the action, 1 a win and 0 a loss.
        first: int32, first record of the node's block of children.
        used: int16, children in use.
        room: int16, size of the block, a power of two or 0.
        complete: int8, 1 once a node has all its children and every determinization allows each of them.
        free: int32, shape ``[18]``: heads of the free lists by size class (-1 if empty), then the first unused record.
    """

    action: npt.NDArray[np.int16]
    visits: npt.NDArray[np.int32]
    reward: npt.NDArray[np.float32]
    first: npt.NDArray[np.int32]
    used: npt.NDArray[np.int16]
    room: npt.NDArray[np.int16]
    complete: npt.NDArray[np.int8]
    free: npt.NDArray[np.int32]


def new_tree(capacity: int) -> Tree:
    """Allocate a tree that holds only its root.

    Args:
        capacity: Records to make room for; four per iteration are always enough.
    """
    kinds = np.int16, np.int32, np.float32, np.int32, np.int16, np.int16, np.int8
    tree = Tree._make([*(np.empty(capacity, kind) for kind in kinds), np.empty(SIZE_CLASSES + 1, np.int32)])
    clear(tree)
    return tree


def double_capacity(tree: Tree) -> Tree:
    """Return a copy of a tree with twice the capacity."""
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
    tree.complete[record] = 0


@pure_kernel
def clear(tree: Tree) -> None:
    """Clear a tree, leaving only the root without children."""
    for size_class in range(SIZE_CLASSES):
        tree.free[size_class] = -1
    tree.free[_TOP] = 1
    _reset(tree, ROOT, np.uint64(0))


@part_kernel
def _take_block(tree: Tree, size_class: int) -> int:
    """Reserve a block of ``2 ** size_class`` entries in the tree's arrays, or return ``FULL``."""
    head = tree.free[size_class]
    if head >= 0:
        tree.free[size_class] = tree.first[head]
        return np.int64(head)
    top = np.int64(tree.free[_TOP])
    if top + (1 << size_class) > tree.action.size:
        return FULL
    tree.free[_TOP] = top + (1 << size_class)
    return top


@part_kernel
def _copy(tree: Tree, source: int, target: int) -> None:
    tree.action[target] = tree.action[source]
    tree.visits[target] = tree.visits[source]
    tree.reward[target] = tree.reward[source]
    tree.first[target] = tree.first[source]
    tree.used[target] = tree.used[source]
    tree.room[target] = tree.room[source]
    tree.complete[target] = tree.complete[source]


@part_kernel
def _grow(tree: Tree, node: int) -> bool:
    """Move a node's children to a block of twice the size, and return whether there was room for it."""
    old, count = np.int64(tree.first[node]), np.int64(tree.used[node])
    size_class = 0
    while (1 << size_class) <= count:
        size_class += 1
    block = _take_block(tree, size_class)
    if block == FULL:
        return False
    for offset in range(count):
        _copy(tree, old + offset, block + offset)
    if count > 0:  # the old block was full: its size is the number of children
        tree.first[old] = tree.free[size_class - 1]
        tree.free[size_class - 1] = old
    tree.first[node] = block
    tree.room[node] = 1 << size_class
    return True


@part_kernel
def add_child(tree: Tree, node: int, action: np.uint64) -> int:
    """Append a child and return its index, or ``FULL``; the node's other children may be moved."""
    if tree.used[node] == tree.room[node] and not _grow(tree, node):
        return FULL
    record = np.int64(tree.first[node]) + np.int64(tree.used[node])
    _reset(tree, record, action)
    tree.used[node] += 1
    return record


@inline_kernel
def has_room(tree: Tree) -> bool:
    """Return whether one more child fits into the tree, whichever node it is added to."""
    return has_room_for(tree, 1)


@inline_kernel
def has_room_for(tree: Tree, number: int) -> bool:
    """Return whether ``number`` more children fit into the tree, whichever nodes they are added to."""
    return np.int64(tree.free[_TOP]) + np.int64(number) * MOST_CHILDREN <= tree.action.size


def children(tree: Tree, node: int = ROOT) -> slice:
    """Return the slice of the tree's arrays that holds a node's children."""
    first = int(tree.first[node])
    return slice(first, first + int(tree.used[node]))


@inline_kernel
def child_of(tree: Tree, node: int, action: int) -> int:
    """Return the index of a node's child for an action, or -1 if the child or the node does not exist."""
    if node >= 0:
        first = np.int64(tree.first[node])
        for record in range(first, first + np.int64(tree.used[node])):
            if tree.action[record] == action:
                return np.int64(record)
    return np.int64(-1)


@part_kernel
def list_legal_children(tree: Tree, node: int, mask: np.ndarray, usable: np.ndarray) -> int:
    """List a node's children that a mask of legal actions allows, and clear their bits in the mask.

    Nothing branches on whether a child is legal, which no processor can foresee.

    Args:
        tree: The tree.
        node: The node.
        mask: Legal actions, changed to those that no child has; shape ``[7]``, uint64.
        usable: Output, the records of these children, int32.

    Returns:
        How many they are.
    """
    first, count = np.int64(tree.first[node]), 0
    for record in range(first, first + np.int64(tree.used[node])):
        action = np.uint64(tree.action[record])
        word, bit = action >> U6, action & U63
        usable[count] = record
        count += np.int64((mask[word] >> bit) & U1)
        mask[word] &= ~(U1 << bit)
    return count
