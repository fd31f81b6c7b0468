"""Information-set UCT as in figure 2 of Whitehouse, Powley and Cowling (2011).

Information-set UCT grows one tree of information sets, each iteration restricted to a determinization ``D``
(:func:`search`, which runs one iteration after another).  Rewards are 1 for a win and 0 for a loss of the side that
chose the move (the peasants are one side).  All moves are public, so a node is its sequence of actions; the main group
and each kicker are consecutive levels of the tree (section II.C).  With a given game instead of a fresh determinization
each time the same loop is plain UCT, which determinized and cheating UCT run.

An iteration goes to the child that maximises ``R(M) / V(M) + k sqrt(ln V(N) / V(M))``, ``V(N)`` being the visits of the
parent.  A simulation plays uniformly at every stage, except that a finishing move is taken at once if so wished.  Its
row is thrown away, so moves are played by ``play_without_bookkeeping``: hands, turn and target without the books that
observations and views read.  Three quarters of a search's time are spent there.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_agents.search_agent import Position
from ddz_agents.tree_search.tree import (
    FULL,
    MAX_DEPTH,
    MOST_CHILDREN,
    ROOT,
    SIZE_CLASSES,
    Tree,
    add_child,
    list_legal_children,
)
from ddz_agents.worlds.determinize import Words, WorldPool, draw_world
from ddz_env.core.engine import layout as at
from ddz_env.core.engine.legal import (
    count_legal,
    find_replies,
    finishing_action,
    nth_legal,
    write_lead_mask,
    write_legal_mask,
)
from ddz_env.core.engine.playout import draw_action, draw_kickers
from ddz_env.core.engine.random import advance, mix, scale_below
from ddz_env.core.engine.score import landlord_won
from ddz_env.core.engine.step import apply_action, pass_turn, play_without_bookkeeping
from ddz_env.core.engine.tables import BOMB_ID, MAIN_SEGMENT, MASK_WORDS, ROCKET_ID, SEGMENT_CARDS, SEGMENT_KICKER_COUNT
from ddz_env.core.engine.words import U0, U1, U2, U4, lowest_bit, popcount, select_bit
from ddz_env.support.compiling import inline_kernel, part_kernel, pure_kernel

_NO_SEAT = np.uint64(at.NO_SEAT)


class Trace(NamedTuple):
    """The arrays of one search iteration: its game, its legal actions, and its path in the tree.

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


def new_trace() -> Trace:
    """Allocate the memory that successive search iterations share."""
    return Trace(
        np.empty(at.ROW_WORDS, np.uint64),
        np.empty(MASK_WORDS, np.uint64),
        np.empty(MOST_CHILDREN, np.int32),
        np.empty(MAX_DEPTH, np.int32),
        np.empty(MAX_DEPTH, np.uint64),
        np.empty(1 << (SIZE_CLASSES - 1), np.float32),
    )


@pure_kernel
def search(
    tree: Tree,
    trace: Trace,
    position: Position,
    iterations: int,
    exploration: float,
    bound: Any,
    worlds: WorldPool | None,
    policy: Any,
    finish: bool,
    state: np.uint64,
) -> tuple[int, np.uint64]:
    """Run search iterations on a tree, which may already hold earlier iterations.

    Args:
        tree: The tree, changed in place.
        trace: Memory for an iteration.
        position: The searcher's position.
        iterations: How many to run.
        exploration: The constant ``k`` of figure 2.
        bound: A compiled function ``(mean, visits, parent_visits, exploration)`` to the value of a child, of which the
            highest is selected; None for figure 2's.
        worlds: Where each iteration's determinization is drawn from; None where the position is itself the game.
        policy: A compiled function ``(row, rules, mask, state) -> state`` that plays a game to its end instead of
            random moves; None for these.
        finish: Whether random simulations take a finishing move at once.
        state: The generator's state.

    Returns:
        Iterations done (fewer only when the tree is full) and the generator's new state.
    """
    rules = position.rules
    for iteration in range(iterations):
        before = state
        state = _draw_game(position, worlds, state, trace.row)
        depth, state = _select_and_expand(tree, trace, position, exploration, bound, worlds is None, state)
        if depth == FULL:
            return iteration, before
        if policy is None:
            state = simulate_random(trace.row, rules, trace.mask, state, finish)
        else:
            state = policy(trace.row, rules, trace.mask, state)
        backpropagate(tree, trace, depth)
    return iterations, state


