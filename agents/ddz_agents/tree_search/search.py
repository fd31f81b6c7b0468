"""Figure 2 of Whitehouse, Powley and Cowling (2011): determinize, select, expand, simulate, backpropagate.

Information-set UCT grows one tree of information sets, each iteration restricted to a determinization ``D``
(:func:`search`, which runs one iteration after another).  Rewards are 1 for a win and 0 for a loss of the side that
chose the move (the peasants are one side).  All moves are public, so a node is its sequence of actions; the main group
and each kicker are consecutive levels of the tree (section II.C).  With a fixed game instead of a fresh determinization
each time the same loop is plain UCT, which determinized and cheating UCT run.

An iteration goes to the child that maximises ``R(M) / V(M) + k sqrt(ln V(N) / V(M))``, ``V(N)`` being the visits of the
parent.  Two later forms are options.  With *availability counts* (Cowling, Powley and Whitehouse 2012) ``V(N)`` is
replaced by the number of visits of the parent in which the child was legal.  *PUCT* (Silver et al. 2017) selects by
``R(M) / V(M) + k P(M) sqrt(V(N)) / (1 + V(M))``, ``V(N)`` being the visits of the children that are legal in the
determinization and ``P`` adding up to 1 over the legal moves; moves without visits stand for one another with the mean
reward of their siblings, so that they need not all be tried first.

(The form of selection is a number among the settings, not a function that the kernel is given: Numba keeps no compiled
code of a kernel that takes functions, so every start would compile the search anew.)
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_agents.tree_search.options import AVAILABILITY, PLANNED, PUCT, RULES, TreeSettings
from ddz_agents.tree_search.simulate import guided_action, reward_of, simulate_random, simulate_rules
from ddz_agents.tree_search.simulate_planned import Plan, set_plan_prices, simulate_planned
from ddz_agents.tree_search.tree import FULL, MOST_CHILDREN, ROOT, SIZE_CLASSES, Tree, add_child, grown, has_room
from ddz_agents.worlds.determinize import Words, WorldPool, draw_world
from ddz_env import State, View
from ddz_env.core.engine.compiling import inline_kernel, kernel
from ddz_env.core.engine.layout import LANDLORD, NO_SEAT, ROW_WORDS, SEAT, STAGE, STAGE_OVER
from ddz_env.core.engine.legal import count_legal, legal_mask, nth_legal
from ddz_env.core.engine.random import advance, below, mix
from ddz_env.core.engine.step import apply_action
from ddz_env.core.engine.tables import MASK_WORDS
from ddz_env.core.engine.words import U0, U1, U6, U63

MAX_DEPTH = 1024
"""Levels of a game tree never exceed it: 54 plays with two passes each, six kickers a play and an auction."""
GUIDED_WEIGHT = np.float32(10.0)
"""Prior weight of the rule agent's move, others having 1."""

_NO_SEAT = np.uint64(NO_SEAT)
_NO_GUIDE = np.uint64(64 * MASK_WORDS - 1)  # no action has this id; 0 is pass


class Position(NamedTuple):
    """What is searched.

    Attributes:
        row: The searcher's view row, or a whole game where that is fixed; shape ``[32]``, uint64.
        seat: The searcher's seat.
        rules: The rules array.
    """

    row: Words
    seat: int
    rules: Words

    @staticmethod
    def of(view: View | State) -> Position:
        """Where a seat is asked for a move."""
        return Position(view.row, int(view.seat), view.rule_words)


class Line(NamedTuple):
    """The game of one iteration and its path in the tree.

    Attributes:
        row: The game, shape ``[32]``, uint64.
        mask: Its legal actions, those already tried struck out; shape ``[7]``, uint64.
        usable: Children that are legal in this determinization, int32.
        nodes: The records on the path, the root first; shape ``[MAX_DEPTH]``, int32.
        movers: Who chose each of them, shape ``[MAX_DEPTH]``, uint64.
        values: Scratch for the selection values of a node's children, float32.
    """

    row: Words
    mask: Words
    usable: npt.NDArray[np.int32]
    nodes: npt.NDArray[np.int32]
    movers: Words
    values: npt.NDArray[np.float32]


@kernel
def new_line() -> Line:
    """Memory for one search."""
    return Line(
        np.empty(ROW_WORDS, np.uint64),
        np.empty(MASK_WORDS, np.uint64),
        np.empty(MOST_CHILDREN, np.int32),
        np.empty(MAX_DEPTH, np.int32),
        np.empty(MAX_DEPTH, np.uint64),
        np.empty(1 << (SIZE_CLASSES - 1), np.float32),
    )


