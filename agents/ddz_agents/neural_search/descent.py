"""Descent and backpropagation: the two halves of a search iteration, before and after leaf evaluation.

A tree is one of information sets, each descent restricted to a determinization, as in
:mod:`ddz_agents.tree_search.search`; main group and kickers are levels of their own, so the prior guides both stages.
:mod:`ddz_agents.neural_search.selection` selects.

What a hidden hand may do differs from one determinization to the next, and so does its prior.  A node is evaluated
again whenever a determinization brings moves that it does not have yet, and a move's prior is the mean over the
evaluations in which it was legal, each in units of a uniform choice: hands with few and with many moves weigh alike.

Where a seat is played by a given agent, a descent stops and waits for that agent's move (:func:`continue_descents`).

A visit counts on the way down, as if it were lost for the side that chose it (the *virtual loss* of Chaslot, Winands
and van den Herik 2008), and the reward is added on the way up: descents in flight keep out of each other's way.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_agents.neural.model import Bytes
from ddz_agents.neural_search.leaf_games import GAME_OVER, NEEDS_PLAYER, NEEDS_VALUE, LeafGames, encode_game, new_games
from ddz_agents.neural_search.selection import select_child
from ddz_agents.tree_search.search import reward_of
from ddz_agents.tree_search.tree import (
    FULL,
    MAX_DEPTH,
    MOST_CHILDREN,
    ROOT,
    Tree,
    add_child,
    child_of,
    has_room,
    has_room_for,
    list_legal_children,
)
from ddz_agents.worlds.determinize import Words, WorldPool, draw_world
from ddz_env import View
from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.engine import layout as at
from ddz_env.core.engine.legal import count_legal, nth_legal, write_legal_mask
from ddz_env.core.engine.random import stream_state
from ddz_env.core.engine.step import apply_and_record
from ddz_env.core.engine.tables import MASK_WORDS
from ddz_env.core.engine.words import U0, U1
from ddz_env.support.compiling import inline_kernel, kernel, part_kernel, pure_kernel

_PRIOR_STEPS = np.float32(4096.0)
"""Priors are rounded to such a fraction, so that equal ones tie."""


class Priors(NamedTuple):
    """The prior probabilities of a tree's nodes, in arrays of shape ``[capacity]``.

    Attributes:
        prior: Weight among the siblings, float32.
        evaluations: Of how many evaluations it is the mean, int32.
    """

    prior: npt.NDArray[np.float32]
    evaluations: npt.NDArray[np.int32]


def new_priors(capacity: int) -> Priors:
    """Allocate the priors of a tree that has room for ``capacity`` nodes."""
    return Priors(np.empty(capacity, np.float32), np.empty(capacity, np.int32))


def double_prior_capacity(priors: Priors) -> Priors:
    """Return a copy of a tree's priors with room for twice as many nodes."""
    return Priors._make(np.concatenate([array, np.empty_like(array)]) for array in priors)


class Searcher(NamedTuple):
    """The searching seat's view, weighted determinizations and selection settings, for compiled code.

    Attributes:
        row: The searcher's view row, shape ``[32]``, uint64.
        ring: The recent moves, shape ``[16, 2]``, uint64.
        seat: The searcher's seat, uint64.
        rules: The rules array.
        pool: Weighted determinizations to draw from; empty for uniform ones.
        played: 1 for a seat whose moves an agent gives, 0 for one that is searched, shape ``[3]``, uint8.
        exploration: PUCT's constant, float32.
        mask: Scratch for the legal actions of whoever is to act, shape ``[7]``, uint64.
        legal_children: Scratch for the records of a node's legal children, int32.
    """

    row: Words
    ring: Words
    seat: np.uint64
    rules: Words
    pool: WorldPool
    played: npt.NDArray[np.uint8]
    exploration: np.float32
    mask: Words
    legal_children: npt.NDArray[np.int32]


