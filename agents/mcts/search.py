"""One iteration after another: determinize, select, expand, simulate, backpropagate.

Information-set UCT is figure 2 of Whitehouse, Powley and Cowling (2011): one tree of information sets, each iteration
restricted to a determinization ``D``; the child that maximises ``R(M) / V(M) + k sqrt(ln V(N) / V(M))`` is selected,
``V(N)`` being the visits of the parent.  Rewards are 1 for a win and 0 for a loss of the side that chose the move (the
peasants are one side), and ``k`` is meant on that scale.  All moves are public, so a node is its sequence of
actions.  With a fixed game instead of a fresh determinization each time the same loop is plain UCT, which
determinized and cheating UCT run.

The main group and each kicker are consecutive levels of the tree (section II.C).
"""

from __future__ import annotations

import math

import numpy as np

from agents.mcts.determinize import determinize
from agents.mcts.simulate import landlord_won, simulate_random
from agents.mcts.tree import FULL, ROOT, Tree, add_child
from ddz_env.engine.compiling import inline_kernel, kernel
from ddz_env.engine.layout import LANDLORD, ROW_WORDS, SEAT, STAGE, STAGE_OVER
from ddz_env.engine.legal import count_legal, legal_mask, nth_legal
from ddz_env.engine.random import advance, below, mix
from ddz_env.engine.step import apply_action
from ddz_env.engine.tables import MASK_WORDS
from ddz_env.engine.words import U0, U1

MAX_DEPTH = 1024
"""Levels of a game tree never exceed it: 54 plays with two passes each, six kickers a play and an auction."""

_U6 = np.uint64(6)
_U63 = np.uint64(63)


@inline_kernel
def _take_tried(tree: Tree, node: int, mask: np.ndarray, usable: np.ndarray) -> int:
    """List the children that the determinization allows and strike their actions from the mask."""
    first, found = np.int64(tree.first[node]), 0
    for record in range(first, first + np.int64(tree.used[node])):
        action = np.uint64(tree.action[record])
        bit = U1 << (action & _U63)
        if mask[action >> _U6] & bit:
            mask[action >> _U6] ^= bit
            usable[found] = record
            found += 1
    return found


@inline_kernel
def _ucb(tree: Tree, record: int, log_parent: float, exploration: float) -> float:
    """Figure 2's selection value of a child."""
    inverse = np.float32(1.0) / np.float32(tree.visits[record])
    return tree.reward[record] * inverse + np.float32(exploration) * math.sqrt(np.float32(log_parent) * inverse)


@inline_kernel
def _best_of(tree: Tree, usable: np.ndarray, found: int, log_parent: float, exploration: float) -> int:
    best, best_value = np.int64(usable[0]), np.float32(-1.0)
    for index in range(found):
        value = _ucb(tree, usable[index], log_parent, exploration)
        if value > best_value:
            best, best_value = np.int64(usable[index]), value
    return best


@inline_kernel
def _best_child(tree: Tree, node: int, log_parent: float, exploration: float) -> int:
    first = np.int64(tree.first[node])
    best, best_value = first, np.float32(-1.0)
    for record in range(first, first + np.int64(tree.used[node])):
        value = _ucb(tree, record, log_parent, exploration)
        if value > best_value:
            best, best_value = np.int64(record), value
    return best


@kernel
def search(
    tree: Tree,
    root: np.ndarray,
    seat: int,
    rules: np.ndarray,
    iterations: int,
    exploration: float,
    fixed: bool,
    state: np.uint64,
) -> tuple[int, np.uint64]:
    """Run iterations on a tree, which may hold earlier ones.

    Args:
        tree: The tree, changed in place.
        root: The searcher's view row, or a whole game if ``fixed``; shape ``[32]``.
        seat: The searcher's seat.
        rules: The rules array.
        iterations: How many to run.
        exploration: The constant ``k``.
        fixed: Search the game ``root`` itself instead of determinizations of a view.
        state: The generator's state.

    Returns:
        Iterations done (fewer only when the tree is full) and the generator's new state.
    """
    row = np.empty(ROW_WORDS, np.uint64)
    mask = np.empty(MASK_WORDS, np.uint64)
    usable = np.empty(512, np.int32)
    path = np.empty(MAX_DEPTH, np.int32)
    by_landlord = np.empty(MAX_DEPTH, np.bool_)
    searcher = np.uint64(seat)
    for iteration in range(iterations):
        if fixed:
            row[:] = root
        else:
            state = determinize(root, searcher, rules, state, row)
        node, depth = ROOT, 0
        path[0] = ROOT
        expanded = False
        while not expanded and row[STAGE] != STAGE_OVER:
            mover = row[SEAT]
            log_parent = math.log(float(max(tree.visits[node], 1)))
            if tree.settled[node]:
                node = _best_child(tree, node, log_parent, exploration)
            else:
                legal_mask(row, rules, mask)
                found = _take_tried(tree, node, mask, usable)
                fresh = count_legal(mask)
                if fresh > U0:
                    state = advance(state)
                    child = add_child(tree, node, nth_legal(mask, below(mix(state), fresh)))
                    if child == FULL:
                        return iteration, state
                    node, expanded = child, True
                else:
                    if fixed or mover == searcher:
                        tree.settled[node] = 1  # the searcher's own moves are the same in every determinization
                    node = _best_of(tree, usable, found, log_parent, exploration)
            apply_action(row, np.uint64(tree.action[node]), rules)
            depth += 1
            path[depth] = node
            by_landlord[depth] = mover == row[LANDLORD]
        state = simulate_random(row, rules, mask, state)
        won = landlord_won(row)
        tree.visits[ROOT] += 1
        for level in range(1, depth + 1):
            record = path[level]
            tree.visits[record] += 1
            tree.reward[record] += np.float32(1.0) if by_landlord[level] == won else np.float32(0.0)
    return iterations, state