@kernel
def search(
    tree: Tree,
    position: Position,
    iterations: int,
    settings: TreeSettings,
    pool: WorldPool,
    plan: Plan | None,
    policy: Any,
    state: np.uint64,
) -> tuple[int, np.uint64]:
    """Run iterations on a tree, which may hold earlier ones.

    Args:
        tree: The tree, changed in place.
        position: Where the searcher stands.
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
    line, rules = new_line(), position.rules
    if plan is not None:
        set_plan_prices(position.row, rules, plan)
    for iteration in range(iterations):
        begun = state
        if settings.selection == AVAILABILITY and not has_room(tree):  # cut short, it would have counted already
            return iteration, begun
        if settings.fixed:
            for word in range(ROW_WORDS):
                line.row[word] = position.row[word]
        else:
            state = draw_world(position.row, np.uint64(position.seat), rules, pool, state, line.row)
        depth, state = _select_and_expand(tree, line, position, settings, plan, state)
        if depth == FULL:
            return iteration, begun
        state = simulate(line.row, rules, line.mask, state, settings, plan, policy)
        backpropagate(tree, line, depth)
    return iterations, state


@inline_kernel
def _select_and_expand(
    tree: Tree, line: Line, position: Position, settings: TreeSettings, plan: Plan | None, state: np.uint64
) -> tuple[int, np.uint64]:
    """Go down until a child is added or the game is over; the depth (``FULL`` without room) and the generator."""
    row, mask, rules = line.row, line.mask, position.rules
    # A node is settled once all its children are there and every determinization allows the same ones: in a fixed game,
    # or where the searcher moves.  Before the auction's winner has taken up cards that nobody has seen, none is.
    may_settle = settings.fixed or position.row[LANDLORD] != _NO_SEAT
    may_settle = may_settle and settings.selection != PUCT and settings.selection != AVAILABILITY
    searcher = np.uint64(position.seat)
    node, depth = ROOT, 0
    line.nodes[0] = ROOT
    expanded = False
    while not expanded and row[STAGE] != STAGE_OVER:
        mover = row[SEAT]
        log_parent = math.log(float(max(tree.visits[node], 1)))
        if tree.settled[node]:
            node = ucb_among_all(tree, node, log_parent, settings.exploration, line.values)
        else:
            legal_mask(row, rules, mask)
            found = take_tried(tree, node, mask, line.usable)
            fresh = count_legal(mask)
            if settings.selection == AVAILABILITY:
                for index in range(found):
                    tree.available[line.usable[index]] += 1
            child = _select(tree, line.usable, found, fresh, log_parent, settings)
            if child < 0:
                state = advance(state)
                guide = _NO_GUIDE
                if plan is not None:
                    if settings.guided and found == 0:
                        guide = guided_action(row, rules, plan.mind)
                        set_plan_prices(position.row, rules, plan)
                child = _expand(tree, node, mask, fresh, mix(state), guide)
                if child == FULL:
                    return FULL, state
                expanded = True
            elif may_settle and (settings.fixed or mover == searcher):
                tree.settled[node] = 1
            node = child
        apply_action(row, np.uint64(tree.action[node]), rules)
        depth += 1
        line.nodes[depth] = node
        line.movers[depth] = mover
    return depth, state


@inline_kernel
def take_tried(tree: Tree, node: int, mask: np.ndarray, usable: np.ndarray) -> int:
    """List the children that the determinization allows and strike their actions from the mask.

    Nothing branches on whether a child is legal, which no processor can foresee.
    """
    first, found = np.int64(tree.first[node]), 0
    for record in range(first, first + np.int64(tree.used[node])):
        action = np.uint64(tree.action[record])
        word, place = action >> U6, action & U63
        usable[found] = record
        found += np.int64((mask[word] >> place) & U1)
        mask[word] &= ~(U1 << place)
    return found


@inline_kernel
def _select(
    tree: Tree, usable: np.ndarray, found: int, fresh: np.uint64, log_parent: float, settings: TreeSettings
) -> int:
    """The child to go to among those that the determinization allows; -1 to expand."""
    if settings.selection == PUCT:
        return puct_among_legal(tree, usable, found, fresh, settings.exploration, True)
    if fresh > U0:
        return np.int64(-1)
    if settings.selection == AVAILABILITY:
        return _ucb_by_availability(tree, usable, found, settings.exploration)
    return ucb_among_legal(tree, usable, found, log_parent, settings.exploration)


@inline_kernel
def ucb(tree: Tree, record: int, log_parent: float, exploration: float) -> float:
    """Figure 2's selection value of a child."""
    inverse = np.float32(1.0) / np.float32(tree.visits[record])
    return tree.reward[record] * inverse + np.float32(exploration) * math.sqrt(np.float32(log_parent) * inverse)