def new_searcher(view: View, pool: WorldPool, played: npt.NDArray[np.uint8], exploration: float) -> Searcher:
    """Create a :class:`Searcher` from a view, with its determinizations and exploration constant."""
    seen = view.row, view.ring, np.uint64(view.seat), view.rule_words
    scratch = np.empty(MASK_WORDS, np.uint64), np.empty(MOST_CHILDREN, np.int32)
    return Searcher(*seen, pool, played, np.float32(exploration), *scratch)


class Descents(NamedTuple):
    """A batch of tree descents: the games that they have reached, and the actions that led there.

    Attributes:
        games: The games at the leaves.
        path: Actions from the root down, shape ``[n, MAX_DEPTH]``, int16.  (Records move when their siblings grow in
            number, which other descents bring about.)
        movers: Who chose each of them, shape ``[n, MAX_DEPTH]``, int8.
        depth: How long each path is, shape ``[n]``, int64.
    """

    games: LeafGames
    path: npt.NDArray[np.int16]
    movers: Bytes
    depth: npt.NDArray[np.int64]

    def part(self, chosen: slice) -> Descents:
        """Return a slice of the descents, as arrays that share memory with the whole batch."""
        return Descents(self.games.part(chosen), self.path[chosen], self.movers[chosen], self.depth[chosen])


def new_descents(count: int) -> Descents:
    """Allocate arrays of zeros for ``count`` descents."""
    path, movers = np.zeros((count, MAX_DEPTH), np.int16), np.zeros((count, MAX_DEPTH), np.int8)
    return Descents(new_games(count), path, movers, np.zeros(count, np.int64))


# --- Down the tree ---------------------------------------------------------------------------------------------------


@part_kernel
def _next_child(
    tree: Tree, priors: Priors, searcher: Searcher, node: int, row: np.ndarray, state: np.uint64
) -> tuple[int, np.uint64]:
    """Select the child of a node to visit next, or return -1 if the descent stops at the node."""
    if row[at.STAGE] == at.STAGE_OVER:
        return np.int64(-1), state
    mask, legal_children = searcher.mask, searcher.legal_children
    write_legal_mask(row, searcher.rules, mask)
    legal, only = count_legal(mask), nth_legal(mask, U0)
    count = list_legal_children(tree, node, mask, legal_children)
    if count_legal(mask) == U0:
        return select_child(tree, priors.prior, legal_children, count, searcher.exploration, state)
    if legal == U1 and has_room(tree):
        return _find_or_add_child(tree, priors, node, only), state
    return np.int64(-1), state


@inline_kernel
def _step(tree: Tree, descents: Descents, index: int, record: int, rules: np.ndarray) -> None:
    """Play a child's action in the game of a descent, add it to the path and count the visit."""
    row, depth = descents.games.rows[index], descents.depth[index]
    tree.visits[record] += 1
    descents.path[index, depth], descents.movers[index, depth] = tree.action[record], row[at.SEAT]
    descents.depth[index] = depth + 1
    apply_and_record(row, descents.games.rings[index], np.uint64(tree.action[record]), rules)


@inline_kernel
def _waits_for_player(searcher: Searcher, row: np.ndarray) -> bool:
    """Return whether a game waits for a new move from a seat that an agent plays."""
    whole = row[at.STAGE] != at.STAGE_OVER and row[at.STAGE] != at.STAGE_KICKER
    return whole and searcher.played[row[at.SEAT]] != 0


@part_kernel
def _descend_from(
    tree: Tree, priors: Priors, searcher: Searcher, descents: Descents, index: int, node: int, state: np.uint64
) -> np.uint64:
    """Descend from a node until reaching a leaf, the turn of a seat played by an agent, or the end of the game."""
    games, rules = descents.games, searcher.rules
    row = games.rows[index]
    while node >= 0 and not _waits_for_player(searcher, row):
        node, state = _next_child(tree, priors, searcher, node, row, state)
        if node >= 0:
            _step(tree, descents, index, node, rules)
    if node >= 0:
        games.waits[index] = NEEDS_PLAYER
    elif row[at.STAGE] != at.STAGE_OVER:
        games.waits[index] = NEEDS_VALUE
        write_legal_mask(row, rules, searcher.mask)
        encode_game(games, index, rules, searcher.mask)
    else:
        games.waits[index] = GAME_OVER
        landlord = row[at.LANDLORD]
        depth = descents.depth[index]
        _backpropagate(tree, descents.path[index], descents.movers[index], depth, landlord, reward_of(row, landlord))
    return state


