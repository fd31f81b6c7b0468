"""Figure 2 of Whitehouse, Powley and Cowling (2011) in plain Python: the oracle of the compiled searches.

A tree is a dictionary from the actions since the root.  The reference takes cards from the engine's kernels
(``draw_game``, ``apply_action``, ``simulate_random``) and everything else from the paper; what later papers change of
it, the choice of a child, is handed in.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ddz_agents.tree_search.search import simulate_random
from ddz_agents.tree_search.tree import ROOT, Tree, children
from ddz_agents.worlds.determinize import draw_game
from ddz_env import State
from ddz_env.core.engine.layout import LANDLORD, NO_GAME, SEAT, STAGE, STAGE_OVER, WINNER
from ddz_env.core.engine.legal import write_legal_mask
from ddz_env.core.engine.random import advance, mix, scale_below
from ddz_env.core.engine.step import apply_action
from ddz_env.core.engine.tables import MASK_WORDS

Row = npt.NDArray[np.uint64]
Path = tuple[int, ...]

SEED = np.uint64(2011)
ZERO, ONE = np.float32(0), np.float32(1)


@dataclass
class Node:
    """A node and the edge to it: its visits, the reward of the side that chose the edge, the children as they came."""

    visits: int = 0
    reward: np.float32 = ZERO
    tried: list[int] = field(default_factory=list)


Book = dict[Path, Node]
Pick = Callable[[Book, Path, list[int], list[int]], int | None]
"""From the tree, a path, and the tried and untried actions there: the child to go to, None to expand."""


class Chance:
    """The search's random numbers: one generator, advanced once a determinization, a choice, ... in this order."""

    def __init__(self) -> None:
        self.state = SEED

    def game(self, state: State, *, fixed: bool) -> Row:
        """A determinization of what the acting seat knows, or the game itself."""
        row = state.row.copy()
        if not fixed:
            self.state = np.uint64(draw_game(state.view().row, state.seat, state.rule_words, self.state, row))
        return row

    def choose(self, actions: list[int]) -> int:
        self.state = np.uint64(advance(self.state))
        return actions[int(scale_below(np.uint64(mix(self.state)), np.uint64(len(actions))))]

    def play_out(self, row: Row, rules: Row) -> None:
        self.state = np.uint64(simulate_random(row, rules, np.empty(MASK_WORDS, np.uint64), self.state, np.bool_(True)))


def legal_actions(row: Row, rules: Row) -> list[int]:
    mask = np.empty(MASK_WORDS, np.uint64)
    write_legal_mask(row, rules, mask)
    words = enumerate(mask.tolist())
    return [64 * index + bit for index, word in words for bit in range(word.bit_length()) if (word >> bit) & 1]


def select(book: Book, path: Path, usable: list[int], k: float) -> int:
    """The first child of largest R(M) / V(M) + k sqrt(ln V(N) / V(M)), in single precision."""
    log_parent = np.float32(math.log(book[path].visits))

    def value(action: int) -> np.float32:
        child = book[(*path, action)]
        share = ONE / np.float32(child.visits)
        return child.reward * share + np.float32(k) * np.sqrt(log_parent * share)

    return max(usable, key=value)


def figure_2(k: float) -> Pick:
    """Expand while there is something to expand, then select."""
    return lambda book, path, usable, untried: None if untried else select(book, path, usable, k)


def reward(row: Row, mover: int) -> np.float32:
    """What a finished game is worth to a seat's side, as the sides are at the end."""
    if int(row[WINNER]) == NO_GAME:
        return np.float32(0.5)
    landlord_won = int(row[WINNER]) == int(row[LANDLORD]) + 1
    return np.float32((mover == int(row[LANDLORD])) == landlord_won)


def backpropagate(book: Book, path: Path, movers: list[int], row: Row) -> None:
    book[()].visits += 1
    for length, mover in enumerate(movers, start=1):
        book[path[:length]].visits += 1
        book[path[:length]].reward += reward(row, mover)


def grown_by_hand(state: State, iterations: int, pick: Pick, *, fixed: bool = False) -> Book:
    """One tree of information sets, each iteration restricted to a determinization (or the game itself)."""
    chance, rules = Chance(), state.rule_words
    tree: Book = {(): Node()}
    for _ in range(iterations):
        row = chance.game(state, fixed=fixed)
        path: Path = ()
        movers: list[int] = []
        expanded = False
        while not expanded and row[STAGE] != STAGE_OVER:
            legal = legal_actions(row, rules)
            usable = [action for action in tree[path].tried if action in legal]
            untried = [action for action in legal if action not in usable]
            action = pick(tree, path, usable, untried)
            if action is None:
                action = chance.choose(untried)
                tree[path].tried.append(action)
                tree[(*path, action)] = Node()
                expanded = True
            movers.append(int(row[SEAT]))
            apply_action(row, np.uint64(action), rules)
            path = (*path, action)
        chance.play_out(row, rules)
        backpropagate(tree, path, movers, row)
    return tree


Statistics = dict[Path, tuple[int, float]]


def statistics(book: Book) -> Statistics:
    return {path: (node.visits, float(node.reward)) for path, node in book.items()}


def records(tree: Tree, record: int = ROOT, path: Path = ()) -> dict[Path, int]:
    found = {path: record}
    block = children(tree, record)
    for child in range(block.start, block.stop):
        found |= records(tree, child, (*path, int(tree.action[child])))
    return found


def statistics_of(tree: Tree) -> Statistics:
    return {path: (int(tree.visits[record]), float(tree.reward[record])) for path, record in records(tree).items()}


def played(seed: int, moves: int, rules: str = "standard") -> State:
    """A position some moves into a random game (earlier if the game ends)."""
    state, rng = State.new(seed, rules), np.random.default_rng(seed)
    for _ in range(moves):
        legal = state.legal_moves()
        twin = state.copy()
        twin.step(legal[int(rng.integers(len(legal)))])
        if twin.is_over:
            break
        state = twin
    return state
