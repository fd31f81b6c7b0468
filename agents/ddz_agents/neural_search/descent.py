"""The two halves of an iteration, around the evaluation of leaves by networks: down the tree, and back up.

Selection is PUCT (Silver et al. 2017) on one tree of information sets, each descent restricted to a determinization,
as in :mod:`ddz_agents.tree_search.search`; main group and kickers are levels of their own, so the prior guides both
stages.  It maximises ``R(M) / V(M) + k P(M) sqrt(V(N)) / (1 + V(M))``, ``V(N)`` being the visits of the children that
are legal in the determinization and ``P`` adding up to 1 over them; children without visits share
the mean reward of their siblings, so that they need not all be tried first.

A visit counts on the way down, as if it were lost for the side that chose it (the *virtual loss* of Chaslot, Winands
and van den Herik 2008), and the reward is added on the way up: descents in flight keep out of each other's way.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_agents.neural.model import Bytes
from ddz_agents.neural_search.players import RecognizedSeats, known_action, learn_prior, none_recognized, take_known
from ddz_agents.tree_search.search import MAX_DEPTH, reward_of, simulate_random, take_tried
from ddz_agents.tree_search.tree import MOST_CHILDREN, ROOT, Tree, child_of, has_room
from ddz_agents.worlds.determinize import Words, WorldPool, draw_world, uniform
from ddz_env import View
from ddz_env.core import observation
from ddz_env.core.engine import layout as at
from ddz_env.core.engine.legal import count_legal, legal_mask, nth_legal
from ddz_env.core.engine.random import advance, below, key, mix
from ddz_env.core.engine.step import apply_and_record
from ddz_env.core.engine.tables import MASK_WORDS
from ddz_env.core.engine.words import U0, U1
from ddz_env.support.compiling import inline_kernel, kernel

_NO_SEAT = np.uint64(at.NO_SEAT)
_EXPLORATION = np.float32(1.0)
"""PUCT's constant, on rewards from 0 (loss) to 1 (win)."""


class Searcher(NamedTuple):
    """Who goes down a tree: what the seat knows and believes, and how it selects.

    Attributes:
        row: The searcher's view row, shape ``[32]``, uint64.
        ring: The recent moves, shape ``[16, 2]``, uint64.
        seat: The searcher's seat, uint64.
        rules: The rules array.
        pool: Weighted determinizations to draw from; empty for uniform ones.
        opponents: What is known of the other seats.
    """

    row: Words
    ring: Words
    seat: np.uint64
    rules: Words
    pool: WorldPool
    opponents: RecognizedSeats

    @staticmethod
    def of(view: View) -> Searcher:
        """The seat of a view, with uniform worlds and nothing known of the others."""
        return Searcher(view.row, view.ring, np.uint64(view.seat), view.rule_words, uniform(), none_recognized())


class Descents(NamedTuple):
    """Descents in flight: games at leaves that wait for the networks, and the paths that led there.

    Attributes:
        rows: The games at the leaves, shape ``[n, 32]``, uint64.
        rings: The moves before them, shape ``[n, 16, 2]``, uint64.
        path: Actions from the root down, shape ``[n, MAX_DEPTH]``, int16.  (Records move when their siblings grow in
            number, which other descents bring about.)
        movers: Who chose each of them, shape ``[n, MAX_DEPTH]``, int8.
        depth: How long each path is, shape ``[n]``, int64.
        waits: 1 where a leaf waits for the networks, 0 where the game was over, shape ``[n]``, int8.
        observations: What the seat to act at the leaf sees, as words, shape ``[n, OBSERVATION_WORDS]``, uint64.
        masks: Its legal actions, as words, shape ``[n, MASK_BYTE_WORDS]``, uint64.
        concealed: What it does not see, as words, shape ``[n, CONCEALED_WORDS]``, uint64.
    """

    rows: Words
    rings: Words
    path: npt.NDArray[np.int16]
    movers: Bytes
    depth: npt.NDArray[np.int64]
    waits: Bytes
    observations: Words
    masks: Words
    concealed: Words

    def part(self, chosen: slice) -> Descents:
        """Some of them, sharing memory."""
        return Descents._make(array[chosen] for array in self)

    def copied(self, chosen: npt.NDArray[np.intp]) -> Descents:
        """Copies of some of them, without the paths that led there."""
        bare = self._replace(path=self.path[:, :0], movers=self.movers[:, :0])
        return Descents._make(array[chosen] for array in bare)