@inline_kernel
def ucb_among_legal(tree: Tree, usable: np.ndarray, found: int, log_parent: float, exploration: float) -> int:
    """The child that figure 2 selects among those listed."""
    best, best_value = np.int64(usable[0]), np.float32(-1.0)
    for index in range(found):
        value = ucb(tree, usable[index], log_parent, exploration)
        if value > best_value:
            best, best_value = np.int64(usable[index]), value
    return best


@inline_kernel
def ucb_among_all(tree: Tree, node: int, log_parent: float, exploration: float, values: np.ndarray) -> int:
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
def _ucb_by_availability(tree: Tree, usable: np.ndarray, found: int, exploration: float) -> int:
    """The child that figure 2 selects if each one's parent has the visits in which the child was legal."""
    best, best_value = np.int64(usable[0]), np.float32(-1.0)
    for index in range(found):
        record = np.int64(usable[index])
        value = ucb(tree, record, math.log(float(tree.available[record])), exploration)
        if value > best_value:
            best, best_value = record, value
    return best


@inline_kernel
def puct_among_legal(
    tree: Tree, usable: np.ndarray, found: int, fresh: np.uint64, exploration: float, lowest: bool
) -> int:
    """The child that PUCT selects; -1 for one of the moves without visits, of those with the largest prior.

    Args:
        tree: The tree.
        usable: The children that the determinization allows.
        found: How many.
        fresh: Legal moves that are no children yet; each has a prior of 1.
        exploration: The constant.
        lowest: Whether of equals the lowest action is selected, whichever was expanded first; else the first listed.
    """
    visits, reward, weight = np.int64(0), np.float32(0.0), np.float32(fresh)
    dearest = np.float32(1.0) if fresh > U0 else np.float32(-1.0)
    for index in range(found):
        record = np.int64(usable[index])
        visits += tree.visits[record]
        reward += tree.reward[record]
        weight += tree.prior[record]
        if tree.visits[record] == 0:
            dearest = max(dearest, tree.prior[record])
    best, best_value = np.int64(-1), np.float32(-1.0)
    if visits == 0:
        return best
    scale = np.float32(exploration) * math.sqrt(np.float32(visits)) / max(weight, np.float32(1e-9))
    if dearest >= np.float32(0.0):
        best_value = reward / np.float32(visits) + scale * dearest
    for index in range(found):
        record = np.int64(usable[index])
        count = np.float32(tree.visits[record])
        if count == np.float32(0.0):
            continue
        value = tree.reward[record] / count + scale * tree.prior[record] / (np.float32(1.0) + count)
        ties = lowest and value == best_value and best >= 0 and tree.action[record] < tree.action[best]
        if value > best_value or ties:
            best, best_value = record, value
    return best


@inline_kernel
def _expand(tree: Tree, node: int, mask: np.ndarray, fresh: np.uint64, pick: np.uint64, guide: np.uint64) -> int:
    """Add a child for one of the moves left in the mask: ``guide`` if it is among them, else the one picked."""
    wanted = (mask[guide >> U6] >> (guide & U63)) & U1 == U1
    child = add_child(tree, node, guide if wanted else nth_legal(mask, below(pick, fresh)))
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
    settings: TreeSettings,
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


@inline_kernel
def backpropagate(tree: Tree, line: Line, depth: int) -> None:
    """Count the finished game on its path, each node for the side that chose it."""
    tree.visits[ROOT] += 1
    for level in range(1, depth + 1):
        tree.visits[line.nodes[level]] += 1
        tree.reward[line.nodes[level]] += reward_of(line.row, line.movers[level])


Run = Callable[[list[Tree], int, np.uint64], tuple[int, np.uint64]]
"""From trees, a number of iterations and the generator's state to iterations done and the state after them."""


def spend(
    run: Run, trees: list[Tree], state: np.uint64, iterations: int, seconds: float | None = None, look: int = 0
) -> None:
    """Run a budget, giving the trees twice the room whenever one is full.

    Several trees, as in ``neural-ismcts``, wait for one another; a full one is replaced in the list.

    Args:
        run: Runs iterations on the trees.
        trees: The trees; those without room are replaced.
        state: The generator's state.
        iterations: How many to run.
        seconds: Run for so long instead; results then depend on the machine.
        look: Iterations between two looks at the clock.
    """
    stop = time.perf_counter() + (seconds or 0.0)
    left = iterations if seconds is None else look
    while left > 0:
        done, state = run(trees, left, np.uint64(state))
        if done < left:
            trees[:] = [grown(tree) for tree in trees]
        left -= done
        if left == 0 and seconds is not None and time.perf_counter() < stop:
            left = look
