"""One iteration after another: determinize, select, expand, simulate, backpropagate.

Information-set UCT is figure 2 of Whitehouse, Powley and Cowling (2011): one tree of information sets, each iteration
restricted to a determinization ``D``; the child that maximises ``R(M) / V(M) + k sqrt(ln V(N) / V(M))`` is selected,
``V(N)`` being the visits of the parent.  Rewards are 1 for a win and 0 for a loss of the side that chose the move (the
peasants are one side), and ``k`` is meant on that scale.  All moves are public, so a node is its sequence of
actions.  With a fixed game instead of a fresh determinization each time the same loop is plain UCT, which
determinized and cheating UCT run.

Two later forms are options.  With *availability counts* (Cowling, Powley and Whitehouse 2012) ``V(N)`` is replaced by
the number of visits of the parent in which the child was legal.  *PUCT* (Silver et al. 2017) selects by ``R(M) / V(M) +
k P(M) sqrt(V(N)) / (1 + V(M))``, ``V(N)`` being the visits of the children that are legal in the determinization and
``P`` adding up to 1 over the legal moves; moves not yet expanded stand for one another with the mean reward of their
siblings and no visits, so that they need not all be tried first.

The main group and each kicker are consecutive levels of the tree (section II.C).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from agents.mcts.guide import guided_action
from agents.mcts.settings import Settings
from agents.mcts.simulate import reward_of, simulate_random
from agents.mcts.simulate_planned import Plan, set_plan_prices, simulate_planned
from agents.mcts.simulate_rules import simulate_rules
from agents.mcts.tree import FULL, ROOT, Tree, add_child, has_room
from agents.worlds.pool import Pool, draw_world
from ddz_env.engine.compiling import inline_kernel, kernel
from ddz_env.engine.layout import LANDLORD, NO_SEAT, ROW_WORDS, SEAT, STAGE, STAGE_OVER
from ddz_env.engine.legal import count_legal, legal_mask, nth_legal
from ddz_env.engine.random import advance, below, mix
from ddz_env.engine.step import apply_action
from ddz_env.engine.tables import MASK_WORDS
from ddz_env.engine.words import U0, U1

MAX_DEPTH = 1024
"""Levels of a game tree never exceed it: 54 plays with two passes each, six kickers a play and an auction."""

GUIDED_WEIGHT = np.float32(10.0)
"""Prior weight of the rule agent's move, others having 1."""
PLANNED, RULES = np.int64(1), np.int64(2)
_NO_SEAT = np.uint64(NO_SEAT)
_U6 = np.uint64(6)
_U63 = np.uint64(63)
_NO_GUIDE = np.uint64(64 * MASK_WORDS - 1)  # no action has this id; 0 is pass


@inline_kernel
def take_tried(tree: Tree, node: int, mask: np.ndarray, usable: np.ndarray) -> int:
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
def best_child(tree: Tree, node: int, log_parent: float, exploration: float) -> int:
    """The child that figure 2 selects among all."""
    first = np.int64(tree.first[node])
    best, best_value = first, np.float32(-1.0)
    for record in range(first, first + np.int64(tree.used[node])):
        value = ucb(tree, record, log_parent, exploration)
        if value > best_value:
            best, best_value = np.int64(record), value
    return best