@inline_kernel
def _copy_ring(source: np.ndarray, target: np.ndarray) -> None:
    """Copy the array of recent moves word by word, which compiles without reference counting."""
    for slot in range(at.HISTORY_MOVES):
        for word in range(at.HISTORY_WORDS):
            target[slot, word] = source[slot, word]


@pure_kernel
def descend(
    tree: Tree,
    priors: Priors,
    searcher: Searcher,
    descents: Descents,
    firsts: np.ndarray,
    deal: np.uint64,
    state: np.uint64,
) -> tuple[int, np.uint64]:
    """Descend the tree to a leaf once for each given root action, each time in a new determinization.

    The luck of the hidden cards is the same for all moves of the root that are compared: the n-th visit of each is in
    the n-th determinization of a sequence.

    Args:
        tree: The tree; visits are counted, and games that end on the way are backed up at once.
        priors: Its priors.
        searcher: Who goes down.
        descents: Output.
        firsts: The root's action of each descent, shape ``[descents]``, int16.
        deal: Seed of the sequence of determinizations.
        state: The generator's state.

    Returns:
        How many descents were made (fewer only when the tree is full), and the generator's new state.
    """
    for index in range(firsts.size):
        if not has_room(tree):
            return index, state
        node = child_of(tree, np.int64(ROOT), np.int64(firsts[index]))
        world = np.uint64(stream_state(deal, np.uint64(tree.visits[node])))
        draw_world(searcher.row, searcher.seat, searcher.rules, searcher.pool, world, descents.games.rows[index])
        _copy_ring(searcher.ring, descents.games.rings[index])
        descents.depth[index] = 0
        tree.visits[ROOT] += 1
        _step(tree, descents, index, node, searcher.rules)
        state = _descend_from(tree, priors, searcher, descents, index, node, state)
    return firsts.size, state


@pure_kernel
def continue_descents(
    tree: Tree,
    priors: Priors,
    searcher: Searcher,
    descents: Descents,
    chosen: np.ndarray,
    moves: np.ndarray,
    state: np.uint64,
) -> tuple[int, np.uint64]:
    """Play other players' moves in the descents that waited for them, and continue these descents.

    Args:
        tree: The tree.
        priors: Its priors.
        searcher: Who goes down.
        descents: The descents.
        chosen: Which of them waited for these moves, shape ``[k]``, int64.
        moves: The actions of each move, -1 behind the last, shape ``[k, stages]``, int16.
        state: The generator's state.

    Returns:
        How many moves were played (fewer only when the tree is full), and the generator's new state.
    """
    for number in range(chosen.size):
        if not has_room_for(tree, moves.shape[1]):
            return number, state
        index = chosen[number]
        node = _node_at(tree, descents.path[index], descents.depth[index])
        for stage in range(moves.shape[1]):
            if moves[number, stage] >= 0:
                node = _find_or_add_child(tree, priors, node, np.uint64(moves[number, stage]))
                _step(tree, descents, index, node, searcher.rules)
        state = _descend_from(tree, priors, searcher, descents, index, node, state)
    return chosen.size, state


@inline_kernel
def _node_at(tree: Tree, path: np.ndarray, depth: int) -> int:
    """Return the node that a path of actions from the root leads to."""
    node = np.int64(ROOT)
    for level in range(depth):
        node = child_of(tree, node, path[level])
    return node


# --- Expansion and backing up -----------------------------------------------------------------------------------------


