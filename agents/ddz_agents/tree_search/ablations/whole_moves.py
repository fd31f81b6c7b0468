"""Information-set UCT over whole moves: the two other ways to lay a move out over the levels of the tree.

:mod:`ddz_agents.tree_search.search` gives the main group and each kicker a level of its own.  Section II.C of
Whitehouse, Powley and Cowling (2011) has two levels, the main group and then all kickers together; without that
grouping ("flat") a whole move is one child, of which the first decision can have more than 300.  Both are here, for
comparison.  Determinization, selection, simulation and rewards are those of :mod:`ddz_agents.tree_search.search`.

A child's ``action`` is a *key* of 33 bits: the main group above six digits of four bits, the ranks of the kickers in
non-decreasing order.  Keys ascend in the engine's order of moves, so a child is found among the legal moves by
bisection.
"""

# mypy: disable-error-code="arg-type,assignment,no-any-return"
# (To Numba NumPy's integers and Python's are one type, to the checker they are two; a tree's keys are wider here.)

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_agents.tree_search.agent import SearchAgent
from ddz_agents.tree_search.options import MOST_ITERATIONS, Milliseconds, TreeSettings, plain
from ddz_agents.tree_search.search import Position, backpropagate, new_line, spend, ucb_among_all, ucb_among_legal
from ddz_agents.tree_search.simulate import simulate_random
from ddz_agents.tree_search.tree import FULL, ROOT, SIZE_CLASSES, Tree, add_child, children, clear, new_tree
from ddz_agents.worlds.determinize import Words, determinize
from ddz_env import Move, View
from ddz_env.core.actions import KICKER_BASE, MAIN_GROUPS
from ddz_env.core.engine.compiling import inline_kernel, kernel
from ddz_env.core.engine.layout import LANDLORD, NO_SEAT, SEAT, STAGE, STAGE_OVER, STAGE_PLAY
from ddz_env.core.engine.legal import legal_mask
from ddz_env.core.engine.moves import list_kickers, list_moves
from ddz_env.core.engine.random import advance, below, mix
from ddz_env.core.engine.step import apply_action, pass_turn, play_lightly
from ddz_env.core.engine.tables import MAIN_SEGMENT, MASK_WORDS, SEGMENT_KICKER_COUNT, SEGMENT_KICKER_SIZE
from ddz_env.core.engine.words import PLANE, U0, U1, U4, add, count_of, lowest
from ddz_env.core.options import Options, Range, takes
from ddz_env.core.owned import OwnsArrays
from ddz_env.core.view import whole_moves
from ddz_env.playing.agent import Decision

Levels = Literal["sets", "flat"]

MAX_CHILDREN = 1 << (SIZE_CLASSES - 1)
"""Children that a node has room for: more than any preset has whole moves, all hands together."""

_NO_SEAT = np.uint64(NO_SEAT)
_DIGITS = np.uint64(24)
_DIGIT = np.uint64(15)
_U64 = np.uint64(64)
_FINISH = np.bool_(True)
_NONE_FOUND = np.int64(0)
_LOOK = 64
"""Iterations between two looks at the clock."""


class Choices(NamedTuple):
    """The moves of one node and determinization, ascending by key; arrays of shape ``[MAX_CHILDREN]``.

    Attributes:
        mains: uint64, main groups.
        kickers: uint64, kickers as hands.
        keys: uint64.
        tried: bool, whether the node has the child.
        usable: int32, records of the children that the determinization allows.
    """

    mains: Words
    kickers: Words
    keys: Words
    tried: npt.NDArray[np.bool_]
    usable: npt.NDArray[np.int32]


def new_choices() -> Choices:
    """Allocate them."""
    mains, kickers, keys = np.empty((3, MAX_CHILDREN), np.uint64)
    return Choices(mains, kickers, keys, np.empty(MAX_CHILDREN, np.bool_), np.empty(MAX_CHILDREN, np.int32))


def new_key_tree(capacity: int) -> Tree:
    """Allocate a tree whose actions are keys and whose nodes may have thousands of children.

    Args:
        capacity: Records to make room for.
    """
    return new_tree(capacity, action=np.uint64, count=np.int32)