@part_kernel
def _draw_game(position: Position, worlds: WorldPool | None, state: np.uint64, row: np.ndarray) -> np.uint64:
    """Write the game that one iteration searches, and return the random generator's new state."""
    if worlds is None:
        for word in range(at.ROW_WORDS):
            row[word] = position.row[word]
        return state
    return draw_world(position.row, np.uint64(position.seat), position.rules, worlds, state, row)


@part_kernel
def _select_and_expand(
    tree: Tree, trace: Trace, position: Position, exploration: float, bound: Any, one_game: bool, state: np.uint64
) -> tuple[int, np.uint64]:
    """Select children down the tree until a child is added or the game is over.

    Args:
        tree: The tree.
        trace: The game, played on in place, and the path, written.
        position: The searcher's position.
        exploration: The constant ``k`` of figure 2.
        bound: The value of a child, None for figure 2's.
        one_game: Whether all iterations are about the same game, not each about a determinization of its own.
        state: The generator's state.

    Returns:
        The depth (``FULL`` if the tree has no room), and the generator's new state.
    """
    row, mask, rules = trace.row, trace.mask, position.rules
    # Every determinization allows the searcher the same moves, except before the winner of the auction has taken up
    # unseen cards.
    hand_is_final, searcher = position.row[at.LANDLORD] != _NO_SEAT, np.uint64(position.seat)
    node, depth = ROOT, 0
    trace.nodes[0] = ROOT
    expanded = False
    while not expanded and row[at.STAGE] != at.STAGE_OVER:
        mover = row[at.SEAT]
        visits = float(max(tree.visits[node], 1))
        if tree.complete[node]:
            node = select_best_child(tree, node, visits, exploration, bound, trace.values)
        else:
            write_legal_mask(row, rules, mask)
            count = list_legal_children(tree, node, mask, trace.usable)
            untried = count_legal(mask)
            if untried > U0:
                child, state = _expand(tree, node, mask, untried, state)
                if child == FULL:
                    return FULL, state
                expanded = True
            else:
                if one_game or (hand_is_final and mover == searcher):
                    tree.complete[node] = 1
                child = select_best_legal(tree, trace.usable, count, visits, exploration, bound)
            node = child
        apply_action(row, np.uint64(tree.action[node]), rules)
        depth += 1
        trace.nodes[depth] = node
        trace.movers[depth] = mover
    return depth, state


@part_kernel
def _expand(tree: Tree, node: int, mask: np.ndarray, untried: int, state: np.uint64) -> tuple[int, np.uint64]:
    """Add a child for one of the untried actions in the mask, drawn uniformly at random."""
    state = advance(state)
    return add_child(tree, node, nth_legal(mask, scale_below(mix(state), untried))), state


@inline_kernel
def ucb(tree: Tree, record: int, log_parent: float, exploration: float) -> float:
    """Return a child's UCB value, as defined by Whitehouse, Powley and Cowling (2011, figure 2)."""
    inverse = np.float32(1.0) / np.float32(tree.visits[record])
    return tree.reward[record] * inverse + np.float32(exploration) * math.sqrt(np.float32(log_parent) * inverse)


@part_kernel
def _selection_value(
    tree: Tree, record: int, parent_visits: float, log_parent: float, exploration: float, bound: Any
) -> float:
    """Return a child's selection value: its UCB value, or the result of the user's own function if there is one."""
    if bound is None:
        return ucb(tree, record, log_parent, exploration)
    visits = float(tree.visits[record])
    return np.float32(bound(float(tree.reward[record]) / visits, visits, parent_visits, exploration))


@part_kernel
def select_best_legal(
    tree: Tree, usable: np.ndarray, count: int, parent_visits: float, exploration: float, bound: Any
) -> int:
    """Return the child with the highest selection value among the first ``count`` children in ``usable``."""
    log_parent = math.log(parent_visits)
    best, best_value = np.int64(usable[0]), np.float32(-np.inf)
    for index in range(count):
        value = _selection_value(tree, usable[index], parent_visits, log_parent, exploration, bound)
        if value > best_value:
            best, best_value = np.int64(usable[index]), value
    return best


@part_kernel
def select_best_child(
    tree: Tree, node: int, parent_visits: float, exploration: float, bound: Any, values: np.ndarray
) -> int:
    """Return a node's child with the highest selection value, computed in the scratch array ``values``.

    The values are computed apart from their comparison, so that the compiler makes eight of them at once.
    """
    log_parent = math.log(parent_visits)
    first, number = np.int64(tree.first[node]), np.int64(tree.used[node])
    for child in range(number):
        values[child] = _selection_value(tree, first + child, parent_visits, log_parent, exploration, bound)
    best = 0
    for child in range(1, number):
        if values[child] > values[best]:
            best = child
    return first + best