@inline_kernel
def _add_child(tree: Tree, priors: Priors, node: int, action: np.uint64, weight: np.float32) -> int:
    """Append a child node with an initial prior, and return its index, or ``FULL`` if there is no room."""
    before, count = np.int64(tree.first[node]), np.int64(tree.used[node])
    record = np.int64(add_child(tree, node, action))
    if record == FULL:
        return record
    first = np.int64(tree.first[node])
    if first != before:  # the node's children have moved
        for offset in range(count):
            priors.prior[first + offset] = priors.prior[before + offset]
            priors.evaluations[first + offset] = priors.evaluations[before + offset]
    priors.prior[record], priors.evaluations[record] = weight, 1
    return record


@inline_kernel
def _find_or_add_child(tree: Tree, priors: Priors, node: int, action: np.uint64) -> int:
    """Return the child of a node for a forced action, adding it with prior 1 if it is missing."""
    record = child_of(tree, node, np.int64(action))
    return record if record >= 0 else _add_child(tree, priors, node, action, np.float32(1.0))


@pure_kernel
def update_prior(tree: Tree, priors: Priors, node: int, log_probabilities: np.ndarray) -> bool:
    """Average one more evaluation into the priors of a node's children, adding children for new actions.

    Args:
        tree: The tree.
        priors: Its priors.
        node: The node; actions that it has no child for get one, without visits.
        log_probabilities: Shape ``[400]``, float32, up to a constant; minus infinity where an action is not legal.

    Returns:
        Whether there was room.
    """
    legal, highest, total = np.float32(0.0), np.float32(-np.inf), np.float32(0.0)
    for action in range(NUM_ACTIONS):
        highest = max(highest, np.float32(log_probabilities[action]))
    for action in range(NUM_ACTIONS):
        if log_probabilities[action] > -np.inf:
            legal += np.float32(1.0)
            total += np.float32(math.exp(log_probabilities[action] - highest))
    for action in range(NUM_ACTIONS):
        if log_probabilities[action] == -np.inf:
            continue
        share = np.float32(math.exp(log_probabilities[action] - highest)) / total
        weight = np.float32(np.round(share * legal * _PRIOR_STEPS) / _PRIOR_STEPS)
        record = child_of(tree, node, action)
        if record >= 0:
            priors.evaluations[record] += 1
            priors.prior[record] += (weight - priors.prior[record]) / np.float32(priors.evaluations[record])
        elif _add_child(tree, priors, node, np.uint64(action), weight) == FULL:
            return False
    return True


@inline_kernel
def _backpropagate(
    tree: Tree, path: np.ndarray, movers: np.ndarray, depth: int, landlord: np.uint64, chance: np.float32
) -> int:
    """Add each mover's chance of winning to the rewards along a path, and return the node at its end."""
    node = np.int64(ROOT)
    for level in range(depth):
        node = child_of(tree, node, path[level])
        tree.reward[node] += chance if np.uint64(movers[level]) == landlord else np.float32(1.0) - chance
    return node


@kernel
def expand_and_backpropagate(
    tree: Tree,
    priors: Priors,
    descents: Descents,
    log_probabilities: np.ndarray,
    landlords: np.ndarray,
    landlord_chances: np.ndarray,
) -> bool:
    """Expand the leaves that waited for an evaluation, and backpropagate their values.

    Args:
        tree: The tree.
        priors: Its priors.
        descents: The descents.
        log_probabilities: Logarithms of the priors of the leaves that waited, in order, shape ``[n, 400]``, float32.
        landlords: The landlord of each, in an auction the one of its playout, shape ``[n]``, uint64.
        landlord_chances: The landlord's chances there, 0 to 1, shape ``[n]``, float32.

    Returns:
        Whether there was room for all children; a leaf left out is expanded when it is met again.
    """
    leaf, room = 0, True
    for index in range(descents.depth.size):
        if descents.games.waits[index] != GAME_OVER:
            path, movers, depth = descents.path[index], descents.movers[index], descents.depth[index]
            node = _backpropagate(tree, path, movers, depth, landlords[leaf], landlord_chances[leaf])
            room = room and has_room(tree) and update_prior(tree, priors, node, log_probabilities[leaf])
            leaf += 1
    return room