@inline_kernel
def key_of(main: np.uint64, kickers: np.uint64) -> np.uint64:
    """The key of a main group and its kickers (a hand, 0 if there are none or they are chosen later)."""
    key, shift = main << _DIGITS, _DIGITS
    ranks = kickers & PLANE
    while ranks != U0:
        rank = lowest(ranks)
        ranks &= ranks - U1
        copies, size = count_of(kickers, rank), SEGMENT_KICKER_SIZE[MAIN_SEGMENT[main]]
        while copies > U0:
            shift -= U4
            key |= rank << shift
            copies -= size
    return key


@inline_kernel
def kickers_of(key: np.uint64) -> np.uint64:
    """The kickers in a key, as a hand."""
    segment = MAIN_SEGMENT[key >> _DIGITS]
    kickers, shift = U0, _DIGITS
    left, size = SEGMENT_KICKER_COUNT[segment], SEGMENT_KICKER_SIZE[segment]
    while left > U0:
        shift -= U4
        kickers = add(kickers, U1 << ((key >> shift) & _DIGIT), size)
        left -= U1
    return kickers


@inline_kernel
def _list_mains(row: np.ndarray, rules: np.ndarray, mask: np.ndarray, mains: np.ndarray, kickers: np.ndarray) -> int:
    legal_mask(row, rules, mask)
    found = 0
    for word in range(MASK_WORDS):
        bits = mask[word]
        while bits != U0:
            mains[found] = np.uint64(word) * _U64 + lowest(bits)
            kickers[found] = U0
            bits &= bits - U1
            found += 1
    return found


@kernel
def _list_choices(
    row: np.ndarray, rules: np.ndarray, pending: np.uint64, flat: bool, mask: np.ndarray, choices: Choices
) -> int:
    """Write what may be chosen next: whole moves, main groups, or the kicker sets of a pending main group."""
    if flat:
        found = list_moves(row, rules, choices.mains, choices.kickers)
    elif pending != U0:
        found = list_kickers(row, rules, pending, choices.mains, choices.kickers, _NONE_FOUND)
    else:
        found = _list_mains(row, rules, mask, choices.mains, choices.kickers)
    found = min(found, choices.keys.size)
    for index in range(found):
        choices.keys[index] = key_of(choices.mains[index], choices.kickers[index])
    return found


@inline_kernel
def _take_tried(tree: Tree, node: int, choices: Choices, number: int) -> int:
    """List the children that the determinization allows and mark them among the choices; the number of them."""
    for index in range(number):
        choices.tried[index] = False
    first, found = np.int64(tree.first[node]), 0
    for record in range(first, first + np.int64(tree.used[node])):
        key = tree.action[record]
        low, high = 0, number
        while low < high:
            middle = (low + high) // 2
            if choices.keys[middle] < key:
                low = middle + 1
            else:
                high = middle
        if low < number and choices.keys[low] == key:
            choices.tried[low] = True
            choices.usable[found] = record
            found += 1
    return found


@inline_kernel
def _nth_untried(choices: Choices, n: np.uint64) -> np.uint64:
    index = 0
    while choices.tried[index] or n > U0:
        if not choices.tried[index]:
            n -= U1
        index += 1
    return choices.keys[index]


@inline_kernel
def _play(row: np.ndarray, rules: np.ndarray, key: np.uint64, pending: np.uint64, flat: bool) -> np.uint64:
    """Play what a key says; returns the main group that now waits for its kickers, the row unchanged, or 0."""
    main = key >> _DIGITS
    if row[STAGE] != STAGE_PLAY:
        apply_action(row, main, rules)
    elif main == U0:
        pass_turn(row, rules)
    elif SEGMENT_KICKER_COUNT[MAIN_SEGMENT[main]] == U0:
        play_lightly(row, main, U0, rules)
    elif flat or pending != U0:
        play_lightly(row, main, kickers_of(key), rules)
    else:
        return main
    return U0