@part_kernel
def _random_lead(
    hand: np.uint64, rules: np.ndarray, mask: np.ndarray, state: np.uint64, finish: bool
) -> tuple[np.uint64, np.uint64]:
    """Return a random lead, with ``finish`` a lead that ends the game if any, and the generator's state."""
    for word in range(MASK_WORDS):
        mask[word] = U0
    write_lead_mask(hand, rules, mask)
    action = finishing_action(hand, mask) if finish else U0
    if action == U0:
        state = advance(state)
        action = nth_legal(mask, scale_below(mix(state), count_legal(mask)))
    return action, state


@part_kernel
def _random_reply(
    row: np.ndarray, hand: np.uint64, rules: np.ndarray, state: np.uint64, finish: bool
) -> tuple[np.uint64, np.uint64]:
    """Return a random reply or pass, with ``finish`` a reply that ends the game if any, and the generator's state."""
    target = row[at.TARGET]
    base, starts, bombs, rocket = find_replies(hand, target, row[at.KEY], rules)
    if (starts | bombs | rocket) == U0:
        return U0, state
    cards = popcount(hand)
    if finish and starts != U0 and target != at.BOMBS_ONLY and cards == SEGMENT_CARDS[MAIN_SEGMENT[target]]:
        return base + lowest_bit(starts), state
    if finish and bombs != U0 and cards == U4:
        return BOMB_ID + lowest_bit(bombs), state
    if finish and rocket != U0 and cards == U2:
        return ROCKET_ID, state
    in_category, in_bombs = popcount(starts), popcount(bombs)
    state = advance(state)
    pick = scale_below(mix(state), U1 + in_category + in_bombs + rocket)
    if pick == U0:
        return U0, state
    pick -= U1
    if pick < in_category:
        return base + select_bit(starts, pick), state
    pick -= in_category
    if pick < in_bombs:
        return BOMB_ID + select_bit(bombs, pick), state
    return ROCKET_ID, state


@part_kernel
def simulate_random(row: np.ndarray, rules: np.ndarray, mask: np.ndarray, state: np.uint64, finish: bool) -> np.uint64:
    """Play a game to its end at random; with ``finish``, a move that empties the hand is always taken.

    Args:
        row: The game, at any stage, changed in place; only hands, turn, bombs and winner are kept right.
        rules: The rules array.
        mask: Scratch, shape ``[7]``.
        state: The generator's state.
        finish: Whether a move that empties the hand is taken at once.

    Returns:
        The generator's new state.
    """
    while row[at.STAGE] != at.STAGE_PLAY and row[at.STAGE] != at.STAGE_OVER:  # an auction, or a half-built move
        action, state = draw_action(row, rules, mask, state)
        apply_action(row, action, rules)
    while row[at.STAGE] == at.STAGE_PLAY:
        hand = row[at.HANDS + np.int64(row[at.SEAT])]
        if row[at.TARGET] == U0:
            action, state = _random_lead(hand, rules, mask, state, finish)
        else:
            action, state = _random_reply(row, hand, rules, state, finish)
        if action == U0:
            pass_turn(row, rules)
        else:
            kickers = U0
            if SEGMENT_KICKER_COUNT[MAIN_SEGMENT[action]] != U0:
                kickers, state = draw_kickers(row, hand, action, rules, state)
            play_without_bookkeeping(row, action, kickers, rules)
    return state


@inline_kernel
def reward_of(row: np.ndarray, seat: np.uint64) -> np.float32:
    """Return 1 if a seat's side won the finished game, 0 if it lost, and 0.5 if all seats declined to bid."""
    if row[at.WINNER] == at.NO_GAME:
        return np.float32(0.5)
    return np.float32(1.0) if (seat == row[at.LANDLORD]) == landlord_won(row) else np.float32(0.0)


@part_kernel
def backpropagate(tree: Tree, trace: Trace, depth: int) -> None:
    """Add the result of a finished game to each node on its path, as a reward for the side that chose the node."""
    tree.visits[ROOT] += 1
    for level in range(1, depth + 1):
        tree.visits[trace.nodes[level]] += 1
        tree.reward[trace.nodes[level]] += reward_of(trace.row, trace.movers[level])