@inline_kernel
def _select(
    tree: Tree, node: int, usable: np.ndarray, found: int, fresh: np.uint64, log_parent: float, settings: Settings
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


@inline_kernel
def _expand(
    tree: Tree, node: int, row: np.ndarray, mask: np.ndarray, fresh: np.uint64, pick: np.uint64, first: np.uint64
) -> int:
    """Add a child for one of the moves left in the mask: ``first`` if it is among them, else the one picked."""
    wanted = (mask[first >> _U6] >> (first & _U63)) & U1 == U1
    child = add_child(tree, node, first if wanted else nth_legal(mask, below(pick, fresh)))
    if child != FULL:
        tree.available[child] = 1
        tree.prior[child] = GUIDED_WEIGHT if wanted else np.float32(1.0)
    return child


@inline_kernel
def simulate(
    row: np.ndarray,
    rules: np.ndarray,
    mask: np.ndarray,
    state: np.uint64,
    settings: Settings,
    plan: Plan | None,
    policy: Any,
) -> np.uint64:
    """Play to the end by the policy of the settings, or by one that the user compiled.

    Numba prunes the branches on ``None``: a search with random simulations compiles nothing of the others.
    """
    if policy is not None:
        return policy(row, rules, mask, state)
    if plan is not None:
        if settings.simulation == PLANNED:
            return simulate_planned(row, rules, mask, state, plan)
        if settings.simulation == RULES:
            return simulate_rules(row, rules, mask, state, plan.mind)
    return simulate_random(row, rules, mask, state, settings.finish)


@kernel
def search(
    tree: Tree,
    root: np.ndarray,
    seat: int,
    rules: np.ndarray,
    iterations: int,
    settings: Settings,
    pool: Pool,
    plan: Plan | None,
    policy: Any,
    state: np.uint64,
) -> tuple[int, np.uint64]:
    """Run iterations on a tree, which may hold earlier ones.

    Args:
        tree: The tree, changed in place.
        root: The searcher's view row, or a whole game if ``settings.fixed``; shape ``[32]``.
        seat: The searcher's seat.
        rules: The rules array.
        iterations: How many to run.
        settings: Selection and simulation.
        pool: Weighted determinizations to draw from; empty for uniform ones.
        plan: Memory of the planned and rules simulations and of guided expansion; None where neither is used.
        policy: A compiled function ``(row, rules, mask, state) -> state`` that plays a game to its end instead of the
            simulations of the settings; None for those.
        state: The generator's state.

    Returns:
        Iterations done (fewer only when the tree is full) and the generator's new state.
    """
    row = np.empty(ROW_WORDS, np.uint64)
    mask = np.empty(MASK_WORDS, np.uint64)
    usable = np.empty(512, np.int32)
    path = np.empty(MAX_DEPTH, np.int32)
    movers = np.empty(MAX_DEPTH, np.uint64)
    searcher = np.uint64(seat)
    # The auction's winner takes up cards that nobody has seen: till then the searcher's own moves are not certain.
    may_settle = (settings.fixed or root[LANDLORD] != _NO_SEAT) and not (settings.puct or settings.availability)
    if plan is not None:
        set_plan_prices(root, rules, plan)
    for iteration in range(iterations):
        begun = state
        if settings.availability and not has_room(tree):  # an iteration cut short would have counted already
            return iteration, begun
        if settings.fixed:
            row[:] = root
        else:
            state = draw_world(root, searcher, rules, pool, state, row)
        node, depth = ROOT, 0
        path[0] = ROOT
        expanded = False
        while not expanded and row[STAGE] != STAGE_OVER:
            mover = row[SEAT]
            log_parent = math.log(float(max(tree.visits[node], 1)))
            if tree.settled[node]:
                node = best_child(tree, node, log_parent, settings.exploration)
            else:
                legal_mask(row, rules, mask)
                found = take_tried(tree, node, mask, usable)
                fresh = count_legal(mask)
                child = _select(tree, node, usable, found, fresh, log_parent, settings)
                if child < 0:
                    state = advance(state)
                    first = _NO_GUIDE
                    if plan is not None:
                        if settings.guided and found == 0:
                            first = guided_action(row, rules, plan.mind)
                            set_plan_prices(root, rules, plan)
                    child = _expand(tree, node, row, mask, fresh, mix(state), first)
                    if child == FULL:
                        return iteration, begun
                    expanded = True
                elif may_settle and (settings.fixed or mover == searcher):
                    tree.settled[node] = 1  # the searcher's own moves are the same in every determinization
                node = child
            apply_action(row, np.uint64(tree.action[node]), rules)
            depth += 1
            path[depth] = node
            movers[depth] = mover
        state = simulate(row, rules, mask, state, settings, plan, policy)
        tree.visits[ROOT] += 1
        for level in range(1, depth + 1):
            tree.visits[path[level]] += 1
            tree.reward[path[level]] += reward_of(row, movers[level])
    return iterations, state