@kernel
def search_whole_moves(
    tree: Tree,
    choices: Choices,
    position: Position,
    iterations: int,
    settings: TreeSettings,
    flat: bool,
    state: np.uint64,
) -> tuple[int, np.uint64]:
    """Run iterations on a tree of keys, which may hold earlier ones.

    Args:
        tree: A tree of :func:`new_key_tree`, changed in place.
        choices: Scratch.
        position: Where the searcher stands, at the start of a decision.
        iterations: How many to run.
        settings: The constant ``k``, and whether a whole game is searched.
        flat: Whole moves are children; otherwise main groups, and below them kicker sets.
        state: The generator's state.

    Returns:
        Iterations done (fewer only when the tree is full) and the generator's state after them.
    """
    line, fixed, exploration = new_line(), settings.fixed, settings.exploration
    root, searcher, rules = position.row, np.uint64(position.seat), position.rules
    row, mask = line.row, line.mask
    own_hand_known = fixed or root[LANDLORD] != _NO_SEAT  # the auction's winner takes up cards that nobody has seen
    for iteration in range(iterations):
        begun = state
        if fixed:
            row[:] = root
        else:
            state = determinize(root, searcher, rules, state, row)
        node, depth, pending = ROOT, 0, U0
        expanded = False
        while not expanded and row[STAGE] != STAGE_OVER:
            mover = row[SEAT]
            log_parent = math.log(float(max(tree.visits[node], 1)))
            if tree.settled[node]:
                node = ucb_among_all(tree, node, log_parent, exploration, line.values)
            else:
                number = _list_choices(row, rules, pending, flat, mask, choices)
                found = _take_tried(tree, node, choices, number)
                if found < number:
                    state = advance(state)
                    child = add_child(
                        tree, node, _nth_untried(choices, below(mix(state), np.uint64(number) - np.uint64(found)))
                    )
                    if child == FULL:
                        return iteration, begun
                    node, expanded = child, True
                else:
                    if own_hand_known and (fixed or mover == searcher):
                        tree.settled[node] = 1
                    node = ucb_among_legal(tree, choices.usable, found, log_parent, exploration)
            pending = _play(row, rules, tree.action[node], pending, flat)
            depth += 1
            line.nodes[depth] = node
            line.movers[depth] = mover
        if pending != U0:
            apply_action(row, pending, rules)  # the simulation chooses its kickers
        state = simulate_random(row, rules, mask, state, _FINISH)
        backpropagate(tree, line, depth)
    return iterations, state


@dataclass(frozen=True)
class Searched:
    """What a search over whole moves found at its root.

    Attributes:
        move: The most visited move; with ``"sets"`` the most visited kicker set of the most visited main group.  The
            first in the engine's order wins a tie.
        visits: Visits by move; with ``"sets"`` a main group's first visit reached no kicker set.
        values: Mean reward (1 a win, 0 a loss) of each visited move for the acting seat.
        main_visits: Visits by main group (or bid), ascending by action id.
        main_values: Mean reward by main group.
    """

    move: Move
    visits: Mapping[Move, int]
    values: Mapping[Move, float]
    main_visits: Mapping[int, int]
    main_values: Mapping[int, float]

    @property
    def decision(self) -> Decision:
        """The same as other agents report it, by first stages."""
        return Decision(self.move, self.main_visits, self.main_values, self.move.actions)