def new_descents(count: int, depth: int = MAX_DEPTH) -> Descents:
    """Room for descents with paths of at most ``depth``: 0 for games that no tree leads to."""
    return Descents(
        np.zeros((count, at.ROW_WORDS), np.uint64),
        np.zeros((count, at.HISTORY_MOVES, at.HISTORY_WORDS), np.uint64),
        np.zeros((count, depth), np.int16),
        np.zeros((count, depth), np.int8),
        np.zeros(count, np.int64),
        np.zeros(count, np.int8),
        np.zeros((count, observation.OBSERVATION_WORDS), np.uint64),
        np.zeros((count, observation.MASK_BYTE_WORDS), np.uint64),
        np.zeros((count, observation.CONCEALED_WORDS), np.uint64),
    )


@inline_kernel
def _select(tree: Tree, legal_children: np.ndarray, count: int, state: np.uint64) -> tuple[int, np.uint64]:
    """The child that PUCT selects among those listed; of those without visits, ties of the largest prior are drawn."""
    visits, reward, priors = np.int64(0), np.float32(0.0), np.float32(0.0)
    best_prior, ties = np.float32(-1.0), U0  # of children without visits
    for index in range(count):
        record = np.int64(legal_children[index])
        visits += tree.visits[record]
        reward += tree.reward[record]
        priors += tree.prior[record]
        if tree.visits[record] == 0:
            if tree.prior[record] > best_prior:
                best_prior, ties = tree.prior[record], U0
            ties += np.uint64(tree.prior[record] == best_prior)
    best, best_value = np.int64(-1), np.float32(-1.0)
    if visits > 0:
        scale = _EXPLORATION * math.sqrt(np.float32(visits)) / max(priors, np.float32(1e-9))
        if ties > U0:  # what the best child without visits has to offer
            best_value = reward / np.float32(visits) + scale * best_prior
        for index in range(count):
            record = np.int64(legal_children[index])
            child_visits = np.float32(tree.visits[record])
            if child_visits > np.float32(0.0):
                mean = tree.reward[record] / child_visits
                value = mean + scale * tree.prior[record] / (np.float32(1.0) + child_visits)
                if value > best_value:
                    best, best_value = record, value
    if best >= 0:
        return best, state
    state = advance(state)
    return _unvisited_child(tree, legal_children, count, best_prior, below(mix(state), ties)), state


@inline_kernel
def _unvisited_child(tree: Tree, legal_children: np.ndarray, count: int, prior: np.float32, number: np.uint64) -> int:
    """The child of this number among those without visits that have this prior."""
    for index in range(count):
        record = np.int64(legal_children[index])
        if tree.visits[record] == 0 and tree.prior[record] == prior:
            if number == U0:
                return record
            number -= U1
    return np.int64(legal_children[0])


@inline_kernel
def _back_up(
    tree: Tree, path: np.ndarray, movers: np.ndarray, depth: int, landlord: np.uint64, chance: np.float32
) -> int:
    """Add the landlord's chance to the rewards along a path; returns the node at its end."""
    node = np.int64(ROOT)
    for level in range(depth):
        node = child_of(tree, node, path[level])
        tree.reward[node] += chance if np.uint64(movers[level]) == landlord else np.float32(1.0) - chance
    return node


@inline_kernel
def describe_leaf(
    row: np.ndarray, ring: np.ndarray, rules: np.ndarray, mask: np.ndarray, descents: Descents, index: int
) -> None:
    """Write what the networks read of a leaf, whose legal actions are in the mask."""
    observation.expand_mask(mask, descents.masks[index])
    observation.write_observation(row, ring, rules, row[at.SEAT], descents.observations[index])
    observation.write_concealed(row, rules, row[at.SEAT], descents.concealed[index])


@inline_kernel
def _next_child(
    tree: Tree,
    searcher: Searcher,
    networks_value: bool,
    node: int,
    row: np.ndarray,
    mask: np.ndarray,
    legal_children: np.ndarray,
    state: np.uint64,
) -> tuple[int, np.uint64]:
    """The child of a node to go to, and the generator's new state; -1 where the descent stops."""
    if row[at.STAGE] == at.STAGE_OVER:
        return np.int64(-1), state
    legal_mask(row, searcher.rules, mask)
    legal, only = count_legal(mask), nth_legal(mask, U0)
    if legal > U1 and searcher.opponents.plays_rules[row[at.SEAT]] and has_room(tree):
        return take_known(tree, node, known_action(row, searcher.rules, mask, searcher.opponents)), state
    count = take_tried(tree, node, mask, legal_children)
    if count_legal(mask) == U0:
        return _select(tree, legal_children, count, state)
    if networks_value and legal == U1 and has_room(tree):  # a playout sees what is forced for nothing
        return take_known(tree, node, only), state
    return np.int64(-1), state