class WholeMoveSearch(OwnsArrays):
    """One tree over whole moves, with its scratch memory.

    Args:
        levels: ``"sets"``: main group, then all kickers as one node (the paper's two levels); ``"flat"``: whole moves.
        exploration: The constant ``k`` on rewards 0 to 1.
        fixed: Search the given game itself (cheating or determinized UCT), not determinizations of a view.

    Example:
        >>> from ddz_env import State
        >>> view = State.from_hands(["33345", "6789", "6789"], check_sizes=False).view()
        >>> found = WholeMoveSearch("flat").run(Position.of(view), 500, np.uint64(1))
        >>> found.visits.keys() == set(view.legal_moves())
        True
    """

    def __init__(self, levels: Levels = "flat", *, exploration: float = 1.0, fixed: bool = False) -> None:
        self.levels: Levels = levels
        self.tree = new_key_tree(1024)
        self._settings = plain(exploration, fixed=fixed)
        self._choices = new_choices()

    def run(self, position: Position, iterations: int, seed: np.uint64, seconds: float | None = None) -> Searched:
        """Search a decision from an empty tree.

        Args:
            position: Where the searcher stands, at the start of a decision.
            iterations: How many; not used with ``seconds``.
            seed: The generator's first state.
            seconds: Search for so long instead; results then depend on the machine.
        """
        flat = self.levels == "flat"

        def run(trees: list[Tree], iterations: int, state: np.uint64) -> tuple[int, np.uint64]:
            return search_whole_moves(trees[0], self._choices, position, iterations, self._settings, flat, state)

        clear(self.tree)
        trees = [self.tree]
        spend(run, trees, seed, iterations, seconds, _LOOK)
        self.tree = trees[0]
        return self._searched(position)

    def _searched(self, position: Position) -> Searched:
        moves: dict[Move, tuple[int, float]] = {}
        groups: dict[int, tuple[int, float]] = {}
        for key, record, visits, reward in self._children(ROOT):
            main = key >> int(_DIGITS)
            before = groups.get(main, (0, 0.0))
            groups[main] = (before[0] + visits, before[1] + reward)
            if self.levels == "sets" and main < KICKER_BASE and MAIN_GROUPS[main].kicker_count:
                moves |= {_move(below): (count, won) for below, _, count, won in self._children(record)}
            else:
                moves[_move(key)] = (visits, reward)
        best = self._best(position, moves, groups)
        counted = [{key: numbers[0] for key, numbers in found.items()} for found in (moves, groups)]
        means = [{key: reward / visits for key, (visits, reward) in found.items()} for found in (moves, groups)]
        return Searched(best, counted[0], means[0], counted[1], means[1])

    def _children(self, node: int) -> list[tuple[int, int, int, float]]:
        """Key, record, visits and reward of a node's children, ascending."""
        block, tree = children(self.tree, node), self.tree
        columns = (tree.visits[block].tolist(), tree.reward[block].tolist())
        return sorted(zip(tree.action[block].tolist(), range(block.start, block.stop), *columns, strict=True))

    def _best(
        self, position: Position, moves: Mapping[Move, tuple[int, float]], groups: Mapping[int, tuple[int, float]]
    ) -> Move:
        if self.levels == "sets":
            main = max(groups, key=lambda group: groups[group][0])
            moves = {move: numbers for move, numbers in moves.items() if move.main == main}
            if not moves:  # the budget never reached the kickers
                return next(move for move in whole_moves(position.row, position.rules) if move.main == main)
        return max(moves, key=lambda move: moves[move][0])


def _move(key: int) -> Move:
    """The move that a whole key says."""
    main = key >> int(_DIGITS)
    count = MAIN_GROUPS[main].kicker_count if main < KICKER_BASE else 0
    return Move(main, tuple((key >> (20 - 4 * index)) & 15 for index in range(count)))


@dataclass(frozen=True)
class WholeMoveOptions(Options):
    """How a move is laid out over the levels of the tree, and how long to search.

    Attributes:
        levels: ``sets``: main group, then all kickers as one node (the paper's two levels); ``flat``: whole moves.
        iterations: Iterations a decision.
        milliseconds: Thinking time a decision instead of iterations; results then depend on the machine.
        exploration: The constant ``k`` of figure 2, on rewards 0 (loss) to 1 (win).
    """

    levels: Levels = "flat"
    iterations: Annotated[int, Range(1, MOST_ITERATIONS)] = 10_000
    milliseconds: Milliseconds = None
    exploration: Annotated[float, Range(0)] = 1.0


@takes(WholeMoveOptions)
class WholeMoveUctAgent(SearchAgent[View]):
    """Information-set UCT with one tree level per move (``flat``) or two (``sets``), instead of one per kicker.

    Example:
        >>> from ddz_env import State
        >>> state = State.from_hands(["33345", "6789", "6789"], check_sizes=False)
        >>> agent = WholeMoveUctAgent("sets", iterations=300)
        >>> agent.act(state.view(), np.random.default_rng(0)) in state.legal_moves()
        True
    """

    def __init__(self, *values: Any, **named: Any) -> None:
        self.options = WholeMoveOptions.of(*values, **named)
        self._moves = WholeMoveSearch(self.options.levels, exploration=self.options.exploration)

    @property
    def name(self) -> str:
        """The agent's class, levels and budget."""
        return super().name.replace("(", f"({self.options.levels}, ")

    def _search(self, view: View, position: Position, rng: np.random.Generator) -> Decision:
        seed = np.uint64(rng.integers(0, 2**64, dtype=np.uint64))
        seconds = None if self.options.milliseconds is None else self.options.milliseconds / 1000
        return self._moves.run(position, self.options.iterations, seed, seconds).decision