@kernel
def descend(
    tree: Tree,
    searcher: Searcher,
    descents: Descents,
    firsts: np.ndarray,
    deal: np.uint64,
    networks_value: bool,
    state: np.uint64,
) -> tuple[int, np.uint64]:
    """Go down the tree, each time in another determinization, and stop at leaves.

    The luck of the hidden cards is the same for all moves of the root that are compared: the n-th visit of each is in
    the n-th determinization of a sequence.

    Args:
        tree: The tree; visits are counted, and games that end on the way are backed up at once.
        searcher: Who goes down.
        descents: Output.
        firsts: The root's action of each descent, shape ``[descents]``, int16.
        deal: Seed of the sequence of determinizations.
        networks_value: Whether the networks value leaves: then forced actions are passed through.
        state: The generator's state.

    Returns:
        How many descents were made (fewer only when the tree is full), and the generator's new state.
    """
    rules = searcher.rules
    mask = np.empty(MASK_WORDS, np.uint64)
    legal_children = np.empty(MOST_CHILDREN, np.int32)
    moves = np.empty_like(searcher.ring)
    for index in range(firsts.size):
        row, path, movers = descents.rows[index], descents.path[index], descents.movers[index]
        if not has_room(tree):
            return index, state
        record, depth = child_of(tree, np.int64(ROOT), np.int64(firsts[index])), 0
        visit = np.uint64(tree.visits[record])
        draw_world(searcher.row, searcher.seat, rules, searcher.pool, np.uint64(key(deal, visit)), row)
        moves[:] = searcher.ring
        tree.visits[ROOT] += 1
        while record >= 0:
            tree.visits[record] += 1
            path[depth], movers[depth] = tree.action[record], row[at.SEAT]
            depth += 1
            apply_and_record(row, moves, np.uint64(tree.action[record]), rules)
            record, state = _next_child(tree, searcher, networks_value, record, row, mask, legal_children, state)
        descents.depth[index] = depth
        descents.waits[index] = row[at.STAGE] != at.STAGE_OVER
        if descents.waits[index]:
            descents.rings[index] = moves
            legal_mask(row, rules, mask)
            describe_leaf(row, moves, rules, mask, descents, index)
        else:
            _back_up(tree, path, movers, depth, row[at.LANDLORD], reward_of(row, row[at.LANDLORD]))
    return firsts.size, state


@kernel
def absorb(
    tree: Tree,
    rules: np.ndarray,
    descents: Descents,
    log_probabilities: np.ndarray,
    values: np.ndarray,
    networks_value: bool,
    state: np.uint64,
) -> tuple[bool, np.uint64]:
    """Expand the leaves that waited, and back their values up.

    Args:
        tree: The tree.
        rules: The rules array.
        descents: The descents.
        log_probabilities: Logarithms of the priors of the leaves that waited, in order, shape ``[n, 400]``, float32.
        values: Their values for the seats to act, -1 to 1, shape ``[n]``, float32.
        networks_value: Whether the networks value leaves; otherwise, and before there is a landlord, a playout does.
        state: The generator's state.

    Returns:
        Whether there was room for all children (a leaf left out is expanded when it is met again), and the
        generator's new state.
    """
    mask = np.empty(MASK_WORDS, np.uint64)
    place, room = 0, True
    for index in range(descents.waits.size):
        if not descents.waits[index]:
            continue
        row = descents.rows[index]
        landlord, observer = row[at.LANDLORD], row[at.SEAT]
        if networks_value and landlord != _NO_SEAT:
            value = min(max(values[place], np.float32(-1.0)), np.float32(1.0))
            chance = (np.float32(1.0) + (value if observer == landlord else -value)) / np.float32(2.0)
        else:  # before there is a landlord, no value says which side a seat will be on
            state = simulate_random(row, rules, mask, state, True)
            landlord = row[at.LANDLORD]
            chance = np.float32(reward_of(row, landlord))
        leaf = _back_up(tree, descents.path[index], descents.movers[index], descents.depth[index], landlord, chance)
        room = room and has_room(tree) and learn_prior(tree, leaf, log_probabilities[place])
        place += 1
    return room, state
